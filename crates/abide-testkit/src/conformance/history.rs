//! Reading what happened.

use abide::history::{Entry, EntryKind, StepKind};
use abide::store::IfExists;
use abide::{NewInstance, WaitFilter};

use crate::fixture::{Does, does, id, instance};
use crate::{Lab, in_words};

async fn page(lab: &Lab, after: i64, limit: usize) -> Vec<String> {
    let page = lab.store.history(&id("a"), after, limit).await.unwrap();
    page.iter().map(in_words).collect()
}

/// Seven entries in three rows of uneven length, with marks between them.
async fn write(lab: &Lab) {
    let mark = Entry::of_step(EntryKind::Seen, &"m".into(), StepKind::Child);
    let runner = lab.begin("a").await;
    let long = does().completes_step("2").completes_step("3").records(&mark);
    lab.stored(runner, long.completes_step("4").completes_step("5")).await;
    lab.stored(runner, does().records(&mark).completes_step("6").completes_step("7")).await;
}

pub async fn it_is_read_in_pages_that_may_cut_a_row(lab: &Lab) {
    write(lab).await;
    assert_eq!(page(lab, 0, 3).await.last().unwrap(), "3 step.completed 3");
    let middle = ["4 step.completed 4", "5 step.completed 5", "6 step.completed 6"];
    assert_eq!(page(lab, 3, 3).await, middle);
    assert_eq!(page(lab, 6, 3).await, ["7 step.completed 7"]);
    assert!(page(lab, 7, 3).await.is_empty());
}

pub async fn every_cut_gives_the_same_whole(lab: &Lab) {
    write(lab).await;
    let whole = lab.story("a").await;
    for limit in 1..=8 {
        let mut read = Vec::new();
        loop {
            let more = page(lab, i64::try_from(read.len()).unwrap(), limit).await;
            assert!(more.len() <= limit);
            if more.is_empty() {
                break;
            }
            read.extend(more);
        }
        assert_eq!(read, whole);
    }
}

pub async fn it_goes_on_through_all_runs(lab: &Lab) {
    write(lab).await;
    lab.restart("a").await;
    assert_eq!(page(lab, 6, 9).await.len(), 3);
    let runs: Vec<u32> = lab.history("a").await.iter().map(|recorded| recorded.run).collect();
    assert_eq!(runs, [1, 1, 1, 1, 1, 1, 1, 2, 2]);
}

pub async fn an_overview_has_the_current_run_and_the_waits(lab: &Lab) {
    write(lab).await;
    lab.restart("a").await;
    let overview = lab.store.overview(&id("a")).await.unwrap().unwrap();
    let instance = lab.store.instance(&id("a")).await.unwrap().unwrap();
    let whole = lab.history("a").await;
    let current: Vec<_> = whole.into_iter().filter(|one| one.run == instance.run).collect();
    assert!(!current.is_empty());
    assert_eq!(overview.history, current);
    let filter = WaitFilter { instance: Some(id("a")), ..WaitFilter::default() };
    assert_eq!(overview.waits, lab.store.waits(filter).await.unwrap());
    assert_eq!(overview.instance, instance);
    assert!(lab.store.overview(&id("nobody")).await.unwrap().is_none());
}

pub async fn of_an_instance_that_is_not_there_is_refused(lab: &Lab) {
    let refused = lab.store.history(&id("a"), 0, 10).await.unwrap_err();
    assert_eq!(refused.code(), "WORKFLOW_NOT_FOUND");
}

pub async fn of_an_instance_that_has_not_begun_there_is_none(lab: &Lab) {
    let new = NewInstance { start_at: Some(lab.in_ms(5)), ..instance("a") };
    lab.start(vec![new], IfExists::Error).await.unwrap();
    assert!(page(lab, 0, 10).await.is_empty());
}
