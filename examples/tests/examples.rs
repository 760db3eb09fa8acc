//! Every example runs and says what its reader expects.

#![allow(clippy::unwrap_used, reason = "a broken expectation ends the test that has it")]

use std::process::Command;

/// Runs an example in an empty directory and returns what it printed.
fn run(example: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    let output = Command::new(example).current_dir(dir.path()).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{example}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn hello_greets_loudly() {
    assert_eq!(run(env!("CARGO_BIN_EXE_hello")), "HELLO, WORLD!\n");
}

#[test]
fn order_survives_a_provider_that_fails_twice() {
    let printed = run(env!("CARGO_BIN_EXE_order"));
    assert!(printed.starts_with("charged as ch_42_100, sent as parcel-42\n"), "{printed}");
    let charge = printed.lines().find(|line| line.starts_with("charge card")).unwrap();
    assert!(charge.contains("completed") && charge.ends_with("attempts: 3"), "{printed}");
}

#[test]
fn parallel_steps_come_together() {
    let printed = run(env!("CARGO_BIN_EXE_parallel"));
    assert_eq!(printed, "cheapest 61, a friend says 63, all together 198\n");
}

#[test]
fn a_book_is_the_sum_of_its_chapters() {
    let printed = run(env!("CARGO_BIN_EXE_children"));
    assert!(printed.contains("6 words\n"), "{printed}");
    assert!(printed.contains("Waiting Well is out\n"), "{printed}");
    assert_eq!(printed.matches("child: chapter").count(), 3, "{printed}");
}

#[test]
fn an_answer_is_read_while_it_comes() {
    let printed = run(env!("CARGO_BIN_EXE_answer"));
    assert!(printed.starts_with("thinking about \"how long?\"\nYou asked: how long?"), "{printed}");
    assert!(printed.contains("see what comes.\ncame in several pieces: true\n"), "{printed}");
    assert!(printed.ends_with("\n14 words\n"), "{printed}");
}

#[test]
fn a_failed_trip_is_undone_last_booking_first() {
    let printed = run(env!("CARGO_BIN_EXE_saga"));
    let lines: Vec<_> = printed.lines().collect();
    assert_eq!(
        lines[..4],
        ["booked flight", "booked hotel", "cancelled hotel-1", "cancelled flight-1"]
    );
    assert!(lines[4].contains("card declined"), "{printed}");
}

#[test]
fn an_approval_may_come_early_or_late() {
    let printed = run(env!("CARGO_BIN_EXE_approval"));
    assert!(printed.contains("early: approved\n"), "{printed}");
    assert!(printed.contains("late: waiting for approval\n"), "{printed}");
    assert!(printed.contains("reminder 1\n"), "{printed}");
    assert!(printed.contains("late: delivered to 1\n") && printed.ends_with("late: rejected\n"));
}

#[test]
fn a_quorum_is_two_people_and_not_two_votes() {
    let printed = run(env!("CARGO_BIN_EXE_quorum"));
    assert!(printed.starts_with("[\"looks good\", \"needs a test\"]\n"), "{printed}");
    assert!(printed.contains("change 7 was accepted by ann and bob\n"), "{printed}");
    assert!(printed.contains("event \"vote\" is not acceptable"), "{printed}");
}

#[test]
fn a_tracker_prints_what_it_is_told() {
    let printed = run(env!("CARGO_BIN_EXE_tracker"));
    let told = "boil is done, attempt 1\npour is done, attempt 1\ntea has ended with 2 steps\n";
    assert_eq!(printed, format!("{told}6 sent, 0 dropped\n"));
}
