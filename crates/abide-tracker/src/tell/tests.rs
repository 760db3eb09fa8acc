//! Rows in, events out.

use abide::history::StepKind;
use abide::{InstanceId, InstanceKey, Status, Timestamp};

use super::*;

/// One instance whose rows are told one after the other, a second apart.
struct Told {
    life: Life,
    seq: i64,
    run: u32,
    at: i64,
    types: Types,
    events: Vec<TrackedEvent>,
}

fn told() -> Told {
    let life = Life::default();
    Told { life, seq: 1, run: 1, at: 0, types: Types::Default, events: vec![] }
}

impl Told {
    fn recorded(&self, entries: &[Entry]) -> Vec<Recorded> {
        let numbered = (self.seq..).zip(entries);
        numbered
            .map(|(seq, entry)| Recorded {
                seq,
                run: self.run,
                at: Timestamp(self.at),
                entry: entry.clone(),
            })
            .collect()
    }

    /// Tells a row that is followed by another one in the same commit.
    fn row_before(mut self, entries: &[Entry], next: &[Entry]) -> Self {
        let recorded = self.recorded(entries);
        self.seq += i64::try_from(entries.len()).unwrap();
        let next = self.recorded(next);
        let row = TailRow {
            row: self.at,
            key: InstanceKey(1),
            id: InstanceId::new("i").unwrap(),
            workflow: "w".into(),
            status: Status::Running,
            recorded,
        };
        let next = (!next.is_empty()).then_some(&next[..]);
        self.events.extend(tell(&mut self.life, &row, next, self.types));
        self.at += 1000;
        self
    }

    fn row(self, entries: &[Entry]) -> Self {
        self.row_before(entries, &[])
    }

    /// What was told, shortly.
    fn short(&self) -> Vec<String> {
        let short = |event: &TrackedEvent| {
            let json = serde_json::to_value(event).unwrap();
            let text = |field: &str| json[field].as_str().map(str::to_owned);
            [text("type"), text("stepName"), text("reason")]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
        };
        self.events.iter().map(|event| short(event).join(" ")).collect()
    }
}

fn step(kind: EntryKind, name: &str) -> Entry {
    Entry::of_step(kind, &name.into(), StepKind::Step)
}

fn of_kind(kind: EntryKind, name: &str, step: StepKind) -> Entry {
    Entry::of_step(kind, &name.into(), step)
}

fn plain(kind: EntryKind) -> Entry {
    Entry::new(kind)
}

fn sleeps(name: &str, until: i64) -> Entry {
    let resume_at = Some(Timestamp(until));
    Entry { resume_at, ..of_kind(EntryKind::SleepStarted, name, StepKind::Sleep) }
}

fn waits(name: &str, until: Option<i64>) -> Entry {
    let deadline = until.map(Timestamp);
    Entry { deadline, ..of_kind(EntryKind::WaitStarted, name, StepKind::Event) }
}

fn met(name: &str) -> Entry {
    of_kind(EntryKind::WaitFulfilled, name, StepKind::Event)
}

use EntryKind::{
    EventBuffered, SleepCompleted, StepCompleted, StepFailed, StepStarted, WaitCancelled,
    WorkflowCompleted, WorkflowFailed, WorkflowPaused, WorkflowRestarted, WorkflowResumed,
    WorkflowStarted, WorkflowTerminated,
};

#[test]
fn one_of_two_waits_that_is_met_is_no_reason_to_say_that_it_goes_on() {
    let told = told()
        .row(&[plain(WorkflowStarted), waits("a", None), waits("b", None)])
        .row(&[met("a")])
        .row(&[met("b")])
        .row(&[plain(WorkflowCompleted)]);
    let expected =
        ["workflow.started", "workflow.paused a event", "workflow.resumed", "workflow.completed"];
    assert_eq!(told.short(), expected);
}

#[test]
fn it_goes_on_with_what_it_begins_although_something_is_left() {
    let told = told()
        .row(&[plain(WorkflowStarted), waits("a", None), sleeps("nap", 90_000)])
        .row(&[met("a")])
        .row(&[step(StepStarted, "s")])
        .row(&[step(StepCompleted, "s")]);
    let expected = [
        "workflow.started",
        "sleep.started",
        "workflow.paused a event",
        "workflow.resumed",
        "step.started s",
        "step.completed s",
        "workflow.paused nap sleep",
    ];
    assert_eq!(told.short(), expected);
}

#[test]
fn a_wait_that_is_met_in_its_own_commit_is_no_rest() {
    let early = [met("a")];
    let told = told()
        .row_before(&[plain(WorkflowStarted), waits("a", None)], &early)
        .row_before(&early, &[]);
    assert_eq!(told.short(), ["workflow.started"]);
}

#[test]
fn what_is_due_already_is_no_rest() {
    let told = told().row(&[plain(WorkflowStarted), sleeps("nap", 0)]);
    assert_eq!(told.short(), ["workflow.started", "sleep.started"]);
}

