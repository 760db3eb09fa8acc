//! Simulated worlds: a fixed number for every scenario, and proof that they would notice.
//!
//! More of them: `cargo run --release -p abide-testkit --bin simulate -- --seeds 10000`.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a broken expectation ends the test that has it"
)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, available_parallelism};

use abide_testkit::simulator::{Broken, Sabotage, run, run_broken, scenarios};

/// Schedules for every scenario.
const SEEDS: u64 = 150;

#[test]
fn everything_holds_in_every_world() {
    let (scenarios, next) = (scenarios(), AtomicUsize::new(0));
    let threads = available_parallelism().map_or(1, usize::from);
    let simulate = || {
        let mut sums = [0; 3];
        while let Some(scenario) = scenarios.get(next.fetch_add(1, Ordering::Relaxed)) {
            for seed in 0..SEEDS {
                let ran = run(scenario, seed).unwrap_or_else(|broken| panic!("{broken}"));
                let these = [1, ran.writes, ran.crashes];
                sums.iter_mut().zip(these).for_each(|(sum, this)| *sum += this);
            }
        }
        sums
    };
    let [worlds, writes, crashes] = thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(simulate)).collect();
        let sums = running.into_iter().map(|running| running.join().unwrap());
        sums.reduce(|one, other| std::array::from_fn(|place| one[place] + other[place])).unwrap()
    });
    println!("{worlds} schedules, {writes} writes, {crashes} crashes");
    // A world in which nothing happens proves nothing.
    assert!(writes > 2 * worlds && crashes > worlds / 2, "{writes} writes, {crashes} crashes");
}

#[test]
fn the_same_seed_is_the_same_world() {
    for scenario in scenarios() {
        for seed in [1, 17, 4711] {
            let (first, again) = (run(scenario, seed).unwrap(), run(scenario, seed).unwrap());
            assert_eq!(first, again, "{scenario}, seed {seed}");
        }
    }
}

#[test]
fn another_seed_is_another_world() {
    for scenario in scenarios() {
        let (one, other) = (run(scenario, 1).unwrap(), run(scenario, 2).unwrap());
        assert_ne!(one.trace, other.trace, "{scenario}");
    }
}

/// The first world in which a sabotage is noticed.
fn noticed(sabotage: Sabotage, scenario: &str) -> Broken {
    let found = (0..300).find_map(|seed| run_broken(scenario, seed, sabotage).err());
    *found.unwrap_or_else(|| panic!("{sabotage:?} goes unnoticed in {scenario}"))
}

fn check(sabotage: Sabotage, scenario: &str, invariant: &str) {
    let broken = noticed(sabotage, scenario);
    println!(
        "{sabotage:?}: seed {}, {} decisions, {} events: {}",
        broken.seed,
        broken.schedule.len(),
        broken.trace.len(),
        broken.what
    );
    assert!(broken.what.contains(invariant), "{broken}");
    // What is shown can be read.
    assert!(broken.schedule.len() <= 60, "{broken}");
}

#[test]
fn a_delivery_that_is_answered_and_not_written_is_noticed() {
    check(Sabotage::AnswersBeforeWriting, "two-events-queue", "acknowledged means durable");
}

#[test]
fn a_loser_that_stays_open_is_noticed() {
    check(Sabotage::LosersStayOpen, "wait-vs-sleep", "the race gave other");
}

#[test]
fn a_completion_that_replay_does_not_see_is_noticed() {
    check(Sabotage::ForgetsACompletion, "event-vs-reaching-the-wait", "4: ");
}

#[test]
fn a_deadline_that_nobody_looks_at_is_noticed() {
    check(Sabotage::ForgetsDeadlines, "random-program", "is stuck");
}

#[test]
fn what_arrives_twice_is_noticed() {
    check(Sabotage::DeliversTwice, "two-events-queue", "it got");
}

#[test]
fn a_park_over_news_is_noticed() {
    check(Sabotage::ParksOverNews, "signals-to-two-waits", "is waiting for nothing");
}

#[test]
fn a_hint_that_must_not_be_lost_is_missed() {
    check(Sabotage::LosesAnyHint, "signals-to-two-waits", "is waiting for nothing");
}

#[test]
fn a_wait_that_does_not_look_back_is_noticed() {
    check(Sabotage::NeverLooksBack, "publish-vs-reaching-the-wait", "a is waiting");
}

#[test]
fn what_is_published_twice_is_noticed() {
    check(Sabotage::PublishesTwice, "published-twice", "it saw");
}
