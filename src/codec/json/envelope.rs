//! Reads a line into the members of an envelope, borrowed from it.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::contract::limits::LINE_BYTES_MAX;
use crate::contract::{Code, Error, Faults, Json, Key, Result, Strict, error_at, read_at_level, trailing};

/// The members of a line's object: the contract's parsed, the others as their texts.
#[derive(Default)]
pub(super) struct Envelope<'a> {
    pub(super) v: Option<Json<'a>>,
    pub(super) id: Option<Json<'a>>,
    pub(super) host: Option<Json<'a>>,
    pub(super) seq: Option<Json<'a>>,
    pub(super) causes: Option<Json<'a>>,
    pub(super) at: Option<Json<'a>>,
    pub(super) kind: Option<Json<'a>>,
    pub(super) payload: Option<Json<'a>>,
    /// The payload's text as it came.
    pub(super) payload_text: &'a str,
    /// Unknown members with their texts, in their order.
    pub(super) extra: Vec<(Cow<'a, str>, &'a str)>,
}

/// Reads the one value of a line strictly, all of it.
///
/// An array has none of an envelope's members and lacks a version first of all, as in every peer.
pub(super) fn read(line: &[u8]) -> Result<Envelope<'_>> {
    let text = text_of(line)?;
    let faults = Faults::default();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    // The depth is bounded by `Strict` instead, which counts the levels around each part.
    deserializer.disable_recursion_limit();
    let top = deserializer
        .deserialize_any(TopVisitor(Strict { level: 0, faults: &faults }))
        .map_err(|error| error_at(text, &error, &faults))?;
    deserializer.end().map_err(|error| trailing(text, &error))?;
    let Some(mut envelope) = top else {
        return Err(Error::invalid(Code::Shape, "an event must be an object"));
    };
    if !envelope.payload_text.is_empty() {
        envelope.payload = Some(read_part(text, envelope.payload_text)?);
    }
    if !envelope.extra.is_empty() {
        for (_, part) in &envelope.extra {
            read_part(text, part)?;
        }
        refuse_repeated(&envelope.extra)?;
    }
    Ok(envelope)
}

fn text_of(line: &[u8]) -> Result<&str> {
    if line.len() > LINE_BYTES_MAX {
        let message = format!("a line of {} bytes is over the limit of {LINE_BYTES_MAX}", line.len());
        return Err(Error::invalid(Code::Limit, message));
    }
    std::str::from_utf8(line).map_err(|error| {
        Error::invalid(Code::Json, "the text is not UTF-8").at_column(column_after(error.valid_up_to()))
    })
}

/// Reads a member's text, which is part of the line's.
fn read_part<'a>(line: &str, part: &'a str) -> Result<Json<'a>> {
    read_at_level(part, 1).map_err(|error| {
        let before = part.as_ptr().addr().saturating_sub(line.as_ptr().addr());
        let column = error.place().column.unwrap_or(1).saturating_sub(1);
        let column = usize::try_from(column).unwrap_or(usize::MAX);
        Error::invalid(error.code(), error.message()).at_column(column_after(before.saturating_add(column)))
    })
}

fn column_after(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX).saturating_add(1)
}

fn refuse_repeated(members: &[(Cow<'_, str>, &str)]) -> Result<()> {
    let mut names: Vec<&str> = members.iter().map(|(name, _)| &**name).collect();
    names.sort_unstable();
    if names.windows(2).any(|pair| matches!(pair, [a, b] if a == b)) {
        return Err(Error::invalid(Code::Json, "a member name is repeated in one object"));
    }
    Ok(())
}

/// Visits the line's value; `None` is a value that has no members at all.
struct TopVisitor<'s>(Strict<'s>);

impl<'de> Visitor<'de> for TopVisitor<'_> {
    type Value = Option<Envelope<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
        let inner = self.0.enter()?;
        while elements.next_element_seed(inner)?.is_some() {}
        Ok(Some(Envelope::default()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let inner = self.0.enter()?;
        let mut envelope = Envelope::default();
        while let Some(name) = members.next_key_seed(Key)? {
            let slot = match &*name {
                "v" => &mut envelope.v,
                "id" => &mut envelope.id,
                "host" => &mut envelope.host,
                "seq" => &mut envelope.seq,
                "causes" => &mut envelope.causes,
                "at" => &mut envelope.at,
                "type" => &mut envelope.kind,
                "payload" => {
                    if !envelope.payload_text.is_empty() {
                        return Err(inner.faults.duplicate());
                    }
                    envelope.payload_text = members.next_value::<&RawValue>()?.get();
                    continue;
                }
                _ => {
                    envelope.extra.push((name, members.next_value::<&RawValue>()?.get()));
                    continue;
                }
            };
            if slot.is_some() {
                return Err(inner.faults.duplicate());
            }
            *slot = Some(members.next_value_seed(inner)?);
        }
        Ok(Some(envelope))
    }
}
