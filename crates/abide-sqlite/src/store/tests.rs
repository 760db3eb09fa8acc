//! Tests of what waits.

use std::sync::mpsc::channel;

use super::*;

#[tokio::test]
async fn what_waits_for_the_writer_is_counted() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let claims = Arc::clone(&store.inner.shared.claims);
    // The writer needs them, so it stands still with what it took first.
    let held = claims.lock();
    let forget = |name: &str| store.remove_document(DocumentKind::Trigger, name);
    let first = forget("a");
    while store.figures().queued > 0 {
        thread::yield_now();
    }
    let others = [forget("b"), forget("c")];
    assert_eq!(store.figures().queued, 2);
    drop(held);
    first.await.unwrap();
    for other in others {
        other.await.unwrap();
    }
    assert_eq!(store.figures().queued, 0);
}

#[tokio::test]
async fn what_waits_for_a_reader_is_counted() {
    let store = SqliteStore::open_temporary().await.unwrap();
    let (begun, begins) = channel();
    let (gates, reads): (Vec<_>, Vec<_>) = (0..crate::reader::THREADS)
        .map(|_| {
            let (begun, (gate, opened)) = (begun.clone(), channel::<()>());
            let read = store.read(move |_| {
                begun.send(()).unwrap();
                // Until the gate is dropped.
                let _ = opened.recv();
                Ok(())
            });
            (gate, read)
        })
        .unzip();
    (0..gates.len()).for_each(|_| begins.recv().unwrap());
    assert_eq!(store.figures().reads_queued, 0);
    let last = store.census();
    assert_eq!(store.figures().reads_queued, 1);
    drop(gates);
    for read in reads {
        read.await.unwrap();
    }
    last.await.unwrap();
    assert_eq!(store.figures().reads_queued, 0);
}
