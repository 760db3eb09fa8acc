//! A program nobody thought of: a random mix of steps, sleeps, waits and races, and a random
//! outside. Nothing is expected of it but what always holds, and that it sees what was sent in order
//! and once.

use std::time::Duration;

use abide::prelude::*;
use futures_util::future::join;

use super::{Chooser, Ending, Plan, Script, Witness, ensure, got, workflow};
use crate::simulator::script::Ask;
use crate::simulator::witness::First;

/// One thing the program does.
#[derive(Clone, Copy)]
enum Does {
    Step,
    Sleep(Duration),
    Wait(Hears, Option<Duration>),
    Take,
    RaceStep(Hears),
    RaceSleep(Hears, Duration),
    RaceWaits(Hears, Hears),
    Both(Hears, Hears),
}

/// What a wait of it hears.
#[derive(Clone, Copy, PartialEq)]
enum Hears {
    /// Events that are queued.
    Queued,
    /// Events of which the latest is kept.
    Latest,
    Signal,
}

const HEARS: [Hears; 3] = [Hears::Queued, Hears::Latest, Hears::Signal];

pub(super) fn random(witness: &Witness, chooser: &mut Chooser) -> Plan {
    let program: Vec<Does> = (0..=chooser.below(6)).map(|_| does(chooser)).collect();
    let runs = workflow("runs", witness, move |cx, witness| {
        let program = program.clone();
        async move {
            let mut seen = Vec::new();
            for (place, does) in program.into_iter().enumerate() {
                seen.extend(does.run(&cx, &witness, place).await?);
            }
            Ok(seen)
        }
    });
    let runs = runs
        .event::<serde_json::Value>("q", Buffer::Queue)
        .event::<serde_json::Value>("l", Buffer::Latest);
    let script = Script::default().client([Ask::start("runs", "a")]);
    Plan::new([runs], outside(script, chooser), |ending: &Ending<'_>| {
        // It may wait for what nobody sends.
        let Ok(seen) = ending.result::<Vec<String>>("a") else { return Ok(()) };
        for of in ['q', 'l', 's'] {
            let these: Vec<&String> = seen.iter().filter(|id| id.starts_with(of)).collect();
            ensure(these.is_sorted_by(|one, next| one < next), || format!("it saw {seen:?}"))?;
        }
        Ok(())
    })
}

fn does(chooser: &mut Chooser) -> Does {
    let duration = |chooser: &mut Chooser| Duration::from_secs([7, 1, 60][chooser.below(3)]);
    let hears = |chooser: &mut Chooser| HEARS[chooser.below(3)];
    match chooser.below(8) {
        0 => Does::Step,
        1 => Does::Sleep(duration(chooser)),
        2 => {
            let hears = hears(chooser);
            let timeout = (chooser.below(2) == 0).then(|| duration(chooser));
            Does::Wait(hears, timeout)
        }
        3 => Does::Take,
        4 => Does::RaceStep(hears(chooser)),
        5 => Does::RaceSleep(hears(chooser), duration(chooser)),
        6 => Does::RaceWaits(hears(chooser), hears(chooser)),
        _ => Does::Both(hears(chooser), hears(chooser)),
    }
}

fn outside(mut script: Script, chooser: &mut Chooser) -> Script {
    for hears in HEARS {
        let sent = (1..=chooser.below(4)).map(|n| match hears {
            Hears::Queued => Ask::event("a", "q", &format!("q{n}")),
            Hears::Latest => Ask::event("a", "l", &format!("l{n}")),
            Hears::Signal => Ask::signal("a", "s", &format!("s{n}")),
        });
        script = script.client(sent.collect::<Vec<_>>());
    }
    if chooser.below(3) == 1 {
        script = script.client([Ask::Pause("a".to_owned()), Ask::Resume("a".to_owned())]);
    }
    script
}

impl Does {
    async fn run(self, cx: &Cx, witness: &Witness, place: usize) -> Result<Vec<String>> {
        let work = || witness.step(cx, &format!("work {place}"), 1);
        let seen = match self {
            Self::Step => {
                work().await?;
                vec![]
            }
            Self::Sleep(duration) => {
                cx.sleep("sleep", duration).await?;
                vec![]
            }
            Self::Wait(hears, timeout) => vec![got(hears.wait(cx, timeout).await)?],
            Self::Take => {
                let taken = cx.try_signal::<String>("take").on("s").await?;
                taken.into_iter().map(|signal| signal.payload).collect()
            }
            Self::RaceStep(hears) => {
                vec![first(witness.race(hears.wait(cx, None), work()).await)?]
            }
            Self::RaceSleep(hears, duration) => {
                let sleep = cx.sleep("nap", duration);
                vec![first(witness.race(hears.wait(cx, None), sleep).await)?]
            }
            Self::RaceWaits(one, two) => {
                match witness.race(one.wait(cx, None), two.wait(cx, None)).await {
                    First::Left(met) | First::Right(met) => vec![got(met)?],
                }
            }
            Self::Both(one, two) => {
                let (left, right) = join(one.wait(cx, None), two.wait(cx, None)).await;
                let (left, right) = (got(left)?, got(right)?);
                // One event serves both; two signals may be revealed in either place.
                let mut both = vec![left, right];
                both.sort();
                both.dedup();
                both
            }
        };
        Ok(seen.into_iter().filter(|seen| seen != "timeout" && seen != "other").collect())
    }
}

fn first<T>(raced: First<Result<Event<String>>, Result<T>>) -> Result<String> {
    match raced {
        First::Left(met) => got(met),
        First::Right(done) => done.map(|_| "other".to_owned()),
    }
}

impl Hears {
    fn wait(self, cx: &Cx, timeout: Option<Duration>) -> abide::EventWait<String> {
        let wait = match self {
            Self::Queued => cx.wait_for_event("queued").on("q"),
            Self::Latest => cx.wait_for_event("latest").on("l"),
            Self::Signal => cx.wait_for_signal("signal").on("s"),
        };
        match timeout {
            Some(timeout) => wait.timeout(timeout),
            None => wait,
        }
    }
}
