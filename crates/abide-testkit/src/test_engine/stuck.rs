//! Says why a test would wait for ever.

use std::fmt::Write;
use std::time::Duration;

use abide::history::EntryKind;
use abide::store::Store;
use abide::{
    Clock, Filter, Hears, Instance, Page, Status, StepStatus, Timestamp, Wait, WaitFilter,
    WaitStatus,
};

use super::Inner;

/// At most so many instances are described: the first few tell the story.
const MOST_TOLD: usize = 10;

impl Inner {
    /// Nothing runs, and no timer may go off.
    pub(super) async fn stuck(&self, what: &str, next: Option<Timestamp>) -> String {
        let now = self.time.clock.now();
        let why = match next {
            Some(next) => format!("the clock is frozen at {now} and the next timer is at {next}"),
            None => "no timer is left".to_owned(),
        };
        self.told(format!("waiting for {what}: nothing runs and {why}")).await
    }

    /// Timers go off for ever and what the test waits for does not come.
    pub(super) async fn endless(&self, what: &str, jumps: u64) -> String {
        self.told(format!("waiting for {what}: it did not come in {jumps} jumps of the clock"))
            .await
    }

    /// Something runs, but does not write.
    pub(super) async fn still_running(&self, patience: Duration) -> String {
        let headline = format!(
            "nothing was written for {patience:?} although something runs; the clock does not move \
             while it does (TestEngine::advance moves it by hand)"
        );
        self.told(headline).await
    }

    async fn told(&self, headline: String) -> String {
        let mut told = headline;
        if let Some(life) = &self.life {
            write!(told, ", {life}").unwrap();
        }
        let all = Page { limit: 1000, ..Page::default() };
        let instances = self.store.instances(Filter::default(), all).await.unwrap().instances;
        let living = || instances.iter().rev().filter(|found| !found.status().is_terminal());
        for instance in living().take(MOST_TOLD) {
            self.tell_of(instance, &mut told).await;
        }
        match living().count() {
            0 => told.push_str("\n- no instance lives"),
            count if count > MOST_TOLD => {
                write!(told, "\n- and {} more", count - MOST_TOLD).unwrap();
            }
            _ => {}
        }
        for withheld in self.withheld.in_words() {
            write!(told, "\n- withheld and not released: {withheld}").unwrap();
        }
        told
    }

    /// What one instance is doing.
    async fn tell_of(&self, instance: &Instance, told: &mut String) {
        let Instance { id, workflow, .. } = instance;
        write!(told, "\n- {id} ({workflow}) is {}", instance.status()).unwrap();
        if let Some(reason) = &instance.queued_reason {
            write!(told, ": {reason}").unwrap();
        }
        let handle = self.engine.get(id);
        if instance.status() == Status::Paused
            && let Some(paused) = handle
                .history()
                .await
                .unwrap()
                .iter()
                .rev()
                .find(|recorded| recorded.entry.entry == EntryKind::WorkflowPaused)
        {
            let error = paused.entry.error.as_ref().map(ToString::to_string);
            let why = error.or_else(|| paused.entry.reason.clone());
            write!(told, ": {}", why.unwrap_or_else(|| "by hand".to_owned())).unwrap();
        }
        let filter = WaitFilter {
            instance: Some(id.clone()),
            status: Some(WaitStatus::Active),
            ..WaitFilter::default()
        };
        let waits = self.store.waits(filter).await.unwrap();
        for wait in &waits {
            write!(told, "\n    {}", in_words(wait)).unwrap();
        }
        let steps = handle.steps().await.unwrap();
        let runs_no_step = steps.iter().all(|step| step.status != StepStatus::Running);
        if instance.status() == Status::Running && runs_no_step {
            told.push_str("\n    no step runs: it awaits something that is not a Cx future");
        }
        for step in steps {
            let name = &step.name;
            match (step.status, &step.child_id) {
                (StepStatus::Waiting, Some(child)) => {
                    write!(told, "\n    step {name:?} waits for the end of child {child}").unwrap();
                }
                (StepStatus::Running, _) => write!(told, "\n    step {name:?} runs").unwrap(),
                (StepStatus::Sleeping, _) => write!(told, "\n    step {name:?} sleeps").unwrap(),
                _ => {}
            }
        }
        for kept in handle.buffer().await.unwrap() {
            write!(told, "\n    it keeps {} {:?} for later", kept.kind, kept.name).unwrap();
        }
    }
}

fn in_words(wait: &Wait) -> String {
    let hears = match &wait.hears {
        Hears::Sent { kind, pattern } => format!("{kind} {pattern:?}"),
        Hears::Output { of, key } => format!("output {key:?} of {of}"),
    };
    let until = wait.timeout_at.map(|at| format!(" until {at}")).unwrap_or_default();
    format!("step {:?} waits for {hears}{until}", wait.step)
}
