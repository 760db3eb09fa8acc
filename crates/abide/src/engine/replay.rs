//! Showing old events to a new trigger.

use std::ops::RangeInclusive;

use serde::Serialize;

use crate::error::{Error, Result};
use crate::id::InstanceId;
use crate::lifecycle::{Control, Terminate};
use crate::listing::{Filter, Page};
use crate::log::{CancelBy, LogFilter, Logged, StartBy};
use crate::store::IfExists;
use crate::trigger::{Effects, Ready};
use crate::verdict::{TriggerFailed, Verdict};

use super::{Engine, Start};

/// Events looked at in one go.
const PAGE: usize = 200;

/// What came, or would come, of a replay.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Replayed {
    /// How many events the trigger heard.
    pub heard: u64,
    /// How many instances were started.
    pub started_count: u64,
    /// The first of them.
    pub started: Vec<InstanceId>,
    /// How many had been started before, by the same events.
    pub existing: u64,
    /// How many instances were cancelled.
    pub cancelled: u64,
    /// The first events on which the trigger failed.
    pub failed: Vec<TriggerFailed>,
    /// Whether nothing was done.
    pub dry_run: bool,
}

impl Replayed {
    fn starts(&mut self, instance: InstanceId) {
        self.started_count += 1;
        if self.started.len() < Verdict::MAX_LISTED {
            self.started.push(instance);
        }
    }

    fn fails(&mut self, failed: TriggerFailed) {
        if self.failed.len() < Verdict::MAX_LISTED {
            self.failed.push(failed);
        }
    }
}

impl Engine {
    /// Shows the events of a range of the log to a trigger, as if they were published now; its
    /// windows don't hold. What it started before it does not start again, so a replay that was
    /// interrupted can be repeated. A dry run only counts.
    ///
    /// # Errors
    /// [`Error::DefinitionNotFound`] or the store's own; what was started until then goes on.
    pub async fn replay(
        &self,
        trigger: &str,
        range: RangeInclusive<i64>,
        dry_run: bool,
    ) -> Result<Replayed> {
        let trigger = self.inner.env.catalog.trigger(trigger)?;
        let mut replayed = Replayed { dry_run, ..Replayed::default() };
        let mut after = range.start().saturating_sub(1);
        loop {
            let filter = LogFilter {
                event_type: Some(trigger.written.event_pattern.clone()),
                after: Some(after),
                limit: PAGE,
                ..LogFilter::default()
            };
            let page = self.inner.store.log(filter).await?;
            let Some(last) = page.last() else { return Ok(replayed) };
            after = last.published.seq;
            for logged in page.iter().filter(|logged| range.contains(&logged.published.seq)) {
                self.show(&trigger, logged, &mut replayed).await?;
            }
            if page.len() < PAGE || after >= *range.end() {
                return Ok(replayed);
            }
        }
    }

    async fn show(&self, trigger: &Ready, logged: &Logged, replayed: &mut Replayed) -> Result<()> {
        let mut effects = Effects::default();
        trigger.add_effects(&logged.published.event, &self.inner.env.registry, &mut effects);
        replayed.heard += 1;
        effects.failed.into_iter().for_each(|failed| replayed.fails(failed));
        for start in effects.starts {
            self.start_late(start, logged.published.seq, replayed).await?;
        }
        for cancel in effects.cancels {
            self.cancel_late(&cancel, logged, replayed).await?;
        }
        Ok(())
    }

    async fn start_late(&self, start: StartBy, seq: i64, replayed: &mut Replayed) -> Result<()> {
        let StartBy { trigger, instance, .. } = start;
        if self.inner.store.instance(&instance.id).await?.is_some() {
            replayed.existing += 1;
            return Ok(());
        }
        let id = instance.id.clone();
        if replayed.dry_run {
            replayed.starts(id);
            return Ok(());
        }
        let mut late = Start::new(&instance.input)
            .id(instance.id.as_str())
            .if_exists(IfExists::Return)
            .consumes(seq);
        if let Some(correlation_id) = instance.correlation_id {
            late = late.correlation_id(correlation_id);
        }
        match self.start(&instance.workflow, late).await {
            Ok(_) => replayed.starts(id),
            // It does not take such an input; others may.
            Err(error @ (Error::Invalid { .. } | Error::TooLarge { .. })) => {
                replayed.fails(TriggerFailed { trigger, error: error.to_failure() });
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    async fn cancel_late(
        &self,
        cancel: &CancelBy,
        logged: &Logged,
        replayed: &mut Replayed,
    ) -> Result<()> {
        let filter = Filter {
            workflow: Some(cancel.workflow.to_string()),
            correlation_id: Some(cancel.correlation_id.clone()),
            ..Filter::default()
        };
        let mut page = Page::default();
        loop {
            let listed = self.inner.store.instances(filter.clone(), page).await?;
            for instance in listed.instances.iter().filter(|found| !found.status().is_terminal()) {
                if !replayed.dry_run {
                    let reason = cancel.reason(&logged.published.event);
                    let ended = Control::Terminate(Terminate::because(reason));
                    match self.inner.store.control(&instance.id, ended).await {
                        Ok(_) => {}
                        // It ended meanwhile.
                        Err(Error::NotRunning { .. } | Error::InvalidTransition { .. }) => continue,
                        Err(error) => return Err(error),
                    }
                }
                replayed.cancelled += 1;
            }
            let Some(next) = listed.next else { return Ok(()) };
            page.before = Some(next);
        }
    }
}
