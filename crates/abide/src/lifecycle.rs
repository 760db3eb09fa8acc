//! How the life of an instance may change from outside. Pure: stores call it while they hold the
//! instance, and apply what it says.
//!
//! ```text
//!   queued ──▶ running ◀──▶ waiting, sleeping        paused: an overlay on any of these
//!                 │
//!                 ├──▶ completed ─┐
//!                 ├──▶ errored ───┼── restart ──▶ running, run + 1
//!                 └──▶ terminated ┘
//! ```

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::failure::Failure;
use crate::history::{Entry, EntryKind, Recorded, StepKind, completions};
use crate::instance::{End, Instance, NewChild, NewInstance};
use crate::json::Json;
use crate::status::Phase;
use crate::time::Timestamp;

/// What may be asked of an instance from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    /// Stop after what runs now; nothing new begins.
    Pause,
    /// Go on.
    Resume,
    /// End for good.
    Terminate(Terminate),
    /// Be looked at, now or at a moment.
    Wake {
        /// When.
        at: Option<Timestamp>,
    },
    /// Begin anew: whole, or from a step (`name` or `name#n`).
    Restart {
        /// The first step to run again; everything before it is kept.
        from_step: Option<String>,
    },
}

/// How to end an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terminate {
    /// Why, for those who look later.
    pub reason: String,
    /// Whether to undo the steps that name a compensation first.
    pub compensate: bool,
    /// Whether to end its children too.
    pub cascade: bool,
}

impl Default for Terminate {
    fn default() -> Self {
        Self { reason: "terminated".to_owned(), compensate: false, cascade: true }
    }
}

impl Terminate {
    /// Ends an instance and its children, for a reason.
    pub fn because(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), ..Self::default() }
    }

    /// Undoes the steps that name a compensation first.
    #[must_use]
    pub fn compensate(mut self) -> Self {
        self.compensate = true;
        self
    }

    /// Leaves the children running.
    #[must_use]
    pub fn leave_children(mut self) -> Self {
        self.cascade = false;
        self
    }

    /// What is recorded as the instance's error.
    #[must_use]
    pub fn failure(&self) -> Failure {
        Failure::new("WORKFLOW_TERMINATED", self.reason.clone())
    }

    /// What the children are told.
    #[must_use]
    pub fn for_child(&self, parent: &Instance) -> Self {
        Self { reason: format!("parent {} terminated: {}", parent.id, self.reason), ..self.clone() }
    }
}

/// What a control means for an instance in its present state.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// It becomes `paused`.
    Pause(Entry),
    /// It is no longer paused; it becomes `running`, unless it has not begun.
    Resume(Entry),
    /// It ends now. Its children follow when asked.
    Terminate(Entry, End),
    /// It becomes `running` and unpaused, to compensate and then end. Its children follow when
    /// asked.
    Compensate(Entry),
    /// If it is parked and not paused, it becomes `running` without `wake_at`, or its `wake_at` is no
    /// later than this moment. Either way it was touched.
    Wake(Option<Timestamp>),
    /// It becomes `running` and unpaused in run + 1: output, error, context, end and wake-up are
    /// cleared, the deadline begins anew, and these entries open the new run.
    Restart(Vec<Entry>),
}

