//! JSON text that is known to be valid.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use serde_json::value::RawValue;

use super::compact::compact;
use super::reader::read_at_level;
use crate::contract::error::{Code, Error, Result};

/// Valid JSON text of one value without white space between tokens.
///
/// Numbers and strings keep the spelling they came with. Equality is that of the text; see
/// [`same`](crate::same) for that of the content.
#[derive(Clone, PartialEq, Eq)]
pub struct JsonText(Box<str>);

impl JsonText {
    /// Checks a text and keeps it, without the white space between its tokens.
    ///
    /// The value stands inside an event, so its depth is at most
    /// [`JSON_DEPTH_MAX`](crate::limits::JSON_DEPTH_MAX) - 1. Reads the text once.
    ///
    /// # Errors
    /// `JSON` with the column when the text is not strict JSON, `LIMIT` when it nests too deep.
    pub fn parse(text: &str) -> Result<Self> {
        read_at_level(text, 1)?;
        Ok(Self(compact(text).into()))
    }

    /// Writes a value as JSON.
    ///
    /// # Errors
    /// `JSON` when the value has no strict JSON form, `LIMIT` when it nests too deep.
    pub fn from_serialize<T: Serialize + ?Sized>(value: &T) -> Result<Self> {
        let text = serde_json::to_string(value)
            .map_err(|_| Error::invalid(Code::Json, "the value has no form in json"))?;
        Self::parse(&text)
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Wraps text that the caller knows to be valid, compact JSON.
    #[must_use]
    pub(crate) fn from_checked(text: String) -> Self {
        Self(text.into())
    }
}

impl fmt::Debug for JsonText {
    /// Prints the length alone: payloads can hold what users typed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JsonText({} bytes)", self.0.len())
    }
}

/// Writes the text unchanged. For JSON formats only.
impl Serialize for JsonText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(&self.0).map_err(ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

/// Keeps the text as it stands. For JSON formats only.
impl<'de> Deserialize<'de> for JsonText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Self::parse(raw.get()).map_err(de::Error::custom)
    }
}
