//! The story of an instance, told from its history and from what its processes lived through.

use std::fmt::Write;

use abide::Timestamp;
use abide::history::{Entry, EntryKind, Recorded};

use crate::paint::Paint;

use super::ledger::Effect;
use super::order::EFFECTS;

/// Something that happened to a process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) at: Timestamp,
    pub(crate) pid: u32,
    pub(crate) what: Life,
}

/// What happened to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    Began,
    Killed,
    WentOn,
}

/// One line: when, what, and how it is shown.
struct Line {
    at: Timestamp,
    text: String,
}

/// Everything that happened, in order of time, with offsets from the beginning.
pub(crate) fn render(history: &[Recorded], events: &[Event], paint: Paint) -> String {
    let mut lines: Vec<Line> = events
        .iter()
        .map(|event| Line { at: event.at, text: tell_event(event, paint) })
        .chain(history.iter().filter_map(|recorded| {
            let text = tell_entry(&recorded.entry, paint)?;
            Some(Line { at: recorded.at, text })
        }))
        .collect();
    // Stable: what happened in the same millisecond stays in its order.
    lines.sort_by_key(|line| line.at);
    let began = lines.first().map_or(Timestamp::default(), |line| line.at);
    lines.iter().fold(String::new(), |mut story, line| {
        let offset = line.at.since(began).as_secs_f64();
        // Writing to a String can't fail.
        let _ = writeln!(story, "  {} {}", paint.dim(&format!("{offset:6.2} s")), line.text);
        story
    })
}

fn tell_event(event: &Event, paint: Paint) -> String {
    let pid = event.pid;
    match event.what {
        Life::Began => paint.cyan(&format!("▶ process {pid} began")),
        Life::Killed => paint.red(&format!("✖ process {pid} killed (SIGKILL)")),
        Life::WentOn => paint.cyan(&format!("▶ process {pid} went on")),
    }
}

/// `None` for what a reader need not see.
fn tell_entry(entry: &Entry, paint: Paint) -> Option<String> {
    let name = entry.name.as_deref().unwrap_or_default();
    let attempt = entry.attempt.unwrap_or(1);
    let again =
        |text: String| if attempt > 1 { format!("{text}, attempt {attempt}") } else { text };
    Some(match entry.entry {
        EntryKind::WorkflowStarted => paint.bold("● the order begins"),
        EntryKind::WorkflowCompleted => paint.bold("● the order is complete"),
        EntryKind::StepStarted => format!("{} …", again(format!("│ {name}"))),
        EntryKind::StepCompleted if !entry.step_kind().is_value() => {
            paint.green(&again(format!("│ ✓ {name}")))
        }
        EntryKind::StepFailed => {
            let why = entry.error.as_ref().map_or("unknown", |error| &error.message);
            paint.yellow(&format!("│ ! {name}, attempt {attempt}: {why}"))
        }
        EntryKind::RetryScheduled => {
            let delay = entry.delay_ms.unwrap_or(0);
            paint.dim(&format!("│   {name}: the next attempt in {delay} ms"))
        }
        EntryKind::SleepStarted => format!("│ {name}: asleep"),
        EntryKind::SleepCompleted => paint.green(&format!("│ ✓ {name}: awake")),
        _ => return None,
    })
}

/// What the database knows at this moment: which steps are done, which one was going on.
pub(crate) fn known(history: &[Recorded], paint: Paint) -> String {
    let mut story = String::new();
    let of = |kind, name: &str| {
        history.iter().any(|r| r.entry.entry == kind && r.entry.name.as_deref() == Some(name))
    };
    for step in EFFECTS {
        let line = if of(EntryKind::StepCompleted, step) {
            paint.green(&format!("✓ {step}: its result is stored"))
        } else if of(EntryKind::StepStarted, step) {
            paint.yellow(&format!("? {step}: begun, no result"))
        } else {
            paint.dim(&format!("  {step}: not yet"))
        };
        // Writing to a String can't fail.
        let _ = writeln!(story, "    {line}");
    }
    story
}

/// How often each step had its effect, and in which process.
pub(crate) fn tally(effects: &[Effect], paint: Paint) -> String {
    let width = EFFECTS.iter().map(|step| step.len()).max().unwrap_or(0);
    let mut story = String::new();
    for step in EFFECTS {
        let times: Vec<_> = effects.iter().filter(|effect| effect.step == step).collect();
        let pids: Vec<_> = times.iter().map(|effect| effect.pid.to_string()).collect();
        let line = format!("{step:width$}  {}×  in process {}", times.len(), pids.join(", "));
        let line = if times.len() == 1 { paint.green(&line) } else { paint.red(&line) };
        // Writing to a String can't fail.
        let _ = writeln!(story, "    {line}");
    }
    story
}

/// Whether every step had its effect exactly once.
pub(crate) fn each_once(effects: &[Effect]) -> bool {
    let once = |step: &&str| effects.iter().filter(|effect| effect.step == **step).count() == 1;
    effects.len() == EFFECTS.len() && EFFECTS.iter().all(once)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(at: i64, entry: EntryKind, name: &str) -> Recorded {
        let entry = Entry { name: Some(name.into()), ..Entry::new(entry) };
        Recorded { seq: at, run: 1, at: Timestamp(at), entry }
    }

    fn effect(step: &str) -> Effect {
        Effect { pid: 7, step: step.to_owned(), what: String::new() }
    }

    #[test]
    fn a_kill_is_shown_where_it_fell() {
        let history = [
            recorded(1000, EntryKind::StepStarted, "ship"),
            recorded(3000, EntryKind::StepCompleted, "ship"),
        ];
        let killed = Event { at: Timestamp(2500), pid: 7, what: Life::Killed };
        let story = render(&history, &[killed], Paint::plain());
        let lines: Vec<_> = story.lines().collect();
        assert_eq!(lines[0], "    0.00 s │ ship …");
        assert_eq!(lines[1], "    1.50 s ✖ process 7 killed (SIGKILL)");
        assert_eq!(lines[2], "    2.00 s │ ✓ ship");
    }

    #[test]
    fn a_step_without_result_is_not_called_done() {
        let history = [
            recorded(1, EntryKind::StepCompleted, "charge card"),
            recorded(1, EntryKind::StepStarted, "pack parcel"),
        ];
        let story = known(&history, Paint::plain());
        assert!(story.contains("✓ charge card") && story.contains("? pack parcel"), "{story}");
        assert!(story.contains("ship: not yet"), "{story}");
    }

    #[test]
    fn an_effect_too_many_or_too_few_is_noticed() {
        let mut effects: Vec<_> = EFFECTS.iter().map(|step| effect(step)).collect();
        assert!(each_once(&effects));
        effects.push(effect("ship"));
        assert!(!each_once(&effects));
        assert!(!each_once(&effects[1..]));
        assert!(tally(&effects, Paint::plain()).contains("2×"));
    }
}
