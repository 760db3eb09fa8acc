//! Finding instances.

use crate::id::{InstanceId, InstanceKey};
use crate::instance::Instance;
use crate::status::Status;
use crate::time::Timestamp;
use crate::wait::{Wait, WaitStatus};

/// Which instances to list. Everything given must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// Of this workflow.
    pub workflow: Option<String>,
    /// In one of these statuses; empty means any.
    pub status: Vec<Status>,
    /// Whose id begins with this.
    pub id_prefix: Option<String>,
    /// With this correlation id.
    pub correlation_id: Option<String>,
    /// With this tag.
    pub tag: Option<String>,
    /// Children of this instance.
    pub parent: Option<InstanceId>,
    /// Accepted after this moment.
    pub created_after: Option<Timestamp>,
    /// Accepted before this moment.
    pub created_before: Option<Timestamp>,
    /// Whose input contains this text.
    pub text: Option<String>,
}

impl Filter {
    /// Whether an instance is wanted: what the SQL of a store must agree with.
    #[must_use]
    pub fn matches(&self, instance: &Instance) -> bool {
        self.workflow.as_ref().is_none_or(|name| **name == *instance.workflow)
            && (self.status.is_empty() || self.status.contains(&instance.status()))
            && self.id_prefix.as_ref().is_none_or(|p| instance.id.as_str().starts_with(p.as_str()))
            && self
                .correlation_id
                .as_ref()
                .is_none_or(|c| instance.correlation_id.as_ref() == Some(c))
            && self.tag.as_ref().is_none_or(|tag| instance.tags.contains(tag))
            && self.parent.as_ref().is_none_or(|parent| {
                instance.parent.as_ref().is_some_and(|found| found.id == *parent)
            })
            && self.created_after.is_none_or(|after| instance.created_at > after)
            && self.created_before.is_none_or(|before| instance.created_at < before)
            && self.text.as_ref().is_none_or(|text| instance.input.as_str().contains(text.as_str()))
    }
}

/// Which waits to list. Everything given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WaitFilter {
    /// With this id.
    pub id: Option<String>,
    /// Of this instance.
    pub instance: Option<InstanceId>,
    /// That hear exactly this pattern, name, topic or key.
    pub pattern: Option<String>,
    /// In this status.
    pub status: Option<WaitStatus>,
    /// Of this step.
    pub step: Option<String>,
    /// Registered after the one with this key.
    pub after: Option<i64>,
    /// At most so many; all of them when absent.
    pub limit: Option<usize>,
}

impl WaitFilter {
    /// Whether a wait is wanted, as long as there is room: what the SQL of a store must agree with.
    #[must_use]
    pub fn matches(&self, wait: &Wait) -> bool {
        self.id.as_ref().is_none_or(|id| **id == *wait.id)
            && self.instance.as_ref().is_none_or(|id| *id == wait.instance_id)
            && self.pattern.as_ref().is_none_or(|pattern| pattern == wait.hears.pattern())
            && self.status.is_none_or(|status| status == wait.status)
            && self.step.as_ref().is_none_or(|step| **step == *wait.step)
            && self.after.is_none_or(|after| wait.key > after)
    }
}

/// Which part of a list, newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// At most so many.
    pub limit: usize,
    /// Older than this one: the `next` of the page before.
    pub before: Option<InstanceKey>,
}

impl Default for Page {
    fn default() -> Self {
        Self { limit: 100, before: None }
    }
}

/// A page of instances.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// Newest first.
    pub instances: Vec<Instance>,
    /// Where the next page begins, when there may be one.
    pub next: Option<InstanceKey>,
}
