//! What makes an event of a call from outside: templates over the call, and a signature that says who
//! called.

mod call;
mod definition;
mod hmac;
mod scheme;
mod signature;
mod standard;
mod stripe;

pub(super) use call::Call;
pub(super) use definition::Webhook;
pub(super) use scheme::Verify;
pub(super) use signature::{Refused, Secret};
