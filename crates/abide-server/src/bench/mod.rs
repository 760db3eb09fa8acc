//! `abide bench`: measures the machine, then Abide on it.
//!
//! ```text
//!   plan ──▶ one process per probe ──▶ readings ──▶ figures (ratio, target) ──▶ table or JSON
//! ```

mod among;
mod deadlines;
mod events;
mod fanout;
mod figure;
mod fill;
mod flow;
mod http;
mod index;
mod listed;
mod load;
mod long;
mod memory;
mod parked;
mod place;
mod probe;
mod processor;
mod publish;
mod reading;
mod ready;
mod reopened;
mod report;
mod residents;
mod samples;
mod steps;
mod stopwatch;
mod storm;
mod subscriber;
mod target;
mod timers;
mod tracker;
mod waiter;
mod wake;
mod wall;
mod yardstick;

use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use tokio::process::Command;

use crate::cli::{BenchArgs, BenchProbeArgs, Workload};
use crate::error::Error;

use figure::Figure;
use http::Work;
use place::Place;
use probe::{Extent, Kind, Probe};
use reading::Reading;
use report::{Measurement, Report};
use subscriber::Mix;
use yardstick::Yardsticks;

/// Each yardstick is measured for at most this long.
const YARDSTICK: Duration = Duration::from_secs(2);

/// What runs before the measurement of `steps` or `events` begins.
const WARM_UP: Duration = Duration::from_secs(1);

/// Instances of `steps` at once, one measurement for each.
const STEPS_IN_FLIGHT: [usize; 4] = [1, 64, 256, 1024];

/// Instances of `flow` at once.
const FLOW_IN_FLIGHT: [usize; 1] = [64];

/// Instances of `tracker` at once.
const TRACKER_IN_FLIGHT: [usize; 1] = [64];

/// Steps of the one long instance.
const LONG: usize = 10_000;

/// Instances of `timers`, `parked` and `wake`, and the many of `events`.
const INSTANCES: usize = 100_000;

/// Clients of `events` at once, one measurement for each.
const EVENTS_IN_FLIGHT: [usize; 2] = [1, 64];

/// The few of `events`.
const FEW: usize = 10;

/// Events sent to one among few, and to one among many.
const SAMPLES: usize = 300;

/// Subscriptions of `match`, in an index of each size.
const INDEXED: [usize; 3] = [1_000, 100_000, 1_000_000];

/// Events that 64 publishers of `match` publish.
const PUBLISHED: usize = 20_000;

/// Readers of streams that hear of something, and how often they do.
const READERS: (usize, usize) = (100, 1_000);

/// Readers that hear nothing.
const IDLE_READERS: usize = 10_000;

/// Measures and prints.
pub(crate) async fn run(args: BenchArgs) -> Result<(), Error> {
    let plan = plan(&args);
    let yardsticks = Probe::Yardsticks { lasting: measured(&args).min(YARDSTICK) };
    let place = Place::new(args.store, &args.dir)?;
    let progress = progress(args.repeat * (plan.len() + 1));
    let mut repeated = Vec::new();
    for _ in 0..args.repeat {
        let readings = measure(&yardsticks, &place, &progress).await?;
        let yardsticks = Yardsticks::from_readings(&readings)?;
        let mut measurements = Vec::new();
        for probe in &plan {
            let readings = measure(probe, &place, &progress).await?;
            let figures = readings.into_iter();
            measurements.push(Measurement {
                workload: probe.workload(),
                case: probe.case(),
                figures: figures.map(|r| Figure::new(r, probe, &yardsticks)).collect(),
            });
        }
        repeated.push(Report::new(yardsticks, measurements));
    }
    progress.finish_and_clear();
    let nothing = || Error::Unexpected("nothing was measured".to_owned());
    let report = Report::median(&repeated).ok_or_else(nothing)?;
    let text = match args.json {
        true => serde_json::to_string_pretty(&report)?,
        false => report.table(),
    };
    writeln!(std::io::stdout(), "{text}").map_err(Error::io("stdout"))
}

/// The server of a measurement: see [`http`].
pub(crate) async fn serve(file: &std::path::Path) -> Result<(), Error> {
    http::serve(file).await
}

/// The other side of [`measure`]: this process is the one that measures.
pub(crate) async fn probe(args: &BenchProbeArgs) -> Result<(), Error> {
    let probe: Probe = serde_json::from_str(&args.probe)?;
    let readings = Box::pin(probe.run(&args.file)).await?;
    let answer = serde_json::to_string(&readings)?;
    writeln!(std::io::stdout(), "{answer}").map_err(Error::io("stdout"))
}