/// Decides what a control does. `history` is read only for a restart from a step.
///
/// # Errors
/// [`Error::InvalidTransition`] when the status does not allow it, [`Error::StepNotFound`] when the
/// step to restart from was never reached, or the error of reading the history.
pub fn decide(
    instance: &Instance,
    control: &Control,
    history: impl FnOnce() -> Result<Vec<Recorded>>,
) -> Result<Decision> {
    let refused = |action| {
        Err(Error::InvalidTransition { id: instance.id.clone(), status: instance.status(), action })
    };
    let ended = instance.phase.is_terminal();
    match control {
        Control::Pause if ended || instance.paused => refused("pause"),
        Control::Pause => Ok(Decision::Pause(because(EntryKind::WorkflowPaused, "manual"))),
        Control::Resume if ended || !instance.paused => refused("resume"),
        Control::Resume => Ok(Decision::Resume(Entry::new(EntryKind::WorkflowResumed))),
        Control::Terminate(_) if ended => refused("terminate"),
        Control::Terminate(how) if how.compensate && instance.phase != Phase::Queued => {
            Ok(Decision::Compensate(because(EntryKind::WorkflowTerminating, &how.reason)))
        }
        Control::Terminate(how) => Ok(Decision::Terminate(
            because(EntryKind::WorkflowTerminated, &how.reason),
            End::Terminated(how.failure()),
        )),
        Control::Wake { .. } if ended => refused("wake"),
        Control::Wake { at } => Ok(Decision::Wake(*at)),
        Control::Restart { from_step: None } => Ok(Decision::Restart(reopened(instance, None))),
        Control::Restart { from_step: Some(step) } => {
            let mut entries = reopened(instance, Some(step));
            entries.append(&mut kept_before(instance, &history()?, step)?);
            Ok(Decision::Restart(entries))
        }
    }
}

fn because(entry: EntryKind, reason: &str) -> Entry {
    Entry { reason: Some(reason.to_owned()), ..Entry::new(entry) }
}

/// The entry that opens a run.
#[must_use]
pub fn started(input: &Json) -> Entry {
    Entry { payload: Some(input.clone()), ..Entry::new(EntryKind::WorkflowStarted) }
}

/// The entry that opens the first run of an instance.
#[must_use]
pub fn begun(new: &NewInstance) -> Entry {
    Entry { trace: new.trace, ..started(&new.input) }
}

/// Why an instance that begins later has not begun.
#[must_use]
pub fn begins_later(at: Timestamp) -> String {
    format!("starts at {at}")
}

fn reopened(instance: &Instance, from_step: Option<&str>) -> Vec<Entry> {
    let name = from_step.map(Arc::from);
    vec![Entry { name, ..Entry::new(EntryKind::WorkflowRestarted) }, started(&instance.input)]
}

/// What a restart from a step keeps: everything that was settled before that step's first record,
/// in the order in which the workflow saw it.
fn kept_before(instance: &Instance, history: &[Recorded], step: &str) -> Result<Vec<Entry>> {
    let is_step = |recorded: &&Recorded| recorded.entry.name.as_deref() == Some(step);
    let Some(cut) = history.iter().position(|recorded| {
        is_step(&recorded) && recorded.entry.entry != EntryKind::WorkflowRestarted
    }) else {
        return Err(Error::StepNotFound {
            id: instance.id.clone(),
            run: instance.run,
            step: step.to_owned(),
            known: known_steps(history),
        });
    };
    let mut kept = Vec::new();
    for recorded in completions(&history[..cut]) {
        if recorded.entry.entry == EntryKind::WorkflowTerminating {
            continue;
        }
        let entry = Entry { cached: true, ..recorded.entry.clone() };
        let seen = entry
            .step_kind()
            .completed_by_store()
            .then(|| Entry { name: entry.name.clone(), ..Entry::new(EntryKind::Seen) });
        kept.push(entry);
        kept.extend(seen);
    }
    Ok(kept)
}

