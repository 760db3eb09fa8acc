//! A moment as the API writes it.

use abide::Timestamp;
use serde::{Deserialize, Deserializer};

/// ISO-8601.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Iso(pub(crate) Timestamp);

impl<'de> Deserialize<'de> for Iso {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(serde::de::Error::custom)
    }
}
