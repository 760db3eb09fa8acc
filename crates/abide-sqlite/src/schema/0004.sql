-- Publishing: the event log, what open waits are found by, windows of triggers, documents.

-- Numbers of the log. An instance looks back to what came after `log_from`, a wait to what came
-- after `since`; `cut_short` says that it stopped looking before it had seen everything.
ALTER TABLE instances ADD COLUMN log_from INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workflow_event_subscriptions ADD COLUMN since INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workflow_event_subscriptions ADD COLUMN cut_short INTEGER NOT NULL DEFAULT 0
    CHECK (cut_short = 0 OR cut_short = 1);
-- The entry of the inbox that a wait was met by: several may have the same id.
ALTER TABLE workflow_event_subscriptions ADD COLUMN fulfilled_by_entry INTEGER;

UPDATE workflow_event_subscriptions
   SET fulfilled_by_entry = (SELECT key FROM inbox b
        WHERE b.instance = workflow_event_subscriptions.instance
          AND b.id = workflow_event_subscriptions.fulfilled_by_event_id)
 WHERE status = 'fulfilled' AND fulfilled_by_event_id IS NOT NULL;

-- What was published, in the order of acceptance. `wanted` says whether anybody took it so far.
CREATE TABLE events (
    seq            INTEGER PRIMARY KEY,
    id             TEXT NOT NULL,
    source         TEXT,
    type           TEXT NOT NULL,
    payload        TEXT,
    time           INTEGER,
    subject        TEXT,
    correlation_id TEXT,
    attributes     TEXT,
    accepted_at    INTEGER NOT NULL,
    size           INTEGER NOT NULL,
    verdict        TEXT NOT NULL,
    wanted         INTEGER NOT NULL CHECK (wanted = 0 OR wanted = 1)
) STRICT;

-- The same id from the same source again is the same event.
CREATE UNIQUE INDEX events_id ON events (id, coalesce(source, ''));
CREATE INDEX events_type ON events (type, seq);
CREATE INDEX events_unwanted ON events (seq) WHERE wanted = 0;

