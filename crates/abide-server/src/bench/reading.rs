//! One measured value, on its way from the process that measured it.

use serde::{Deserialize, Serialize};

use super::memory::Memory;

/// See the module.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Reading {
    /// Its name in the JSON output.
    pub(crate) name: String,
    pub(crate) value: f64,
    pub(crate) unit: Unit,
}

/// What a value counts. Decides how it is shown and which yardstick it is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Unit {
    /// Things a second; held against rows a second.
    #[serde(rename = "1/s")]
    PerSecond,
    /// Commits a second; held against the commits a second that the yardstick's p50 allows.
    #[serde(rename = "commits/s")]
    CommitsPerSecond,
    /// Milliseconds; held against the commit.
    #[serde(rename = "ms")]
    Ms,
    /// Microseconds that no disk has a part in.
    #[serde(rename = "µs")]
    Micros,
    /// Microseconds of processor time; other programs hardly change them.
    #[serde(rename = "cpu µs")]
    CpuMicros,
    /// Bytes.
    #[serde(rename = "bytes")]
    Bytes,
    /// A plain number or a quotient.
    #[serde(rename = "")]
    Number,
}

impl Reading {
    pub(crate) fn new(name: &str, value: f64, unit: Unit) -> Self {
        Self { name: name.to_owned(), value, unit }
    }

    /// Peak memory of this process, where it can be read.
    pub(crate) fn peak_memory() -> Option<Self> {
        Memory::now().map(|memory| Self::bytes("peakRss", memory.peak))
    }

    pub(crate) fn count(name: &str, count: usize) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
        Self::new(name, count as f64, Unit::Number)
    }

    /// By how much each of so many made memory grow.
    pub(crate) fn bytes_each(name: &str, before: Memory, after: Memory, count: usize) -> Self {
        let grown = Self::bytes(name, after.resident.saturating_sub(before.resident));
        Self { value: grown.value / Self::count(name, count).value, ..grown }
    }

    pub(crate) fn bytes(name: &str, bytes: u64) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "memory is far below 2^52 bytes")]
        Self::new(name, bytes as f64, Unit::Bytes)
    }
}