/// Runs a probe in a process of its own, on a database of its own.
async fn measure(
    probe: &Probe,
    place: &Place,
    progress: &ProgressBar,
) -> Result<Vec<Reading>, Error> {
    if !probe.reuses_database() {
        place.clear()?;
    }
    let what = format!("{}: {}", probe.workload(), probe.case());
    progress.set_message(what.clone());
    let this = std::env::current_exe().map_err(Error::io("the path of this program"))?;
    let output = Command::new(this)
        .arg("bench-probe")
        .arg(place.file())
        .arg(serde_json::to_string(probe)?)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .output()
        .await
        .map_err(Error::io("starting a process to measure in"))?;
    progress.inc(1);
    if !output.status.success() {
        return Err(Error::Process { what, status: output.status });
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// What the arguments ask for, in order.
fn plan(args: &BenchArgs) -> Vec<Probe> {
    let wants = |one| args.workload == one || args.workload == Workload::All;
    let count = args.instances.unwrap_or(INSTANCES);
    let mut plan = Vec::new();
    let extent = match args.instances {
        Some(measured) => Extent::Instances { warm_up: measured.div_ceil(10), measured },
        None => Extent::Time { warm_up: WARM_UP, measured: measured(args) },
    };
    if wants(Workload::Steps) {
        let steps = |in_flight| Probe::Steps { in_flight, extent };
        plan.extend(in_flight(args, &STEPS_IN_FLIGHT).map(steps));
        plan.push(Probe::Long { steps: args.instances.unwrap_or(LONG).clamp(100, LONG) });
    }
    if wants(Workload::Flow) {
        let flow = |in_flight| Probe::Flow { in_flight, extent };
        plan.extend(in_flight(args, &FLOW_IN_FLIGHT).map(flow));
    }
    if wants(Workload::Events) {
        let events = |in_flight| Probe::Events { in_flight, extent };
        plan.extend(EVENTS_IN_FLIGHT.map(events));
        plan.push(Probe::Among { few: FEW.min(count), many: count, samples: SAMPLES.min(count) });
    }
    if wants(Workload::Wake) {
        plan.push(Probe::Wake { count });
        plan.push(Probe::Deadlines { count, idle: measured(args) });
    }
    if wants(Workload::Match) {
        plan_match(args, &mut plan);
    }
    if wants(Workload::Http) {
        let (readers, rounds) = READERS;
        plan.extend([Work::Steps, Work::Events].map(|work| Probe::Http {
            work,
            in_flight: 64,
            extent,
        }));
        plan.push(Probe::Delay { readers: readers.min(count), rounds: rounds.min(count) });
        plan.push(Probe::Readers { count: IDLE_READERS.min(count) });
    }
    if wants(Workload::Tracker) {
        let tracker = |in_flight| Probe::Tracker { in_flight, extent };
        plan.extend(in_flight(args, &TRACKER_IN_FLIGHT).map(tracker));
    }
    if wants(Workload::Timers) {
        let over = args.seconds.map_or(Duration::from_secs(60), Duration::from_secs_f64);
        plan.push(Probe::Timers { count, over });
    }
    if wants(Workload::Parked) {
        let parked = |kind| Probe::Parked { kind, count };
        plan.extend([parked(Kind::Sleepers), parked(Kind::Residents), parked(Kind::Waits)]);
        // After the waits: it opens the database they have left.
        plan.push(Probe::Ready { parked: count });
    }
    plan
}

/// What was asked for, or what is usual.
fn in_flight<'a>(args: &'a BenchArgs, usual: &'a [usize]) -> impl Iterator<Item = usize> + 'a {
    let asked = if args.in_flight.is_empty() { usual } else { &args.in_flight };
    asked.iter().copied()
}

fn plan_match(args: &BenchArgs, plan: &mut Vec<Probe>) {
    let count = args.instances.unwrap_or(INSTANCES);
    for mix in [Mix::Keyed, Mix::Scanned] {
        let index = |count| Probe::Index { count, mix };
        plan.extend(up_to(args.instances.unwrap_or(usize::MAX)).into_iter().map(index));
    }
    let events = PUBLISHED.min(count);
    let publish = |waiting, mix| Probe::Publish { waiting, mix, events };
    let few = (count > INDEXED[0]).then(|| publish(INDEXED[0], Mix::Keyed));
    plan.extend(few);
    plan.extend([publish(count, Mix::Keyed), publish(count, Mix::Scanned)]);
    plan.push(Probe::Parked { kind: Kind::Subscribers, count });
    // After the subscriptions: it opens the database they have left.
    plan.push(Probe::Reopened { waiting: count });
    plan.push(Probe::Fanout { count, idle: measured(args) });
}

/// The sizes of indexes, none larger than asked for.
fn up_to(largest: usize) -> Vec<usize> {
    let mut sizes = INDEXED.map(|size| size.min(largest)).to_vec();
    sizes.dedup();
    sizes
}

fn measured(args: &BenchArgs) -> Duration {
    args.seconds.map_or(Duration::from_secs(5), Duration::from_secs_f64)
}

/// On stderr, and only if that is a terminal.
fn progress(probes: usize) -> ProgressBar {
    let bar = ProgressBar::new(u64::try_from(probes).unwrap_or(u64::MAX));
    if let Ok(style) = ProgressStyle::with_template("{spinner} {pos}/{len} {msg} {elapsed:.dim}") {
        bar.set_style(style);
    }
    if !bar.is_hidden() {
        bar.enable_steady_tick(Duration::from_millis(100));
    }
    bar
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    fn planned(arguments: &str) -> Vec<Probe> {
        let all = ["abide", "bench"].into_iter().chain(arguments.split(' '));
        match Cli::try_parse_from(all).unwrap().command {
            Command::Bench(args) => plan(&args),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_load_is_measured_for_its_time() {
        let plan = planned("steps --in-flight 1,64 --seconds 3");
        let extent = Extent::Time { warm_up: WARM_UP, measured: Duration::from_secs(3) };
        assert_eq!(plan[0], Probe::Steps { in_flight: 1, extent });
        assert_eq!(plan[1], Probe::Steps { in_flight: 64, extent });
        assert_eq!(plan[2..], [Probe::Long { steps: LONG }]);
    }

    #[test]
    fn documents_are_measured_with_64_in_flight_unless_asked_otherwise() {
        let extent = Extent::Time { warm_up: WARM_UP, measured: Duration::from_secs(5) };
        assert_eq!(planned("flow"), [Probe::Flow { in_flight: 64, extent }]);
        let asked = [1, 256].map(|in_flight| Probe::Flow { in_flight, extent });
        assert_eq!(planned("flow --in-flight 1,256"), asked);
        assert!(planned("all").contains(&Probe::Flow { in_flight: 64, extent }));
    }

    #[test]
    fn few_and_many_are_as_many_as_there_are() {
        let among = |arguments| planned(arguments).pop().unwrap();
        assert_eq!(among("events"), Probe::Among { few: FEW, many: INSTANCES, samples: SAMPLES });
        assert_eq!(among("events --instances 4"), Probe::Among { few: 4, many: 4, samples: 4 });
    }

    #[test]
    fn indexes_of_every_size_are_measured_but_none_beyond_what_was_asked_for() {
        let sizes = |arguments| {
            let keyed = planned(arguments).into_iter().filter_map(|probe| match probe {
                Probe::Index { count, mix: Mix::Keyed } => Some(count),
                _ => None,
            });
            keyed.collect::<Vec<_>>()
        };
        assert_eq!(sizes("match"), INDEXED);
        assert_eq!(sizes("match --instances 20000"), [1_000, 20_000]);
        assert_eq!(sizes("match --instances 7"), [7]);
    }

    #[test]
    fn many_publish_among_a_thousand_and_among_all() {
        let plan = planned("match");
        for (waiting, mix) in
            [(1_000, Mix::Keyed), (INSTANCES, Mix::Keyed), (INSTANCES, Mix::Scanned)]
        {
            let publish = Probe::Publish { waiting, mix, events: PUBLISHED };
            assert!(plan.contains(&publish), "{publish:?} is not in {plan:?}");
        }
    }

    #[test]
    fn an_engine_is_reopened_on_the_waits_just_measured() {
        let plan = planned("all --instances 500");
        let [.., waits, ready] = &plan[..] else { panic!("{plan:?}") };
        assert_eq!(*waits, Probe::Parked { kind: Kind::Waits, count: 500 });
        assert_eq!(*ready, Probe::Ready { parked: 500 });
    }
}