-- How much there is of each type.
CREATE TABLE event_types (
    type   TEXT PRIMARY KEY,
    events INTEGER NOT NULL,
    bytes  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The kinds of open waits for events: a pattern, and the paths (a JSON array) whose values must be
-- equal. The values are the `key` of each wait of that shape. An event is looked up once per shape
-- whose pattern covers its type.
CREATE TABLE shapes (
    id      INTEGER PRIMARY KEY,
    pattern TEXT NOT NULL,
    paths   TEXT NOT NULL,
    UNIQUE (pattern, paths)
) STRICT;

CREATE TABLE subscription_keys (
    shape    INTEGER NOT NULL,
    key      TEXT NOT NULL,
    wait     INTEGER NOT NULL,
    instance INTEGER NOT NULL,
    PRIMARY KEY (shape, key, wait)
) STRICT, WITHOUT ROWID;

-- The same from the other side, for waits that look back: what the events of a type have at some
-- paths. Those up to `upto` that come after `done` have yet to be looked at.
CREATE TABLE event_paths (
    id    INTEGER PRIMARY KEY,
    type  TEXT NOT NULL,
    paths TEXT NOT NULL,
    done  INTEGER NOT NULL,
    upto  INTEGER NOT NULL,
    UNIQUE (type, paths)
) STRICT;

CREATE TABLE event_keys (
    path INTEGER NOT NULL,
    key  TEXT NOT NULL,
    seq  INTEGER NOT NULL,
    PRIMARY KEY (path, key, seq)
) STRICT, WITHOUT ROWID;

-- Open waits that have looked back only as far as `done`.
CREATE TABLE lookbacks (
    wait INTEGER PRIMARY KEY,
    done INTEGER NOT NULL
) STRICT;

-- Events that are yet to meet the waits with a key above `done`, up to `upto`; `met` took them so
-- far.
CREATE TABLE fanouts (
    seq  INTEGER PRIMARY KEY,
    done INTEGER NOT NULL,
    upto INTEGER NOT NULL,
    met  INTEGER NOT NULL
) STRICT;

-- What triggers know of the events that hang together, and the instance that those start.
CREATE TABLE windows (
    trigger   TEXT NOT NULL,
    key       TEXT NOT NULL,
    opened_at INTEGER NOT NULL,
    count     INTEGER NOT NULL,
    instance  INTEGER NOT NULL,
    PRIMARY KEY (trigger, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX windows_instance ON windows (instance);

CREATE TABLE documents (
    kind       TEXT NOT NULL CHECK (kind = 'event-definition' OR kind = 'trigger'
        OR kind = 'workflow'),
    name       TEXT NOT NULL,
    version    INTEGER NOT NULL CHECK (version > 0),
    body       TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (kind, name, version)
) STRICT;

-- The inbox keeps what came from the log, too, by its number there. Such an entry is the proof that
-- the instance took the event; its id is not among those that are remembered, so it has no `nth`.
-- SQLite can't drop a constraint, so the table is made anew, with the views that look into it.
DROP VIEW event_buffer;
DROP VIEW workflow_events;

CREATE TABLE inbox_anew (
    key         INTEGER PRIMARY KEY,
    instance    INTEGER NOT NULL,
    nth         INTEGER,
    id          TEXT NOT NULL,
    kind        TEXT NOT NULL CHECK (kind = 'event' OR kind = 'signal' OR kind = 'message'),
    name        TEXT NOT NULL,
    payload     TEXT,
    size        INTEGER NOT NULL,
    received_at INTEGER NOT NULL,
    visible_at  INTEGER NOT NULL,
    consumed_at INTEGER,
    source      TEXT,
    -- Whether it resumes an open wait, or lies quietly until somebody looks.
    wake        INTEGER NOT NULL CHECK (wake = 0 OR wake = 1),
    buffer      TEXT NOT NULL CHECK (buffer = 'latest' OR buffer = 'queue' OR buffer = 'none'),
    -- What is `held` belongs to counted waits that want more; nobody else may have it.
    state       TEXT NOT NULL CHECK (state = 'pending' OR state = 'delayed' OR state = 'held'
        OR state = 'consumed' OR state = 'superseded' OR state = 'discarded'
        OR state = 'dropped'),
    delivered   INTEGER NOT NULL,
    buffered    INTEGER NOT NULL CHECK (buffered = 0 OR buffered = 1),
    -- The number of a published event, when it came here, and what else only such an event says.
    log         INTEGER,
    taken_at    INTEGER,
    place       TEXT,
    UNIQUE (instance, nth),
    CHECK ((log IS NULL) = (nth IS NOT NULL))
) STRICT;

INSERT INTO inbox_anew (key, instance, nth, id, kind, name, payload, size, received_at,
        visible_at, consumed_at, source, wake, buffer, state, delivered, buffered)
    SELECT key, instance, nth, id, kind, name, payload, size, received_at,
           visible_at, consumed_at, source, wake, buffer, state, delivered, buffered
      FROM inbox;
DROP TABLE inbox;
ALTER TABLE inbox_anew RENAME TO inbox;

CREATE UNIQUE INDEX inbox_id ON inbox (instance, id) WHERE log IS NULL;
CREATE UNIQUE INDEX inbox_log ON inbox (log, instance) WHERE log IS NOT NULL;
-- `size` is here so that the load of a buffer is read from the indexes alone.
CREATE INDEX inbox_pending ON inbox (instance, kind, name, visible_at, key, size)
    WHERE state = 'pending';
CREATE INDEX inbox_delayed ON inbox (instance, visible_at, key, size) WHERE state = 'delayed';
CREATE INDEX inbox_held ON inbox (instance, size) WHERE state = 'held';
-- What every commit of its instance has to look at.
CREATE INDEX inbox_quiet ON inbox (instance, visible_at)
    WHERE wake = 0 AND (state = 'pending' OR state = 'delayed');

-- The newest early event of each type, for people who look with SQL.
CREATE VIEW event_buffer AS
SELECT i.id AS workflow_instance_id,
       b.name AS event_name,
       coalesce(b.payload, 'null') AS payload,
       b.received_at
  FROM inbox b
  JOIN instances i ON i.key = b.instance
 WHERE b.state = 'pending' AND b.kind = 'event' AND b.buffer = 'latest';

-- What happened around instances in eight types, for people who look with SQL.
CREATE VIEW workflow_events AS
SELECT b.id, i.id AS execution_id, b.kind AS type, b.name, b.payload,
       b.received_at AS created_at, b.visible_at, b.consumed_at,
       b.source AS source_execution_id
  FROM inbox b
  JOIN instances i ON i.key = b.instance
 WHERE b.kind <> 'event'
UNION ALL
SELECT 'output.' || o.instance || '.' || o.key, i.id, 'output', o.key, o.value,
       o.updated_at, NULL, NULL, NULL
  FROM outputs o
  JOIN instances i ON i.key = o.instance
UNION ALL
SELECT 'timer.' || h.instance || '.' || h.id || '.' || e.key, i.id, 'timer',
       e.value ->> '$.name', json_object('wakeAt', e.value ->> '$.resumeAt'),
       h.at, e.value ->> '$.resumeAt',
       (SELECT min(d.at) FROM history d JOIN json_each(d.entries) c
         WHERE d.instance = h.instance AND d.run = h.run AND d.seq >= h.seq
           AND c.value ->> '$.type' = 'sleep.completed'
           AND c.value ->> '$.name' = e.value ->> '$.name'),
       NULL
  FROM history h
  JOIN instances i ON i.key = h.instance
  JOIN json_each(h.entries) e
 WHERE e.value ->> '$.type' = 'sleep.started'
UNION ALL
SELECT 'history.' || h.instance || '.' || h.id || '.' || e.key, i.id,
       replace(e.value ->> '$.type', '.', '_'), e.value ->> '$.name', e.value -> '$.payload',
       h.at, NULL, NULL, NULL
  FROM history h
  JOIN instances i ON i.key = h.instance
  JOIN json_each(h.entries) e
 WHERE e.value ->> '$.type' IN
       ('step.started', 'step.completed', 'workflow.started', 'workflow.completed');
