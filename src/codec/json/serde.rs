//! `serde` for events: the same line, the same strictness.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use serde_json::value::RawValue;

use super::{parse_event, write_event};
use crate::contract::Event;

/// Writes the contract's JSON. For JSON formats only.
impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut line = Vec::new();
        write_event(self, &mut line);
        let raw: &RawValue = serde_json::from_slice(&line).map_err(ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

/// Reads the contract's JSON and checks the envelope; types and payloads are checked at append. For
/// JSON formats only.
impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        parse_event(raw.get().as_bytes()).map_err(de::Error::custom)
    }
}
