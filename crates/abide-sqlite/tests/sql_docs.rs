//! `docs/sql.md` is right: every query of it finds something in a database that an engine filled, and
//! every table, column and index that it names is there.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail their test")]

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use abide::prelude::*;
use abide::{BoxError, Engine, EventDefinition};
use abide_sqlite::SqliteStore;
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};

fn doc() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sql.md");
    fs::read_to_string(path).unwrap()
}

/// What stands between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// A text without what stands in parentheses.
fn plain(text: &str) -> String {
    let mut depth = 0_usize;
    let outside = text.chars().filter(|character| match character {
        '(' => {
            depth += 1;
            false
        }
        ')' => {
            depth = depth.saturating_sub(1);
            false
        }
        _ => depth == 0,
    });
    outside.collect()
}

async fn order(cx: Cx, (): ()) -> Result<String> {
    let is_first = AtomicBool::new(true);
    let retry = Retry::times(3).delay(Duration::ZERO);
    cx.step("reserve", || async {
        match is_first.swap(false, Ordering::Relaxed) {
            true => Err(BoxError::from("out of stock")),
            false => Ok(17),
        }
    })
    .retry(retry)
    .await?;
    cx.set_output("progress", 0.5)?;
    let parcel = cx.child::<()>("parcel", ()).detached().await?;
    let paid: Event<Value> =
        cx.wait_for_event("payment").on("payment.received").timeout("30 minutes").await?;
    Ok(format!("{parcel:?} {}", paid.payload))
}

async fn parcel(_: Cx, (): ()) -> Result<()> {
    Ok(())
}

async fn impatient(cx: Cx, (): ()) -> Result<()> {
    cx.wait_for_event::<Value>("never").timeout("1 ms").await?;
    Ok(())
}

async fn sleeper(cx: Cx, (): ()) -> Result<()> {
    cx.sleep("night", "1 day").await
}

/// An engine to whose instances happened what the page asks for.
async fn filled(path: &Path) -> Engine {
    let engine = Engine::builder(SqliteStore::open(path).await.unwrap())
        .workflow("order", order)
        .workflow("parcel", parcel)
        .workflow("impatient", impatient)
        .workflow("sleeper", sleeper)
        .start()
        .await
        .unwrap();
    let definition = EventDefinition::of(json!({"type": "object"}));
    engine.define_event("payment.received", definition).await.unwrap();
    let begin = async |workflow: &str, id: &str| {
        let handle = engine.start(workflow, Start::new(&()).id(id)).await.unwrap();
        handle.settled().await.unwrap();
        handle
    };
    let first = begin("order", "order-1").await;
    let paid = Event::new("payment.received", json!({"amount": 120}));
    assert_eq!(engine.publish(paid).await.unwrap().matched_count, 1);
    first.result::<String>().await.unwrap();
    engine.publish(Event::new("nobody.cares", json!({}))).await.unwrap();
    let second = begin("order", "order-2").await;
    second.send_event("note", &"hurry").await.unwrap();
    second.signal("approve", &true).await.unwrap();
    begin("impatient", "i").await.result::<()>().await.unwrap_err();
    begin("sleeper", "s").await;
    engine
}

#[tokio::test]
async fn every_query_of_the_page_finds_something() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("abide.db");
    let engine = filled(&path).await;
    let sql = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let text = doc();
    let queries = text.split("```sql\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let mut asked = 0;
    for query in queries {
        let prepared = sql.prepare(query);
        let mut prepared = prepared.unwrap_or_else(|wrong| panic!("{wrong}: {query}"));
        let mut rows = prepared.query([]).unwrap();
        let found = rows.next().unwrap_or_else(|wrong| panic!("{wrong}: {query}"));
        assert!(found.is_some(), "finds nothing: {query}");
        asked += 1;
    }
    assert!(asked > 15, "{asked} queries");
    engine.shutdown().await;
}

#[tokio::test]
async fn every_table_column_and_index_of_the_page_is_there() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("abide.db");
    let _store = SqliteStore::open(&path).await.unwrap();
    let sql = Connection::open(&path).unwrap();
    let columns = |of: &str, pragma: &str| -> Vec<String> {
        let query = format!("SELECT name FROM pragma_{pragma}('{of}')");
        let mut prepared = sql.prepare(&query).unwrap();
        let names = prepared.query_map([], |row| row.get(0)).unwrap();
        names.map(|name| name.unwrap()).collect()
    };
    let text = doc();
    let section = text.split_once("## Tables and views").unwrap().1.split("\n## ").next().unwrap();
    let (mut tables, mut indexes) = (0, 0);
    for row in section.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        if let ([name, _, told], Some(table)) = (&cells[..], quoted(cells[0]).next()) {
            let there = columns(table, "table_xinfo");
            for column in quoted(&plain(told)) {
                assert!(there.iter().any(|known| known == column), "{name}: {column} in {there:?}");
            }
            tables += 1;
        }
        for index in quoted(cells[cells.len() - 1]) {
            let Some((name, told)) = index.split_once(" (").filter(|_| cells.len() == 2) else {
                continue;
            };
            let told: Vec<&str> = told.trim_end_matches(')').split(", ").collect();
            assert_eq!(columns(name, "index_info"), told, "{name}");
            indexes += 1;
        }
    }
    assert_eq!((tables, indexes), (10, 4));
}
