//! Fields of steps as what they have to be.

use std::time::Duration;

use abide::{Backoff, Failure, InstanceId, Retry, Timestamp, parse_duration};
use serde_json::Value;

use crate::field::Field;
use crate::flow::{RetryRule, Step};

use super::frame::Frame;

type Read<T> = Result<T, Failure>;

fn invalid(at: &str, message: &str) -> Failure {
    Failure::new("VALIDATION_ERROR", format!("`{at}`: {message}"))
}

impl Frame {
    /// A text; numbers and truth values read as they print.
    pub(super) fn text(&self, field: &Field, at: &str) -> Read<String> {
        match self.render(field, at)? {
            Value::String(text) => Ok(text),
            Value::Null => Err(invalid(at, "must be a text, not null")),
            other @ (Value::Array(_) | Value::Object(_)) => {
                Err(invalid(at, &format!("must be a text, not {other}")))
            }
            other => Ok(other.to_string()),
        }
    }

    /// A duration: a text such as `5 minutes`, or milliseconds.
    pub(super) fn duration(&self, field: &Field, at: &str) -> Read<Duration> {
        match self.render(field, at)? {
            Value::String(text) => {
                parse_duration(&text).map_err(|refused| invalid(at, &refused.to_string()))
            }
            Value::Number(number) => match number.as_f64().filter(|ms| *ms >= 0.0) {
                Some(ms) => Duration::try_from_secs_f64(ms / 1000.0)
                    .map_err(|refused| invalid(at, &refused.to_string())),
                None => Err(invalid(at, &format!("{number} is not a duration"))),
            },
            other => Err(invalid(at, &format!("{other} is not a duration"))),
        }
    }

    /// A duration that need not be there.
    pub(super) fn duration_of(&self, field: Option<&Field>, at: &str) -> Read<Option<Duration>> {
        field.map(|field| self.duration(field, at)).transpose()
    }

    /// A moment: ISO-8601, or milliseconds since 1970.
    pub(super) fn moment(&self, field: &Field, at: &str) -> Read<Timestamp> {
        match self.render(field, at)? {
            Value::String(text) => {
                text.parse().map_err(|refused: abide::Error| invalid(at, &refused.to_string()))
            }
            Value::Number(number) => match number.as_i64() {
                Some(ms) => Ok(Timestamp(ms)),
                None => Err(invalid(at, &format!("{number} is not a time"))),
            },
            other => Err(invalid(at, &format!("{other} is not a time"))),
        }
    }

    /// A whole number that is not negative.
    pub(super) fn number(&self, field: &Field, at: &str) -> Read<u32> {
        let value = self.render(field, at)?;
        let number = match &value {
            Value::Number(number) => number.as_u64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        let number = number.and_then(|number| u32::try_from(number).ok());
        number.ok_or_else(|| invalid(at, &format!("{value} is not a whole number")))
    }

    /// The id of an instance.
    pub(super) fn instance(&self, field: &Field, at: &str) -> Read<InstanceId> {
        InstanceId::new(self.text(field, at)?).map_err(|refused| refused.to_failure())
    }

    /// How often and when a step is tried.
    pub(super) fn retry(&self, step: &Step) -> Read<Retry> {
        let rule = step.retry.as_ref().or(self.shared.flow.defaults.retry.as_ref());
        rule.map_or_else(|| Ok(Retry::default()), |rule| self.retry_of(rule))
    }

    fn retry_of(&self, rule: &RetryRule) -> Read<Retry> {
        let mut retry = match &rule.max_attempts {
            Some(attempts) => Retry::times(self.number(attempts, "retry.maxAttempts")?),
            None => Retry::default(),
        };
        if let Some(delay) = &rule.delay {
            retry = retry.delay(self.duration(delay, "retry.delay")?);
        }
        if let Some(backoff) = &rule.backoff {
            retry = retry.backoff(match &*self.text(backoff, "retry.backoff")? {
                "constant" | "fixed" => Backoff::Constant,
                "linear" => Backoff::Linear,
                "exponential" => Backoff::Exponential,
                other => {
                    let message = format!("{other:?} is not constant, linear or exponential");
                    return Err(invalid("retry.backoff", &message));
                }
            });
        }
        if let Some(most) = &rule.max_delay {
            retry = retry.max_delay(self.duration(most, "retry.maxDelay")?);
        }
        if let Some(most) = &rule.max_duration {
            retry = retry.max_duration(self.duration(most, "retry.maxDuration")?);
        }
        Ok(retry)
    }

    /// How long one attempt of a step may take.
    pub(super) fn timeout(&self, step: &Step) -> Read<Option<Duration>> {
        let timeout = step.timeout.as_ref().or(self.shared.flow.defaults.timeout.as_ref());
        self.duration_of(timeout, "timeout")
    }
}
