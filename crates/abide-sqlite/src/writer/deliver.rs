//! Accepting what is sent to an instance.
//!
//! What was sent finds its waits inside the transaction that stores it, so a wait is answered
//! exactly once however sending and waiting race: whichever comes second sees the other.

use abide::history::EntryKind;
use abide::meeting::{self, Fate, has_expired, of_sent, sent};
use abide::{Delivered, Delivery, Error, InstanceId, InstanceKey, NewSend, Phase, Status, Wait};
use rusqlite::OptionalExtension;

use super::batch::Batch;
use super::commit::Speaker;
use super::inbox::State;
use super::meet::{Open, Tale};
use crate::failure::Trouble;

impl Batch<'_> {
    /// Accepts a delivery, answers it as the first time, or refuses it before anything is written.
    pub(super) fn deliver(&mut self, delivery: &Delivery) -> Result<Delivered, Trouble> {
        let Some((key, status)) = self.addressee(&delivery.to)? else {
            return Err(Error::InstanceNotFound { id: delivery.to.clone() }.into());
        };
        self.settle_first(key)?;
        // Nobody looks for what is known not to be there.
        let mail = self.claims.mail(key);
        let first = if mail.received { self.answered(key, &delivery.id)? } else { None };
        if let Some(first) = first {
            return Ok(first);
        }
        let open = self.open_at(key)?;
        let is_late = |wait: &Wait| has_expired(wait, self.now);
        let is_due = open.iter().any(is_late) || (mail.kept && self.has_ripe(key)?);
        // To meet a counted wait is to read what it holds, which may be damaged.
        let may_read = open.iter().any(|wait| wait.count.is_some());
        let mut open = Open::of(open);
        if is_due || may_read {
            return self.guarded(|batch| batch.accept_after_due(key, status, delivery, &mut open));
        }
        self.accept(key, status, delivery, &mut open, Tale::new())
    }

    /// What fell due at the instance is decided first; if the delivery is refused, nobody has
    /// looked.
    fn accept_after_due(
        &mut self,
        key: InstanceKey,
        status: Status,
        delivery: &Delivery,
        open: &mut Open,
    ) -> Result<Delivered, Trouble> {
        let mut tale = Tale::new();
        self.decide_due(key, open, &mut tale)?;
        self.accept(key, status, delivery, open, tale)
    }

    fn accept(
        &mut self,
        key: InstanceKey,
        status: Status,
        delivery: &Delivery,
        open: &mut Open,
        mut tale: Tale,
    ) -> Result<Delivered, Trouble> {
        let (limit, now) = (self.limits.buffer, self.now);
        let load = |fate: &Fate| self.load(key, delivery, fate);
        let fate = meeting::accept(delivery, status, open.waits(), limit, now, load)?;
        if fate == Fate::Ignored {
            let event_id = delivery.id.clone();
            return Ok(Delivered { event_id, delivered: 0, buffered: false });
        }
        let answer = self.store(key, delivery, &fate, open, &mut tale)?;
        self.happen(key, tale)?;
        // Who was met is awake.
        if answer.delivered == 0 {
            self.keep_awake(key)?;
        }
        Ok(answer)
    }

    /// The instance something is sent to, and whether it has ended.
    fn addressee(&self, id: &InstanceId) -> Result<Option<(InstanceKey, Status)>, Trouble> {
        // What is claimed has not ended, and nothing else of its status matters here.
        if let Some(key) = self.claims.by_id(id) {
            return Ok(Some((key, Status::Running)));
        }
        let mut select = self
            .connection
            .prepare_cached("SELECT key, phase, paused FROM instances WHERE id = ?1")?;
        let found = select.query_row([id.as_str()], |row| {
            Ok((InstanceKey(row.get(0)?), row.get::<_, String>(1)?, row.get(2)?))
        });
        let Some((key, phase, paused)) = found.optional()? else { return Ok(None) };
        let phase: Phase = phase
            .parse()
            .map_err(|refused| Error::corrupt(format!("phase of instance {id}: {refused}")))?;
        Ok(Some((key, phase.status(paused))))
    }

    /// Stores what was accepted and lets it meet, replace or lie.
    fn store(
        &mut self,
        key: InstanceKey,
        delivery: &Delivery,
        fate: &Fate,
        open: &mut Open,
        tale: &mut Tale,
    ) -> Result<Delivered, Trouble> {
        let (state, delivered) = match fate {
            Fate::Meets(met) => (State::of(met), met.fulfils.len()),
            Fate::Kept | Fate::Replaces => (State::Pending, 0),
            Fate::Later => (State::Delayed, 0),
            Fate::Dropped | Fate::Ignored => (State::Dropped, 0),
        };
        let delivered = u32::try_from(delivered).unwrap_or(u32::MAX);
        // Read before anything is written: what is damaged refuses the delivery.
        let older = match fate {
            Fate::Replaces => {
                self.older(key, delivery.kind, &delivery.name, (self.now, i64::MAX))?
            }
            _ => Vec::new(),
        };
        let sent = self.insert_sent(key, delivery, state, delivered)?;
        tale.push(of_sent(EntryKind::EventReceived, &sent));
        self.supersede(&older, tale)?;
        if let Fate::Meets(met) = fate {
            self.settle(open, &sent, met)?.tell(tale);
        }
        if state.is_buffered() {
            tale.push(of_sent(EntryKind::EventBuffered, &sent));
        }
        Ok(Delivered { event_id: sent.id, delivered, buffered: state.is_buffered() })
    }

    /// Delivers a message of a workflow; what came of it arrives at the sender.
    pub(super) fn send(&mut self, speaker: &Speaker, send: &NewSend) -> Result<(), Trouble> {
        let answer = match self.deliver(&send.delivery) {
            Ok(delivered) => Ok(delivered),
            // Damage is not something a workflow could catch.
            Err(Trouble::Refused(refused)) if !matches!(refused, Error::Corrupt { .. }) => {
                Err(refused)
            }
            Err(trouble) => return Err(trouble),
        };
        self.arrive(speaker.key, sent(&send.step, &send.delivery.to, &answer))
    }
}
