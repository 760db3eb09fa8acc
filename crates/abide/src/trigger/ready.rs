//! A trigger that can be asked what it makes of an event.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::duration;
use crate::error::{Error, Result};
use crate::expr::{Expr, Roots, Shape};
use crate::failure::Failure;
use crate::id::InstanceId;
use crate::instance::NewInstance;
use crate::json::Json;
use crate::log::{CancelBy, StartBy};
use crate::mapping::Mapping;
use crate::pattern;
use crate::publication::{Parsed, Publication, Seen};
use crate::verdict::TriggerFailed;
use crate::window::{WindowRule, Windowing};
use crate::workflow::Registry;

use super::{Trigger, TriggerAction};

/// A trigger with its expressions read.
pub(crate) struct Ready {
    pub(crate) name: Arc<str>,
    pub(crate) written: Trigger,
    condition: Option<Expr>,
    mapping: Option<Mapping>,
    correlation: Option<Expr>,
    window: Option<(WindowRule, Option<Expr>)>,
}

/// What triggers make of an event, each list in order.
#[derive(Default)]
pub(crate) struct Effects {
    pub(crate) cancels: Vec<CancelBy>,
    pub(crate) starts: Vec<StartBy>,
    pub(crate) failed: Vec<TriggerFailed>,
}

impl Ready {
    /// Reads a trigger.
    pub(crate) fn new(name: &str, written: Trigger) -> Result<Self> {
        if name.is_empty() || name.len() > InstanceId::MAX_LEN || name.chars().any(char::is_control)
        {
            let message =
                format!("the name {name:?} must be 1 to 255 bytes, no control characters");
            return Err(invalid(message));
        }
        pattern::check(&written.event_pattern)?;
        let roots = roots();
        let mapping = written.input_mapping.as_ref().map(|made| Mapping::parse(made, &roots));
        Ok(Self {
            name: name.into(),
            condition: expression("filter", written.filter_condition.as_deref())?,
            mapping: mapping.transpose()?,
            correlation: expression("correlation key", written.correlation_key.as_deref())?,
            window: window(&written)?,
            written,
        })
    }

    /// Whether it is interested in events of this type at all.
    pub(crate) fn hears(&self, event_type: &str) -> bool {
        self.written.enabled && pattern::matches(&self.written.event_pattern, event_type)
    }

    /// Adds what it makes of an event whose type it hears.
    pub(crate) fn add_effects(&self, event: &Publication, registry: &Registry, to: &mut Effects) {
        let parsed = Parsed::default();
        let seen = Seen::of(event, &parsed);
        if !self.wants(&seen) {
            return;
        }
        let made = match self.written.action {
            TriggerAction::Start => {
                self.start(event, &seen, registry).map(|start| to.starts.push(start))
            }
            TriggerAction::Cancel => {
                self.cancel(event, &seen).map(|cancel| to.cancels.push(cancel))
            }
        };
        if let Err(error) = made {
            to.failed.push(TriggerFailed { trigger: Arc::clone(&self.name), error });
        }
    }

    /// A condition that fails on an event does not want it.
    fn wants(&self, event: &Seen<'_>) -> bool {
        let Some(condition) = &self.condition else { return true };
        condition.is_match(event).unwrap_or_else(|error| {
            tracing::warn!(trigger = %self.name, %error, "the condition failed on an event");
            false
        })
    }

    fn start(
        &self,
        event: &Publication,
        seen: &Seen<'_>,
        registry: &Registry,
    ) -> Result<StartBy, Failure> {
        let failed = |error: Error| error.to_failure();
        let workflow = registry.latest(&self.written.workflow).map_err(failed)?;
        let input = self.input(event, seen)?;
        let input = match self.window {
            // Of a batch only the whole is an input.
            Some((WindowRule::Batch { .. }, _)) => input,
            _ => workflow.admit(input).map_err(failed)?,
        };
        let window = self.window.as_ref().map(|(rule, key)| {
            let key = key.as_ref().map(|key| text_of(key, seen).map(Option::unwrap_or_default));
            Ok(Windowing { key: key.transpose()?.unwrap_or_default().into(), rule: *rule })
        });
        Ok(StartBy {
            trigger: Arc::clone(&self.name),
            instance: NewInstance {
                id: self.instance_id(event).map_err(failed)?,
                workflow: Arc::clone(&workflow.name),
                version: workflow.version,
                input,
                correlation_id: self.correlation_id(event, seen)?,
                tags: Vec::new(),
                start_at: None,
                timeout: None,
                consumes: None,
                trace: event.trace(),
                first: None,
            },
            window: window.transpose()?,
        })
    }

    fn cancel(&self, event: &Publication, seen: &Seen<'_>) -> Result<CancelBy, Failure> {
        let correlation_id = self.correlation_id(event, seen)?.ok_or_else(|| {
            let message = "the event has no correlation id to cancel by";
            Failure::new("VALIDATION_ERROR", message)
        })?;
        let workflow = self.written.workflow.as_str().into();
        Ok(CancelBy { trigger: Arc::clone(&self.name), workflow, correlation_id })
    }

