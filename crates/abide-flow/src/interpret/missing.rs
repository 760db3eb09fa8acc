//! Everything in the fields of a step that has no value: told at once, not one after the other.

use abide::Failure;

use crate::field::{Field, Unresolved};
use crate::flow::{Kind, Sending, Step};

use super::frame::{Frame, unresolved};

/// What a step that could not begin lacks, if that is why.
pub(super) fn of(frame: &Frame, step: &Step) -> Option<Failure> {
    let mut missing: Vec<Unresolved> = Vec::new();
    for (at, field) in fields(step) {
        if !field.is_constant() {
            let rendered = frame.look(&[], |known| field.render(&at, known));
            missing.extend(rendered.err().into_iter().flatten());
        }
    }
    (!missing.is_empty()).then(|| unresolved(&missing))
}

/// The fields that are filled in before a step begins, each with its place. Those of effects are not
/// among them: they may name secrets, and are filled in by every attempt.
fn fields(step: &Step) -> Vec<(String, &Field)> {
    let mut found = Found { kind: step.kind.name(), fields: Vec::new() };
    of_kind(&step.kind, &mut found);
    found.any("timeout", step.timeout.as_ref());
    if let Some(rule) = &step.retry {
        found.any("retry.maxAttempts", rule.max_attempts.as_ref());
        found.any("retry.delay", rule.delay.as_ref());
        found.any("retry.backoff", rule.backoff.as_ref());
        found.any("retry.maxDelay", rule.max_delay.as_ref());
        found.any("retry.maxDuration", rule.max_duration.as_ref());
    }
    found.fields
}

struct Found<'s> {
    kind: &'static str,
    fields: Vec<(String, &'s Field)>,
}

impl<'s> Found<'s> {
    /// A field of the kind.
    fn own(&mut self, name: &str, field: impl Into<Option<&'s Field>>) {
        let at = format!("{}.{name}", self.kind);
        self.fields.extend(field.into().map(|field| (at, field)));
    }

    /// A field that every step may have, or the only one of its kind.
    fn any(&mut self, at: &str, field: impl Into<Option<&'s Field>>) {
        self.fields.extend(field.into().map(|field| (at.to_owned(), field)));
    }

    fn sending(&mut self, sending: &'s Sending) {
        self.own("id", sending.id.as_ref());
        self.own("visibleAt", sending.visible_at.as_ref());
        self.own("delay", sending.delay.as_ref());
    }
}

fn of_kind<'s>(kind: &'s Kind, found: &mut Found<'s>) {
    match kind {
        Kind::Sleep(field) | Kind::SleepUntil(field) | Kind::Return(field) => {
            found.any(kind.name(), field);
        }
        Kind::WaitForEvent(wait) => {
            for (place, pattern) in wait.patterns.iter().enumerate() {
                found.own(&format!("eventPattern.{place}"), pattern);
            }
            found.own("timeout", wait.timeout.as_ref());
            found.own("timeoutAt", wait.timeout_at.as_ref());
            found.own("count", wait.count.as_ref());
            found.own("since", wait.since.as_ref());
        }
        Kind::WaitForSignal(wait) => {
            found.own("name", &wait.name);
            found.own("timeout", wait.timeout.as_ref());
        }
        Kind::Receive(receive) => {
            found.own("topic", &receive.topic);
            found.own("timeout", receive.timeout.as_ref());
        }
        Kind::GetOutput(output) => {
            found.own("from", &output.from);
            found.own("key", &output.key);
            found.own("timeout", output.timeout.as_ref());
        }
        Kind::Set(values) => values.iter().for_each(|(name, field)| found.own(name, field)),
        Kind::ForEach(each) => {
            found.own("items", &each.items);
            found.own("concurrency", each.concurrency.as_ref());
        }
        Kind::Fail(fail) => {
            found.own("code", &fail.code);
            found.own("message", fail.message.as_ref());
        }
        _ => of_telling(kind, found),
    }
}

fn of_telling<'s>(kind: &'s Kind, found: &mut Found<'s>) {
    match kind {
        Kind::Send(send) => {
            found.own("to", &send.to);
            found.own("topic", &send.topic);
            found.own("payload", send.payload.as_ref());
            found.sending(&send.sending);
        }
        Kind::SendEvent(send) => {
            found.own("to", &send.to);
            found.own("type", &send.event_type);
            found.own("payload", send.payload.as_ref());
            found.sending(&send.sending);
        }
        Kind::Publish(publish) => {
            found.own("type", &publish.event_type);
            found.own("payload", publish.payload.as_ref());
            found.own("subject", publish.subject.as_ref());
            found.own("correlationId", publish.correlation_id.as_ref());
        }
        Kind::SetOutput(output) => {
            found.own("key", &output.key);
            found.own("value", &output.value);
        }
        Kind::Emit(emit) => {
            found.own("name", &emit.name);
            found.own("data", emit.data.as_ref());
        }
        Kind::Workflow(child) => {
            found.own("name", &child.name);
            found.own("input", child.input.as_ref());
            found.own("id", child.id.as_ref());
        }
        _ => {}
    }
}
