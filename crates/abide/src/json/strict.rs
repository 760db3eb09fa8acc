//! Refuses what JSON would alter without a word.
//!
//! `serde_json` writes NaN and infinities as `null`, and readers in other languages round integers
//! beyond 64 bits. This serializer writes nothing; it only visits the value and objects.

use std::fmt::{self, Display};

use serde::ser::{self, Serialize};

/// Why a value can't be stored.
#[derive(Debug)]
pub(super) struct Refused(String);

impl Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

impl ser::Error for Refused {
    fn custom<T: Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

type Checked = Result<(), Refused>;

fn finite(value: f64) -> Checked {
    if value.is_finite() {
        return Ok(());
    }
    Err(Refused(format!("{value} has no JSON form; store an Option or a string instead")))
}

fn within_64_bits(value: impl Display, fits: bool) -> Checked {
    if fits {
        return Ok(());
    }
    Err(Refused(format!("{value} does not fit 64 bits; store it as a string instead")))
}

/// Visits a value; see the module.
pub(super) struct Checker;

macro_rules! harmless {
    ($($method:ident($kind:ty)),* $(,)?) => {
        $(fn $method(self, _: $kind) -> Checked { Ok(()) })*
    };
}

impl ser::Serializer for Checker {
    type Ok = ();
    type Error = Refused;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    harmless! {
        serialize_bool(bool), serialize_i8(i8), serialize_i16(i16), serialize_i32(i32),
        serialize_i64(i64), serialize_u8(u8), serialize_u16(u16), serialize_u32(u32),
        serialize_u64(u64), serialize_char(char), serialize_str(&str), serialize_bytes(&[u8]),
        serialize_unit_struct(&'static str),
    }

    fn serialize_i128(self, value: i128) -> Checked {
        within_64_bits(value, i64::try_from(value).is_ok() || u64::try_from(value).is_ok())
    }

    fn serialize_u128(self, value: u128) -> Checked {
        within_64_bits(value, u64::try_from(value).is_ok())
    }

    fn serialize_f32(self, value: f32) -> Checked {
        finite(value.into())
    }

    fn serialize_f64(self, value: f64) -> Checked {
        finite(value)
    }

    fn serialize_none(self) -> Checked {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Checked {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Checked {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Checked {
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, v: &T) -> Checked {
        v.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Checked {
        value.serialize(self)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self, Refused> {
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, Refused> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Refused> {
        Ok(self)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Refused> {
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self, Refused> {
        Ok(self)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Refused> {
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Refused> {
        Ok(self)
    }
}

macro_rules! visits_elements {
    ($($kind:ident::$method:ident),* $(,)?) => {
        $(impl ser::$kind for Checker {
            type Ok = ();
            type Error = Refused;
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Checked {
                value.serialize(Checker)
            }
            fn end(self) -> Checked {
                Ok(())
            }
        })*
    };
}

visits_elements! {
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field,
}

macro_rules! visits_fields {
    ($($kind:ident),* $(,)?) => {
        $(impl ser::$kind for Checker {
            type Ok = ();
            type Error = Refused;
            fn serialize_field<T: Serialize + ?Sized>(&mut self, _: &'static str, v: &T) -> Checked {
                v.serialize(Checker)
            }
            fn end(self) -> Checked {
                Ok(())
            }
        })*
    };
}

visits_fields! { SerializeStruct, SerializeStructVariant }

impl ser::SerializeMap for Checker {
    type Ok = ();
    type Error = Refused;

    /// Keys are left to `serde_json`, which refuses those that are not strings or integers.
    fn serialize_key<T: Serialize + ?Sized>(&mut self, _: &T) -> Checked {
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Checked {
        value.serialize(Self)
    }

    fn end(self) -> Checked {
        Ok(())
    }
}
