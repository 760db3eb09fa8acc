//! The schema and how a file gets to it.
//!
//! `PRAGMA user_version` counts the migrations that were applied. Each is applied in a transaction
//! of its own, so a crash leaves a file that is at one version or the next.

use abide::expr::Folded;
use abide::{Error, Result, index};
use rusqlite::{Connection, params};

use crate::failure::{Trouble, to_caller};
use crate::shapes::Shapes;

/// Every migration, oldest first. Only ever added to.
pub(crate) const MIGRATIONS: &[&str] = &[
    include_str!("schema/0001.sql"),
    include_str!("schema/0002.sql"),
    include_str!("schema/0003.sql"),
    include_str!("schema/0004.sql"),
    include_str!("schema/0005.sql"),
];

/// The migration after which open waits are found by their keys.
const KEYED: i64 = 4;

/// Brings a file to the newest schema.
pub(crate) fn migrate(connection: &mut Connection, migrations: &[&str]) -> Result<()> {
    let found: i64 = connection
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .map_err(|error| to_caller(&error))?;
    let known = i64::try_from(migrations.len()).unwrap_or(i64::MAX);
    if found > known {
        return Err(Error::NewerSchema { found, known });
    }
    if found == 0 && is_used(connection).map_err(|error| to_caller(&error))? {
        return Err(Error::corrupt("the file is a database of another program"));
    }
    for (version, sql) in (1_i64..).zip(migrations).filter(|(version, _)| *version > found) {
        apply(connection, version, sql)?;
    }
    Ok(())
}

/// Refuses a file that is not at the newest schema; for those who may not change it.
pub(crate) fn check(connection: &Connection) -> Result<()> {
    let found: i64 = connection
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .map_err(|error| to_caller(&error))?;
    let known = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    match found {
        0 => Err(Error::corrupt("the file is no database of Abide")),
        _ if found > known => Err(Error::NewerSchema { found, known }),
        _ if found < known => {
            let message = format!(
                "schema version {found} is older than {known}, which this program reads; an engine \
                 that opens the database brings it up to date"
            );
            Err(Error::Invalid { what: "database".into(), message })
        }
        _ => Ok(()),
    }
}

fn is_used(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT EXISTS (SELECT 1 FROM sqlite_master)", [], |row| row.get(0))
}

fn apply(connection: &mut Connection, version: i64, sql: &str) -> Result<(), Trouble> {
    let transaction = connection.transaction()?;
    transaction.execute_batch(sql)?;
    if version == KEYED {
        key_open_waits(&transaction)?;
    }
    transaction.pragma_update(None, "user_version", version)?;
    Ok(transaction.commit()?)
}

