-- Instances and their history.
--
-- Instances that nobody runs cost a row and nothing else: claims live in the memory of the one
-- process that holds the lock on the file.

-- High-water marks of keys, written when pruning may have deleted the highest one in use.
CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE instances (
    key            INTEGER PRIMARY KEY,
    id             TEXT NOT NULL UNIQUE,
    workflow       TEXT NOT NULL,
    version        INTEGER NOT NULL,
    run            INTEGER NOT NULL CHECK (run > 0),
    -- No `IN` in this table: a list of more than two words makes SQLite build a temporary table
    -- with every write.
    phase          TEXT NOT NULL CHECK (phase = 'completed' OR phase = 'errored'
        OR phase = 'terminated' OR phase = 'queued' OR phase = 'running' OR phase = 'waiting'
        OR phase = 'sleeping'),
    paused         INTEGER NOT NULL DEFAULT 0 CHECK (paused = 0 OR paused = 1),
    queued_reason  TEXT,
    input          TEXT NOT NULL,
    context        TEXT,
    output         TEXT,
    error          TEXT,
    correlation_id TEXT,
    parent_key     INTEGER,
    parent_id      TEXT,
    parent_run     INTEGER,
    parent_step    TEXT,
    parent_awaited INTEGER CHECK (parent_awaited = 0 OR parent_awaited = 1),
    tags           TEXT,
    created_at     INTEGER NOT NULL,
    -- The last change of this row. What happened last may be a history row, which does not touch
    -- its instance: read the later of both.
    updated_at     INTEGER NOT NULL,
    completed_at   INTEGER,
    wake_at        INTEGER,
    timeout_ms     INTEGER,
    timeout_at     INTEGER,
    run_seq        INTEGER NOT NULL,
    status         TEXT GENERATED ALWAYS AS (CASE
        WHEN phase = 'completed' OR phase = 'errored' OR phase = 'terminated' THEN phase
        WHEN paused THEN 'paused'
        ELSE phase END) VIRTUAL,
    CHECK ((completed_at IS NOT NULL)
        = (phase = 'completed' OR phase = 'errored' OR phase = 'terminated'))
) STRICT;

-- Each index serves one question and holds only the rows that question may ask for.
CREATE INDEX instances_runnable ON instances (key)
    WHERE paused = 0 AND (phase = 'running' OR (phase = 'queued' AND wake_at IS NULL));
CREATE INDEX instances_wake_at ON instances (wake_at, key) WHERE wake_at IS NOT NULL;
CREATE INDEX instances_completed_at ON instances (completed_at) WHERE completed_at IS NOT NULL;
CREATE INDEX instances_parent ON instances (parent_key) WHERE parent_key IS NOT NULL;
CREATE INDEX instances_correlation_id ON instances (correlation_id)
    WHERE correlation_id IS NOT NULL;

-- One row per commit of one instance. `entries` is a JSON array; the `numbered` ones among them
-- have the numbers from `seq` on. There is no foreign key to instances: it would cost a look-up
-- with every step, and rows are only ever written and deleted together with their instance.
CREATE TABLE history (
    id       INTEGER PRIMARY KEY,
    instance INTEGER NOT NULL,
    run      INTEGER NOT NULL,
    seq      INTEGER NOT NULL,
    numbered INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    entries  TEXT NOT NULL
) STRICT;

CREATE INDEX history_instance ON history (instance, seq);

-- The steps of the current run of each instance, for people who look with SQL.
CREATE VIEW execution_step_results AS
SELECT i.id AS execution_id,
       e.value ->> '$.name' AS step_id,
       min(h.at) FILTER (WHERE e.value ->> '$.type' IN ('step.started', 'sleep.started'))
           AS started_at_epoch_ms,
       max(h.at) FILTER (WHERE e.value ->> '$.type' IN
           ('step.completed', 'sleep.completed', 'step.failed', 'step.cancelled')
           AND NOT coalesce(e.value ->> '$.willRetry', 0)) AS completed_at_epoch_ms,
       max(e.value -> '$.payload') FILTER (WHERE e.value ->> '$.type' = 'step.completed') AS output,
       max(e.value -> '$.error') FILTER (WHERE e.value ->> '$.type' = 'step.failed'
           AND NOT coalesce(e.value ->> '$.willRetry', 0)) AS error
  FROM instances i
  JOIN history h ON h.instance = i.key AND h.run = i.run
  JOIN json_each(h.entries) e
 WHERE e.value ->> '$.name' IS NOT NULL
   AND e.value ->> '$.type' NOT IN ('seen', 'workflow.restarted')
 GROUP BY i.key, step_id;
