//! Values as they are stored: JSON text that is checked once and then passed through untouched.

use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::error::{Error, Result};

mod strict;

/// A stored value. Cloning it copies a pointer.
#[derive(Clone)]
pub struct Json(Arc<RawValue>);

impl Json {
    /// Encodes a value so that it reads back equal, or says why it can't.
    ///
    /// # Errors
    /// For what JSON would silently alter: NaN, infinities, integers beyond 64 bits, and map keys
    /// that are not strings.
    pub fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Self> {
        let invalid = |message: String| Error::Invalid { what: "value".into(), message };
        value.serialize(strict::Checker).map_err(|refused| invalid(refused.to_string()))?;
        serde_json::value::to_raw_value(value)
            .map(|raw| Self(raw.into()))
            .map_err(|refused| invalid(format!("it can't be stored as JSON: {refused}")))
    }

    /// The text of a stored value, checked to be JSON.
    ///
    /// # Errors
    /// [`Error::Corrupt`] when it is not.
    pub fn from_stored(text: String) -> Result<Self> {
        RawValue::from_string(text)
            .map(|raw| Self(raw.into()))
            .map_err(|refused| Error::corrupt(format!("a stored value is not JSON: {refused}")))
    }

    /// A value that was read as raw JSON, and so is known to be JSON.
    pub(crate) fn from_raw(raw: &RawValue) -> Self {
        Self(raw.to_owned().into())
    }

    /// Reads the value back.
    ///
    /// # Errors
    /// When it is not a `T`; the message says where.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_str(self.as_str()).map_err(|refused| Error::Invalid {
            what: "value".into(),
            message: format!("it is not a {}: {refused}", std::any::type_name::<T>()),
        })
    }

    /// The JSON text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// The JSON `null`.
    #[must_use]
    pub fn null() -> Self {
        Self(RawValue::NULL.to_owned().into())
    }

    /// The items of an array, or none, and one more.
    ///
    /// # Errors
    /// When `list` is not an array.
    pub fn appended(list: Option<&Self>, item: &Self) -> Result<Self> {
        let mut items: Vec<Self> = list.map(Self::decode).transpose()?.unwrap_or_default();
        items.push(item.clone());
        Self::encode(&items)
    }

    /// Its size in bytes, as the limits count it.
    #[must_use]
    pub fn size(&self) -> usize {
        self.as_str().len()
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(|raw| Self(raw.into()))
    }
}

/// Reads a field that may be absent: `null` is a value like any other.
pub(crate) fn present<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Option<Json>, D::Error> {
    Json::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashMap};

    use super::*;

    fn round_trips<T>(value: &T)
    where
        T: Serialize + DeserializeOwned + PartialEq + fmt::Debug,
    {
        assert_eq!(&Json::encode(value).unwrap().decode::<T>().unwrap(), value);
    }

    #[test]
    fn values_read_back_equal() {
        round_trips(&(u64::MAX, i64::MIN, 0.1_f64 + 0.2, f32::MIN_POSITIVE));
        round_trips(&Some(String::from("\u{0}\u{1F600}\"\\")));
        round_trips(&BTreeMap::from([(7_u64, vec![false]), (8, vec![])]));
        round_trips(&HashMap::from([(String::from("k"), Option::<u8>::None)]));
        round_trips(&1e-308_f64);
        round_trips(&());
    }

    #[test]
    fn what_json_would_alter_is_refused() {
        assert!(Json::encode(&f64::NAN).is_err());
        assert!(Json::encode(&Some(f32::INFINITY)).is_err());
        assert!(Json::encode(&[(1, f64::NEG_INFINITY)]).is_err());
        assert!(Json::encode(&(u128::from(u64::MAX) + 1)).is_err());
        assert!(Json::encode(&(i128::from(i64::MIN) - 1)).is_err());
        assert!(Json::encode(&HashMap::from([((1, 2), 3)])).is_err());
        assert!(Json::encode(&BTreeMap::from([("deep", vec![Some(f64::NAN)])])).is_err());
    }

    #[test]
    fn corrupt_text_is_an_error() {
        assert!(matches!(Json::from_stored("{".into()), Err(Error::Corrupt { .. })));
    }
}
