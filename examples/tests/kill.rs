//! A real process, killed again and again at random moments.

#![allow(clippy::unwrap_used, reason = "a broken expectation ends the test that has it")]

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use abide::history::EntryKind;
use abide::store::Store;
use abide::{Filter, InstanceId, Page, Status};
use abide_sqlite::SqliteStore;

const INSTANCES: u32 = 2000;
const KILLS: u32 = 20;

/// What one life of the process came to.
#[derive(Default)]
struct Life {
    accepted: HashSet<String>,
    done: bool,
}

/// Runs the process and kills it after so many accepted instances and so much more time, or lets it
/// end.
fn live(directory: &Path, die_after: Option<(usize, Duration)>) -> Life {
    let mut child = Command::new(env!("CARGO_BIN_EXE_torture"))
        .arg(directory)
        .arg(INSTANCES.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = lines_of(&mut child);
    let mut life = Life::default();
    let mut dies_at: Option<Instant> = None;
    loop {
        let patience = dies_at.map_or(Duration::from_secs(120), |at| at - Instant::now().min(at));
        match lines.recv_timeout(patience) {
            Ok(line) if line == "done" => life.done = true,
            Ok(line) => {
                life.accepted.extend(line.strip_prefix("accepted ").map(str::to_owned));
            }
            Err(RecvTimeoutError::Timeout) => {
                assert!(dies_at.is_some(), "the process hangs");
                child.kill().unwrap();
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if let Some((accepted, more)) = die_after
            && life.accepted.len() >= accepted
        {
            dies_at.get_or_insert_with(|| Instant::now() + more);
        }
    }
    let status = child.wait().unwrap();
    assert!(status.success() || dies_at.is_some(), "the process failed by itself: {status}");
    life
}

fn lines_of(child: &mut Child) -> mpsc::Receiver<String> {
    let output = BufReader::new(child.stdout.take().unwrap());
    let (send, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in output.lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// What the database knows: instances and their statuses, and the steps that are recorded.
async fn recorded(directory: &Path) -> (Vec<(InstanceId, Status)>, HashSet<String>) {
    let store = SqliteStore::open(directory.join("torture.db")).await.unwrap();
    let mut page = Page { limit: 1000, before: None };
    let (mut instances, mut steps) = (Vec::new(), HashSet::new());
    loop {
        let listed = store.instances(Filter::default(), page).await.unwrap();
        for instance in &listed.instances {
            instances.push((instance.id.clone(), instance.status()));
            for recorded in store.history(&instance.id, 0, 1000).await.unwrap() {
                if recorded.entry.entry == EntryKind::StepCompleted {
                    let step = recorded.entry.name.unwrap();
                    assert!(steps.insert(format!("{} {step}", instance.id)), "recorded twice");
                }
            }
        }
        match listed.next {
            Some(next) => page.before = Some(next),
            None => break,
        }
    }
    store.close().await.unwrap();
    (instances, steps)
}

fn effects(directory: &Path) -> Vec<String> {
    let log = fs::read_to_string(directory.join("effects.log")).unwrap_or_default();
    log.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn two_thousand_instances_survive_twenty_kills_and_no_recorded_step_runs_again() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let seed = fastrand::u64(..);
    let mut random = fastrand::Rng::with_seed(seed);
    let mut accepted = HashSet::new();
    let mut kills = 0;
    loop {
        let more = Duration::from_millis(random.u64(0..60));
        let after = kills as usize * 75 + random.usize(1..150);
        let die_after = (kills < KILLS).then_some((after, more));
        let (_, before) = recorded(directory).await;
        let traces = effects(directory).len();
        let life = live(directory, die_after);
        for again in effects(directory).iter().skip(traces) {
            assert!(!before.contains(again), "{again} was recorded and ran again, seed {seed}");
        }
        accepted.extend(life.accepted);
        let (known, _) = recorded(directory).await;
        let known: HashSet<_> = known.iter().map(|(id, _)| id.to_string()).collect();
        let lost: Vec<_> = accepted.difference(&known).collect();
        assert!(lost.is_empty(), "accepted and lost: {lost:?}, seed {seed}");
        kills += 1;
        if life.done {
            break;
        }
    }
    assert!(
        kills > KILLS,
        "only {kills} lives: it finished before it could be killed, seed {seed}"
    );
    let (instances, steps) = recorded(directory).await;
    assert_eq!(instances.len(), INSTANCES as usize);
    assert!(instances.iter().all(|(_, status)| *status == Status::Completed), "seed {seed}");
    assert_eq!(steps.len(), INSTANCES as usize * 5);
    let ran: HashSet<_> = effects(directory).into_iter().collect();
    assert_eq!(ran, steps, "every recorded step left a trace, seed {seed}");
}
