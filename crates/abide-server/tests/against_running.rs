//! `abide validate --against-running`, beside an engine that owns the database.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use abide::store::Store;
use abide::{Cx, DocumentKind, Engine, InstanceId, Json, Start};
use abide_flow::{Equipment, Flows};
use abide_sqlite::SqliteStore;
use serde_json::{Value, json};

const BEFORE: &str = "
name: order
steps:
  - {id: reserve, set: {reserved: true}}
  - {id: charge, set: {charged: true}}
  - {id: pay, waitForEvent: {eventPattern: paid, timeout: 30 days}}
  - {id: ship, set: {shipped: true}}
";

/// Without `charge`, and sleeping where it waited.
const AFTER: &str = "
name: order
steps:
  - {id: reserve, set: {reserved: true}}
  - {id: pay, sleep: 1 day}
  - {id: pack, set: {packed: true}}
  - {id: ship, set: {shipped: true}}
";

/// The same with one more step at the end.
const LONGER: &str = "
name: order
steps:
  - {id: reserve, set: {reserved: true}}
  - {id: charge, set: {charged: true}}
  - {id: pay, waitForEvent: {eventPattern: paid, timeout: 30 days}}
  - {id: ship, set: {shipped: true}}
  - {id: thank, set: {thanked: true}}
";

/// An engine with documents on a database in a directory.
async fn engine(directory: &Path) -> (Engine, Flows) {
    let store = SqliteStore::open(directory.join("abide.db")).await.unwrap();
    let equipment = Arc::new(Equipment::new().unwrap());
    let engine = Engine::builder(store).start().await.unwrap();
    (engine.clone(), Flows::new(engine, equipment))
}

async fn park(engine: &Engine, workflow: &str, id: &str) {
    let start = Start::new(&json!({})).id(id);
    engine.start(workflow, start).await.unwrap().settled().await.unwrap();
}

fn validate(directory: &Path, arguments: &[&str]) -> Output {
    let mut abide = Command::new(env!("CARGO_BIN_EXE_abide"));
    abide.current_dir(directory).arg("validate").args(arguments).env_remove("RUST_LOG");
    abide.output().unwrap()
}

fn told(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn running(directory: &Path, document: &str) -> Value {
    std::fs::write(directory.join("new.yaml"), document).unwrap();
    let output = validate(directory, &["--against-running", "--json", "new.yaml"]);
    let told: Value = serde_json::from_str(&told(&output)).unwrap();
    told["files"][0]["running"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn instances_of_older_versions_are_counted_by_what_stands_in_their_way() {
    let directory = tempfile::tempdir().unwrap();
    let (engine, flows) = engine(directory.path()).await;
    flows.register(BEFORE).await.unwrap();
    park(&engine, "order", "one").await;
    park(&engine, "order", "two").await;
    park(&engine, "order", "done").await;
    let done = engine.get(&InstanceId::new("done").unwrap());
    done.send_event("paid", &json!({})).await.unwrap();
    done.ended().await.unwrap();

    let same = running(directory.path(), BEFORE);
    assert_eq!((&same["version"], &same["instances"]), (&json!(1), &json!(0)));

    let longer = running(directory.path(), LONGER);
    let expect = json!({
        "workflow": "order", "version": 2, "instances": 2, "safe": 2, "unsafe": 0, "unknown": 0,
        "versions": {"1": 2}, "steps": [],
    });
    assert_eq!(longer, expect);

    let other = running(directory.path(), AFTER);
    assert_eq!((&other["safe"], &other["unsafe"]), (&json!(0), &json!(2)));
    let steps = json!([
        {"step": "charge", "kind": "set", "becomes": null, "instances": 2, "waiting": 0},
        {"step": "pay", "kind": "waitForEvent", "becomes": "sleep", "instances": 2, "waiting": 2},
    ]);
    assert_eq!(other["steps"], steps);
    engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn people_get_a_table_and_documents_with_problems_no_numbers() {
    let directory = tempfile::tempdir().unwrap();
    let (engine, flows) = engine(directory.path()).await;
    flows.register(BEFORE).await.unwrap();
    park(&engine, "order", "one").await;
    for (name, text) in [("after.yaml", AFTER), ("bad.yaml", "name: order\nsteps: 1\n")] {
        std::fs::write(directory.path().join(name), text).unwrap();
    }
    let table = told(&validate(directory.path(), &["--against-running", "after.yaml"]));
    for part in ["after.yaml: ok", "1 on version 1", "0 would be safe, 1 would not", "now sleep"] {
        assert!(table.contains(part), "{part:?} is missing in\n{table}");
    }
    let bad = validate(directory.path(), &["--against-running", "bad.yaml"]);
    assert!(!bad.status.success());
    assert!(!String::from_utf8_lossy(&bad.stdout).contains("running"));
    engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn instances_whose_document_can_no_longer_be_read_are_told_apart() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path().join("abide.db")).await.unwrap();
    let unreadable = Json::encode("name: order\nsteps: what it once was").unwrap();
    store.put_document(DocumentKind::Workflow, "order", unreadable).await.unwrap();
    let sleeps = async |cx: Cx, _: Value| cx.sleep("night", "1 day").await;
    let engine = Engine::builder(store).workflow("order", sleeps).start().await.unwrap();
    park(&engine, "order", "one").await;
    let told = running(directory.path(), AFTER);
    assert_eq!((&told["instances"], &told["unknown"]), (&json!(1), &json!(1)), "{told}");
    engine.shutdown().await;
}

#[test]
fn a_database_that_is_not_there_is_named() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("new.yaml"), AFTER).unwrap();
    let refused = |arguments: &[&str], part: &str| {
        let output = validate(directory.path(), arguments);
        assert!(!output.status.success(), "{arguments:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(part), "{arguments:?} said {said}");
    };
    refused(&["--against-running", "new.yaml"], "abide.db");
    refused(&["--against-running", "--store", "sqlite:other.db", "new.yaml"], "other.db");
    refused(&["--store", "sqlite:other.db", "new.yaml"], "--against-running");
    std::fs::write(directory.path().join("abide.db"), "precious").unwrap();
    refused(&["--against-running", "new.yaml"], "abide.db");
    assert!(!directory.path().join("other.db").exists());
}
