//! What triggers start, now or in the windows that they keep.

use abide::lifecycle::begins_later;
use abide::store::{Due, Hint};
use abide::window::{Window, WindowRule, Windowing, place};
use abide::{Instance, InstanceKey, Json, NewInstance, Phase, Result, StartBy, Timestamp, Verdict};

use super::state::State;

/// A window, and the instance that it is about.
#[derive(Clone, Copy)]
pub(super) struct Opened {
    window: Window,
    instance: InstanceKey,
}

impl State {
    /// Starts an instance, or has the event join one that has not begun.
    pub(super) fn start_by(
        &mut self,
        start: &StartBy,
        seq: i64,
        verdict: &mut Verdict,
    ) -> Result<()> {
        let new = NewInstance { consumes: Some(seq), first: None, ..start.instance.clone() };
        let Some(Windowing { key, rule }) = &start.window else {
            return self.start_new(start, &new, verdict).map(drop);
        };
        let window = (start.trigger.clone(), key.clone());
        let opened = self.windows.get(&window).copied();
        let is_open = opened.is_some_and(|opened| self.can_be_joined(opened.instance, rule));
        let placed = place(rule, opened.map(|opened| opened.window), is_open, self.now);
        let instance = match opened.filter(|_| placed.joins) {
            Some(Opened { instance, .. }) => {
                let at = placed.begins_at.unwrap_or(self.now).max(self.now);
                let joined = &self.kept(instance)?.instance;
                let input = if rule.collects() {
                    Json::appended(Some(&joined.input), &new.input)?
                } else {
                    new.input.clone()
                };
                let correlation_id = if rule.collects() {
                    joined.correlation_id.clone()
                } else {
                    new.correlation_id.clone()
                };
                verdict.defers(&start.trigger, &joined.id, at);
                self.join(instance, NewInstance { input, correlation_id, ..new }, at)?;
                self.consume(instance, seq);
                Some(instance)
            }
            None => {
                let mut new = NewInstance { start_at: placed.begins_at, ..new };
                if rule.collects() {
                    new.input = Json::appended(None, &new.input)?;
                }
                self.start_new(start, &new, verdict)?
            }
        };
        if let Some(instance) = instance {
            self.windows.insert(window, Opened { window: placed.window, instance });
        }
        Ok(())
    }

    /// Whether events may still join it. Whoever has claimed it has read what it begins with; and
    /// what began as something else than a list, because the trigger was another one then, can't
    /// be appended to.
    fn can_be_joined(&self, key: InstanceKey, rule: &WindowRule) -> bool {
        self.kept.get(&key).is_some_and(|kept| {
            let Instance { phase, run, wake_at, input, .. } = &kept.instance;
            let has_not_begun = *phase == Phase::Queued && *run == 1 && wake_at.is_some();
            let fits = !rule.collects() || input.decode::<Vec<Json>>().is_ok();
            has_not_begun && kept.claim.is_none() && fits
        })
    }

    /// `None` when the id is taken.
    fn start_new(
        &mut self,
        start: &StartBy,
        new: &NewInstance,
        verdict: &mut Verdict,
    ) -> Result<Option<InstanceKey>> {
        if self.keys.contains_key(&new.id) {
            return Ok(None);
        }
        let key = self.create(new, None);
        match self.kept(key)?.instance.wake_at {
            Some(at) => {
                verdict.defers(&start.trigger, &new.id, at);
                self.hints.push(Hint::Due(Due { at, key }));
            }
            None => {
                verdict.starts(&start.trigger, &new.id);
                self.begin_unclaimed(key, new)?;
            }
        }
        Ok(Some(key))
    }

    /// Changes what a queued instance begins with, and when.
    fn join(&mut self, key: InstanceKey, new: NewInstance, at: Timestamp) -> Result<()> {
        let now = self.now;
        let instance = &mut self.kept(key)?.instance;
        instance.input = new.input;
        instance.correlation_id = new.correlation_id;
        instance.wake_at = Some(at);
        instance.queued_reason = Some(begins_later(at));
        instance.timeout_at = instance.timeout.map(|timeout| at.after(timeout));
        instance.updated_at = now;
        self.hints.push(Hint::Due(Due { at, key }));
        Ok(())
    }
}
