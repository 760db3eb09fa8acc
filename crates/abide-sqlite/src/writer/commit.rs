//! What a running instance did.
//!
//! Most commits only add to the history. They cost one `INSERT`: the claim in memory says whether
//! the speaker may speak and which number comes next.

use abide::lifecycle;
use abide::store::{Commit, Committed, Hint};
use abide::{Error, InstanceId, InstanceKey, NewChild, Parent, Park, Transition};
use rusqlite::params;

use super::batch::{Batch, Head};
use super::waits::{has_events, is_about_mail};
use crate::failure::Trouble;

/// The instance on whose behalf something is written.
pub(super) struct Speaker {
    pub(super) key: InstanceKey,
    pub(super) id: InstanceId,
    pub(super) run: u32,
    pub(super) has_parent: bool,
    /// Whether it knew of everything that arrived when it decided to rest.
    pub(super) may_park: bool,
    /// The last published event before its run was accepted.
    pub(super) log_from: i64,
    /// Whether it may have open waits or something buffered.
    pub(super) has_mail: bool,
}

impl Batch<'_> {
    /// Stores a transition, or nothing when the claim, the run or the life is over: a claim ends
    /// with each of them.
    pub(super) fn commit(&mut self, commit: &Commit, text: &str) -> Result<Committed, Trouble> {
        let transition = &*commit.transition;
        if !self.caches.fanouts.is_empty()
            && self.claims.held(commit.key, commit.epoch, commit.run).is_some()
        {
            self.settle_first(commit.key)?;
        }
        let has_quiet = self.claims.get(commit.key).is_some_and(|claim| claim.mail.quiet);
        if is_history_only(transition) && !has_quiet {
            let numbered = transition.entries.numbered();
            let Some(next_seq) = self.claims.speak(commit.key, commit.epoch, commit.run, numbered)
            else {
                return Ok(Committed::Fenced);
            };
            if !text.is_empty() {
                let head = Head { run: commit.run, next_seq };
                self.append(commit.key, head, &transition.entries, text)?;
            }
            return Ok(Committed::Stored);
        }
        let Some(claim) = self.claims.held(commit.key, commit.epoch, commit.run) else {
            return Ok(Committed::Fenced);
        };
        refuse_parked_end(transition)?;
        let (key, run, has_parent) = (commit.key, commit.run, claim.has_parent);
        let (may_park, has_mail) = (claim.arrived <= commit.heard, claim.mail.is_any());
        let (id, log_from) = (claim.id.clone(), claim.log_from);
        let speaker = Speaker { key, id, run, has_parent, may_park, log_from, has_mail };
        // Only what reads waits or other instances can be refused after it has written.
        let reads = !transition.children.is_empty()
            || has_quiet
            || is_about_mail(transition)
            || (self.caches.outputs_awaited && !transition.outputs.is_empty())
            || (transition.end.is_some() && (has_parent || has_mail));
        if !reads {
            self.commit_all(commit, &speaker, text)?;
        } else {
            self.guarded(|batch| batch.commit_all(commit, &speaker, text))?;
        }
        Ok(Committed::Stored)
    }

    fn commit_all(
        &mut self,
        commit: &Commit,
        speaker: &Speaker,
        text: &str,
    ) -> Result<(), Trouble> {
        if let Some(end) = commit.transition.end.as_ref().filter(|_| speaker.has_mail) {
            self.leave(speaker.key, end, &commit.transition.cancels)?;
        }
        let numbered = commit.transition.entries.numbered();
        let next_seq = self.claims.speak(commit.key, commit.epoch, commit.run, numbered);
        match next_seq.filter(|_| !text.is_empty()) {
            Some(next_seq) => {
                let head = Head { run: commit.run, next_seq };
                self.append(commit.key, head, &commit.transition.entries, text)?;
            }
            None => self.touch(commit.key)?,
        }
        self.apply(speaker, &commit.transition)
    }

    /// Applies everything of a transition but its history, in the order of the rules.
    pub(super) fn apply(
        &mut self,
        speaker: &Speaker,
        transition: &Transition,
    ) -> Result<(), Trouble> {
        let key = speaker.key;
        for chunk in &transition.chunks {
            self.keep_chunk(key, &speaker.id, speaker.run, chunk)?;
        }
        if let Some(context) = &transition.context {
            let mut update = self.connection.prepare_cached(
                "UPDATE instances SET context = ?2, updated_at = ?3 WHERE key = ?1",
            )?;
            update.execute(params![key.0, context.as_str(), self.now.0])?;
        }
        if let Some(park) = transition.park.as_ref().filter(|_| speaker.may_park) {
            self.park(key, park)?;
        }
        if transition.pause {
            self.pause(key)?;
        }
        let has_quiet = self.claims.get(key).is_some_and(|claim| claim.mail.quiet);
        if has_events(transition) || has_quiet {
            let goes_on = self.apply_events(speaker, transition)?;
            if !goes_on {
                return Ok(());
            }
        }
        if is_about_mail(transition) || (speaker.has_mail && transition.park.is_some()) {
            self.keep_awake(key)?;
        }
        for child in &transition.children {
            self.child(speaker, child)?;
        }
        match &transition.end {
            Some(end) => {
                // What it left behind went before; what its last commit left behind goes now.
                if is_about_mail(transition) {
                    self.leave(key, end, &[])?;
                }
                self.end(speaker, end)
            }
            None => Ok(()),
        }
    }

    /// Notes that something happened that left no history.
    fn touch(&mut self, key: InstanceKey) -> Result<(), Trouble> {
        let mut update = self
            .connection
            .prepare_cached("UPDATE instances SET updated_at = ?2 WHERE key = ?1")?;
        update.execute([key.0, self.now.0])?;
        Ok(())
    }

    fn park(&mut self, key: InstanceKey, park: &Park) -> Result<(), Trouble> {
        let mut update = self.connection.prepare_cached(
            "UPDATE instances SET phase = ?2, wake_at = ?3, queued_reason = ?4, updated_at = ?5
              WHERE key = ?1",
        )?;
        update.execute(params![
            key.0,
            park.phase.as_str(),
            park.wake_at.map(|at| at.0),
            park.reason,
            self.now.0
        ])?;
        Ok(())
    }

    pub(super) fn pause(&mut self, key: InstanceKey) -> Result<(), Trouble> {
        let mut update = self
            .connection
            .prepare_cached("UPDATE instances SET paused = 1, updated_at = ?2 WHERE key = ?1")?;
        update.execute([key.0, self.now.0])?;
        self.hints.push(Hint::Paused(key));
        Ok(())
    }

    fn child(&mut self, speaker: &Speaker, child: &NewChild) -> Result<(), Trouble> {
        let parent = Parent {
            key: speaker.key,
            id: speaker.id.clone(),
            run: speaker.run,
            step: child.step.clone(),
            awaited: child.awaited,
        };
        match self.start_child(&child.instance, &parent)? {
            Some(key) => {
                self.hints.push(Hint::Runnable(key));
                match lifecycle::child_detached(child) {
                    Some(entry) => self.arrive(speaker.key, entry),
                    None => Ok(()),
                }
            }
            None => {
                let refused = Error::AlreadyExists { id: child.instance.id.clone() };
                self.arrive(speaker.key, lifecycle::child_refused(child, &refused))
            }
        }
    }
}

fn is_history_only(transition: &Transition) -> bool {
    transition.park.is_none()
        && transition.chunks.is_empty()
        && !transition.pause
        && transition.context.is_none()
        && transition.children.is_empty()
        && transition.end.is_none()
        && !has_events(transition)
}

/// An instance ends with an end, not by being parked in a terminal phase. Asked before anything is
/// written.
pub(super) fn refuse_parked_end(transition: &Transition) -> Result<(), Error> {
    match &transition.park {
        Some(park) if park.phase.is_terminal() => {
            let message = format!("an instance can't be parked as {}", park.phase);
            Err(Error::Invalid { what: "park".into(), message })
        }
        _ => Ok(()),
    }
}
