//! What triggers start, now or in the windows that they keep.

use std::sync::Arc;

use abide::lifecycle::begins_later;
use abide::store::{Due, Hint};
use abide::window::{Window, WindowRule, Windowing, place};
use abide::{
    Error, InstanceId, InstanceKey, Json, NewInstance, Published, StartBy, Timestamp, Verdict,
};
use rusqlite::{OptionalExtension, params};

use super::batch::Batch;
use super::inbox::State;
use crate::failure::Trouble;

/// A window as it is kept, and the instance that it is about.
struct Opened {
    window: Window,
    instance: InstanceKey,
}

/// An instance that has not begun.
struct Waiting {
    id: InstanceId,
    input: Json,
    correlation_id: Option<String>,
}

impl Batch<'_> {
    /// Starts an instance, or has the event join one that has not begun.
    pub(super) fn start_by(
        &mut self,
        start: &StartBy,
        event: &Published,
        verdict: &mut Verdict,
    ) -> Result<(), Trouble> {
        let mut new = NewInstance { first: None, ..start.instance.clone() };
        let Some(Windowing { key, rule }) = &start.window else {
            return self.start_new(start, &new, event, verdict).map(drop);
        };
        let opened = self.window(&start.trigger, key)?;
        let waiting = match &opened {
            Some(opened) => self.joinable(opened.instance, rule)?,
            None => None,
        };
        let window = opened.as_ref().map(|opened| opened.window);
        let placed = place(rule, window, waiting.is_some(), self.now);
        let joined = opened.map(|opened| opened.instance).zip(waiting).filter(|_| placed.joins);
        let instance = match joined {
            Some((instance, waiting)) => {
                let at = placed.begins_at.unwrap_or(self.now).max(self.now);
                verdict.defers(&start.trigger, &waiting.id, at);
                self.join(instance, &waiting, new, rule, at)?;
                // Several triggers may have the same window.
                if !self.has_taken(instance, event.seq)? {
                    self.take_in(instance, event, State::Consumed)?;
                }
                Some(instance)
            }
            None => {
                new.start_at = placed.begins_at;
                if rule.collects() {
                    new.input = Json::appended(None, &new.input)?;
                }
                self.start_new(start, &new, event, verdict)?
            }
        };
        match instance {
            Some(instance) => self.keep_window(&start.trigger, key, placed.window, instance),
            None => Ok(()),
        }
    }

    /// `None` when the id is taken.
    fn start_new(
        &mut self,
        start: &StartBy,
        new: &NewInstance,
        event: &Published,
        verdict: &mut Verdict,
    ) -> Result<Option<InstanceKey>, Trouble> {
        let later = new.start_at.filter(|start_at| *start_at > self.now);
        let Some(key) = self.insert(new, later, None, Some(event))? else { return Ok(None) };
        match later {
            Some(at) => {
                verdict.defers(&start.trigger, &new.id, at);
                self.hints.push(Hint::Due(Due { at, key }));
            }
            None => {
                verdict.starts(&start.trigger, &new.id);
                self.open_history(key, new)?;
                self.hints.push(Hint::Runnable(key));
            }
        }
        Ok(Some(key))
    }

    fn window(&self, trigger: &str, key: &str) -> Result<Option<Opened>, Trouble> {
        let mut select = self.connection.prepare_cached(
            "SELECT opened_at, count, instance FROM windows WHERE trigger = ?1 AND key = ?2",
        )?;
        let opened = select.query_row([trigger, key], |row| {
            let window = Window { opened_at: Timestamp(row.get(0)?), count: row.get(1)? };
            Ok(Opened { window, instance: InstanceKey(row.get(2)?) })
        });
        Ok(opened.optional()?)
    }

    fn keep_window(
        &self,
        trigger: &Arc<str>,
        key: &str,
        window: Window,
        instance: InstanceKey,
    ) -> Result<(), Trouble> {
        let mut upsert = self.connection.prepare_cached(
            "INSERT INTO windows (trigger, key, opened_at, count, instance)
             VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (trigger, key) DO UPDATE SET opened_at = excluded.opened_at,
                 count = excluded.count, instance = excluded.instance",
        )?;
        upsert.execute(params![&**trigger, key, window.opened_at.0, window.count, instance.0])?;
        Ok(())
    }

    /// An instance that events may still join. Whoever has claimed it has read what it begins with;
    /// and what began as something else than a list, because the trigger was another one then, can't
    /// be appended to.
    fn joinable(&self, key: InstanceKey, rule: &WindowRule) -> Result<Option<Waiting>, Trouble> {
        if self.claims.get(key).is_some() {
            return Ok(None);
        }
        let mut select = self.connection.prepare_cached(
            "SELECT id, input, correlation_id FROM instances
              WHERE key = ?1 AND phase = 'queued' AND run = 1 AND wake_at IS NOT NULL",
        )?;
        let found = select.query_row([key.0], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get(2)?))
        });
        let Some((id, input, correlation_id)) = found.optional()? else { return Ok(None) };
        let of = |refused: Error| Error::corrupt(format!("instance with key {}: {refused}", key.0));
        let (id, input) = (InstanceId::new(id).map_err(of)?, Json::from_stored(input).map_err(of)?);
        let fits = !rule.collects() || input.decode::<Vec<Json>>().is_ok();
        Ok(fits.then_some(Waiting { id, input, correlation_id }))
    }

    /// Changes what a queued instance begins with, and when.
    fn join(
        &mut self,
        key: InstanceKey,
        waiting: &Waiting,
        new: NewInstance,
        rule: &WindowRule,
        at: Timestamp,
    ) -> Result<(), Trouble> {
        let (input, correlation_id) = if rule.collects() {
            (Json::appended(Some(&waiting.input), &new.input)?, waiting.correlation_id.clone())
        } else {
            (new.input, new.correlation_id)
        };
        let mut update = self.connection.prepare_cached(
            "UPDATE instances
                SET input = ?2, correlation_id = ?3, wake_at = ?4, queued_reason = ?5,
                    timeout_at = ?4 + min(timeout_ms, 9223372036854775807 - ?4), updated_at = ?6
              WHERE key = ?1",
        )?;
        let reason = begins_later(at);
        update.execute(params![key.0, input.as_str(), correlation_id, at.0, reason, self.now.0])?;
        self.hints.push(Hint::Due(Due { at, key }));
        Ok(())
    }
}
