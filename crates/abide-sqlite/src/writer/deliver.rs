//! Accepting what is sent to an instance.
//!
//! What was sent finds its waits inside the transaction that stores it, so a wait is answered
//! exactly once however sending and waiting race: whichever comes second sees the other.

use abide::history::EntryKind;
use abide::meeting::{self, BufferLoad, Fate, has_expired, of_sent, sent};
use abide::{Delivered, Delivery, Error, InstanceId, InstanceKey, NewSend, Phase, Status, Wait};
use rusqlite::OptionalExtension;

use super::batch::Batch;
use super::commit::Speaker;
use super::inbox::State;
use super::meet::Tale;
use crate::failure::Trouble;
use crate::waits;

impl Batch<'_> {
    /// Accepts a delivery, answers it as the first time, or refuses it before anything is written.
    pub(super) fn deliver(&mut self, delivery: &Delivery) -> Result<Delivered, Trouble> {
        let Some((key, status)) = self.addressee(&delivery.to)? else {
            return Err(Error::InstanceNotFound { id: delivery.to.clone() }.into());
        };
        if let Some(first) = self.answered(key, &delivery.id)? {
            return Ok(first);
        }
        // Who is claimed and has no mail needs no look.
        let has_mail = self.claims.get(key).is_none_or(|claim| claim.has_mail);
        let open = if has_mail { waits::open(self.connection, key)? } else { Vec::new() };
        let is_late = |wait: &Wait| has_expired(wait, self.now);
        if open.iter().any(is_late) || (has_mail && self.has_ripe(key)?) {
            return self.guarded(|batch| batch.accept_after_due(key, status, delivery, &open));
        }
        self.accept(key, status, delivery, &open, Tale::new())
    }

    /// What fell due at the instance is decided first; if the delivery is refused, nobody has
    /// looked.
    fn accept_after_due(
        &mut self,
        key: InstanceKey,
        status: Status,
        delivery: &Delivery,
        open: &[Wait],
    ) -> Result<Delivered, Trouble> {
        let mut tale = Tale::new();
        self.decide_due(key, open, &mut tale)?;
        let open = waits::open(self.connection, key)?;
        self.accept(key, status, delivery, &open, tale)
    }

    fn accept(
        &mut self,
        key: InstanceKey,
        status: Status,
        delivery: &Delivery,
        open: &[Wait],
        mut tale: Tale,
    ) -> Result<Delivered, Trouble> {
        let load = self.load_for(key, status, delivery, open)?;
        let limit = self.limits.buffer;
        let fate = meeting::accept(delivery, status, open, load, limit, self.now)?;
        if fate == Fate::Ignored {
            let event_id = delivery.id.clone();
            return Ok(Delivered { event_id, delivered: 0, buffered: false });
        }
        let answer = self.store(key, delivery, &fate, open, &mut tale)?;
        self.happen(key, tale)?;
        // Who was met is awake.
        if !matches!(fate, Fate::Fulfils(_)) {
            self.keep_awake(key)?;
        }
        Ok(answer)
    }

    /// The instance something is sent to.
    fn addressee(&self, id: &InstanceId) -> Result<Option<(InstanceKey, Status)>, Trouble> {
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

    /// What the instance keeps already, read only when that matters: what meets a wait is not kept.
    fn load_for(
        &self,
        key: InstanceKey,
        status: Status,
        delivery: &Delivery,
        open: &[Wait],
    ) -> Result<BufferLoad, Trouble> {
        let none = BufferLoad::default();
        let full = self.limits.buffer;
        let trial = meeting::accept(delivery, status, open, none, full, self.now);
        match trial {
            Ok(Fate::Kept | Fate::Replaces | Fate::Later) | Err(Error::BufferFull { .. }) => {
                self.load(key)
            }
            _ => Ok(none),
        }
    }

    /// Stores what was accepted and lets it meet, replace or lie.
    fn store(
        &mut self,
        key: InstanceKey,
        delivery: &Delivery,
        fate: &Fate,
        open: &[Wait],
        tale: &mut Tale,
    ) -> Result<Delivered, Trouble> {
        let (state, met) = match fate {
            Fate::Fulfils(met) => (State::Consumed, met.as_slice()),
            Fate::Kept | Fate::Replaces => (State::Pending, &[][..]),
            Fate::Later => (State::Delayed, &[][..]),
            Fate::Dropped | Fate::Ignored => (State::Dropped, &[][..]),
        };
        let delivered = u32::try_from(met.len()).unwrap_or(u32::MAX);
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
        for wait in met.iter().filter_map(|place| open.get(*place)) {
            self.fulfil(wait, &sent, tale)?;
        }
        let buffered = matches!(state, State::Pending | State::Delayed);
        if buffered {
            tale.push(of_sent(EntryKind::EventBuffered, &sent));
        }
        Ok(Delivered { event_id: sent.id, delivered, buffered })
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
