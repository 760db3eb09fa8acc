//! The whole engine in a simulated world, from a seed.
//!
//! Engine, workflows and decisions are the real ones. What is simulated is everything that they do
//! not control: when a call to the store is executed, when its answer is heard, in which order,
//! whether it fails; when a hint is heard, or that it never is; when time passes and how much; when
//! a step's function comes to its end; when the outside calls; and when the process dies, between
//! any two writes. All of it is decided by one list of numbers, the *schedule*, which is made up
//! from a seed, can be replayed and is made shorter when it shows a fault.
//!
//! After every write all invariants are checked; at the end, after all faults, nothing may be
//! stuck, and what came out must be what the scenario says.
//!
//! ```
//! let ran = abide_testkit::simulator::run("event-vs-deadline", 7).unwrap();
//! assert!(ran.writes > 0);
//! ```

use std::fmt;

mod action;
mod choice;
mod invariant;
mod look;
mod quiet;
mod sabotage;
mod scenario;
mod script;
mod shrink;
mod store;
mod traffic;
mod witness;
mod world;

pub use sabotage::Sabotage;
use scenario::{ALL, Scenario};
use world::{Ended, World};

/// A world in which everything held.
#[derive(Debug, PartialEq)]
pub struct Ran {
    /// What happened, in order.
    pub trace: Vec<String>,
    /// Every history at the end, in words.
    pub histories: String,
    /// How often the process died.
    pub crashes: usize,
    /// How often the store was written to.
    pub writes: usize,
    /// How often a step's function ran.
    pub steps: usize,
}

/// A world in which something did not hold.
#[derive(Debug)]
pub struct Broken {
    /// The scenario.
    pub scenario: &'static str,
    /// The seed that shows it.
    pub seed: u64,
    /// What did not hold.
    pub what: String,
    /// The decisions of the shortest schedule found.
    pub schedule: Vec<u32>,
    /// What happens in it.
    pub trace: Vec<String>,
    /// Every history in it, in words.
    pub histories: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scenario, seed, what, schedule, trace, histories } = self;
        writeln!(f, "{scenario}, seed {seed}: {what}\n\nshortest schedule found, {schedule:?}:")?;
        for (place, line) in trace.iter().enumerate() {
            writeln!(f, "{:4} {line}", place + 1)?;
        }
        write!(f, "\n{histories}")
    }
}

/// The names of all scenarios.
#[must_use]
pub fn scenarios() -> Vec<&'static str> {
    ALL.iter().map(|scenario| scenario.name).collect()
}

/// Runs one scenario with the schedule of one seed.
///
/// # Errors
/// What did not hold, with a schedule that is as short as could be found.
///
/// # Panics
/// When there is no such scenario.
pub fn run(scenario: &str, seed: u64) -> Result<Ran, Box<Broken>> {
    run_broken(scenario, seed, Sabotage::None)
}

/// The same in a world that is broken on purpose.
///
/// # Errors
/// As [`run`]; something must not hold, or the simulator is blind.
///
/// # Panics
/// When there is no such scenario.
pub fn run_broken(scenario: &str, seed: u64, sabotage: Sabotage) -> Result<Ran, Box<Broken>> {
    let found = ALL.iter().find(|found| found.name == scenario);
    let Some(&scenario) = found else {
        panic!("no scenario {scenario:?}; there are {}", scenarios().join(", "));
    };
    let ended = World::new(scenario, seed, sabotage, None).run();
    if let Some(what) = &ended.broken {
        return Err(Box::new(shortest(scenario, seed, sabotage, what, ended.made)));
    }
    let Ended { trace, view, crashes, writes, steps, .. } = ended;
    Ok(Ran { trace, histories: look::in_words(&view), crashes, writes, steps })
}

fn shortest(
    scenario: Scenario,
    seed: u64,
    sabotage: Sabotage,
    what: &str,
    made: Vec<u32>,
) -> Broken {
    let replay =
        |schedule: &[u32]| World::new(scenario, seed, sabotage, Some(schedule.to_vec())).run();
    let kind = kind_of(what);
    let same =
        |schedule: &[u32]| replay(schedule).broken.is_some_and(|other| kind_of(&other) == kind);
    let schedule = shrink::shrink(made, same);
    let Ended { trace, view, broken, .. } = replay(&schedule);
    Broken {
        scenario: scenario.name,
        seed,
        what: broken.unwrap_or_else(|| what.to_owned()),
        schedule,
        trace,
        histories: look::in_words(&view),
    }
}

/// Which invariant it is about: a shorter schedule shall show the same fault.
fn kind_of(what: &str) -> &str {
    what.split(':').next().unwrap_or(what)
}
