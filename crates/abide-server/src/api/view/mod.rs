//! Records as the outside sees them: camelCase, moments as ISO-8601.

mod delivered;
mod entry;
mod event;
mod explanation;
mod failure;
mod instance;
mod moment;
mod step;
mod verdict;
mod wait;

pub(super) use delivered::DeliveredView;
pub(super) use entry::{EntryView, Told};
pub(super) use event::{EventView, TakerView};
pub(super) use explanation::ExplanationView;
pub(super) use failure::FailureView;
pub(super) use instance::InstanceView;
pub(super) use moment::Moment;
pub(super) use step::StepView;
pub(super) use verdict::{TriggerFailedView, VerdictView};
pub(super) use wait::WaitView;
