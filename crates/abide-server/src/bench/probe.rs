//! What one measuring process measures.
//!
//! Every measurement runs in a process of its own, so that its memory is its own too and nothing
//! that ran before has warmed or worn anything.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::Error;

use super::http::Work;
use super::reading::Reading;
use super::subscriber::Mix;
use super::{
    among, deadlines, events, fanout, flow, http, index, long, parked, publish, ready, reopened,
    steps, timers, tracker, wake, yardstick,
};

/// See the module. Goes to the process as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Probe {
    Yardsticks { lasting: Duration },
    Steps { in_flight: usize, extent: Extent },
    Long { steps: usize },
    Flow { in_flight: usize, extent: Extent },
    Timers { count: usize, over: Duration },
    Parked { kind: Kind, count: usize },
    Ready { parked: usize },
    Events { in_flight: usize, extent: Extent },
    Among { few: usize, many: usize, samples: usize },
    Wake { count: usize },
    Deadlines { count: usize, idle: Duration },
    Index { count: usize, mix: Mix },
    Publish { waiting: usize, mix: Mix, events: usize },
    Reopened { waiting: usize },
    Fanout { count: usize, idle: Duration },
    Http { work: Work, in_flight: usize, extent: Extent },
    Delay { readers: usize, rounds: usize },
    Readers { count: usize },
    Tracker { in_flight: usize, extent: Extent },
}

/// How much to measure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Extent {
    Time { warm_up: Duration, measured: Duration },
    Instances { warm_up: usize, measured: usize },
}

impl Extent {
    /// One of so many parts, none of which is nothing.
    pub(crate) fn part(self, of: u32) -> Self {
        let share = |count: usize| count.div_ceil(usize::try_from(of).unwrap_or(1));
        match self {
            Self::Time { warm_up, measured } => {
                Self::Time { warm_up: warm_up / of, measured: measured / of }
            }
            Self::Instances { warm_up, measured } => {
                Self::Instances { warm_up: share(warm_up), measured: share(measured) }
            }
        }
    }
}

/// What parked instances do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Kind {
    /// Wait for a child, and have left memory.
    Waits,
    /// Sleep beyond the horizon of the timers, and have left memory.
    Sleepers,
    /// Sleep, and are still in memory.
    Residents,
    /// Wait for a published event, and have left memory.
    Subscribers,
}

impl Probe {
    pub(crate) async fn run(self, file: &Path) -> Result<Vec<Reading>, Error> {
        match self {
            Self::Yardsticks { lasting } => yardstick::measure(file, lasting),
            Self::Steps { in_flight, extent } => steps::measure(file, in_flight, extent).await,
            Self::Long { steps } => long::measure(file, steps).await,
            Self::Flow { in_flight, extent } => flow::measure(file, in_flight, extent).await,
            Self::Timers { count, over } => timers::measure(file, count, over).await,
            Self::Parked { kind, count } => parked::measure(file, kind, count).await,
            Self::Ready { parked } => ready::measure(file, parked).await,
            Self::Events { in_flight, extent } => events::measure(file, in_flight, extent).await,
            Self::Among { few, many, samples } => among::measure(file, few, many, samples).await,
            Self::Wake { count } => wake::measure(file, count).await,
            Self::Deadlines { count, idle } => deadlines::measure(file, count, idle).await,
            Self::Index { count, mix } => index::measure(count, mix),
            Self::Publish { waiting, mix, events } => {
                publish::measure(file, waiting, mix, events).await
            }
            Self::Reopened { waiting } => reopened::measure(file, waiting).await,
            Self::Fanout { count, idle } => fanout::measure(file, count, idle).await,
            Self::Http { work, in_flight, extent } => {
                http::measure(file, work, in_flight, extent).await
            }
            Self::Delay { readers, rounds } => http::delay(file, readers, rounds).await,
            Self::Readers { count } => http::idle(file, count).await,
            Self::Tracker { in_flight, extent } => tracker::measure(file, in_flight, extent).await,
        }
    }

    /// The workload it belongs to.
    pub(crate) fn workload(&self) -> &'static str {
        match self {
            Self::Yardsticks { .. } => "yardsticks",
            Self::Steps { .. } | Self::Long { .. } => "steps",
            Self::Flow { .. } => "flow",
            Self::Timers { .. } => "timers",
            Self::Index { .. }
            | Self::Publish { .. }
            | Self::Reopened { .. }
            | Self::Fanout { .. }
            | Self::Parked { kind: Kind::Subscribers, .. } => "match",
            Self::Parked { .. } | Self::Ready { .. } => "parked",
            Self::Events { .. } | Self::Among { .. } => "events",
            Self::Wake { .. } | Self::Deadlines { .. } => "wake",
            Self::Http { .. } | Self::Delay { .. } | Self::Readers { .. } => "http",
            Self::Tracker { .. } => "tracker",
        }
    }

    /// The case of that workload, for people.
    pub(crate) fn case(&self) -> String {
        match self {
            Self::Yardsticks { .. } => "plain SQLite".to_owned(),
            Self::Steps { in_flight, .. }
            | Self::Events { in_flight, .. }
            | Self::Flow { in_flight, .. } => format!("{in_flight} in flight"),
            Self::Long { steps } => format!("one instance of {steps} steps"),
            Self::Timers { count, over } => {
                format!("{count} due evenly over {} s", over.as_secs_f64())
            }
            Self::Parked { kind: Kind::Waits, count } => format!("{count} waits, evicted"),
            Self::Parked { kind: Kind::Sleepers, count } => {
                format!("{count} sleepers beyond the horizon")
            }
            Self::Parked { kind: Kind::Residents, count } => format!("{count} resident"),
            Self::Parked { kind: Kind::Subscribers, count } => {
                format!("{count} subscriptions, evicted")
            }
            Self::Ready { parked } => format!("reopened with {parked} waits"),
            Self::Among { few, many, .. } => format!("one among {few} and {many} evicted"),
            Self::Wake { count } => format!("{count} evicted, an event for each"),
            Self::Deadlines { count, .. } => format!("{count} deadlines at once"),
            Self::Index { count, mix } => format!("index of {count}{}", mix.suffix()),
            Self::Publish { waiting, mix, .. } => {
                format!("published among {waiting} evicted{}", mix.suffix())
            }
            Self::Reopened { waiting } => format!("reopened with {waiting} subscriptions"),
            Self::Fanout { count, .. } => format!("one event for {count} evicted"),
            Self::Http { work: Work::Steps, in_flight, .. } => {
                format!("five steps, {in_flight} in flight")
            }
            Self::Http { work: Work::Events, in_flight, .. } => {
                format!("one event, {in_flight} in flight")
            }
            Self::Delay { readers, .. } => format!("{readers} readers of streams"),
            Self::Readers { count } => format!("{count} idle readers"),
            Self::Tracker { in_flight, .. } => format!("a sink that hangs, {in_flight} in flight"),
        }
    }

    /// Whether it needs the database that the probe before it has left.
    pub(crate) fn reuses_database(&self) -> bool {
        matches!(self, Self::Ready { .. } | Self::Reopened { .. })
    }
}
