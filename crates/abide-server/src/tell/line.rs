//! One line for one thing that happened; none for what only the engine needs to know.

use std::time::Duration;

use super::{Happening, Iso, brief, brief_of_event, clean, clock_as_seen_from, for_how_long};
use crate::paint::Paint;

/// Steps that are quicker than this don't tell how long they took.
const SLOW_MS: u64 = 100;

/// The output that documents keep by themselves; it changes with every step.
const PROGRESS: &str = "progress";

/// What happened, without when and to whom.
pub(crate) fn line(told: &Happening, paint: Paint) -> Option<String> {
    let (kind, rest) = told.what.split_once('.').unwrap_or((&told.what, ""));
    match kind {
        "workflow" => Some(of_workflow(told, rest, paint)),
        "step" | "retry" | "timeout" => of_step(told, paint),
        "sleep" => Some(of_sleep(told, rest, paint)),
        "wait" => Some(of_wait(told, rest, paint)),
        "event" => Some(of_event(told, rest, paint)),
        "output" if told.name.as_deref() == Some(PROGRESS) => None,
        "output" => Some(paint.cyan(&format!("= {}{}", name(told), value(told)))),
        "update" | "broadcast" => Some(paint.cyan(&format!("* {}{}", name(told), value(told)))),
        "message" => Some(format!("→ sent {}{}", name(told), value(told))),
        _ => Some(paint.dim(&format!("{} {}{}", told.what, name(told), value(told)))),
    }
}

fn of_workflow(told: &Happening, what: &str, paint: Paint) -> String {
    let reason = told.reason.as_ref().map(|why| format!(": {}", clean(why))).unwrap_or_default();
    match what {
        "started" => paint.bold(&format!("● started{}", value(told))),
        "completed" => paint.green(&format!("● completed{}", value(told))),
        "failed" => paint.red(&format!("● failed{}", why(told))),
        "terminated" => paint.red(&format!("● terminated{reason}")),
        "paused" => paint.yellow(&format!("‖ paused{reason}{}", why(told))),
        "stuck" => paint.yellow(&format!("? waits for something outside Abide{reason}")),
        other => paint.bold(&format!("● {other}{reason}")),
    }
}

fn of_step(told: &Happening, paint: Paint) -> Option<String> {
    let is_value = matches!(told.kind.as_deref(), Some("now" | "random" | "uuid" | "patch"));
    let attempt = told.attempt.filter(|attempt| *attempt > 1);
    let again = attempt.map(|attempt| format!(", attempt {attempt}")).unwrap_or_default();
    Some(match told.what.as_str() {
        "step.completed" if is_value => return None,
        "step.completed" => {
            let child = told.child_id.as_ref().map(|id| format!(" (child {id})"));
            let took = told.duration_ms.filter(|ms| *ms >= SLOW_MS);
            let took = took.map(|ms| format!(" in {}", for_how_long(Duration::from_millis(ms))));
            let (child, took) = (child.unwrap_or_default(), took.unwrap_or_default());
            let done = format!("✓ {}{again}{took}{child}", name(told));
            let result =
                if told.kind.as_deref() == Some("publish") { verdict(told) } else { value(told) };
            format!("{}{}", paint.green(&done), paint.dim(&result))
        }
        "step.failed" if told.will_retry => {
            paint.yellow(&format!("! {}{again}{}", name(told), why(told)))
        }
        "step.failed" => paint.red(&format!("✗ {}{again}{}", name(told), why(told))),
        "step.cancelled" => paint.dim(&format!("- {}: cancelled", name(told))),
        "retry.scheduled" => {
            let delay = Duration::from_millis(told.delay_ms.unwrap_or(0));
            paint.dim(&format!("↻ {} again in {}", name(told), for_how_long(delay)))
        }
        "timeout.exceeded" => paint.yellow(&format!("! {}: took too long", name(told))),
        _ => return None,
    })
}

fn of_sleep(told: &Happening, what: &str, paint: Paint) -> String {
    if what == "completed" {
        return paint.green(&format!("✓ {}: awake", name(told)));
    }
    format!("… {}: asleep{}", name(told), until(told, told.resume_at))
}

