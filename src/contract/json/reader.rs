//! The strict reader: a visitor over `serde_json` that bounds depth and refuses repeated names.
//!
//! Invariants:
//! - The depth is checked before a level is entered, so the stack needed is bounded whatever the input. So is the memory:
//!   values are counted as they are read.
//! - No message holds text of the input.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::value::Json;
use crate::contract::error::{Code, Error, Result};
use crate::contract::limits::{JSON_DEPTH_MAX, JSON_VALUES_MAX};

/// Objects up to this size are searched for repeated names as they are read, greater ones are sorted.
const LINEAR_MEMBERS_MAX: usize = 16;

/// What went wrong, beside what the JSON grammar knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Depth,
    Duplicate,
    Values,
}

/// What is known of one text beside its values: how many there were, and a fault, which `serde_json`'s errors, that hold
/// text alone, cannot carry.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    fault: Cell<Option<Fault>>,
    values: Cell<u32>,
}

impl Faults {
    fn raise<E: serde::de::Error>(&self, fault: Fault) -> E {
        self.fault.set(Some(fault));
        E::custom("refused")
    }

    /// Counts a value.
    fn count<E: serde::de::Error>(&self) -> Result<(), E> {
        let values = self.values.get() + 1;
        if values > JSON_VALUES_MAX {
            return Err(self.raise(Fault::Values));
        }
        self.values.set(values);
        Ok(())
    }

    /// Notes that a member name is repeated.
    pub(crate) fn duplicate<E: serde::de::Error>(&self) -> E {
        self.raise(Fault::Duplicate)
    }
}

/// Reads one value strictly.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strict<'s> {
    /// Number of arrays and objects around the value.
    pub(crate) level: usize,
    /// Where faults go.
    pub(crate) faults: &'s Faults,
}

impl<'s> Strict<'s> {
    /// Steps into an array or an object.
    pub(crate) fn enter<E: serde::de::Error>(self) -> Result<Strict<'s>, E> {
        if self.level >= JSON_DEPTH_MAX {
            return Err(self.faults.raise(Fault::Depth));
        }
        Ok(Strict { level: self.level + 1, ..self })
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Json<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json<'de>, D::Error> {
        self.faults.count()?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Json<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a json value")
    }

    fn visit_unit<E>(self) -> Result<Json<'de>, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json<'de>, E> {
        Ok(Json::Bool(value))
    }

    #[expect(clippy::cast_precision_loss, reason = "numbers compare as doubles, as in every peer")]
    fn visit_i64<E>(self, value: i64) -> Result<Json<'de>, E> {
        Ok(Json::Number(value as f64))
    }

    #[expect(clippy::cast_precision_loss, reason = "numbers compare as doubles, as in every peer")]
    fn visit_u64<E>(self, value: u64) -> Result<Json<'de>, E> {
        Ok(Json::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json<'de>, E> {
        Ok(Json::Number(value))
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Json<'de>, E> {
        Ok(Json::String(Cow::Borrowed(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json<'de>, E> {
        Ok(Json::String(Cow::Owned(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Json<'de>, A::Error> {
        let inner = self.enter()?;
        let mut values = Vec::new();
        while let Some(value) = elements.next_element_seed(inner)? {
            values.push(value);
        }
        Ok(Json::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json<'de>, A::Error> {
        let inner = self.enter()?;
        let mut members: Vec<(Cow<'de, str>, Json<'de>)> = Vec::new();
        while let Some(name) = entries.next_key_seed(Key)? {
            if members.len() < LINEAR_MEMBERS_MAX && members.iter().any(|(known, _)| *known == name) {
                return Err(self.faults.duplicate());
            }
            let value = entries.next_value_seed(inner)?;
            members.push((name, value));
        }
        if members.len() > LINEAR_MEMBERS_MAX {
            let mut names: Vec<&str> = members.iter().map(|(name, _)| &**name).collect();
            names.sort_unstable();
            if names.windows(2).any(|pair| matches!(pair, [a, b] if a == b)) {
                return Err(self.faults.duplicate());
            }
        }
        Ok(Json::Object(members))
    }
}

/// Reads a member name, borrowed unless it holds escapes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Key {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a member name")
    }

    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(name))
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(name.to_owned()))
    }
}

/// Reads the text of one value that stands inside `level` arrays and objects.
pub(crate) fn read_at_level(text: &str, level: usize) -> Result<Json<'_>> {
    let faults = Faults::default();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    // The depth is bounded by `Strict`, which counts the levels around the text as well.
    deserializer.disable_recursion_limit();
    Strict { level, faults: &faults }
        .deserialize(&mut deserializer)
        .map_err(|error| error_at(text, &error, &faults))
        .and_then(|value| {
            deserializer.end().map_err(|error| trailing(text, &error))?;
            Ok(value)
        })
}

/// Says what is wrong with a text, and at which column in bytes from 1.
pub(crate) fn error_at(text: &str, error: &serde_json::Error, faults: &Faults) -> Error {
    let (code, message) = match faults.fault.get() {
        Some(Fault::Depth) => (Code::Limit, format!("nested deeper than {JSON_DEPTH_MAX} levels")),
        Some(Fault::Values) => (Code::Limit, format!("more than {JSON_VALUES_MAX} values")),
        Some(Fault::Duplicate) => (Code::Json, "a member name is repeated in one object".to_owned()),
        None => (Code::Json, grammar(error)),
    };
    Error::invalid(code, message).at_column(column(text, error))
}

/// Says that more text follows the value, and at which column the value ends.
pub(crate) fn trailing(text: &str, error: &serde_json::Error) -> Error {
    let rest = usize::try_from(column(text, error)).unwrap_or(usize::MAX).saturating_sub(1);
    let value = text.get(..rest).unwrap_or(text).trim_ascii_end();
    let end = u64::try_from(value.len()).unwrap_or(u64::MAX);
    Error::invalid(Code::Json, "more text follows the value that ends here").at_column(end)
}

/// Returns the parser's own words, which never quote the input, without its line and column.
fn grammar(error: &serde_json::Error) -> String {
    let words = error.to_string();
    let words = words.rsplit_once(" at line ").map_or(words.as_str(), |(message, _)| message);
    format!("not json: {words}")
}

/// Returns the column in bytes from 1 over the whole text, line feeds included.
fn column(text: &str, error: &serde_json::Error) -> u64 {
    let lines_before = error.line().saturating_sub(1);
    let start: usize = text.split_inclusive('\n').take(lines_before).map(str::len).sum();
    u64::try_from(start.saturating_add(error.column().max(1))).unwrap_or(u64::MAX)
}
