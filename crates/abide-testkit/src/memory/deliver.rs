//! Accepting what is sent, and what falls due by itself.

use abide::meeting::{Fate, accept};
use abide::store::{Due, Hint};
use abide::{Delivered, Delivery, Error, InstanceKey, Phase, Result};

use super::state::State;

impl State {
    /// Accepts something, unless it came before or cannot be accepted. What fell due at the
    /// instance is decided first; if the delivery is refused, nobody has looked.
    pub(super) fn deliver(&mut self, delivery: &Delivery) -> Result<Delivered> {
        let Some(key) = self.keys.get(&delivery.to).copied() else {
            return Err(Error::InstanceNotFound { id: delivery.to.clone() });
        };
        let (now, limits) = (self.now, self.limits);
        let kept = self.kept(key)?;
        if let Some(first) = kept.mailbox.remembered(&delivery.id) {
            return Ok(first);
        }
        let mut mailbox = kept.mailbox.clone();
        let mut row = mailbox.fall_due(now);
        let status = kept.instance.status();
        let load = |fate: &Fate| Ok::<_, Error>(mailbox.load(delivery, fate));
        let fate = accept(delivery, status, &mailbox.open(), limits.buffer, now, load)?;
        let answer = answer(delivery, &fate);
        if fate == Fate::Ignored {
            return Ok(answer);
        }
        self.last_mail += 1;
        row.extend(mailbox.accept(delivery, &fate, self.last_mail, now));
        mailbox.remember(answer.clone(), limits.remembered_ids);
        self.kept(key)?.mailbox = mailbox;
        self.happen(key, &row)?;
        self.keep_awake(key)?;
        Ok(answer)
    }

    /// Decides what fell due at these instances. Nobody runs a paused one, so it is told here when
    /// to look again.
    pub(super) fn fall_due(&mut self, keys: &[InstanceKey]) -> Result<()> {
        let now = self.now;
        for key in keys {
            let Some(kept) = self.kept.get_mut(key) else { continue };
            if kept.instance.phase.is_terminal() {
                continue;
            }
            let row = kept.mailbox.fall_due(now);
            self.happen(*key, &row)?;
            let kept = self.kept(*key)?;
            // A start that waits for its moment has nothing yet that could fall due.
            if kept.instance.paused && kept.instance.phase != Phase::Queued {
                kept.instance.wake_at = kept.mailbox.next_due();
                let due = kept.instance.wake_at.map(|at| Hint::Due(Due { at, key: *key }));
                self.hints.extend(due);
            }
        }
        Ok(())
    }

    /// A parked instance wants to be woken no later than something falls due at it.
    pub(super) fn keep_awake(&mut self, key: InstanceKey) -> Result<()> {
        let kept = self.kept(key)?;
        let is_parked = matches!(kept.instance.phase, Phase::Waiting | Phase::Sleeping);
        let Some(at) = kept.mailbox.next_due().filter(|_| is_parked) else { return Ok(()) };
        if kept.instance.wake_at.is_none_or(|wake_at| at < wake_at) {
            kept.instance.wake_at = Some(at);
            self.hints.push(Hint::Due(Due { at, key }));
        }
        Ok(())
    }
}

fn answer(delivery: &Delivery, fate: &Fate) -> Delivered {
    let (delivered, buffered) = match fate {
        Fate::Meets(met) => (met.fulfils.len(), met.fulfils.is_empty()),
        Fate::Kept | Fate::Replaces | Fate::Later => (0, true),
        Fate::Dropped | Fate::Ignored => (0, false),
    };
    let delivered = u32::try_from(delivered).unwrap_or(u32::MAX);
    Delivered { event_id: delivery.id.clone(), delivered, buffered }
}
