//! Values that an instance publishes, and those who wait for them.

use std::sync::Arc;

use abide::meeting::{has_expired, output_arrived};
use abide::store::Hint;
use abide::{Hears, InstanceKey, Json, Output, Result, WaitFilter, WaitStatus};

use super::state::State;

impl State {
    /// Sets an output, and meets the open waits for it, whoever waits, oldest first.
    pub(super) fn set_output(
        &mut self,
        key: InstanceKey,
        name: &Arc<str>,
        value: &Json,
    ) -> Result<()> {
        let now = self.now;
        let output = Output { key: name.clone(), value: value.clone(), updated_at: now };
        let kept = self.kept(key)?;
        kept.outputs.insert(name.clone(), output.clone());
        let id = kept.instance.id.clone();
        let hears = Hears::Output { of: id.clone(), key: name.clone() };
        self.hints.push(Hint::OutputSet(id, output));
        let filter = WaitFilter { status: Some(WaitStatus::Active), ..WaitFilter::default() };
        for wait in self.waits(&filter) {
            let waiter = self.wait(wait.instance, wait.key)?;
            // It may have lost to one that was met a moment ago.
            if wait.hears == hears && waiter.is_open() && !has_expired(&wait, now) {
                waiter.fulfil(None, now);
                let mailbox = &mut self.kept(wait.instance)?.mailbox;
                let mut row = mailbox.lose_to(&wait, |_| true).into_row();
                row.push(output_arrived(&wait, value));
                self.happen(wait.instance, &row)?;
            }
        }
        Ok(())
    }
}
