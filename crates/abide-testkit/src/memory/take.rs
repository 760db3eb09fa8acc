//! Taking something that is already there, without waiting for it.

use abide::meeting::taken;
use abide::{Hears, InstanceKey, NewTake, Result};

use super::state::State;

impl State {
    /// Consumes the first that matches. The step is settled whether there was one or not.
    pub(super) fn take(&mut self, key: InstanceKey, take: &NewTake) -> Result<()> {
        let now = self.now;
        let hears = Hears::Sent { kind: take.kind, pattern: take.pattern.clone() };
        let mailbox = &mut self.kept(key)?.mailbox;
        let first = mailbox.visible(now).into_iter().find(|mail| {
            let sent = &mailbox.mail(*mail).sent;
            hears.covers(sent.kind, &sent.name)
        });
        let found = first.map(|mail| mailbox.mail(mail).sent.clone());
        first.into_iter().for_each(|mail| mailbox.remove(mail));
        self.arrive(key, &taken(&take.step, found.as_ref()))
    }
}
