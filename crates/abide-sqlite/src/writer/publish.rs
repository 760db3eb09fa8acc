//! Accepting an event for whoever wants it.
//!
//! It meets the waits that are open inside the transaction that stores it. A wait that is reached
//! later finds it in the log, so whichever comes second sees the other.

use std::sync::Arc;

use abide::history::EntryKind;
use abide::lifecycle::Control;
use abide::meeting::{has_expired, meet, of_sent, published};
use abide::{
    CancelBy, Error, InstanceId, InstanceKey, NewPublish, Publish, Published, Terminate, Verdict,
    Wait,
};
use hashbrown::HashSet;
use rusqlite::OptionalExtension;

use super::batch::Batch;
use super::commit::Speaker;
use super::inbox::State;
use super::keys::{Found, first_of_each};
use super::meet::{Open, Tale};
use crate::failure::Trouble;
use crate::{log, row};

impl Batch<'_> {
    /// Accepts an event, answers it as the first time, or refuses it before anything is written.
    pub(super) fn publish(&mut self, publish: &Publish) -> Result<Verdict, Trouble> {
        if let Some(first) = self.first_verdict(publish)? {
            let again = Verdict { duplicate: true, ..first };
            if !publish.dry_run {
                self.tally.add_published(&again);
            }
            return Ok(again);
        }
        if let Some(message) = &publish.refused {
            let (event_type, message) = (publish.event.event_type.clone(), message.clone());
            return Err(Error::EventInvalid { event_type, message }.into());
        }
        if publish.dry_run {
            let verdict = self.tried(|batch| batch.accept_event(publish))?;
            return Ok(Verdict { seq: None, ..verdict });
        }
        self.accept_event(publish)
    }

    /// What the same event was answered, if the log still has it.
    fn first_verdict(&self, publish: &Publish) -> Result<Option<Verdict>, Trouble> {
        let (id, source) = (id_of(publish), publish.event.source.as_deref());
        let mut select = self.connection.prepare_cached(
            "SELECT seq, verdict FROM events WHERE id = ?1 AND coalesce(source, '') = ?2",
        )?;
        let found = select.query_row([id, source.unwrap_or_default()], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
        });
        Ok(found.optional()?.map(|(seq, text)| log::verdict(&text, seq)).transpose()?)
    }

    fn accept_event(&mut self, publish: &Publish) -> Result<Verdict, Trouble> {
        let seq = self.keys.next_event;
        let event = Arc::clone(&publish.event);
        let event = Published { seq, accepted_at: self.now, event };
        let found = self.found_by(&event)?;
        // What nobody wants is only stored, which can't be refused half-way.
        if found.is_empty() && publish.cancels.is_empty() && publish.starts.is_empty() {
            return self.spread(publish, &event, &found);
        }
        self.guarded(|batch| batch.spread(publish, &event, &found))
    }

    /// Stores an event with what comes of it.
    fn spread(
        &mut self,
        publish: &Publish,
        event: &Published,
        found: &[Found],
    ) -> Result<Verdict, Trouble> {
        self.keys.next_event += 1;
        let mut verdict = Verdict::of(id_of(publish));
        verdict.seq = Some(event.seq);
        verdict.failed = publish.failed.iter().take(Verdict::MAX_LISTED).cloned().collect();
        for cancel in &publish.cancels {
            self.cancel_by(cancel, publish, &mut verdict)?;
        }
        self.meet_all(event, found, &mut verdict)?;
        for start in &publish.starts {
            self.start_by(start, event, &mut verdict)?;
        }
        self.insert_event(event, &verdict)?;
        self.tally.add_published(&verdict);
        Ok(verdict)
    }

    /// Ends whoever a trigger cancels. One of them may be the child of another, and has ended with
    /// it.
    fn cancel_by(
        &mut self,
        cancel: &CancelBy,
        publish: &Publish,
        verdict: &mut Verdict,
    ) -> Result<(), Trouble> {
        let mut select = self.connection.prepare_cached(
            "SELECT id FROM instances
              WHERE correlation_id = ?1 AND workflow = ?2 AND completed_at IS NULL ORDER BY key",
        )?;
        let ids = select
            .query_map([cancel.correlation_id.as_str(), &*cancel.workflow], |row| row.get(0))?
            .collect::<rusqlite::Result<Vec<String>>>()?;
        let how = Control::Terminate(Terminate::because(cancel.reason(&publish.event)));
        for id in ids {
            let id = InstanceId::new(id)?;
            let instance = row::instance_by_id(self.connection, &id)?;
            if instance.is_some_and(|instance| !instance.phase.is_terminal()) {
                verdict.cancels(&cancel.trigger, &id);
                self.control(&id, &how)?;
            }
        }
        Ok(())
    }

    /// Has the event meet the instances that want it: all of them, or the first of a storm.
    fn meet_all(
        &mut self,
        event: &Published,
        found: &[Found],
        verdict: &mut Verdict,
    ) -> Result<(), Trouble> {
        let mut first = found.to_vec();
        first_of_each(&mut first);
        if first.len() <= self.limits.fanout_chunk {
            return self.meet_few(event, &first, verdict);
        }
        let (few, left) = first.split_at(self.limits.fanout_chunk);
        for (_, key) in few {
            self.settle_first(*key)?;
            self.meet_one(*key, event, verdict)?;
        }
        let covered: HashSet<InstanceKey> = left.iter().map(|(_, key)| *key).collect();
        let waits = found.iter().filter(|(_, key)| covered.contains(key)).count() as u64;
        let done = few.last().map_or(0, |(wait, _)| *wait);
        self.open_fanout(event, done, left, waits, verdict)
    }

    /// In the order of the first wait of each instance that wants it, which only the waits know.
    fn meet_few(
        &mut self,
        event: &Published,
        found: &[Found],
        verdict: &mut Verdict,
    ) -> Result<(), Trouble> {
        let sent = event.sent(0);
        let mut wanting = Vec::new();
        for (_, key) in found {
            self.settle_first(*key)?;
            let Some(open) = readable(*key, event, self.open_at(*key))? else { continue };
            if let Some(first) = open.iter().find(|wait| wait.wants(&sent)) {
                wanting.push((first.key, *key, open));
            }
        }
        wanting.sort_unstable_by_key(|(first, ..)| *first);
        for (_, key, open) in wanting {
            self.meet_published(key, open, event, verdict)?;
        }
        Ok(())
    }

    /// Has the event meet one instance, if that wants it.
    pub(super) fn meet_one(
        &mut self,
        key: InstanceKey,
        event: &Published,
        verdict: &mut Verdict,
    ) -> Result<(), Trouble> {
        let Some(open) = readable(key, event, self.open_at(key))? else { return Ok(()) };
        let sent = event.sent(0);
        if !open.iter().any(|wait| wait.wants(&sent)) {
            return Ok(());
        }
        self.meet_published(key, open, event, verdict)
    }

    /// Has the event meet the open waits of an instance, once what fell due there is decided.
    fn meet_published(
        &mut self,
        key: InstanceKey,
        open: Vec<Wait>,
        event: &Published,
        verdict: &mut Verdict,
    ) -> Result<(), Trouble> {
        let is_late = |wait: &Wait| has_expired(wait, self.now);
        let is_due =
            open.iter().any(is_late) || (self.claims.mail(key).kept && self.has_ripe(key)?);
        // To meet a counted wait is to read what it holds, which may be damaged.
        let may_read = is_due || open.iter().any(|wait| wait.count.is_some());
        let met = if may_read {
            let met = self.guarded(|batch| batch.meet_after_due(key, Open::of(open), event));
            readable(key, event, met)?.unwrap_or_default()
        } else {
            self.meet_open(key, Open::of(open), event)?
        };
        met.iter().for_each(|wait| verdict.matches(&wait.id, &wait.instance_id));
        Ok(())
    }

    fn meet_after_due(
        &mut self,
        key: InstanceKey,
        mut open: Open,
        event: &Published,
    ) -> Result<Vec<Wait>, Trouble> {
        let mut tale = Tale::new();
        self.decide_due(key, &mut open, &mut tale)?;
        self.happen(key, tale)?;
        self.meet_open(key, open, event)
    }

    /// Answers with the waits that took it.
    fn meet_open(
        &mut self,
        key: InstanceKey,
        mut open: Open,
        event: &Published,
    ) -> Result<Vec<Wait>, Trouble> {
        let met = meet(open.waits(), &event.sent(0));
        if !met.is_empty() {
            let held_by = met.held_by.iter().map(|(place, _)| *place);
            let mut places: Vec<usize> = met.fulfils.iter().copied().chain(held_by).collect();
            places.sort_unstable();
            let takers = places.into_iter().map(|place| open.waits()[place].clone()).collect();
            let state = State::of(&met);
            let sent = self.take_in(key, event, state)?;
            let mut tale = Tale::new();
            self.settle(&mut open, &sent, &met)?.tell(&mut tale);
            if state.is_buffered() {
                tale.push(of_sent(EntryKind::EventBuffered, &sent));
            }
            self.happen(key, tale)?;
            // Who was met is awake.
            if met.fulfils.is_empty() {
                self.keep_awake(key)?;
            }
            return Ok(takers);
        }
        self.keep_awake(key)?;
        Ok(Vec::new())
    }

    /// Publishes an event of a workflow; what came of it arrives at the publisher.
    pub(super) fn publish_for(
        &mut self,
        speaker: &Speaker,
        new: &NewPublish,
    ) -> Result<(), Trouble> {
        let answer = match self.publish(&new.publish) {
            Ok(verdict) => Ok(verdict),
            // Damage is not something a workflow could catch.
            Err(Trouble::Refused(refused)) if !matches!(refused, Error::Corrupt { .. }) => {
                Err(refused)
            }
            Err(trouble) => return Err(trouble),
        };
        self.arrive(speaker.key, published(&new.step, &answer))
    }
}

fn id_of(publish: &Publish) -> &str {
    publish.event.id.as_deref().unwrap_or_default()
}

/// Damage at one instance does not keep an event from the others.
fn readable<T>(
    key: InstanceKey,
    event: &Published,
    read: Result<T, Trouble>,
) -> Result<Option<T>, Trouble> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(Trouble::Refused(error)) => {
            tracing::warn!(instance = key.0, event = event.seq, %error, "it can't have the event");
            Ok(None)
        }
        Err(failed) => Err(failed),
    }
}
