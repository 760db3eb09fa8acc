-- What streaming steps gave so far, more kinds of documents, and a view that shows steps only.

-- A piece of what a step streams; `nth` counts from 0 within the attempt. Of each step only one attempt
-- is kept: its first chunk takes the place of those before. Keys are in the order of writing, and are
-- never used twice, so that somebody who reads all steps of an instance goes by them.
CREATE TABLE chunks (
    key      INTEGER PRIMARY KEY,
    instance INTEGER NOT NULL,
    run      INTEGER NOT NULL,
    step     TEXT NOT NULL,
    attempt  INTEGER NOT NULL CHECK (attempt > 0),
    nth      INTEGER NOT NULL CHECK (nth >= 0),
    at       INTEGER NOT NULL,
    data     BLOB NOT NULL,
    UNIQUE (instance, step, run, attempt, nth)
) STRICT;

CREATE INDEX chunks_instance ON chunks (instance);

-- Documents get kinds. SQLite can't change a check, so the table is made anew.
CREATE TABLE documents_anew (
    kind       TEXT NOT NULL CHECK (kind = 'event-definition' OR kind = 'trigger'
        OR kind = 'workflow' OR kind = 'webhook' OR kind = 'token' OR kind = 'sink'),
    name       TEXT NOT NULL,
    version    INTEGER NOT NULL CHECK (version > 0),
    body       TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (kind, name, version)
) STRICT;

INSERT INTO documents_anew (kind, name, version, body, updated_at)
    SELECT kind, name, version, body, updated_at FROM documents;
DROP TABLE documents;
ALTER TABLE documents_anew RENAME TO documents;

-- The steps of the current run of each instance, for people who look with SQL. Waits are steps;
-- events, outputs and updates, which have names too, are not.
DROP VIEW execution_step_results;
CREATE VIEW execution_step_results AS
SELECT i.id AS execution_id,
       e.value ->> '$.name' AS step_id,
       min(h.at) AS started_at_epoch_ms,
       max(h.at) FILTER (WHERE e.value ->> '$.type' IN ('step.completed', 'sleep.completed',
           'step.failed', 'step.cancelled', 'wait.fulfilled', 'wait.expired', 'wait.cancelled')
           AND NOT coalesce(e.value ->> '$.willRetry', 0)) AS completed_at_epoch_ms,
       max(e.value -> '$.payload') FILTER (WHERE e.value ->> '$.type' IN
           ('step.completed', 'wait.fulfilled')) AS output,
       max(e.value -> '$.error') FILTER (WHERE e.value ->> '$.type' IN
           ('step.failed', 'wait.expired')
           AND NOT coalesce(e.value ->> '$.willRetry', 0)) AS error
  FROM instances i
  JOIN history h ON h.instance = i.key AND h.run = i.run
  JOIN json_each(h.entries) e
 WHERE substr(e.value ->> '$.type', 1, 5) IN ('step.', 'sleep', 'wait.', 'retry')
   AND e.value ->> '$.name' IS NOT NULL
 GROUP BY i.key, step_id;
