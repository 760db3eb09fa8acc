//! What came of dying everywhere.

use std::collections::BTreeMap;
use std::fmt;

use super::replaced::names;
use crate::Fault;

/// Where the process died.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrashPoint {
    /// At which write, from 1.
    pub write: usize,
    /// Before or after it.
    pub fault: Fault,
}

impl fmt::Display for CrashPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let when = if self.fault == Fault::CrashBefore { "before" } else { "after" };
        write!(f, "a crash {when} write {}", self.write)
    }
}

/// How often a step ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepRuns {
    /// The workflow it belongs to.
    pub workflow: String,
    /// Its name: `charge`, `charge#2`, `item[3].charge`.
    pub step: String,
    /// How often it ran when nothing crashed; more than once if it was retried or has siblings in
    /// other instances.
    pub without_crash: usize,
    /// How often it ran at most when something crashed.
    pub most: usize,
    /// The crashes after which it ran more often than without: those that hit between its start
    /// and its record.
    pub repeated_at: Vec<CrashPoint>,
}

/// What came of dying everywhere: the result was always the same, or there would be no report.
#[derive(Clone, Debug)]
pub struct CrashReport {
    /// How many writes there were to die at.
    pub writes: usize,
    /// How often the process died: before and after each of them.
    pub crashes: usize,
    steps: BTreeMap<(String, String), StepRuns>,
}

/// Steps by workflow and name, and how often each of them ran.
pub(super) type Counts = BTreeMap<(String, String), usize>;

impl CrashReport {
    pub(super) fn new(without_crash: &Counts) -> Self {
        let mut report = Self { writes: 0, crashes: 0, steps: BTreeMap::new() };
        for (step, runs) in without_crash {
            report.step(step).without_crash = *runs;
        }
        report
    }

    pub(super) fn add(&mut self, point: CrashPoint, counts: &Counts) {
        self.writes = self.writes.max(point.write);
        self.crashes += 1;
        for (step, runs) in counts {
            let known = self.step(step);
            known.most = known.most.max(*runs);
            if *runs > known.without_crash {
                known.repeated_at.push(point);
            }
        }
    }

    fn step(&mut self, (workflow, step): &(String, String)) -> &mut StepRuns {
        let key = (workflow.clone(), step.clone());
        self.steps.entry(key).or_insert_with(|| StepRuns {
            workflow: workflow.clone(),
            step: step.clone(),
            without_crash: 0,
            most: 0,
            repeated_at: Vec::new(),
        })
    }

    /// Every step that ran, by workflow and name.
    pub fn steps(&self) -> impl Iterator<Item = &StepRuns> {
        self.steps.values()
    }

    /// How often a step ran at most: 2 for one that ran again after a crash in the middle of it. A
    /// plain name means the most of `name`, `name#2` and those in scopes.
    #[must_use]
    pub fn most_runs(&self, step: &str) -> usize {
        let meant = self.steps().filter(|runs| names(&runs.step).contains(&step));
        meant.map(|runs| runs.most).max().unwrap_or(0)
    }

    /// The steps that a crash made run again.
    #[must_use]
    pub fn repeated(&self) -> Vec<&str> {
        let repeated = self.steps().filter(|runs| !runs.repeated_at.is_empty());
        repeated.map(|runs| runs.step.as_str()).collect()
    }
}