fn of_wait(told: &Happening, what: &str, paint: Paint) -> String {
    let kind = told.kind.as_deref().unwrap_or("event");
    let pattern = told.pattern.as_deref().unwrap_or_default();
    match what {
        "started" => {
            let until = until(told, told.deadline);
            paint.yellow(&format!("… {}: waiting for {kind} {pattern}{until}", name(told)))
        }
        "fulfilled" => {
            let (which, value) = what_came(told);
            let met = paint.green(&format!("✓ {}: {kind}{which} came", name(told)));
            format!("{met}{}", paint.dim(&value))
        }
        "expired" => paint.yellow(&format!("! {}: nothing came in time", name(told))),
        other => paint.dim(&format!("- {}: {other}", name(told))),
    }
}

fn of_event(told: &Happening, what: &str, paint: Paint) -> String {
    let kind = told.kind.as_deref().unwrap_or("event");
    match what {
        "received" => paint.cyan(&format!("→ {kind} {}{}", name(told), value(told))),
        "buffered" => paint.dim(&format!("  {}: kept until somebody waits for it", name(told))),
        other => paint.dim(&format!("  {}: {other}", name(told))),
    }
}

fn name(told: &Happening) -> String {
    clean(told.name.as_deref().unwrap_or_default())
}

fn value(told: &Happening) -> String {
    let shown = told.payload.as_ref().filter(|value| !value.is_null());
    shown.map(|value| format!(" {}", brief(value))).unwrap_or_default()
}

fn until(told: &Happening, at: Option<Iso>) -> String {
    let (Some(Iso(at)), Some(Iso(from))) = (at, told.time) else { return String::new() };
    format!(" until {}", clock_as_seen_from(at, from))
}

/// What a wait was met by: which event, if it says so, and what came with it.
fn what_came(told: &Happening) -> (String, String) {
    let Some(event) = told.payload.as_ref().filter(|value| !value.is_null()) else {
        return Default::default();
    };
    let which = ["type", "signalName", "topic"].iter().find_map(|key| event.get(key)?.as_str());
    let which = which.map(|which| format!(" {}", clean(which))).unwrap_or_default();
    (which, format!(" {}", brief_of_event(event)))
}

/// How many wanted what was published.
fn verdict(told: &Happening) -> String {
    let Some(verdict) = &told.payload else { return String::new() };
    let words = [
        ("matchedCount", "taken by"),
        ("startedCount", "started"),
        ("cancelledCount", "cancelled"),
    ];
    let some = words.iter().filter_map(|(key, word)| {
        let count = verdict.get(key)?.as_u64().filter(|count| *count > 0)?;
        Some(format!(" {word} {count}"))
    });
    let told: Vec<String> = some.collect();
    if told.is_empty() { ": nobody wanted it".to_owned() } else { format!(":{}", told.join(",")) }
}

fn why(told: &Happening) -> String {
    let told = told.error.as_ref();
    told.map(|error| format!(": {} ({})", clean(&error.message), clean(&error.code)))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tell(entry: serde_json::Value) -> Option<String> {
        let told: Happening = serde_json::from_value(entry).unwrap();
        line(&told, Paint::plain())
    }

    #[test]
    fn what_a_person_wants_to_know_is_told_in_a_line() {
        for (entry, expect) in [
            (json!({"type": "workflow.started", "payload": {"a": 1}}), "● started {\"a\":1}"),
            (json!({"type": "workflow.completed", "payload": null}), "● completed"),
            (
                json!({"type": "workflow.failed", "error": {"code": "X", "message": "no"}}),
                "● failed: no (X)",
            ),
            (
                json!({"type": "step.completed", "name": "a", "attempt": 2, "durationMs": 1500, "payload": 7}),
                "✓ a, attempt 2 in 1 s 7",
            ),
            (
                json!({"type": "step.failed", "name": "a", "willRetry": true, "attempt": 1,
                    "error": {"code": "STEP_FAILED", "message": "down"}}),
                "! a: down (STEP_FAILED)",
            ),
            (
                json!({"type": "wait.started", "name": "decision", "kind": "event", "pattern": "approval"}),
                "… decision: waiting for event approval",
            ),
            (
                json!({"type": "event.received", "name": "approval", "payload": {"approved": true}}),
                "→ event approval {\"approved\":true}",
            ),
            (json!({"type": "something.new", "name": "x"}), "something.new x"),
        ] {
            assert_eq!(tell(entry).as_deref(), Some(expect));
        }
    }

    #[test]
    fn what_only_the_engine_needs_is_not_told() {
        for entry in [
            json!({"type": "step.started", "name": "a"}),
            json!({"type": "step.completed", "name": "now", "kind": "now"}),
            json!({"type": "timeout.set", "name": "a"}),
            json!({"type": "output.set", "name": "progress", "payload": {}}),
        ] {
            assert_eq!(tell(entry), None);
        }
    }
}
