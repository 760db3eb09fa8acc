//! Accepting an event for whoever wants it.

use std::sync::Arc;

use abide::history::EntryKind;
use abide::lifecycle::Control;
use abide::{
    CancelBy, Error, InstanceKey, Logged, Publication, Publish, Published, Result, Terminate,
    Verdict, Wait,
};

use super::mail::Place;
use super::state::State;

impl State {
    /// Accepts an event, unless it came before or cannot be accepted.
    pub(super) fn publish(&mut self, publish: &Publish) -> Result<Verdict> {
        if let Some(first) = self.published_before(publish) {
            let again = Verdict { duplicate: true, ..first.verdict.clone() };
            if !publish.dry_run {
                self.tally.add_published(&again);
            }
            return Ok(again);
        }
        if let Some(message) = &publish.refused {
            let (event_type, message) = (publish.event.event_type.clone(), message.clone());
            return Err(Error::EventInvalid { event_type, message });
        }
        if !publish.dry_run {
            return self.accept(publish);
        }
        let before = self.clone();
        let would_be = self.accept(publish);
        *self = before;
        Ok(Verdict { seq: None, ..would_be? })
    }

    fn published_before(&self, publish: &Publish) -> Option<&Logged> {
        self.log.get(self.numbers.get(&identity(&publish.event)?)?)
    }

    fn accept(&mut self, publish: &Publish) -> Result<Verdict> {
        self.last_published += 1;
        let seq = self.last_published;
        let event = Arc::clone(&publish.event);
        let mut verdict = Verdict::of(event.id.as_deref().unwrap_or_default());
        verdict.seq = Some(seq);
        verdict.failed = publish.failed.iter().take(Verdict::MAX_LISTED).cloned().collect();
        let published = Published { seq, accepted_at: self.now, event };
        // It is in the log before anything comes of it, so that whoever takes it finds it there.
        let logged =
            Logged { published: published.clone(), verdict: verdict.clone(), wanted: false };
        self.log.insert(seq, logged);
        self.numbers.extend(identity(&publish.event).map(|identity| (identity, seq)));
        for cancel in &publish.cancels {
            self.cancel_by(cancel, &published, &mut verdict)?;
        }
        for key in self.wanted_by(&published) {
            self.meet_published(key, &published, &mut verdict)?;
        }
        for start in &publish.starts {
            self.start_by(start, seq, &mut verdict)?;
        }
        self.log.entry(seq).and_modify(|logged| {
            logged.verdict = verdict.clone();
            logged.wanted |= verdict.is_wanted();
        });
        self.tally.add_published(&verdict);
        Ok(verdict)
    }

    /// Ends whoever a trigger cancels. One of them may be the child of another, and has ended with
    /// it.
    fn cancel_by(
        &mut self,
        cancel: &CancelBy,
        event: &Published,
        verdict: &mut Verdict,
    ) -> Result<()> {
        let how = Control::Terminate(Terminate::because(cancel.reason(&event.event)));
        let all = self.kept.values().map(|kept| &kept.instance).filter(|instance| {
            instance.workflow == cancel.workflow
                && instance.correlation_id.as_ref() == Some(&cancel.correlation_id)
        });
        let all: Vec<InstanceKey> = all.map(|instance| instance.key).collect();
        for key in all {
            let instance = &self.kept(key)?.instance;
            if !instance.phase.is_terminal() {
                verdict.cancels(&cancel.trigger, &instance.id);
                self.tell(key, &how)?;
            }
        }
        Ok(())
    }

    /// The instances with an open wait that wants the event, by the first such wait of each.
    fn wanted_by(&self, event: &Published) -> Vec<InstanceKey> {
        let sent = event.sent(0);
        let first = |wait: &&Wait| wait.wants(&sent);
        let mut found: Vec<(i64, InstanceKey)> = Vec::new();
        for (key, kept) in &self.kept {
            let open = kept.mailbox.waits.iter().filter(|waiter| waiter.is_open());
            let wanting = open.map(|waiter| &waiter.wait).find(first);
            found.extend(wanting.map(|wait| (wait.key, *key)));
        }
        found.sort_unstable();
        found.into_iter().map(|(_, key)| key).collect()
    }

    /// Has the event meet the waits of an instance, once what fell due there is decided.
    fn meet_published(
        &mut self,
        key: InstanceKey,
        event: &Published,
        verdict: &mut Verdict,
    ) -> Result<()> {
        let now = self.now;
        let row = self.kept(key)?.mailbox.fall_due(now);
        self.happen(key, &row)?;
        let sent = event.sent(self.last_mail + 1);
        let mailbox = &mut self.kept(key)?.mailbox;
        if mailbox.open().iter().any(|wait| wait.wants(&sent)) {
            let mail = sent.key;
            mailbox.take_in(sent, Place::Kept, now);
            let mut row = mailbox.offer(mail, now, |_| true, |_| true).into_row();
            if mailbox.mail(mail).is_pending() {
                row.push(mailbox.mail(mail).entry(EntryKind::EventBuffered));
            }
            for waiter in mailbox.waits.iter().filter(|waiter| waiter.has(mail)) {
                verdict.matches(&waiter.wait.id, &waiter.wait.instance_id);
            }
            self.last_mail = mail;
            self.happen(key, &row)?;
        }
        self.keep_awake(key)
    }

    /// An instance has a published event without having waited for it. It may have it already.
    pub(super) fn consume(&mut self, key: InstanceKey, seq: i64) {
        let now = self.now;
        let (Some(logged), Some(kept)) = (self.log.get_mut(&seq), self.kept.get_mut(&key)) else {
            return;
        };
        if kept.mailbox.taken(seq).is_some() {
            return;
        }
        self.last_mail += 1;
        kept.mailbox.take_in(logged.published.sent(self.last_mail), Place::Gone, now);
        logged.wanted = true;
    }
}

/// What no other event has.
fn identity(event: &Publication) -> Option<(Option<String>, String)> {
    Some((event.source.clone(), event.id.clone()?))
}
