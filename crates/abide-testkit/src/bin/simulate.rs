//! Runs more simulated worlds than the tests do.
//!
//! ```text
//! cargo run --release -p abide-testkit --bin simulate -- --seeds 1000 [--from N] [--scenario NAME]
//! cargo run --release -p abide-testkit --bin simulate -- --seed N [--scenario NAME] [--trace]
//! ```

use std::process::ExitCode;
use std::time::{Duration, Instant};

use abide_testkit::simulator::{self, Broken};

/// How often progress is told.
const PROGRESS: Duration = Duration::from_secs(5);

const USAGE: &str = "usage: simulate [--seeds COUNT] [--from SEED] [--seed SEED] [--scenario NAME] [--trace]\n\
    \n  --seeds COUNT    seeds to run for every scenario (1000)\
    \n  --from SEED      the first of them (0)\
    \n  --seed SEED      just this one\
    \n  --scenario NAME  just this scenario\
    \n  --trace          show what happened, also when everything held";

struct Options {
    from: u64,
    seeds: u64,
    scenarios: Vec<&'static str>,
    trace: bool,
}

impl Options {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let all = simulator::scenarios();
        let mut options = Self { from: 0, seeds: 1000, scenarios: all.clone(), trace: false };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
            let number =
                |text: String| text.parse::<u64>().map_err(|_| format!("{text:?} is not a number"));
            match word.as_str() {
                "--seeds" => options.seeds = number(value()?)?,
                "--from" => options.from = number(value()?)?,
                "--seed" => (options.from, options.seeds) = (number(value()?)?, 1),
                "--trace" => options.trace = true,
                "--scenario" => {
                    let name = value()?;
                    let found = all.iter().find(|known| **known == name);
                    let known = || format!("no scenario {name:?}; there are {}", all.join(", "));
                    options.scenarios = vec![found.ok_or_else(known)?];
                }
                _ => return Err(format!("{word} is not an option")),
            }
        }
        Ok(options)
    }
}

/// What came of one scenario.
#[derive(Default)]
struct Tally {
    worlds: u64,
    writes: usize,
    crashes: usize,
    /// The first fault, which is enough to begin with: the scenario ends there.
    broken: Option<Box<Broken>>,
}

fn simulate(scenario: &'static str, options: &Options) -> Tally {
    let (mut tally, mut told) = (Tally::default(), Instant::now());
    for seed in options.from..options.from.saturating_add(options.seeds) {
        tally.worlds += 1;
        match simulator::run(scenario, seed) {
            Ok(ran) => {
                tally.writes += ran.writes;
                tally.crashes += ran.crashes;
                if options.trace {
                    println!("{}\n\n{}", ran.trace.join("\n"), ran.histories);
                }
            }
            Err(broken) => {
                tally.broken = Some(broken);
                break;
            }
        }
        if told.elapsed() > PROGRESS {
            told = Instant::now();
            eprintln!("  {scenario}: {} of {}", tally.worlds, options.seeds);
        }
    }
    tally
}

fn main() -> ExitCode {
    let options = match Options::read(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(refused) => {
            eprintln!("{refused}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let begin = Instant::now();
    let (mut worlds, mut faults) = (0, 0);
    for scenario in &options.scenarios {
        let tally = simulate(scenario, &options);
        worlds += tally.worlds;
        faults += u64::from(tally.broken.is_some());
        println!(
            "{scenario}: {} worlds, {} writes, {} crashes{}",
            tally.worlds,
            tally.writes,
            tally.crashes,
            if tally.broken.is_some() { ", BROKEN" } else { "" }
        );
        tally.broken.iter().for_each(|broken| println!("\n{broken}"));
    }
    println!("{worlds} worlds in {:.1?}, {faults} scenarios broken", begin.elapsed());
    if faults == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