/// Makes the waits for events that are open findable. What they are found by is not for SQL to say.
/// Only what was there at that version is read.
fn key_open_waits(connection: &Connection) -> Result<(), Trouble> {
    let mut shapes = Shapes::read(connection)?;
    let mut open = connection.prepare(
        "SELECT key, instance, event_pattern, filter_folded FROM workflow_event_subscriptions
          WHERE status = 'active' AND kind = 'event'",
    )?;
    let mut insert = connection.prepare(
        "INSERT INTO subscription_keys (shape, key, wait, instance) VALUES (?1, ?2, ?3, ?4)",
    )?;
    let mut rows = open.query([])?;
    while let Some(row) = rows.next()? {
        let (wait, instance): (i64, i64) = (row.get(0)?, row.get(1)?);
        let (pattern, filter): (String, Option<String>) = (row.get(2)?, row.get(3)?);
        let corrupt =
            |refused| Error::corrupt(format!("filter of wait with key {wait}: {refused}"));
        let filter = filter.map(|text| Folded::parse(&text)).transpose().map_err(corrupt)?;
        for entry in index::entries(&pattern, filter.as_ref()) {
            let shape = shapes.id(connection, &entry.shape)?;
            insert.execute(params![shape, entry.key, wait, instance])?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use abide::store::Store;
    use abide::{Buffer, DocumentKind, InstanceKey, Kind, Phase, Status, WaitStatus};

    use super::*;

    fn migrated() -> Connection {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, MIGRATIONS).unwrap();
        connection
    }

    fn insert(connection: &Connection, key: i64, phase: &str, paused: bool) -> bool {
        let completed_at = phase.parse::<Phase>().is_ok_and(Phase::is_terminal).then_some(1);
        connection
            .execute(
                "INSERT INTO instances (key, id, workflow, version, run, phase, paused, input,
                     created_at, updated_at, completed_at, run_seq)
                 VALUES (?1, 'i' || ?1, 'w', 1, 1, ?2, ?3, 'null', 0, 0, ?4, 1)",
                rusqlite::params![key, phase, paused, completed_at],
            )
            .is_ok()
    }

    #[test]
    fn the_words_of_every_check_are_the_words_of_the_library() {
        let connection = migrated();
        for (key, phase) in (0..).zip(Phase::ALL) {
            assert!(insert(&connection, key, phase.as_str(), false), "{phase}");
        }
        assert!(!insert(&connection, 99, "vanished", false));

        let sql = MIGRATIONS.concat();
        let list = sql.split_once("CHECK (phase = ").unwrap().1;
        let list = list.split_once(')').unwrap().0;
        let words: Vec<&str> = list.split('\'').skip(1).step_by(2).collect();
        assert_eq!(words, Phase::ALL.iter().map(|phase| phase.as_str()).collect::<Vec<_>>());
    }

    #[test]
    fn the_status_column_says_what_the_library_says() {
        let connection = migrated();
        let mut key = 0;
        for phase in Phase::ALL {
            for paused in [false, true] {
                key += 1;
                assert!(insert(&connection, key, phase.as_str(), paused));
                let shown: String = connection
                    .query_row("SELECT status FROM instances WHERE key = ?1", [key], |r| r.get(0))
                    .unwrap();
                assert_eq!(shown.parse::<Status>().unwrap(), phase.status(paused));
            }
        }
    }

    #[test]
    fn the_words_about_events_are_the_words_of_the_library() {
        let words = |column: &str, table: &str| -> Vec<String> {
            let name = format!("CREATE TABLE {table} (");
            let table = MIGRATIONS.iter().find_map(|sql| sql.split_once(&name)).unwrap().1;
            let list = table.split_once(&format!("CHECK ({column} = ")).unwrap().1;
            let list = list.split_once(')').unwrap().0;
            list.split('\'').skip(1).step_by(2).map(str::to_owned).collect()
        };
        let kinds: Vec<&str> = Kind::ALL.iter().map(|kind| kind.as_str()).collect();
        assert_eq!(words("kind", "inbox_anew"), kinds);
        assert_eq!(
            words("kind", "workflow_event_subscriptions"),
            [&kinds[..], &["output"]].concat()
        );
        let statuses: Vec<&str> = WaitStatus::ALL.iter().map(|status| status.as_str()).collect();
        assert_eq!(words("status", "workflow_event_subscriptions"), statuses);
        let policies: Vec<&str> = Buffer::ALL.iter().map(|policy| policy.as_str()).collect();
        assert_eq!(words("buffer", "inbox_anew"), policies);
        let documents: Vec<&str> = DocumentKind::ALL.iter().map(|kind| kind.as_str()).collect();
        assert_eq!(words("kind", "documents_anew"), documents);
    }

    #[test]
    fn what_is_pending_is_found_however_much_was_consumed() {
        let connection = migrated();
        let plan = |sql: &str| -> String {
            let sql = format!("EXPLAIN QUERY PLAN {sql}");
            connection.query_row(&sql, [7], |row| row.get(3)).unwrap()
        };
        let load = plan(
            "SELECT size FROM inbox INDEXED BY inbox_pending
              WHERE instance = ?1 AND state = 'pending'",
        );
        assert_eq!(load, "SEARCH inbox USING COVERING INDEX inbox_pending (instance=?)");
        let open = plan(
            "SELECT id FROM workflow_event_subscriptions
              WHERE instance = ?1 AND status = 'active' ORDER BY key",
        );
        assert!(open.contains("USING INDEX workflow_event_subscriptions_open_idx"), "{open}");
        let held = plan(
            "SELECT size FROM inbox INDEXED BY inbox_held WHERE instance = ?1 AND state = 'held'",
        );
        assert_eq!(held, "SEARCH inbox USING COVERING INDEX inbox_held (instance=?)");
        let quiet = plan(
            "SELECT 1 FROM inbox INDEXED BY inbox_quiet
              WHERE instance = ?1 AND wake = 0 AND (state = 'pending' OR state = 'delayed')",
        );
        assert!(quiet.contains("INDEX inbox_quiet (instance=?)"), "{quiet}");
        let found = plan("SELECT wait, instance FROM subscription_keys WHERE shape = ?1");
        assert_eq!(found, "SEARCH subscription_keys USING PRIMARY KEY (shape=?)");
        let takers = plan("SELECT instance FROM inbox WHERE log = ?1 ORDER BY instance");
        assert_eq!(takers, "SEARCH inbox USING COVERING INDEX inbox_log (log=?)");
        let streams = plan("SELECT data FROM chunks WHERE instance = ?1 ORDER BY key");
        assert_eq!(streams, "SEARCH chunks USING INDEX chunks_instance (instance=?)");
        let holders = plan("SELECT wait FROM held WHERE entry = ?1");
        assert_eq!(holders, "SEARCH held USING COVERING INDEX held_entry (entry=?)");
    }

    #[test]
    fn a_later_migration_keeps_the_data_and_runs_once() {
        let mut connection = migrated();
        assert!(insert(&connection, 7, "running", false));
        let region = "ALTER TABLE instances ADD COLUMN region TEXT DEFAULT 'eu';";
        let later = [MIGRATIONS, &[region]].concat();
        for _ in 0..2 {
            migrate(&mut connection, &later).unwrap();
        }
        let row: (String, String) = connection
            .query_row("SELECT id, region FROM instances WHERE key = 7", [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .unwrap();
        assert_eq!(row, ("i7".to_owned(), "eu".to_owned()));
        let refused = migrate(&mut connection, MIGRATIONS);
        assert!(matches!(refused, Err(Error::NewerSchema { found: 6, known: 5 })));
    }

    #[test]
    fn a_file_of_the_first_version_keeps_instances_and_history() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("first.db");
        let mut connection = Connection::open(&path).unwrap();
        migrate(&mut connection, &MIGRATIONS[..1]).unwrap();
        assert!(
            insert(&connection, 1, "running", false) && insert(&connection, 2, "errored", true)
        );
        let row =
            r#"[{"type":"workflow.started","payload":null},{"type":"step.started","name":"a"}]"#;
        let append = "INSERT INTO history (instance, run, seq, numbered, at, entries)
                      VALUES (1, 1, 1, 2, 5, ?1)";
        connection.execute(append, [row]).unwrap();
        drop(connection);

        let connection = crate::file::open_writer(&path).unwrap();
        let version: i64 =
            connection.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
        assert_eq!(version, 5);
        let read =
            |key| crate::row::instance_by_key(&connection, InstanceKey(key)).unwrap().unwrap();
        let (running, errored) = (read(1), read(2));
        assert_eq!(
            (running.id.as_str(), running.phase, running.next_seq),
            ("i1", Phase::Running, 3)
        );
        assert_eq!((errored.id.as_str(), errored.status()), ("i2", Status::Errored));
        let history = crate::row::history_of_run(&connection, &running).unwrap();
        assert_eq!(history.iter().map(|recorded| recorded.seq).collect::<Vec<_>>(), [1, 2]);
        let events = "SELECT group_concat(type, ' ') FROM workflow_events";
        let events: String = connection.query_row(events, [], |row| row.get(0)).unwrap();
        assert_eq!(events, "workflow_started step_started");
    }

    #[test]
    fn a_file_of_the_second_version_keeps_waits_and_mail() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("second.db");
        let mut connection = Connection::open(&path).unwrap();
        migrate(&mut connection, &MIGRATIONS[..2]).unwrap();
        assert!(insert(&connection, 1, "waiting", false));
        connection
            .execute_batch(
                "INSERT INTO workflow_event_subscriptions (key, id, instance,
                     workflow_instance_id, run, kind, event_pattern, status, created_at,
                     wait_step_id)
                 VALUES (4, 'sub_w', 1, 'i1', 1, 'event', 'paid', 'active', 5, 'w');
                 INSERT INTO inbox (key, instance, nth, id, kind, name, payload, size,
                     received_at, visible_at, consumed_at, source, wake, buffer, state,
                     delivered, buffered)
                 VALUES (7, 1, 1, 'e1', 'event', 'old', '1', 1, 5, 5, 6, NULL, 1, 'latest',
                         'consumed', 1, 0),
                        (8, 1, 2, 'e2', 'event', 'early', '2', 1, 5, 5, NULL, 'i9', 1, 'latest',
                         'pending', 0, 1),
                        (9, 1, 3, 's1', 'signal', 'go', NULL, 0, 6, 9, NULL, NULL, 0, 'queue',
                         'delayed', 0, 1);",
            )
            .unwrap();
        let everything = "SELECT group_concat(quote(key) || quote(instance) || quote(nth)
              || quote(id) || quote(kind) || quote(name) || quote(payload) || quote(size)
              || quote(received_at) || quote(visible_at) || quote(consumed_at) || quote(source)
              || quote(wake) || quote(buffer) || quote(state) || quote(delivered)
              || quote(buffered), ';') FROM (SELECT * FROM inbox ORDER BY key)";
        let text = |connection: &Connection, sql: &str| -> String {
            connection.query_row(sql, [], |row| row.get(0)).unwrap()
        };
        let before = text(&connection, everything);
        drop(connection);

        let connection = crate::file::open_writer(&path).unwrap();
        assert_eq!(text(&connection, everything), before);
        let kept = crate::inbox::buffer(&connection, InstanceKey(1)).unwrap();
        assert_eq!(kept.iter().map(|kept| &*kept.id).collect::<Vec<_>>(), ["e2", "s1"]);
        let open = crate::waits::open(&connection, InstanceKey(1)).unwrap();
        assert_eq!((open.len(), &*open[0].id), (1, "sub_w"));
        assert!(open[0].filter.is_none() && open[0].race.is_none() && open[0].count.is_none());
        assert_eq!(text(&connection, "SELECT group_concat(event_name) FROM event_buffer"), "early");
        assert_eq!(text(&connection, "SELECT group_concat(id) FROM workflow_events"), "s1");
        connection.execute_batch("UPDATE inbox SET state = 'held' WHERE key = 8").unwrap();
        let taken = "INSERT INTO inbox SELECT 10, instance, nth, 'x', kind, name, payload, size,
            received_at, visible_at, consumed_at, source, wake, buffer, state, delivered, buffered,
            log, taken_at, place FROM inbox WHERE key = 7";
        assert!(connection.execute_batch(taken).is_err(), "numbers are still unique");
    }

    #[tokio::test]
    async fn open_waits_of_the_third_version_are_found_by_what_is_published() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("third.db");
        let mut connection = Connection::open(&path).unwrap();
        migrate(&mut connection, &MIGRATIONS[..3]).unwrap();
        assert!(insert(&connection, 1, "waiting", false));
        connection
            .execute_batch(
                r#"INSERT INTO workflow_event_subscriptions (key, id, instance,
                       workflow_instance_id, run, kind, event_pattern, status, created_at,
                       wait_step_id, filter_condition, filter_folded, fulfilled_by_event_id)
                   VALUES (1, 'sub_met', 1, 'i1', 1, 'event', 'old', 'fulfilled', 5, 'v', NULL,
                           NULL, 'e1'),
                          (2, 'sub_all', 1, 'i1', 1, 'event', 'order.*', 'active', 5, 'w', NULL,
                           NULL, NULL),
                          (3, 'sub_key', 1, 'i1', 1, 'event', 'order.paid', 'active', 5, 'x',
                           'event.payload.id === input.id', 'event.payload.id === "o-7"', NULL),
                          (4, 'sub_other', 1, 'i1', 1, 'event', 'order.paid', 'active', 5, 'y',
                           'event.payload.id === input.id', 'event.payload.id === "o-8"', NULL),
                          (5, 'sub_signal', 1, 'i1', 1, 'signal', 'order.paid', 'active', 5, 'z',
                           NULL, NULL, NULL);
                   INSERT INTO inbox (key, instance, nth, id, kind, name, payload, size,
                       received_at, visible_at, consumed_at, source, wake, buffer, state,
                       delivered, buffered)
                   VALUES (7, 1, 1, 'e1', 'event', 'old', '1', 1, 5, 5, 6, NULL, 1, 'latest',
                           'consumed', 1, 0);"#,
            )
            .unwrap();
        drop(connection);

        let store = crate::SqliteStore::open(&path).await.unwrap();
        let payload = abide::Json::from_stored(r#"{"id":"o-7"}"#.to_owned()).unwrap();
        let event = abide::Publication {
            id: Some("e".to_owned()),
            payload: Some(payload),
            ..abide::Publication::new("order.paid")
        };
        let verdict = store.publish(abide::Publish::new(event)).await.unwrap();
        let matched: Vec<&str> =
            verdict.matched.iter().map(|matched| &*matched.subscription_id).collect();
        assert_eq!(matched, ["sub_all", "sub_key"]);
        store.close().await.unwrap();
        let connection = Connection::open(&path).unwrap();
        let number =
            |sql: &str| -> i64 { connection.query_row(sql, [], |row| row.get(0)).unwrap() };
        assert_eq!(number("SELECT wait FROM subscription_keys"), 4);
        let met = "SELECT fulfilled_by_entry FROM workflow_event_subscriptions WHERE key = 1";
        assert_eq!(number(met), 7);
    }

    #[tokio::test]
    async fn documents_of_the_fourth_version_are_kept_and_may_be_of_more_kinds() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("fourth.db");
        let mut connection = Connection::open(&path).unwrap();
        migrate(&mut connection, &MIGRATIONS[..4]).unwrap();
        connection
            .execute_batch(
                "INSERT INTO documents (kind, name, version, body, updated_at)
                 VALUES ('trigger', 't', 1, '1', 5), ('trigger', 't', 2, '2', 6),
                        ('workflow', 'w', 1, '3', 7)",
            )
            .unwrap();
        let everything = "SELECT group_concat(kind || name || version || body || updated_at)
                            FROM (SELECT * FROM documents ORDER BY kind, name, version)";
        let text = |connection: &Connection| -> String {
            connection.query_row(everything, [], |row| row.get(0)).unwrap()
        };
        let before = text(&connection);
        assert_eq!(before, "triggert115,triggert226,workfloww137");
        drop(connection);

        let store = crate::SqliteStore::open(&path).await.unwrap();
        assert_eq!(text(&Connection::open(&path).unwrap()), before);
        for kind in DocumentKind::ALL {
            let body = abide::Json::encode(&kind.as_str()).unwrap();
            store.put_document(*kind, "x", body.clone()).await.unwrap();
            let found = store.document(*kind, "x", None).await.unwrap().unwrap();
            assert_eq!((found.kind, found.version, found.body), (*kind, 1, body));
        }
    }

    #[test]
    fn a_migration_that_fails_leaves_the_version_before_it() {
        let mut connection = migrated();
        let broken = [MIGRATIONS, &["CREATE TABLE half (a); CREATE TABLE half (a);"]].concat();
        assert!(migrate(&mut connection, &broken).is_err());
        migrate(&mut connection, MIGRATIONS).unwrap();
        assert!(connection.prepare("SELECT * FROM half").is_err());
    }
}
