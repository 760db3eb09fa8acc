//! Sending and waiting in the words of a test.

use abide::{
    Buffered, Delivered, Delivery, Output, Result, Timestamp, Wait, WaitEdit, WaitFilter,
    WaitStatus,
};

use super::Lab;
use crate::fixture::id;

impl Lab {
    /// Sends something, whatever becomes of it.
    pub async fn deliver(&self, delivery: Delivery) -> Result<Delivered> {
        self.store.deliver(delivery).await
    }

    /// Sends something that must be accepted: how many waits it fulfilled, and whether it was kept.
    pub async fn accepted(&self, delivery: Delivery) -> (u32, bool) {
        let Delivered { delivered, buffered, .. } = self.deliver(delivery).await.unwrap();
        (delivered, buffered)
    }

    /// Sends something that must be refused and leave no trace; answers why.
    pub async fn refused(&self, delivery: Delivery) -> String {
        let before = self.everything().await;
        let code = self.deliver(delivery).await.unwrap_err().code().to_owned();
        assert_eq!(self.everything().await, before, "a refused delivery changed something");
        code
    }

    /// Decides what fell due at these instances, in this order.
    pub async fn fall_due(&self, names: &[&str]) {
        let mut keys = Vec::new();
        for name in names {
            keys.push(self.get(name).await.key);
        }
        self.store.fall_due(keys).await.unwrap();
    }

    /// The waits of an instance, oldest first.
    pub async fn waits(&self, name: &str) -> Vec<Wait> {
        let filter = WaitFilter { instance: Some(id(name)), ..WaitFilter::default() };
        self.store.waits(filter).await.unwrap()
    }

    /// The waits of an instance in words: `approval active`, `approval fulfilled by m1`.
    pub async fn subscriptions(&self, name: &str) -> Vec<String> {
        self.waits(name).await.iter().map(wait_in_words).collect()
    }

    /// What an instance keeps for later.
    pub async fn buffer(&self, name: &str) -> Vec<Buffered> {
        self.store.buffer(&id(name)).await.unwrap()
    }

    /// The ids of what an instance keeps for later, in order.
    pub async fn buffered(&self, name: &str) -> Vec<String> {
        self.buffer(name).await.iter().map(|kept| kept.id.to_string()).collect()
    }

    /// The outputs of an instance.
    pub async fn outputs(&self, name: &str) -> Vec<Output> {
        self.store.outputs(&id(name)).await.unwrap()
    }

    /// Gives a wait, named by its step, another deadline.
    pub async fn edit_wait(&self, step: &str, timeout_at: Option<Timestamp>) -> Result<Wait> {
        let edit = WaitEdit { timeout_at: Some(timeout_at), ..WaitEdit::default() };
        self.store.edit_wait(&format!("sub_{step}"), edit).await
    }

    /// The history of an instance since a number, without the numbers.
    pub async fn news(&self, name: &str, after: i64) -> Vec<String> {
        let told = self.store.history(&id(name), after, 1000).await.unwrap();
        told.iter()
            .map(|recorded| {
                let entry = &recorded.entry;
                format!("{} {}", entry.entry, entry.name.as_deref().unwrap_or_default())
            })
            .collect()
    }
}

fn wait_in_words(wait: &Wait) -> String {
    let by = wait.fulfilled_by.as_deref().map_or_else(String::new, |by| format!(" by {by}"));
    debug_assert!(wait.status == WaitStatus::Fulfilled || by.is_empty());
    format!("{} {}{by}", wait.step, wait.status)
}
