//! Where answers go: text for people, or the server's JSON for programs.

use std::io::Write;

use abide::{Clock, SystemClock, Timestamp};

use super::api::Answer;
use crate::error::Error;
use crate::paint::Paint;
use crate::tell::{Iso, day_and_clock, when};

/// See the module.
#[derive(Clone, Copy)]
pub(super) struct Screen {
    pub(super) paint: Paint,
    pub(super) now: Timestamp,
}

impl Screen {
    pub(super) fn new() -> Self {
        Self { paint: Paint::for_stdout(), now: SystemClock::default().now() }
    }

    /// `3 s ago`.
    pub(super) fn when(&self, at: Iso) -> String {
        when(at.0, self.now)
    }

    /// `2026-03-01 14:03:22 (3 s ago)`.
    pub(super) fn exactly(&self, at: Iso) -> String {
        let (near, far) = (when(at.0, self.now), day_and_clock(at.0));
        if near == far { near } else { format!("{far} ({near})") }
    }
}

/// Text, with a line break at its end.
pub(super) fn print(text: &str) -> Result<(), Error> {
    let mut out = std::io::stdout().lock();
    let wrote = writeln!(out, "{}", text.trim_end_matches('\n')).and_then(|()| out.flush());
    wrote.map_err(Error::io("standard output"))
}

/// The server's own words.
pub(super) fn print_json(answer: &Answer) -> Result<(), Error> {
    print(&answer.text)
}
