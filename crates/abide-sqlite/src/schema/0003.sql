-- Waits with filters, races and counts.

-- `filter_condition` and `distinct_by` are expressions as somebody wrote them; `…_folded` is what
-- was left of each to be evaluated on an event. Of the waits of a `race` the first that is met
-- cancels the others. `needed` is how many a wait wants, if it is not just one.
ALTER TABLE workflow_event_subscriptions ADD COLUMN filter_folded TEXT;
ALTER TABLE workflow_event_subscriptions ADD COLUMN race TEXT;
ALTER TABLE workflow_event_subscriptions ADD COLUMN needed INTEGER CHECK (needed >= 0);
ALTER TABLE workflow_event_subscriptions ADD COLUMN distinct_by TEXT;
ALTER TABLE workflow_event_subscriptions ADD COLUMN distinct_folded TEXT;

-- What counted waits hold, or had held when they were met. `nth` is the order in which it came,
-- `entry` its key in the inbox, which may have forgotten it once its wait was met.
CREATE TABLE held (
    wait           INTEGER NOT NULL,
    nth            INTEGER NOT NULL,
    entry          INTEGER NOT NULL,
    id             TEXT NOT NULL,
    distinct_value TEXT,
    PRIMARY KEY (wait, nth)
) STRICT, WITHOUT ROWID;

CREATE INDEX held_entry ON held (entry);

-- The inbox gets the state `held`. SQLite can't change a check, so the table is made anew, with
-- the views that look into it.
DROP VIEW event_buffer;
DROP VIEW workflow_events;

CREATE TABLE inbox_anew (
    key         INTEGER PRIMARY KEY,
    instance    INTEGER NOT NULL,
    nth         INTEGER NOT NULL,
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
    UNIQUE (instance, id),
    UNIQUE (instance, nth)
) STRICT;

INSERT INTO inbox_anew (key, instance, nth, id, kind, name, payload, size, received_at,
        visible_at, consumed_at, source, wake, buffer, state, delivered, buffered)
    SELECT key, instance, nth, id, kind, name, payload, size, received_at,
           visible_at, consumed_at, source, wake, buffer, state, delivered, buffered
      FROM inbox;
DROP TABLE inbox;
ALTER TABLE inbox_anew RENAME TO inbox;

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
