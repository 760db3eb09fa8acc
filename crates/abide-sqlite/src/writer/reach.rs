//! Waits that a workflow reached, and what every commit looks at.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use abide::meeting::{expired, has_expired, taken};
use abide::{Buffered, Error, Hears, InstanceKey, NewTake, NewWait, Wait, WaitStatus};
use rusqlite::params;

use super::batch::Batch;
use super::commit::Speaker;
use super::inbox::{Candidate, State};
use super::meet::{Open, Settled, Tale, heard};
use crate::claims::Mail;
use crate::failure::Trouble;
use crate::waits::{self, OUTPUT};
use crate::{inbox, outputs};

impl Batch<'_> {
    /// Waits that were reached together meet what is there, give up at once, or are registered.
    /// What `returned` to the buffer, and what was sent without waking, meets the waits that were
    /// open before, too.
    pub(super) fn reach(
        &mut self,
        speaker: &Speaker,
        new: &[NewWait],
        returned: &[Buffered],
    ) -> Result<(), Trouble> {
        let key = speaker.key;
        let Mail { quiet, .. } = self.claims.mail(key);
        if new.is_empty() && returned.is_empty() && !quiet {
            return Ok(());
        }
        let mut again = BTreeSet::new();
        for entry in returned {
            // It may have been taken meanwhile.
            if self.is_in(entry.key, State::Pending)? {
                again.insert(Candidate::of(entry));
            }
        }
        if quiet {
            again.extend(self.quiet(key)?);
        }
        let before = if again.is_empty() { vec![] } else { waits::open(self.connection, key)? };
        let first = self.keys.next_wait;
        // Nobody has to find those that are met at once.
        self.unkeyed_from = first;
        let reached = self.reach_all(speaker, new, Open::of(before), &again);
        self.unkeyed_from = i64::MAX;
        let open = reached?;
        for wait in open.waits().iter().filter(|wait| wait.key >= first) {
            self.key_wait(wait)?;
        }
        Ok(())
    }

    /// Answers with the waits that are open then.
    fn reach_all(
        &mut self,
        speaker: &Speaker,
        new: &[NewWait],
        mut open: Open,
        again: &BTreeSet<Candidate>,
    ) -> Result<Open, Trouble> {
        let key = speaker.key;
        let Mail { kept, quiet, .. } = self.claims.mail(key);
        let first = self.keys.next_wait;
        self.register(speaker, new, &mut open)?;
        let mut settled = Vec::new();
        if kept {
            let mut all = self.heard_by(key, &open, |wait| wait.key >= first)?;
            all.extend(again.iter().cloned());
            let may_have = |wait: &Wait, entry: &Candidate| {
                wait.key >= first || (again.contains(entry) && heard(wait, entry.visible_at))
            };
            settled = self.offer_all(&mut open, &all, may_have, |_, _| true)?;
        }
        if quiet && !self.has_quiet(key)? {
            self.claims.note(key, |mail| mail.quiet = false);
        }
        let mut looked = self.look_back(key, &mut open, |wait| wait.key >= first)?;
        settled.append(&mut looked.settled);
        self.conclude(key, first..self.keys.next_wait, &mut open, settled, &looked.held)?;
        Ok(open)
    }

    /// Decides what nothing in the buffer met: an output that is there already, or a deadline that
    /// has passed. Then all of it is told in the order of the waits, not of what they met.
    pub(super) fn conclude(
        &mut self,
        key: InstanceKey,
        reached: Range<i64>,
        open: &mut Open,
        mut settled: Vec<Settled>,
        held: &[Buffered],
    ) -> Result<(), Trouble> {
        let (mut freed, mut gave_up) = (Vec::new(), Settled::default());
        for wait in reached {
            let Some(place) = open.place(wait) else { continue };
            let wait = &open.waits()[place];
            let output = match &wait.hears {
                Hears::Output { of, key } => outputs::value(self.connection, of.as_str(), key)?,
                Hears::Sent { .. } => None,
            };
            if let Some(value) = output {
                settled.push(self.meet_output(open, place, &value)?);
            } else if has_expired(wait, self.now) {
                self.expire(wait)?;
                gave_up.done.push((wait.key, expired(wait)));
                freed.append(&mut self.release(wait)?);
                let late = wait.key;
                open.close(|wait| wait.key == late);
            }
        }
        settled.push(gave_up);
        let (mut lost, mut done) = (BTreeMap::new(), BTreeMap::new());
        for settled in settled {
            lost.extend(settled.lost);
            done.extend(settled.done);
        }
        let mut tale: Tale = lost.into_values().chain(done.into_values()).collect();
        self.tell_held(held, &mut tale)?;
        self.return_to(key, open, freed, &mut tale)?;
        self.happen(key, tale)
    }

    fn register(
        &mut self,
        speaker: &Speaker,
        new: &[NewWait],
        open: &mut Open,
    ) -> Result<(), Trouble> {
        for new in new {
            let wait = Wait {
                key: self.keys.next_wait,
                id: Arc::clone(&new.id),
                instance: speaker.key,
                instance_id: speaker.id.clone(),
                run: speaker.run,
                step: Arc::clone(&new.step),
                hears: new.hears.clone(),
                filter: new.filter.clone(),
                race: new.race.clone(),
                count: new.count.clone(),
                since: self.since(new.since, speaker.log_from)?,
                cut_short: false,
                status: WaitStatus::Active,
                created_at: self.now,
                timeout_at: new.timeout_at,
                fulfilled_at: None,
                fulfilled_by: None,
            };
            self.keys.next_wait += 1;
            self.insert_wait(&wait)?;
            self.claims.note(speaker.key, |mail| mail.opened(&wait));
            open.push(wait);
        }
        Ok(())
    }

    fn insert_wait(&mut self, wait: &Wait) -> Result<(), Trouble> {
        let (kind, output_of) = match &wait.hears {
            Hears::Sent { kind, .. } => (kind.as_str(), None),
            Hears::Output { of, .. } => (OUTPUT, Some(of.as_str())),
        };
        self.caches.outputs_awaited |= output_of.is_some();
        let (count, filter) = (wait.count.as_ref(), wait.filter.as_ref());
        let distinct_by = count.and_then(|count| count.distinct_by.as_ref());
        let inserted = self.hot.insert_wait.execute(params![
            wait.key,
            &*wait.id,
            wait.instance.0,
            wait.instance_id.as_str(),
            wait.run,
            kind,
            wait.hears.pattern(),
            output_of,
            wait.status.as_str(),
            wait.timeout_at.map(|at| at.0),
            wait.created_at.0,
            &*wait.step,
            wait.race.as_deref(),
            count.map(|count| count.needed),
            filter.map(|filter| &*filter.written),
            filter.map(|filter| filter.folded.to_string()),
            distinct_by.map(|by| &*by.written),
            distinct_by.map(|by| by.folded.to_string()),
            wait.since,
        ])?;
        if inserted == 0 {
            let message = format!("{:?} is the id of another wait", wait.id);
            return Err(Error::Invalid { what: "wait".into(), message }.into());
        }
        Ok(())
    }

    /// Takes the first that is there, or finds none; either way the step is settled.
    pub(super) fn take(&mut self, speaker: &Speaker, take: &NewTake) -> Result<(), Trouble> {
        let first = self.candidates(speaker.key, take.kind, &take.pattern, 1)?.pop();
        let found = match &first {
            Some(first) => inbox::entry(self.connection, first.key)?,
            None => None,
        };
        if let Some(found) = &found {
            self.move_to(found.key, State::Consumed)?;
        }
        self.arrive(speaker.key, taken(&take.step, found.as_ref()))
    }
}
