-- What is sent to instances, what they wait for and what they publish.

-- Waits: one row each, from when it is reached until its instance is pruned. `event_pattern` is a
-- pattern, name, topic or, for a wait for an output of the instance `output_of`, its key.
CREATE TABLE workflow_event_subscriptions (
    key                     INTEGER PRIMARY KEY,
    id                      TEXT NOT NULL UNIQUE,
    instance                INTEGER NOT NULL,
    workflow_instance_id    TEXT NOT NULL,
    run                     INTEGER NOT NULL,
    kind                    TEXT NOT NULL CHECK (kind = 'event' OR kind = 'signal'
        OR kind = 'message' OR kind = 'output'),
    event_pattern           TEXT NOT NULL,
    output_of               TEXT,
    filter_condition        TEXT,
    status                  TEXT NOT NULL CHECK (status = 'active' OR status = 'fulfilled'
        OR status = 'expired' OR status = 'cancelled'),
    timeout_at              INTEGER,
    created_at              INTEGER NOT NULL,
    fulfilled_at            INTEGER,
    fulfilled_by_event_id   TEXT,
    wait_step_id            TEXT NOT NULL,
    timeout_handler_step_id TEXT,
    CHECK ((kind = 'output') = (output_of IS NOT NULL))
) STRICT;

-- Begins with the instance, so that it also finds all waits of one and no second index has to be
-- kept with every wait.
CREATE INDEX workflow_event_subscriptions_wait_step_idx
    ON workflow_event_subscriptions (workflow_instance_id, wait_step_id);
CREATE INDEX workflow_event_subscriptions_pattern_status_idx
    ON workflow_event_subscriptions (event_pattern, status);
CREATE INDEX workflow_event_subscriptions_timeout_idx
    ON workflow_event_subscriptions (status, timeout_at) WHERE timeout_at IS NOT NULL;
-- The open waits of an instance, however many it had before; and those for an output.
CREATE INDEX workflow_event_subscriptions_open_idx
    ON workflow_event_subscriptions (instance) WHERE status = 'active';
CREATE INDEX workflow_event_subscriptions_output_idx
    ON workflow_event_subscriptions (output_of, event_pattern)
    WHERE status = 'active' AND output_of IS NOT NULL;

-- Everything that was accepted, also once it is consumed: the same id again is answered as the
-- first time. `nth` counts per instance, so that the oldest can be forgotten. `visible_at` is when
-- it was accepted, or the later moment it was to wait for.
CREATE TABLE inbox (
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
    state       TEXT NOT NULL CHECK (state = 'pending' OR state = 'delayed' OR state = 'consumed'
        OR state = 'superseded' OR state = 'discarded' OR state = 'dropped'),
    delivered   INTEGER NOT NULL,
    buffered    INTEGER NOT NULL CHECK (buffered = 0 OR buffered = 1),
    UNIQUE (instance, id),
    UNIQUE (instance, nth)
) STRICT;

-- `size` is here so that the load of a buffer is read from the index alone.
CREATE INDEX inbox_pending ON inbox (instance, kind, name, visible_at, key, size)
    WHERE state = 'pending';
CREATE INDEX inbox_delayed ON inbox (instance, visible_at, key, size) WHERE state = 'delayed';

-- What instances publish for the outside to read.
CREATE TABLE outputs (
    instance   INTEGER NOT NULL,
    key        TEXT NOT NULL,
    value      TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (instance, key)
) STRICT, WITHOUT ROWID;

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
       e.value ->> '$.name', NULL, h.at, e.value ->> '$.resumeAt',
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