fn known_steps(history: &[Recorded]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for recorded in history {
        if let Some(name) = recorded.entry.name.as_deref()
            && recorded.entry.entry != EntryKind::WorkflowRestarted
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// What the end of a child is to its parent: the entry that settles the step which waits for it.
#[must_use]
pub fn told_to_parent(child: &Instance, end: &End) -> Option<Entry> {
    let parent = child.parent.as_ref().filter(|parent| parent.awaited)?;
    let (entry, payload, error) = match end {
        End::Completed(output) => (EntryKind::StepCompleted, Some(output.clone()), None),
        End::Errored(failure) | End::Terminated(failure) => {
            (EntryKind::StepFailed, None, Some(failure.clone()))
        }
        End::Continued(_) => return None,
    };
    Some(Entry {
        payload,
        error,
        child_id: Some(child.id.clone()),
        ..Entry::of_step(entry, &parent.step, StepKind::Child)
    })
}

/// What a child that could not be started is to its parent.
#[must_use]
pub fn child_refused(child: &NewChild, refused: &Error) -> Entry {
    let kind = if child.awaited { StepKind::Child } else { StepKind::Detached };
    let error = Some(refused.to_failure());
    let child_id = Some(child.instance.id.clone());
    Entry { error, child_id, ..Entry::of_step(EntryKind::StepFailed, &child.step, kind) }
}

/// What the start of a detached child is to its parent, who waits for nothing more.
#[must_use]
pub fn child_detached(child: &NewChild) -> Option<Entry> {
    (!child.awaited).then(|| Entry {
        child_id: Some(child.instance.id.clone()),
        payload: Json::encode(&serde_json::json!({ "instanceId": child.instance.id })).ok(),
        ..Entry::of_step(EntryKind::StepCompleted, &child.step, StepKind::Detached)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{InstanceId, InstanceKey};

    fn instance(phase: Phase, paused: bool) -> Instance {
        Instance {
            key: InstanceKey(1),
            id: InstanceId::new("i").unwrap(),
            workflow: "w".into(),
            version: 1,
            run: 1,
            phase,
            paused,
            queued_reason: None,
            input: Json::null(),
            context: None,
            output: None,
            error: None,
            correlation_id: None,
            parent: None,
            tags: vec![],
            created_at: Timestamp(0),
            updated_at: Timestamp(0),
            completed_at: None,
            wake_at: None,
            timeout: None,
            timeout_at: None,
            run_seq: 1,
            next_seq: 9,
            log_from: 0,
        }
    }

    fn settled(name: &str, kind: StepKind) -> Recorded {
        let entry = Entry::of_step(EntryKind::StepCompleted, &name.into(), kind);
        Recorded { seq: 1, run: 1, at: Timestamp(0), entry }
    }

    fn seen(name: &str) -> Recorded {
        let entry = Entry::of_step(EntryKind::Seen, &name.into(), StepKind::Child);
        Recorded { seq: 1, run: 1, at: Timestamp(0), entry }
    }

    #[test]
    fn pausing_twice_and_resuming_what_runs_are_refused_by_name() {
        let none = || Ok(vec![]);
        for (phase, paused, control) in [
            (Phase::Running, true, Control::Pause),
            (Phase::Completed, false, Control::Pause),
            (Phase::Running, false, Control::Resume),
            (Phase::Errored, false, Control::Terminate(Terminate::default())),
        ] {
            let refused = decide(&instance(phase, paused), &control, none).unwrap_err();
            assert_eq!(refused.code(), "INVALID_TRANSITION");
            assert!(refused.to_string().contains("instance i"), "{refused}");
        }
    }

    #[test]
    fn restart_from_a_step_keeps_what_was_seen_before_it_in_that_order() {
        let history = [
            settled("child", StepKind::Child),
            settled("a", StepKind::Step),
            seen("child"),
            settled("b", StepKind::Step),
            settled("later", StepKind::Child),
        ];
        let kept = kept_before(&instance(Phase::Errored, false), &history, "b").unwrap();
        let names: Vec<_> = kept.iter().map(|entry| entry.name.as_deref().unwrap()).collect();
        assert_eq!(names, ["a", "child", "child"]);
        assert!(kept[0].cached && kept[2].entry == EntryKind::Seen);
    }

    #[test]
    fn restart_from_an_unknown_step_names_the_known_ones() {
        let history = [settled("a", StepKind::Step)];
        let refused = kept_before(&instance(Phase::Errored, false), &history, "z").unwrap_err();
        assert!(matches!(&refused, Error::StepNotFound { known, .. } if known == "a"));
    }
}
