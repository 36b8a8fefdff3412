//! How far a replica is: host to highest `seq` held.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::id::{EventId, HostId, Seq};

/// Highest event held of one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CursorEntry {
    /// The highest `seq` held.
    pub seq: Seq,
    /// The id of that event where it is known; it binds the cursor to one history.
    pub id: Option<EventId>,
}

/// Host to highest event held; the pair `cursor`/`since` is how replicas catch up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    entries: BTreeMap<HostId, CursorEntry>,
}

impl Cursor {
    /// Returns the entry of a host.
    #[must_use]
    pub fn get(&self, host: &HostId) -> Option<&CursorEntry> {
        self.entries.get(host)
    }

    /// Sets the entry of a host.
    pub fn insert(&mut self, host: HostId, entry: CursorEntry) {
        self.entries.insert(host, entry);
    }

    /// Iterates over the hosts in UTF-16 order.
    pub fn iter(&self) -> impl Iterator<Item = (&HostId, &CursorEntry)> {
        self.entries.iter()
    }

    /// Returns the number of hosts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Reports whether no host is named.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// `{"host": seq}`, or `{"host": {"seq": seq, "id": "..."}}` where the id is known.
impl Serialize for Cursor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut hosts = serializer.serialize_map(Some(self.len()))?;
        for (host, entry) in self.iter() {
            hosts.serialize_entry(host.as_str(), entry)?;
        }
        hosts.end()
    }
}

impl Serialize for CursorEntry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(id) = &self.id else {
            return serializer.serialize_u64(self.seq.get());
        };
        let mut members = serializer.serialize_map(Some(2))?;
        members.serialize_entry("seq", &self.seq.get())?;
        members.serialize_entry("id", &id.as_ref().to_string())?;
        members.end()
    }
}

/// Reads both forms. A host at a negative number holds nothing, as other implementations write it, and
/// is left out.
impl<'de> Deserialize<'de> for Cursor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(HostsVisitor)
    }
}

struct HostsVisitor;

impl<'de> Visitor<'de> for HostsVisitor {
    type Value = Cursor;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of hosts")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut hosts: A) -> Result<Cursor, A::Error> {
        let mut cursor = Cursor::default();
        while let Some(host) = hosts.next_key::<String>()? {
            let host = HostId::new(&host).map_err(de::Error::custom)?;
            let entry = hosts.next_value_seed(Held { object: true })?;
            if cursor.get(&host).is_some() {
                return Err(de::Error::custom("a host is repeated"));
            }
            if let Some(entry) = entry {
                cursor.insert(host, entry);
            }
        }
        Ok(cursor)
    }
}

/// Reads what is held of a host, `None` where that is nothing.
struct Held {
    /// Whether an object may stand here: not inside another one.
    object: bool,
}

impl<'de> DeserializeSeed<'de> for Held {
    type Value = Option<CursorEntry>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Held {
    type Value = Option<CursorEntry>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.object { "a seq, or an object of seq and id" } else { "a seq" })
    }

    fn visit_u64<E: de::Error>(self, seq: u64) -> Result<Self::Value, E> {
        let seq = Seq::new(seq).map_err(E::custom)?;
        Ok(Some(CursorEntry { seq, id: None }))
    }

    fn visit_i64<E: de::Error>(self, seq: i64) -> Result<Self::Value, E> {
        u64::try_from(seq).map_or(Ok(None), |seq| self.visit_u64(seq))
    }

    fn visit_f64<E: de::Error>(self, seq: f64) -> Result<Self::Value, E> {
        if seq < 0.0 {
            return Ok(None);
        }
        let seq = Seq::from_f64(seq).map_err(E::custom)?;
        Ok(Some(CursorEntry { seq, id: None }))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        if !self.object {
            return Err(de::Error::invalid_type(de::Unexpected::Map, &self));
        }
        let (mut held, mut id) = (None, None);
        while let Some(name) = members.next_key::<String>()? {
            match name.as_str() {
                "seq" => held = Some(members.next_value_seed(Held { object: false })?),
                "id" => id = members.next_value::<Option<String>>()?,
                _ => _ = members.next_value::<IgnoredAny>()?,
            }
        }
        let entry = held.ok_or_else(|| de::Error::missing_field("seq"))?;
        let id = id.map(|id| EventId::new(&id)).transpose().map_err(de::Error::custom)?;
        Ok(entry.map(|entry| CursorEntry { id, ..entry }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read_and_written() {
        let text = r#"{"a":5,"b":{"seq":7,"id":"e7"},"c":0}"#;
        let cursor: Cursor = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&cursor).unwrap(), text);
        let b = cursor.get(&HostId::new("b").unwrap()).unwrap();
        assert_eq!((b.seq.get(), b.id.clone()), (7, Some(EventId::new("e7").unwrap())));
        let spelt =
            r#"{"c":0.0,"gone":-1,"lost":-1.0,"a":5.0,"b":{"id":"e7","other":[1],"seq":7},"d":{"seq":-1}}"#;
        assert_eq!(serde_json::from_str::<Cursor>(spelt).unwrap(), cursor);
        assert_eq!(serde_json::from_str::<Cursor>(r#"{"a":{"seq":5,"id":null}}"#).unwrap().len(), 1);
    }

    #[test]
    fn what_is_no_cursor_is_refused() {
        for text in [
            "[]",
            r#"{"":1}"#,
            r#"{"a":"1"}"#,
            r#"{"a":0.5}"#,
            r#"{"a":9007199254740992}"#,
            r#"{"a":{"id":"e"}}"#,
            r#"{"a":{"seq":1,"id":""}}"#,
            r#"{"a":{"seq":{"seq":1}}}"#,
            r#"{"a":1,"a":2}"#,
        ] {
            assert!(serde_json::from_str::<Cursor>(text).is_err(), "{text}");
        }
    }
}
