//! Finding what should be running and is not.

use abide::store::IfExists;
use abide::{InstanceKey, NewInstance, Phase};

use crate::Lab;
use crate::fixture::{Does, does, instance};

pub async fn what_nobody_claimed_comes_in_order(lab: &Lab) {
    for name in ["c", "a", "b"] {
        let runner = lab.begin(name).await;
        lab.release(runner).await;
    }
    assert_eq!(lab.runnable().await, ["c", "a", "b"]);
    lab.take("a").await;
    assert_eq!(lab.runnable().await, ["c", "b"]);
}

pub async fn it_is_read_in_pages(lab: &Lab) {
    let mut keys = Vec::new();
    for name in ["a", "b", "c", "d", "e"] {
        let runner = lab.begin(name).await;
        keys.push(runner.key);
        lab.release(runner).await;
    }
    let mut found = Vec::new();
    let mut after = InstanceKey(0);
    loop {
        let page = lab.store.runnable(after, 2).await.unwrap();
        assert!(page.len() <= 2);
        let Some(last) = page.last() else { break };
        after = *last;
        found.extend(page);
    }
    assert_eq!(found, keys);
}

pub async fn what_is_parked_paused_or_ended_is_left_out(lab: &Lab) {
    for (name, did) in [
        ("waiting", does().waits()),
        ("sleeping", does().sleeps_until(lab.in_ms(5))),
        ("paused", does().pauses()),
        ("paused and queued", does().parks(Phase::Queued, None).pauses()),
        ("completed", does().completes(1)),
        ("errored", does().errs("no")),
    ] {
        let runner = lab.begin_doing(name, did).await;
        lab.release(runner).await;
    }
    assert!(lab.runnable().await.is_empty());
    lab.resume("paused").await;
    assert_eq!(lab.runnable().await, ["paused"]);
}

pub async fn what_is_queued_without_a_wake_up_could_begin_at_any_time(lab: &Lab) {
    let limited = lab.begin_doing("limited", does().parks(Phase::Queued, None)).await;
    let timed = lab.begin_doing("timed", does().parks(Phase::Queued, Some(lab.in_ms(5)))).await;
    lab.release(limited).await;
    lab.release(timed).await;
    let new = NewInstance { start_at: Some(lab.in_ms(5)), ..instance("later") };
    lab.start(vec![new], IfExists::Error).await.unwrap();
    assert_eq!(lab.runnable().await, ["limited"]);
}
