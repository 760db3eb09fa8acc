//! Waits: reached, dropped, looked at and edited.

use abide::meeting::{expired, has_expired, output_arrived};
use abide::{
    Error, Hears, InstanceKey, Json, NewWait, Result, Wait, WaitEdit, WaitFilter, WaitStatus,
};

use super::mailbox::{Settled, Waiter};
use super::state::State;

impl State {
    /// Registers waits and matches them together, as if what is already there had come a moment
    /// later. What `returned` from a dropped wait is offered to the waits that were open before,
    /// too.
    pub(super) fn reach(
        &mut self,
        key: InstanceKey,
        new: &[NewWait],
        returned: &[i64],
    ) -> Result<()> {
        let (now, before) = (self.now, self.last_wait);
        for wait in new {
            self.register(key, wait)?;
        }
        let mailbox = &mut self.kept(key)?.mailbox;
        let mut settled = Settled::default();
        for key in mailbox.visible(now) {
            let mail = mailbox.mail(key);
            let (since, is_new) = (mail.since(), returned.contains(&key) || !mail.wakes);
            let may_have = |wait: &Wait| wait.key > before || (is_new && !has_expired(wait, since));
            settled.extend(mailbox.offer(key, now, may_have, |_| true));
        }
        self.conclude(key, |wait| wait.key > before, settled)
    }

    /// What waits that were reached just now come to, once they were offered what is buffered: they
    /// look back, and what still meets nothing may have to expire.
    fn conclude(
        &mut self,
        key: InstanceKey,
        reached: impl Fn(&Wait) -> bool,
        mut settled: Settled,
    ) -> Result<()> {
        let now = self.now;
        let (found, held) = self.look_back(key, &reached)?;
        settled.extend(found);
        let mut freed = Vec::new();
        for wait in self.kept(key)?.mailbox.open().into_iter().filter(reached) {
            settled.extend(self.settle(key, &wait, &mut freed)?);
        }
        let mut row = settled.into_row();
        row.extend(held);
        row.extend(self.kept(key)?.mailbox.return_all(freed, now));
        self.happen(key, &row)
    }

    fn register(&mut self, key: InstanceKey, new: &NewWait) -> Result<()> {
        self.last_wait += 1;
        let (now, place) = (self.now, self.last_wait);
        let since = self.since(key, new.since)?;
        let kept = self.kept(key)?;
        let wait = Wait {
            key: place,
            id: new.id.clone(),
            instance: key,
            instance_id: kept.instance.id.clone(),
            run: kept.instance.run,
            step: new.step.clone(),
            hears: new.hears.clone(),
            filter: new.filter.clone(),
            race: new.race.clone(),
            count: new.count.clone(),
            since,
            cut_short: false,
            status: WaitStatus::Active,
            created_at: now,
            timeout_at: new.timeout_at,
            fulfilled_at: None,
            fulfilled_by: None,
        };
        kept.mailbox.waits.push(Waiter { wait, mail: None });
        Ok(())
    }

    /// What a wait comes to that nothing in the buffer met: an output that is there already, or a
    /// deadline that has passed.
    fn settle(&mut self, key: InstanceKey, wait: &Wait, freed: &mut Vec<i64>) -> Result<Settled> {
        let (now, output) = (self.now, self.output_for(&wait.hears));
        let mut settled = Settled::default();
        let waiter = self.wait(key, wait.key)?;
        if !waiter.is_open() {
            return Ok(settled);
        }
        if let Some(value) = &output {
            waiter.fulfil(None, now);
            settled.insert(wait, output_arrived(wait, value));
            settled.extend(self.kept(key)?.mailbox.lose_to(wait, |_| true));
        } else if has_expired(wait, now) {
            waiter.wait.status = WaitStatus::Expired;
            freed.extend(waiter.let_go());
            settled.insert(wait, expired(wait));
        }
        Ok(settled)
    }

    fn output_for(&self, hears: &Hears) -> Option<Json> {
        let Hears::Output { of, key } = hears else { return None };
        let outputs = &self.kept.get(self.keys.get(of)?)?.outputs;
        outputs.get(key).map(|output| output.value.clone())
    }

    pub(super) fn wait(&mut self, of: InstanceKey, key: i64) -> Result<&mut Waiter> {
        let mut waits = self.kept(of)?.mailbox.waits.iter_mut();
        let found = waits.find(|held| held.wait.key == key);
        found.ok_or_else(|| Error::corrupt(format!("no wait {key}")))
    }

    /// All waits there are, oldest first.
    pub(super) fn waits(&self, filter: &WaitFilter) -> Vec<Wait> {
        let all = self.kept.values().flat_map(|kept| &kept.mailbox.waits).map(|held| &held.wait);
        let mut found: Vec<Wait> = all.filter(|wait| filter.matches(wait)).cloned().collect();
        found.sort_by_key(|wait| wait.key);
        found.truncate(filter.limit.unwrap_or(usize::MAX));
        found
    }

    /// Gives an open wait another deadline or filter. A deadline that has passed is decided when it
    /// falls due; one with another filter is as if it had just been reached.
    pub(super) fn edit_wait(&mut self, id: &str, edit: &WaitEdit) -> Result<Wait> {
        let filter = WaitFilter { id: Some(id.to_owned()), ..WaitFilter::default() };
        let Some(found) = self.waits(&filter).pop() else {
            return Err(Error::SubscriptionNotFound { id: id.to_owned() });
        };
        let key = found.instance;
        if found.status != WaitStatus::Active {
            let status = self.kept(key)?.instance.status();
            let action = "edit a wait that is not open, of";
            return Err(Error::InvalidTransition { id: found.instance_id, status, action });
        }
        let wait = &mut self.wait(key, found.key)?.wait;
        if let Some(timeout_at) = edit.timeout_at {
            wait.timeout_at = timeout_at;
        }
        if let Some(filter) = &edit.filter {
            wait.filter = filter.clone();
            wait.cut_short = false;
            self.reach_again(&found)?;
        }
        self.keep_awake(key)?;
        Ok(self.wait(key, found.key)?.wait.clone())
    }

    fn reach_again(&mut self, wait: &Wait) -> Result<()> {
        let (now, key) = (self.now, wait.instance);
        let is_it = |other: &Wait| other.key == wait.key;
        let mailbox = &mut self.kept(key)?.mailbox;
        let mut settled = Settled::default();
        for mail in mailbox.visible(now) {
            settled.extend(mailbox.offer(mail, now, is_it, |_| true));
        }
        self.conclude(key, is_it, settled)
    }
}
