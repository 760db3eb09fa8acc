//! What people who wait for events are promised, one test per promise; `docs/requirements.md` says
//! which is which.

mod deadlines;
mod early;
mod mailbox;
mod refusals;