    fn input(&self, event: &Publication, seen: &Seen<'_>) -> Result<Json, Failure> {
        let failed = |error: Error| error.to_failure();
        let payload: Value = match &event.payload {
            Some(payload) => payload.decode().map_err(failed)?,
            None => Value::Null,
        };
        let input = match &self.mapping {
            Some(mapping) => mapping.apply(&payload, seen).map_err(|error| {
                Failure::new("VALIDATION_ERROR", format!("inputMapping: {error}"))
            })?,
            None => json!({
                "eventId": event.id,
                "eventPattern": event.event_type,
                "eventPayload": payload,
            }),
        };
        Json::encode(&input).map_err(failed)
    }

    fn correlation_id(
        &self,
        event: &Publication,
        seen: &Seen<'_>,
    ) -> Result<Option<String>, Failure> {
        match &self.correlation {
            Some(key) => text_of(key, seen),
            None => Ok(event.correlation_id.clone()),
        }
    }

    /// The same for the same event, so that it starts one instance however often it comes. It may
    /// stand in an address as it is.
    fn instance_id(&self, event: &Publication) -> Result<InstanceId> {
        let parts = [Some(&*self.name), event.source.as_deref(), event.id.as_deref()];
        let parts: Vec<String> = parts.into_iter().flatten().map(escaped).collect();
        let whole = parts.join("~");
        if whole.len() <= InstanceId::MAX_LEN {
            return InstanceId::new(whole);
        }
        let mut cut = InstanceId::MAX_LEN - 33;
        while !whole.is_char_boundary(cut) {
            cut -= 1;
        }
        InstanceId::new(format!("{}~{:032x}", &whole[..cut], digest(whole.as_bytes())))
    }
}

/// The text of a value, or none of one that is `undefined` or `null`.
fn text_of(key: &Expr, event: &Seen<'_>) -> Result<Option<String>, Failure> {
    let value = key
        .eval(event)
        .map_err(|error| Failure::new("VALIDATION_ERROR", format!("{}: {error}", key.written())))?;
    Ok(match value.to_json() {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text),
        Some(other) => Some(other.to_string()),
    })
}

/// A part of an id that no other part can be mistaken for, without what has a meaning in an address.
fn escaped(part: &str) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(part.len());
    for character in part.chars() {
        if character.is_ascii_alphanumeric() || "-._:@".contains(character) {
            text.push(character);
        } else {
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                let _ = write!(text, "={byte:02X}");
            }
        }
    }
    text
}

/// FNV-1a over 128 bits: the same on every machine and in every version.
fn digest(bytes: &[u8]) -> u128 {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    bytes.iter().fold(OFFSET, |hash, byte| (hash ^ u128::from(*byte)).wrapping_mul(PRIME))
}

fn roots() -> Roots {
    let event = ["id", "type", "payload", "source", "time", "subject", "correlationId"];
    Roots::new().with("event", Shape::fields(event))
}

fn invalid(message: String) -> Error {
    Error::Invalid { what: "trigger".into(), message }
}

fn expression(what: &'static str, text: Option<&str>) -> Result<Option<Expr>> {
    let Some(text) = text else { return Ok(None) };
    let refused = |refused: crate::expr::SyntaxError| Error::Invalid {
        what: what.into(),
        message: refused.to_string(),
    };
    let expr = Expr::parse(text).map_err(refused)?;
    expr.check(&roots()).map_err(refused)?;
    Ok(Some(expr))
}

fn window(written: &Trigger) -> Result<Option<(WindowRule, Option<Expr>)>> {
    let Trigger { debounce, throttle, batch, action, .. } = written;
    let (rule, key) = match (debounce, throttle, batch) {
        (None, None, None) => return Ok(None),
        (Some(debounce), None, None) => {
            let max_wait = debounce.max_wait.as_deref().map(period).transpose()?;
            let rule = WindowRule::Debounce { period: period(&debounce.period)?, max_wait };
            (rule, &debounce.key)
        }
        (None, Some(throttle), None) => {
            let (limit, period) =
                (at_least_one("limit", throttle.limit)?, period(&throttle.period)?);
            (WindowRule::Throttle { limit, period }, &throttle.key)
        }
        (None, None, Some(batch)) => {
            let max_size = at_least_one("maxSize", batch.max_size)?;
            (WindowRule::Batch { max_size, period: period(&batch.period)? }, &batch.key)
        }
        _ => return Err(invalid("only one of debounce, throttle and batch may be given".into())),
    };
    if *action == TriggerAction::Cancel {
        return Err(invalid("a trigger that cancels has no debounce, throttle or batch".into()));
    }
    Ok(Some((rule, expression("window key", key.as_deref())?)))
}

fn period(text: &str) -> Result<Duration> {
    duration::parse(text).map_err(|refused| invalid(refused.to_string()))
}

fn at_least_one(what: &str, number: u32) -> Result<u32> {
    if number == 0 { Err(invalid(format!("{what} must be at least 1"))) } else { Ok(number) }
}
