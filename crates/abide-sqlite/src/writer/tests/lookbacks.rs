//! Waits that look back to more than is looked at at once.

use std::time::Duration;

use abide::store::Store;
use abide::{LogRetention, NewWait, Timestamp, WaitStatus};

use super::publishing::{Shop, event, met_by, publish, reach, start, wait, wants};
use crate::SqliteStore;
use crate::paths::MAX_PATHS;
use crate::writer::lookback::AT_ONCE;

const MANY: usize = AT_ONCE * 2 + AT_ONCE / 2;

/// Publishes many, each with a number of its own and its half.
async fn fill(store: &SqliteStore) {
    let events = (0..MANY).map(|n| {
        let payload = serde_json::json!({ "n": n, "half": n / 2, "big": n >= MANY / 2 });
        store.publish(event("paid", &format!("e{n}"), &payload))
    });
    let queued: Vec<_> = events.collect();
    for verdict in queued {
        verdict.await.unwrap();
    }
}

fn number(id: &str, n: usize) -> NewWait {
    wants(id, "paid", Some(&format!("event.payload.n === {n}")))
}

#[tokio::test]
async fn what_is_too_much_to_be_looked_at_at_once_is_found_later() {
    let shop = Shop::new(|options| options);
    let store = shop.open().await;
    let (a, b) = (start(&store, "a", None).await, start(&store, "b", None).await);
    fill(&store).await;
    store.rest(true);
    reach(&store, a, number("a", MANY - 5)).await;
    assert_eq!(met_by(&store, "a").await, None);
    store.rest(false);
    shop.is_quiet().await;
    assert_eq!(met_by(&store, "a").await, Some(format!("e{}", MANY - 5)));

    // From now on it is looked up.
    store.rest(true);
    reach(&store, b, number("b", MANY - 5)).await;
    assert_eq!(met_by(&store, "b").await, Some(format!("e{}", MANY - 5)));
    let keys = "SELECT count(*) FROM event_keys";
    assert_eq!(shop.count(keys), MANY as i64);
}

#[tokio::test]
async fn a_look_back_goes_on_when_the_store_is_opened_again() {
    let shop = Shop::new(|options| options);
    let store = shop.open().await;
    let claim = start(&store, "a", None).await;
    fill(&store).await;
    store.rest(true);
    reach(&store, claim, number("a", MANY - 1)).await;
    // Two of them would do: the older one wins, however late somebody looks.
    let pair = format!("event.payload.half === {}", (MANY - 2) / 2);
    reach(&store, claim, wants("pair", "pa*", Some(&pair))).await;
    reach(&store, claim, wants("other", "paid", Some(&pair))).await;
    assert_eq!(store.figures().looking_back, 2);
    drop(store);
    assert_eq!(shop.count("SELECT count(*) FROM lookbacks"), 2);
    assert_eq!(shop.count("SELECT count(*) FROM event_paths WHERE done < upto"), 2);

    let store = shop.open().await;
    shop.is_quiet().await;
    assert_eq!(met_by(&store, "a").await, Some(format!("e{}", MANY - 1)));
    assert_eq!(met_by(&store, "pair").await, None, "a star is a part of a name here");
    assert_eq!(met_by(&store, "other").await, Some(format!("e{}", MANY - 2)));
    // Whoever is answered finds the figures as of then.
    publish(&store, "nobody", "last", 1).await;
    assert_eq!(store.figures().looking_back, 0);
}

#[tokio::test]
async fn a_wait_that_is_about_to_give_up_looks_at_everything_first() {
    let shop = Shop::new(|options| options);
    let store = shop.open().await;
    let claim = start(&store, "a", None).await;
    fill(&store).await;
    store.rest(true);
    let timeout_at = Some(Timestamp(1_010));
    reach(&store, claim, NewWait { timeout_at, ..number("a", MANY - 1) }).await;
    reach(&store, claim, NewWait { timeout_at, ..number("none", MANY + 1) }).await;
    shop.clock.advance(Duration::from_millis(20));
    store.fall_due(vec![claim.0]).await.unwrap();
    assert_eq!(met_by(&store, "a").await, Some(format!("e{}", MANY - 1)));
    assert_eq!(wait(&store, "none").await.status, WaitStatus::Expired);
}

#[tokio::test]
async fn more_paths_than_are_indexed_are_looked_at_all_the_same() {
    let shop = Shop::new(|options| options);
    let store = shop.open().await;
    let claim = start(&store, "a", None).await;
    fill(&store).await;
    for path in 0..=MAX_PATHS {
        let filter = format!("event.payload.n === {} && event.payload.x{path} === 1", MANY - 3);
        reach(&store, claim, wants(&format!("x{path}"), "paid", Some(&filter))).await;
    }
    reach(&store, claim, number("a", MANY - 2)).await;
    shop.is_quiet().await;
    assert_eq!(shop.count("SELECT count(*) FROM event_paths"), MAX_PATHS as i64);
    assert_eq!(met_by(&store, "a").await, Some(format!("e{}", MANY - 2)));
}

#[tokio::test]
async fn what_is_pruned_can_not_be_looked_up() {
    let shop = Shop::new(|options| options);
    let store = shop.open().await;
    let claim = start(&store, "a", None).await;
    publish(&store, "paid", "e1", 1).await;
    publish(&store, "paid", "e2", 2).await;
    reach(&store, claim, number("a", 1)).await;
    assert_eq!(met_by(&store, "a").await.as_deref(), Some("e1"));
    assert_eq!(shop.count("SELECT count(*) FROM event_keys"), 2);
    let few = LogRetention { max_per_type: Some(1), ..LogRetention::default() };
    assert_eq!(store.prune_log(few, 100).await.unwrap(), 1);
    assert_eq!(shop.count("SELECT count(*) FROM event_keys"), 1);
    let none = LogRetention { max_per_type: Some(0), ..LogRetention::default() };
    assert_eq!(store.prune_log(none, 100).await.unwrap(), 1);
    let left = "SELECT (SELECT count(*) FROM event_keys) + (SELECT count(*) FROM event_paths)
                     + (SELECT count(*) FROM event_types)";
    assert_eq!(shop.count(left), 0);
    drop(store);
    let store = shop.open().await;
    assert_eq!(publish(&store, "paid", "e1", 1).await.seq, Some(3), "numbers are not used again");
    assert!(shop.path().exists());
}
