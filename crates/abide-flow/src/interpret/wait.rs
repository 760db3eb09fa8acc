//! Steps that wait: for time, for what is sent, for outputs.

use std::sync::Arc;
use std::time::Duration;

use abide::{Event, EventWait, Failure, Since, Timestamp, at_path};
use serde_json::{Value, json};

use crate::field::Field;
use crate::flow::{GetOutput, Kind, Mapped, Receive, Step, WaitForEvent, WaitForSignal};

use super::Trouble;
use super::frame::Frame;

pub(super) async fn run(frame: &Frame, step: &Arc<Step>) -> Result<Value, Trouble> {
    match &step.kind {
        Kind::Sleep(duration) => sleep(frame, step, duration).await,
        Kind::SleepUntil(moment) => sleep_until(frame, step, moment).await,
        Kind::WaitForEvent(wait) => for_event(frame, step, wait).await,
        Kind::WaitForSignal(wait) => for_signal(frame, step, wait).await,
        Kind::Receive(receive) => message(frame, step, receive).await,
        Kind::GetOutput(output) => self::output(frame, step, output).await,
        _ => Ok(Value::Null),
    }
}

async fn sleep(frame: &Frame, step: &Step, duration: &Field) -> Result<Value, Trouble> {
    let duration = frame.duration(duration, "sleep")?;
    frame.cx.sleep(&step.id, duration).await?;
    Ok(json!({ "slept": true, "sleepDurationMs": ms(duration) }))
}

async fn sleep_until(frame: &Frame, step: &Step, moment: &Field) -> Result<Value, Trouble> {
    let moment = frame.moment(moment, "sleepUntil")?;
    let began = frame.cx.now();
    frame.cx.sleep_until(&step.id, moment).await?;
    Ok(json!({ "slept": true, "sleepDurationMs": ms(moment.since(began)) }))
}

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

async fn for_event(frame: &Frame, step: &Step, wait: &WaitForEvent) -> Result<Value, Trouble> {
    let mut patterns = Vec::new();
    for (place, pattern) in wait.patterns.iter().enumerate() {
        patterns.push(frame.text(pattern, &format!("waitForEvent.eventPattern.{place}"))?);
    }
    if patterns.is_empty() {
        patterns.push(step.id.to_string());
    }
    let terms = Terms::of(frame, step, wait)?;
    let mut waits: Vec<_> =
        patterns.iter().map(|pattern| terms.wait(frame, step, wait, pattern)).collect();
    let events = match (terms.count, waits.len()) {
        (None, 1) => vec![waits.remove(0).await?],
        (None, _) => vec![frame.cx.any(waits).await?.1],
        (Some(count), 1) => {
            let mut counted = waits.remove(0).count(count);
            if let Some(key) = &wait.distinct_by {
                counted = counted.distinct_by(&key.written());
            }
            counted.await?
        }
        (Some(_), _) => {
            let message = "`waitForEvent.count` wants one pattern, with wildcards if need be";
            return Err(Failure::new("VALIDATION_ERROR", message).into());
        }
    };
    let mut events: Vec<Value> = events.iter().map(shown).collect();
    if let Some(last) = events.last() {
        map(frame, wait, last)?;
    }
    match wait.count {
        Some(_) => Ok(Value::Array(events)),
        None => Ok(events.pop().unwrap_or_default()),
    }
}

/// What a wait wants beside its pattern. Made before the step is named: one that can't begin has not
/// had its turn.
struct Terms {
    count: Option<u32>,
    until: Option<Until>,
    since: Option<Since>,
}

/// How long a wait lasts.
#[derive(Clone, Copy)]
enum Until {
    At(Timestamp),
    After(Duration),
}

impl Terms {
    fn of(frame: &Frame, step: &Step, wait: &WaitForEvent) -> Result<Self, Failure> {
        let count = wait.count.as_ref().map(|count| frame.number(count, "waitForEvent.count"));
        let since = wait.since.as_ref().map(|since| self::since(frame, since));
        let until = match &wait.timeout_at {
            Some(at) => Some(Until::At(frame.moment(at, "waitForEvent.timeoutAt")?)),
            None => {
                let own = patience(frame, step, wait.timeout.as_ref(), "waitForEvent.timeout")?;
                let default = frame.shared.flow.defaults.wait_timeout.as_ref();
                let default = || frame.duration_of(default, "defaults.waitTimeout").transpose();
                own.map(Ok).or_else(default).transpose()?.map(Until::After)
            }
        };
        Ok(Self { count: count.transpose()?, until, since: since.transpose()? })
    }

