// Shows the description of the API (/openapi.json). Everything in it is shown as text.

const METHODS = ["get", "post", "put", "patch", "delete"];
// A schema may contain itself.
const DEEPEST = 6;
let described = null;

function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made[name] = value;
  made.append(...children.filter((child) => child != null));
  return made;
}

function resolve(schema) {
  const name = schema?.$ref?.split("/").pop();
  return name ? { name, ...described.components.schemas[name] } : (schema ?? {});
}

// The type of a schema in a few words.
function typeOf(schema) {
  if (schema?.$ref) return schema.$ref.split("/").pop();
  const { type, items, oneOf, anyOf, allOf, format } = schema ?? {};
  const some = oneOf ?? anyOf ?? allOf;
  if (some) return some.map(typeOf).join(allOf ? " & " : " | ");
  if (items) return `${typeOf(items)}[]`;
  const word = Array.isArray(type) ? type.join(" | ") : type;
  return word ? (format ? `${word} (${format})` : word) : "any";
}

function fieldsOf(schema, depth = 0) {
  const whole = resolve(schema);
  const parts = [whole, ...(whole.allOf ?? []).map(resolve)];
  const nested = whole.items ?? (whole.oneOf ?? []).find((one) => one.$ref);
  if (nested && depth < DEEPEST) return fieldsOf(nested, depth + 1);
  const rows = [];
  for (const part of parts) {
    for (const [name, field] of Object.entries(part.properties ?? {})) {
      const isNeeded = part.required?.includes(name);
      const row = make("li", {},
        make("code", { textContent: name }),
        make("span", { className: "quiet", textContent: ` ${typeOf(field)}${isNeeded ? "" : ", optional"}` }),
        make("div", { textContent: field.description ?? resolve(field).description ?? "" }));
      const inner = depth < DEEPEST ? fieldsOf(field, depth + 1) : null;
      if (inner) row.append(inner);
      rows.push(row);
    }
  }
  return rows.length ? make("ul", { className: "fields" }, ...rows) : null;
}

function table(head, rows) {
  const line = (tag, texts) => make("tr", {}, ...texts.map((textContent) => make(tag, { textContent })));
  return make("table", {}, make("thead", {}, line("th", head)), make("tbody", {}, ...rows.map((row) => line("td", row))));
}

function parametersOf(operation) {
  const rows = (operation.parameters ?? []).map((one) =>
    [one.name, one.in, `${typeOf(one.schema)}${one.required ? "" : ", optional"}`, one.description ?? ""]);
  return rows.length ? [make("h3", { textContent: "Parameters" }), table(["Name", "In", "Type", ""], rows)] : [];
}

function contentsOf(title, content) {
  return Object.entries(content ?? {}).flatMap(([media, { schema }]) => [
    make("h3", { textContent: title }, make("span", { className: "quiet", textContent: ` ${media}: ${typeOf(schema)}` })),
    fieldsOf(schema),
  ]);
}

function responsesOf(operation) {
  const all = Object.entries(operation.responses ?? {});
  const good = all.filter(([status]) => status < "400");
  const bad = all.filter(([status]) => status >= "400");
  return [
    ...good.flatMap(([status, response]) => [
      make("h3", { textContent: `${status} ${response.description ?? ""}` }),
      ...Object.values(response.content ?? {}).map(({ schema }) => fieldsOf(schema)),
    ]),
    make("h3", { textContent: "Refusals" }),
    table(["Status", ""], bad.map(([status, response]) => [status, response.description ?? ""])),
  ];
}

function tryIt(method, path, operation) {
  const inputs = (operation.parameters ?? []).map((one) =>
    [one, make("input", { name: one.name, required: Boolean(one.required), autocomplete: "off" })]);
  const known = Object.keys(operation.requestBody?.content ?? {});
  const media = known.includes("application/json") ? "application/json" : known[0];
  const body = media ? make("textarea", { value: "{}", spellcheck: false }) : null;
  const answer = make("pre", { hidden: true });
  const form = make("form", {},
    ...inputs.map(([one, input]) => make("label", {}, one.name, input)),
    body && make("label", {}, `Body (${media})`, body),
    make("button", { textContent: "Send" }), answer);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    let target = path;
    const query = new URLSearchParams();
    for (const [one, input] of inputs) {
      if (one.in === "path") target = target.replace(`{${one.name}}`, encodeURIComponent(input.value));
      else if (one.in === "query" && input.value !== "") query.set(one.name, input.value);
    }
    if (query.size) target += `?${query}`;
    answer.hidden = false;
    answer.textContent = "…";
    answer.textContent = await send(method, target, body && [media, body.value]).catch(String);
  });
  return [make("h3", { textContent: "Try it" }), form];
}

async function send(method, target, body) {
  const headers = {};
  const token = document.getElementById("token").value.trim();
  if (token) headers.authorization = `Bearer ${token}`;
  if (body) headers["content-type"] = body[0];
  const response = await fetch(target, { method: method.toUpperCase(), headers, body: body?.[1] });
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
  if (isStream) {
    response.body?.cancel();
    return `${response.status}\n\na stream; open it with curl -N`;
  }
  const text = await response.text();
  let shown = text;
  try { shown = JSON.stringify(JSON.parse(text), null, 2); } catch { /* shown as it came */ }
  return `${response.status} ${response.statusText}\n\n${shown}`;
}

function show(method, path, operation) {
  const summary = make("summary", {},
    make("span", { className: `method ${method}`, textContent: method.toUpperCase() }),
    make("span", { className: "path", textContent: path }),
    make("span", { className: "quiet", textContent: operation.summary ?? "" }));
  const details = make("details", { id: `${method}${path}` }, summary);
  details.dataset.words = `${method} ${path} ${operation.summary ?? ""} ${operation.description ?? ""}`.toLowerCase();
  // There are many; each is made when it is looked at.
  details.addEventListener("toggle", () => {
    if (!details.open || details.children.length > 1) return;
    details.append(make("div", {},
      operation.description && make("p", { textContent: operation.description }),
      ...parametersOf(operation), ...contentsOf("Body", operation.requestBody?.content),
      ...responsesOf(operation), ...tryIt(method, path, operation)));
  });
  return details;
}

function render() {
  const groups = new Map();
  for (const [path, item] of Object.entries(described.paths)) {
    for (const method of METHODS.filter((method) => item[method])) {
      const tag = item[method].tags?.[0] ?? "other";
      if (!groups.has(tag)) groups.set(tag, []);
      groups.get(tag).push(show(method, path, item[method]));
    }
  }
  const sections = [...groups].map(([tag, all]) => make("section", {}, make("h2", { textContent: tag }), ...all));
  document.getElementById("main").replaceChildren(...sections);
}

function filter(words) {
  for (const section of document.querySelectorAll("section")) {
    const all = [...section.querySelectorAll(":scope > details")];
    for (const one of all) one.hidden = !words.every((word) => one.dataset.words.includes(word));
    section.hidden = all.every((one) => one.hidden);
  }
}

document.getElementById("controls").addEventListener("submit", (event) => event.preventDefault());
document.getElementById("find").addEventListener("input", (event) =>
  filter(event.target.value.toLowerCase().split(/\s+/).filter(Boolean)));

const state = document.getElementById("state");
try {
  described = await (await fetch("/openapi.json")).json();
  render();
  state.textContent = `version ${described.info.version}`;
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target) { target.open = true; target.scrollIntoView(); }
} catch (error) {
  state.textContent = String(error);
  state.className = "error";
}
