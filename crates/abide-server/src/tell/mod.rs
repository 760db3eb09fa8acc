//! What happens to instances, told to people: shared by everything that shows it.

mod brief;
mod happening;
mod line;
mod moment;

pub(crate) use brief::brief;
pub(crate) use happening::Happening;
pub(crate) use line::line;
pub(crate) use moment::{clock, clock_as_seen_from, day_and_clock, for_how_long, when};
