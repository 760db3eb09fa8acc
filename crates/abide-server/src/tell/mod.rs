//! What happens to instances, told to people: shared by everything that shows it.

mod brief;
mod clean;
mod happening;
mod iso;
mod line;
mod moment;
mod status;
mod table;

pub(crate) use brief::{brief, brief_of_event};
pub(crate) use clean::clean;
pub(crate) use happening::{Fault, Happening};
pub(crate) use iso::Iso;
pub(crate) use line::line;
pub(crate) use moment::{clock, clock_as_seen_from, day_and_clock, for_how_long, when};
pub(crate) use status::of_status;
pub(crate) use table::{Cell, Table};
