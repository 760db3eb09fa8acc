//! Documents that the store does not look into.

use std::time::Duration;

use abide::{Clock, Document, DocumentKind, Json};

use crate::Lab;
use crate::fixture::json;

const TRIGGER: DocumentKind = DocumentKind::Trigger;
const DEFINITION: DocumentKind = DocumentKind::EventDefinition;

async fn put(lab: &Lab, name: &str, body: impl serde::Serialize) -> Document {
    lab.store.put_document(TRIGGER, name, json(body)).await.unwrap()
}

async fn versions(lab: &Lab, kind: DocumentKind) -> Vec<String> {
    let all = lab.store.documents(kind).await.unwrap();
    all.iter().map(|it| format!("{} {}", it.name, it.version)).collect()
}

pub async fn it_reads_back_as_it_was_put(lab: &Lab) {
    let body = Json::from_stored(r#"{"b": 1.0,  "a": null}"#.into()).unwrap();
    let put = lab.store.put_document(TRIGGER, "t", body.clone()).await.unwrap();
    let updated_at = lab.clock.now();
    let expected = Document { kind: TRIGGER, name: "t".into(), version: 1, body, updated_at };
    assert_eq!(put, expected);
    lab.clock.advance(Duration::from_millis(5));
    assert_eq!(lab.store.document(TRIGGER, "t", None).await.unwrap(), Some(expected.clone()));
    assert_eq!(lab.store.documents(TRIGGER).await.unwrap(), [expected]);
}

pub async fn a_change_is_the_next_version_and_the_same_again_is_not(lab: &Lab) {
    let first = put(lab, "t", 1).await;
    lab.clock.advance(Duration::from_millis(5));
    assert_eq!(put(lab, "t", 1).await, first);
    let second = put(lab, "t", 2).await;
    assert_eq!((second.version, second.updated_at), (2, lab.clock.now()));
    assert_eq!(put(lab, "t", 1).await.version, 3, "it is compared with the last one only");
    let read = async |version| lab.store.document(TRIGGER, "t", Some(version)).await.unwrap();
    assert_eq!(read(1).await, Some(first));
    assert_eq!(read(2).await, Some(second));
    assert_eq!(read(4).await, None);
    assert_eq!(versions(lab, TRIGGER).await, ["t 3"]);
}

pub async fn of_a_sink_only_the_last_version_is_kept(lab: &Lab) {
    let put = async |body: u32| {
        lab.store.put_document(DocumentKind::Sink, "s", json(body)).await.unwrap().version
    };
    assert_eq!((put(1).await, put(2).await, put(2).await, put(3).await), (1, 2, 2, 3));
    let read = async |version| lab.store.document(DocumentKind::Sink, "s", version).await.unwrap();
    assert_eq!(read(None).await.unwrap().body, json(3));
    assert_eq!((read(Some(1)).await, read(Some(2)).await), (None, None));
    assert_eq!(versions(lab, DocumentKind::Sink).await, ["s 3"]);
}

pub async fn the_latest_are_listed_by_name(lab: &Lab) {
    for (name, body) in [("b", 1), ("a", 1), ("c", 1), ("a", 2)] {
        put(lab, name, body).await;
    }
    assert_eq!(versions(lab, TRIGGER).await, ["a 2", "b 1", "c 1"]);
}

pub async fn kinds_do_not_know_of_each_other(lab: &Lab) {
    put(lab, "x", 1).await;
    lab.store.put_document(DEFINITION, "x", json(2)).await.unwrap();
    assert_eq!(lab.store.document(DEFINITION, "x", None).await.unwrap().unwrap().version, 1);
    assert!(lab.store.remove_document(TRIGGER, "x").await.unwrap());
    assert_eq!(versions(lab, DEFINITION).await, ["x 1"]);
    assert!(versions(lab, TRIGGER).await.is_empty());
}

pub async fn removing_one_removes_its_versions(lab: &Lab) {
    put(lab, "t", 1).await;
    put(lab, "t", 2).await;
    assert!(lab.store.remove_document(TRIGGER, "t").await.unwrap());
    assert!(!lab.store.remove_document(TRIGGER, "t").await.unwrap());
    assert_eq!(lab.store.document(TRIGGER, "t", None).await.unwrap(), None);
    assert_eq!(lab.store.document(TRIGGER, "t", Some(1)).await.unwrap(), None);
    assert_eq!(put(lab, "t", 2).await.version, 1);
}