#[test]
fn a_race_and_its_losers_resume_once() {
    let told = told()
        .row(&[plain(WorkflowStarted), waits("a", None), waits("b", Some(90_000))])
        .row(&[of_kind(WaitCancelled, "a", StepKind::Event), met("b")])
        .row(&[step(StepStarted, "s")]);
    let expected = [
        "workflow.started",
        "timeout.set b",
        "workflow.paused a event",
        "workflow.resumed",
        "step.started s",
    ];
    assert_eq!(told.short(), expected);
}

#[test]
fn a_terminated_one_does_not_go_on_first() {
    let told = told()
        .row(&[plain(WorkflowStarted), waits("a", None)])
        .row(&[of_kind(WaitCancelled, "a", StepKind::Event)])
        .row(&[plain(WorkflowTerminated)]);
    let expected = ["workflow.started", "workflow.paused a event", "workflow.terminated"];
    assert_eq!(told.short(), expected);
}

#[test]
fn what_arrives_during_a_pause_by_hand_is_not_told_before_it_is_resumed() {
    let told = told()
        .row(&[plain(WorkflowStarted), waits("a", None)])
        .row(&[Entry { reason: Some("manual".into()), ..plain(WorkflowPaused) }])
        .row(&[met("a")])
        .row(&[plain(WorkflowResumed)])
        .row(&[plain(WorkflowCompleted)]);
    let expected = [
        "workflow.started",
        "workflow.paused a event",
        "workflow.paused manual",
        "workflow.resumed",
        "workflow.completed",
    ];
    assert_eq!(told.short(), expected);
}

#[test]
fn another_run_begins_with_nothing_of_the_last_but_what_it_keeps() {
    let mut told = told()
        .row(&[plain(WorkflowStarted), step(StepStarted, "a")])
        .row(&[step(StepCompleted, "a"), waits("b", None)]);
    told.run = 2;
    let kept = Entry { cached: true, ..step(StepCompleted, "a") };
    let slept = Entry { cached: true, ..of_kind(SleepCompleted, "nap", StepKind::Sleep) };
    let told = told
        .row(&[
            plain(WorkflowRestarted),
            plain(WorkflowStarted),
            kept,
            slept,
            step(StepStarted, "b"),
        ])
        .row(&[step(StepCompleted, "b"), plain(WorkflowCompleted)]);
    let expected = [
        "workflow.started",
        "step.started a",
        "step.completed a",
        "workflow.paused b event",
        "workflow.started",
        "step.completed a",
        "step.started b",
        "step.completed b",
        "workflow.completed",
    ];
    assert_eq!(told.short(), expected);
    let What::WorkflowCompleted { completed_steps, duration_ms } = &told.events[8].what else {
        panic!("{:?}", told.events[8]);
    };
    assert_eq!((completed_steps.len(), *duration_ms), (2, 1000));
}

#[test]
fn only_what_is_asked_for_is_told_and_values_are_no_steps() {
    let rows = |types| {
        let value = of_kind(StepCompleted, "now", StepKind::Now);
        let told = Told { types, ..told() };
        told.row(&[plain(WorkflowStarted), value, plain(EventBuffered)]).short()
    };
    assert_eq!(rows(Types::Default), ["workflow.started"]);
    let all = ["workflow.started", "step.completed now", "event.buffered"];
    assert_eq!(rows(Types::All), all);
}

#[test]
fn what_is_missed_is_made_up_from_the_history() {
    let entries = [plain(WorkflowStarted), step(StepStarted, "a"), step(StepCompleted, "a")];
    let mut told = told();
    let past = told.recorded(&entries);
    told.life.absorb(&past, &InstanceId::new("i").unwrap());
    told.seq = 4;
    told.at = 7000;
    let failed = Entry { attempt: Some(2), ..step(StepFailed, "b") };
    let why = Some(Failure::new("X", "broke").in_step("b"));
    let told = told.row(&[failed, Entry { error: why, ..plain(WorkflowFailed) }]);
    let What::WorkflowFailed { error, completed_steps } = &told.events[1].what else {
        panic!("{:?}", told.events);
    };
    assert_eq!((error.attempt, error.message.as_str()), (Some(2), "broke"));
    assert_eq!(completed_steps, &["a".into()]);
}

#[test]
fn ids_differ_and_are_the_same_when_it_is_told_again() {
    let tell_all = || {
        told()
            .row(&[plain(WorkflowStarted), waits("a", Some(5000))])
            .row(&[met("a"), plain(WorkflowCompleted)])
            .events
    };
    let ids: Vec<String> = tell_all().into_iter().map(|event| event.event_id).collect();
    let again: Vec<String> = tell_all().into_iter().map(|event| event.event_id).collect();
    assert_eq!(ids, again);
    let distinct: std::collections::BTreeSet<_> = ids.iter().collect();
    assert_eq!((ids.len(), distinct.len()), (5, 5));
}