    fn wait(
        &self,
        frame: &Frame,
        step: &Step,
        wait: &WaitForEvent,
        pattern: &str,
    ) -> EventWait<Option<Value>> {
        let mut made = frame.cx.wait_for_event(&step.id).on(pattern);
        for expr in wait.filter.iter().chain(&wait.distinct_by) {
            for (name, value) in frame.known_to(expr) {
                made = made.known(&name, value);
            }
        }
        if let Some(filter) = &wait.filter {
            made = made.filter(&filter.written());
        }
        made = match self.until {
            Some(Until::At(moment)) => made.timeout_at(moment),
            Some(Until::After(duration)) => made.timeout(duration),
            None => made,
        };
        match self.since {
            Some(since) => made.since(since),
            None => made,
        }
    }
}

/// How long a step waits: as it says where it says what for, else as any step may say.
fn patience(
    frame: &Frame,
    step: &Step,
    own: Option<&Field>,
    at: &str,
) -> Result<Option<Duration>, Failure> {
    match own {
        Some(_) => frame.duration_of(own, at),
        None => frame.duration_of(step.timeout.as_ref(), "timeout"),
    }
}

/// `start`, `now`, a moment, or a duration before the wait is reached.
fn since(frame: &Frame, field: &Field) -> Result<Since, Failure> {
    const AT: &str = "waitForEvent.since";
    Ok(match frame.render(field, AT)? {
        Value::String(word) if word == "start" => Since::Start,
        Value::String(word) if word == "now" => Since::Now,
        Value::String(text) => match text.parse::<Timestamp>() {
            Ok(moment) => Since::At(moment),
            Err(_) => Since::Before(frame.duration(&Value::String(text).into(), AT)?),
        },
        other => Since::Before(frame.duration(&other.into(), AT)?),
    })
}

/// An event as steps show it.
fn shown(event: &Event<Option<Value>>) -> Value {
    json!({
        "id": event.id,
        "type": event.event_type,
        "payload": event.payload,
        "source": event.source,
        "time": event.received_at.to_string(),
    })
}

/// Writes parts of an event into `workflow.context`.
fn map(frame: &Frame, wait: &WaitForEvent, event: &Value) -> Result<(), Trouble> {
    for (variable, mapped) in &wait.mapping {
        let value = match mapped {
            Mapped::Path(path) => at_path(&event["payload"], path).clone(),
            Mapped::Field(field) => {
                let at = format!("waitForEvent.eventPayloadMapping.{variable}");
                frame
                    .look(&[("event", event)], |known| field.render(&at, known))
                    .map_err(|missing| super::frame::unresolved(&missing))?
            }
        };
        frame.set(variable, value)?;
    }
    Ok(())
}

async fn for_signal(frame: &Frame, step: &Step, wait: &WaitForSignal) -> Result<Value, Trouble> {
    let name = frame.text(&wait.name, "waitForSignal.name")?;
    let timeout = patience(frame, step, wait.timeout.as_ref(), "waitForSignal.timeout")?;
    let began = frame.cx.now();
    let mut terms = frame.cx.wait_for_signal::<Option<Value>>(&step.id).on(&name);
    if let Some(timeout) = timeout {
        terms = terms.timeout(timeout);
    }
    let signal = terms.await?;
    Ok(json!({
        "signalName": name,
        "payload": signal.payload,
        "receivedAt": signal.received_at.to_string(),
        "waitDurationMs": ms(signal.received_at.since(began)),
    }))
}

async fn message(frame: &Frame, step: &Step, receive: &Receive) -> Result<Value, Trouble> {
    let topic = frame.text(&receive.topic, "receive.topic")?;
    let timeout = patience(frame, step, receive.timeout.as_ref(), "receive.timeout")?;
    let mut terms = frame.cx.receive::<Option<Value>>(&step.id).on(&topic);
    if let Some(timeout) = timeout {
        terms = terms.timeout(timeout);
    }
    let message = terms.await?;
    Ok(json!({
        "topic": topic,
        "payload": message.payload,
        "sourceInstanceId": message.source,
        "receivedAt": message.received_at.to_string(),
    }))
}

async fn output(frame: &Frame, step: &Step, output: &GetOutput) -> Result<Value, Trouble> {
    let of = frame.instance(&output.from, "getOutput.from")?;
    let key = frame.text(&output.key, "getOutput.key")?;
    let timeout = patience(frame, step, output.timeout.as_ref(), "getOutput.timeout")?;
    let mut terms = frame.cx.named(&step.id).output_of::<Value>(&of, &key);
    if let Some(timeout) = timeout {
        terms = terms.timeout(timeout);
    }
    Ok(terms.await?)
}
