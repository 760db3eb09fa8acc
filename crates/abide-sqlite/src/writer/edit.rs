//! Open waits that get another deadline or filter.

use abide::{Error, Folding, Wait, WaitEdit, WaitStatus};
use rusqlite::params;

use super::batch::Batch;
use super::inbox::Candidate;
use super::meet::Open;
use crate::failure::Trouble;
use crate::row;
use crate::waits::{self, select_waits};

impl Batch<'_> {
    /// Changes an open wait. With another filter it is offered what is there, as if it had just
    /// been reached.
    pub(super) fn edit_wait(&mut self, id: &str, edit: &WaitEdit) -> Result<Wait, Trouble> {
        self.settle_first(self.wait(id)?.instance)?;
        let wait = self.editable(id)?;
        self.guarded(|batch| {
            if let Some(timeout_at) = edit.timeout_at {
                let mut update = batch.connection.prepare_cached(
                    "UPDATE workflow_event_subscriptions SET timeout_at = ?2 WHERE key = ?1",
                )?;
                update.execute(params![wait.key, timeout_at.map(|at| at.0)])?;
            }
            batch.claims.note(wait.instance, |mail| (mail.timed, mail.only) = (true, None));
            if let Some(filter) = &edit.filter {
                batch.change_filter(&wait, filter.as_ref())?;
                batch.offer_anew(&wait)?;
            }
            batch.keep_awake(wait.instance)?;
            batch.wait(id)
        })
    }

    fn wait(&self, id: &str) -> Result<Wait, Trouble> {
        let found = waits::all(self.connection, select_waits!("WHERE id = ?1"), [id])?.pop();
        found.ok_or_else(|| Error::SubscriptionNotFound { id: id.to_owned() }.into())
    }

    /// A wait that is open.
    fn editable(&self, id: &str) -> Result<Wait, Trouble> {
        let wait = self.wait(id)?;
        if wait.status != WaitStatus::Active {
            let instance = row::instance_by_key(self.connection, wait.instance)?;
            let gone = || Error::InstanceNotFound { id: wait.instance_id.clone() };
            let status = instance.ok_or_else(gone)?.status();
            let action = "edit a wait that is not open, of";
            return Err(Error::InvalidTransition { id: wait.instance_id, status, action }.into());
        }
        Ok(wait)
    }

    fn change_filter(&mut self, wait: &Wait, filter: Option<&Folding>) -> Result<(), Trouble> {
        let mut update = self.connection.prepare_cached(
            "UPDATE workflow_event_subscriptions
                SET filter_condition = ?2, filter_folded = ?3, cut_short = 0 WHERE key = ?1",
        )?;
        let (written, folded) =
            (filter.map(|filter| &*filter.written), filter.map(|filter| filter.folded.to_string()));
        update.execute(params![wait.key, written, folded])?;
        self.rekey_wait(wait, &Wait { filter: filter.cloned(), ..wait.clone() })
    }

    /// Offers a wait what is visible in the buffer, and then the log.
    fn offer_anew(&mut self, edited: &Wait) -> Result<(), Trouble> {
        let key = edited.instance;
        let mut open = Open::of(waits::open(self.connection, key)?);
        let is_it = |wait: &Wait| wait.key == edited.key;
        let candidates = self.heard_by(key, &open, is_it)?;
        let may_have = |wait: &Wait, _: &Candidate| is_it(wait);
        let mut settled = self.offer_all(&mut open, &candidates, may_have, |_, _| true)?;
        self.stop_looking(edited.key)?;
        let mut looked = self.look_back(key, &mut open, is_it)?;
        settled.append(&mut looked.settled);
        let reached = edited.key..edited.key + 1;
        self.conclude(key, reached, &mut open, settled, &looked.held)
    }
}
