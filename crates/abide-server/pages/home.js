// Lists workflows and the newest instances. Everything that comes from the server is shown as text.

const INTERVAL_MS = 5000;
const find = (id) => document.getElementById(id);
let token = null;

async function read(path) {
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  const response = await fetch(path, { headers });
  const body = await response.json().catch(() => null);
  if (response.ok) return body;
  const refused = new Error(body?.error?.message ?? `${path} answered ${response.status}`);
  refused.status = response.status;
  throw refused;
}

function cell(text, className) {
  const made = document.createElement("td");
  made.textContent = text ?? "";
  if (className) made.className = className;
  return made;
}

function fill(id, items, cells, none) {
  const rows = items.map((item) => {
    const row = document.createElement("tr");
    row.append(...cells(item));
    return row;
  });
  if (rows.length === 0) {
    const row = document.createElement("tr");
    row.append(cell(none, "quiet"));
    rows.push(row);
  }
  find(id).replaceChildren(...rows);
}

const STATUSES = ["completed", "errored", "terminated", "paused", "queued", "running", "waiting", "sleeping"];

function moment(text) {
  const made = document.createElement("td");
  const time = document.createElement("time");
  time.dateTime = text;
  time.title = text;
  time.textContent = new Date(text).toLocaleString();
  made.append(time);
  return made;
}

function show(workflows, instances) {
  fill("workflows", workflows, (one) => [cell(one.name), cell(one.version)], "none registered");
  const cells = (one) => [
    cell(one.id),
    cell(`${one.workflow} v${one.version}`),
    cell(one.status, STATUSES.includes(one.status) ? `status ${one.status}` : "status"),
    moment(one.createdAt),
    moment(one.updatedAt),
  ];
  fill("instances", instances, cells, "none so far");
  find("main").hidden = false;
}

async function refresh() {
  try {
    const [{ workflows }, { instances }] = await Promise.all([
      read("/v1/workflows"),
      read("/v1/instances?limit=25"),
    ]);
    show(workflows, instances);
    find("login").hidden = true;
    find("state").textContent = "";
    find("state").className = "quiet";
  } catch (error) {
    const isLocked = error.status === 401;
    find("login").hidden = !isLocked;
    if (isLocked) find("main").hidden = true;
    find("state").textContent = isLocked && !token ? "" : error.message;
    find("state").className = "error";
    // Asking again with the same token would not help.
    if (isLocked) return false;
  }
  return true;
}

async function run() {
  if (document.hidden || (await refresh())) setTimeout(run, INTERVAL_MS);
}

find("login").addEventListener("submit", (event) => {
  event.preventDefault();
  token = find("token").value.trim();
  find("token").value = "";
  run();
});
run();
