//! `serde` for ids, ordinals and references, in the contract's form and with the contract's checks.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, SerializeStruct, Serializer};
use serde_json::value::RawValue;

use super::id::{EventId, HostId, Seq};
use super::json::Json;
use super::reference::{Ref, RefRange};

/// Writes the text.
impl Serialize for EventId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_ref().with_str(|text| serializer.serialize_str(text))
    }
}

/// Reads a text, as [`EventId::new`].
impl<'de> Deserialize<'de> for EventId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(&String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

/// Writes the text.
impl Serialize for HostId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Reads a text, as [`HostId::new`].
impl<'de> Deserialize<'de> for HostId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(&String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

/// Writes the number.
impl Serialize for Seq {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.get())
    }
}

/// Reads a whole number in range, however it is spelt.
impl<'de> Deserialize<'de> for Seq {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_u64(SeqVisitor)
    }
}

struct SeqVisitor;

impl Visitor<'_> for SeqVisitor {
    type Value = Seq;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number from 0 to 2^53 - 1")
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Seq, E> {
        Seq::new(number).map_err(E::custom)
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Seq, E> {
        Seq::from_f64(number).map_err(E::custom)
    }
}

/// Writes the contract's object: `range` where there is one, `stored` where it is true.
impl Serialize for Ref {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let members = 3 + usize::from(self.range.is_some()) + usize::from(self.stored);
        let mut reference = serializer.serialize_struct("Ref", members)?;
        reference.serialize_field("kind", self.kind.as_str())?;
        reference.serialize_field("id", &self.id)?;
        reference.serialize_field("hash", &self.hash)?;
        if let Some(range) = &self.range {
            reference.serialize_field("range", range)?;
        }
        if self.stored {
            reference.serialize_field("stored", &true)?;
        }
        reference.end()
    }
}

/// Reads an object, as [`Ref::make`]. For JSON formats only.
impl<'de> Deserialize<'de> for Ref {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Json::parse(raw.get()).and_then(|value| Self::make(&value)).map_err(de::Error::custom)
    }
}

impl Serialize for RefRange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut range = serializer.serialize_struct("RefRange", 2)?;
        range.serialize_field("from", &self.from)?;
        range.serialize_field("to", &self.to)?;
        range.end()
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use super::*;

    fn there_and_back<T: Serialize + for<'de> Deserialize<'de> + PartialEq + Debug>(text: &str) {
        let value: T = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&value).unwrap(), text);
        let tree: serde_json::Value = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::from_value::<T>(tree).unwrap(), value);
    }

    #[test]
    fn forms_are_the_contracts() {
        there_and_back::<EventId>(r#""0198b2a4-0000-7000-8000-000000000001""#);
        there_and_back::<EventId>(r#""a b""#);
        there_and_back::<HostId>(r#""gateway""#);
        there_and_back::<Seq>("9007199254740991");
        there_and_back::<Ref>(r#"{"kind":"note","id":"n","hash":"sha256:ab"}"#);
        there_and_back::<Ref>(
            r#"{"kind":"blob","id":"n","hash":"h","range":{"from":1,"to":2},"stored":true}"#,
        );
        assert_eq!(serde_json::from_str::<Seq>("5.0").unwrap().get(), 5);
    }

    #[test]
    fn what_the_contract_refuses_is_not_read() {
        assert!(serde_json::from_str::<EventId>(r#""""#).is_err());
        assert!(serde_json::from_str::<HostId>("1").is_err());
        for seq in ["-1", "0.5", "9007199254740992", "\"1\""] {
            assert!(serde_json::from_str::<Seq>(seq).is_err(), "{seq}");
        }
        for reference in [r#"{"kind":"no","id":"n","hash":"h"}"#, r#"{"kind":"note","id":"n"}"#, "[]"] {
            assert!(serde_json::from_str::<Ref>(reference).is_err(), "{reference}");
        }
    }
}
