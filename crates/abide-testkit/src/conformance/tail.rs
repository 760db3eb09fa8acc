//! The history of all instances.

use std::time::Duration;

use abide::history::{Entry, EntryKind, StepKind};
use abide::{Status, Tail, TailRow};

use crate::fixture::{Does, does, published, wait_where};
use crate::{Lab, Recorder, in_words};

const ALL: usize = 1000;

async fn tail(lab: &Lab, after: i64, limit: usize) -> Tail {
    lab.store.tail(after, limit).await.unwrap()
}

fn told(rows: &[TailRow]) -> Vec<String> {
    let entries = rows.iter().flat_map(|row| row.recorded.iter().map(move |entry| (row, entry)));
    entries.map(|(row, entry)| format!("{} {}", row.id, in_words(entry))).collect()
}

pub async fn rows_of_all_instances_come_in_the_order_of_commits(lab: &Lab) {
    let (a, b) = (lab.begin("a").await, lab.begin("b").await);
    lab.stored(b, does().completes_step("x").completes_step("y")).await;
    lab.stored(a, does().completes_step("z")).await;
    let Tail { rows, head } = tail(lab, 0, ALL).await;
    let expected = [
        "a 1 workflow.started",
        "b 1 workflow.started",
        "b 2 step.completed x",
        "b 3 step.completed y",
        "a 2 step.completed z",
    ];
    assert_eq!(told(&rows), expected);
    assert_eq!(rows.iter().map(|row| row.recorded.len()).collect::<Vec<_>>(), [1, 1, 2, 1]);
    assert!(rows.is_sorted_by(|one, next| one.row < next.row));
    assert_eq!(rows.last().unwrap().row, head);
    assert!(rows.iter().all(|row| &*row.workflow == "flow" && row.status == Status::Running));
    assert_eq!((rows[0].key, rows[1].key), (a.key, b.key));
}

pub async fn it_is_read_in_pages_and_goes_on_where_it_ended(lab: &Lab) {
    let a = lab.begin("a").await;
    for step in ["1", "2", "3", "4"] {
        lab.stored(a, does().completes_step(step)).await;
    }
    let whole = tail(lab, 0, ALL).await;
    let (mut read, mut after) = (Vec::new(), 0);
    loop {
        let page = tail(lab, after, 2).await;
        assert_eq!(page.head, whole.head);
        let Some(last) = page.rows.last() else { break };
        after = last.row;
        read.extend(page.rows);
    }
    assert_eq!(read, whole.rows);
    assert_eq!(tail(lab, whole.head, ALL).await.rows, []);
    lab.stored(a, does().completes_step("5")).await;
    assert_eq!(told(&tail(lab, whole.head, ALL).await.rows), ["a 6 step.completed 5"]);
}

pub async fn without_a_limit_only_the_end_is_told(lab: &Lab) {
    assert_eq!(tail(lab, 0, 0).await, Tail { rows: vec![], head: 0 });
    lab.begin("a").await;
    let head = tail(lab, 0, ALL).await.rows.last().unwrap().row;
    assert_eq!(tail(lab, i64::MAX, 0).await, Tail { rows: vec![], head });
}

pub async fn marks_are_left_out_and_rows_that_have_nothing_else(lab: &Lab) {
    let mark = Entry::of_step(EntryKind::Seen, &"m".into(), StepKind::Child);
    let a = lab.begin("a").await;
    lab.stored(a, does().records(&mark).completes_step("x")).await;
    lab.stored(a, does().records(&mark).waits()).await;
    let rows = tail(lab, 0, ALL).await.rows;
    assert_eq!(told(&rows), ["a 1 workflow.started", "a 2 step.completed x"]);
}

pub async fn the_status_is_that_of_now(lab: &Lab) {
    let a = lab.begin("a").await;
    lab.stored(a, does().completes_step("x").completes(1)).await;
    lab.begin("b").await;
    lab.pause("b").await;
    let rows = tail(lab, 0, ALL).await.rows;
    let statuses: Vec<Status> = rows.iter().map(|row| row.status).collect();
    let (completed, paused) = (Status::Completed, Status::Paused);
    assert_eq!(statuses, [completed, completed, paused, paused]);
}

pub async fn rows_of_instances_that_are_gone_are_left_out_and_their_numbers_not_used_again(
    lab: &Lab,
) {
    lab.begin_doing("a", does().completes(1)).await;
    lab.begin("b").await;
    lab.begin_doing("c", does().completes(1)).await;
    let before = tail(lab, 0, ALL).await;
    lab.clock.advance(Duration::from_millis(5));
    assert_eq!(lab.store.prune(lab.in_ms(0), ALL).await.unwrap(), 2);
    let after = tail(lab, 0, ALL).await;
    assert_eq!(told(&after.rows), ["b 1 workflow.started"]);
    assert_eq!(after.head, before.head);
    lab.begin("d").await;
    let new = tail(lab, before.head, ALL).await.rows;
    assert_eq!(told(&new), ["d 1 workflow.started"]);
}

pub async fn what_the_store_records_is_there_as_well(lab: &Lab) {
    lab.begin_doing("a", does().reaches(wait_where("w", "paid", "true")).waits()).await;
    let before = tail(lab, 0, 0).await.head;
    lab.store.publish(published("paid", "e1")).await.unwrap();
    lab.restart("a").await;
    let rows = tail(lab, before, ALL).await.rows;
    let expected = ["a 2 wait.fulfilled w", "a 3 workflow.restarted", "a 4 workflow.started"];
    assert_eq!(told(&rows), expected);
}

pub async fn whoever_listens_hears_that_something_was_recorded(lab: &Lab) {
    let recorder = Recorder::new();
    lab.store.attach(std::sync::Arc::clone(&recorder) as _).await.unwrap();
    let a = lab.begin("a").await;
    assert!(recorder.hears_recorded(0).await);
    lab.barrier().await;
    let before = recorder.recorded();
    lab.stored(a, does().completes_step("x")).await;
    assert!(recorder.hears_recorded(before).await);
    lab.barrier().await;
    let before = recorder.recorded();
    lab.store.instance(&crate::fixture::id("a")).await.unwrap();
    lab.stored(a, does().waits()).await;
    lab.barrier().await;
    assert_eq!(recorder.recorded(), before, "nothing was recorded");
}
