//! Where something is in a trace: the `traceparent` of W3C Trace Context.
//!
//! It is handed on without being asked for, as a span is: whoever starts, sends or publishes [`within`] a trace
//! gives it to what they start, send or publish, and a workflow and its steps run within the trace of what last
//! woke them. The history keeps it, so a crash does not end a trace.
//!
//! Where somebody tells spans from the history ([`crate::Config::own_spans`]), a run of an instance and every attempt of a step
//! are spans, and what they start, send or call is under them. Their ids follow from what they are, so the engine, who
//! passes them on, and whoever tells of them later need not agree on anything.

mod current;
mod span;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::history::{Entry, EntryKind, Recorded};
use crate::id::InstanceId;
use crate::sip_hash::sip_hash;

pub use current::{current, inside, within};
pub use span::SpanId;

/// The attribute of events and the header of requests that name it.
pub const NAME: &str = "traceparent";

const SAMPLED: u8 = 1;

/// A place in a trace: things that happen there are under a span of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Trace {
    id: [u8; 16],
    span: SpanId,
    flags: u8,
}

impl Trace {
    /// A trace that begins with a span of ours: the span is under itself.
    #[must_use]
    pub fn beginning_with(span: SpanId, id: [u8; 16]) -> Self {
        Self { id, span, flags: SAMPLED }
    }

    /// Which trace.
    #[must_use]
    pub fn id(self) -> [u8; 16] {
        self.id
    }

    /// Which span of it.
    #[must_use]
    pub fn span(self) -> SpanId {
        self.span
    }

    /// Whether whoever began it wants it told. What they did not, nobody else does.
    #[must_use]
    pub fn is_sampled(self) -> bool {
        self.flags & SAMPLED != 0
    }

    /// The same trace under another span.
    #[must_use]
    pub fn under(self, span: SpanId) -> Self {
        Self { span, ..self }
    }

    /// The trace that an entry of a history brings, in which its instance goes on. What was received may never
    /// be met.
    #[must_use]
    pub fn brought_by(entry: &Entry) -> Option<Self> {
        entry.trace.filter(|_| entry.entry != EntryKind::EventReceived)
    }

    /// The same where runs and steps are spans: it goes on under that of the entry. A run that nobody gave a trace
    /// begins one.
    #[must_use]
    pub fn after(recorded: &Recorded, instance: &InstanceId) -> Option<Self> {
        let entry = &recorded.entry;
        let begins = || entry.entry == EntryKind::WorkflowStarted;
        let own = || begins().then(|| Self::of_run(recorded, instance));
        let trace = Self::brought_by(entry).or_else(own)?;
        Some(trace.under(SpanId::of_entry(recorded, instance)))
    }

    fn of_run(first: &Recorded, instance: &InstanceId) -> Self {
        let Recorded { run, at, .. } = first;
        let text = format!("{}\n{run}\n{}", instance.as_str(), at.0);
        let mut id = [0; 16];
        let (high, low) = id.split_at_mut(8);
        high.copy_from_slice(&sip_hash([4, 5], text.as_bytes()).to_be_bytes());
        low.copy_from_slice(&sip_hash([6, 7], text.as_bytes()).to_be_bytes());
        Self::beginning_with(SpanId::of_run(instance, *run), id)
    }
}

/// It is not a `traceparent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a traceparent: 00-, 32 hex digits, -, 16 hex digits, -, 2 hex digits, all lower case, no id of zeros"
)]
pub struct NotATrace;

/// Versions to come may append more, which is not passed on.
impl FromStr for Trace {
    type Err = NotATrace;

    fn from_str(text: &str) -> Result<Self, NotATrace> {
        let mut parts = text.trim().split('-');
        let [version] = hex(parts.next())?;
        let (id, span, [flags]) = (hex(parts.next())?, hex(parts.next())?, hex(parts.next())?);
        let is_whole = version != 0 || parts.next().is_none();
        let span = SpanId::new(span).filter(|_| version != 0xff && is_whole && id != [0; 16]);
        // Only two flags are known: sampled, and that the id is random.
        Ok(Self { id, span: span.ok_or(NotATrace)?, flags: flags & 3 })
    }
}

fn hex<const N: usize>(part: Option<&str>) -> Result<[u8; N], NotATrace> {
    let digits = part.map(str::as_bytes).filter(|part| part.len() == 2 * N).ok_or(NotATrace)?;
    let value = |digit: u8| match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        _ => Err(NotATrace),
    };
    let mut bytes = [0; N];
    for (byte, [high, low]) in bytes.iter_mut().zip(digits.as_chunks().0) {
        *byte = value(*high)? << 4 | value(*low)?;
    }
    Ok(bytes)
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, span, flags } = self;
        write!(f, "00-{:032x}-{span}-{flags:02x}", u128::from_be_bytes(*id))
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Trace {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Trace {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        std::borrow::Cow::<str>::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_traceparent_is_read_and_written() {
        let one: Trace = ONE.parse().unwrap();
        assert_eq!(one.to_string(), ONE);
        assert!(one.is_sampled());
        assert!(!ONE.replace("-01", "-00").parse::<Trace>().unwrap().is_sampled());
        let later = ONE.replacen("00", "cc", 1);
        assert_eq!(later.parse(), Ok(one));
        assert_eq!(format!(" {later}-more ").parse(), Ok(one));
        let json = serde_json::to_string(&one).unwrap();
        assert_eq!(serde_json::from_str::<Trace>(&json).unwrap(), one);
    }

    #[test]
    fn what_is_no_traceparent_is_refused() {
        for wrong in [
            "",
            "00",
            &ONE[..54],
            &format!("{ONE}-more"),
            &ONE.to_uppercase(),
            &ONE.replacen("00", "ff", 1),
            &ONE.replace('b', "ü"),
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        ] {
            assert_eq!(wrong.parse::<Trace>(), Err(NotATrace), "{wrong}");
        }
    }
}
