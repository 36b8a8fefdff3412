//! An event and its JSON line.
//!
//! A line is parsed once, in place: members of the envelope become borrowed values, the payload keeps
//! its text and is parsed for its type's rules. What a line breaks first in the contract's order is what
//! the error names: the text itself, then version, envelope, type, payload.

mod envelope;
mod serde;
mod shape;
#[cfg(test)]
mod tests;
mod write;

use crate::contract::{
    Event, Json, JsonText, Path, Result, TypeRegistry, UnknownTypes, Upcasts, VERSION, check_version,
    compact, not_a_version, validate,
};
use envelope::Envelope;

pub use write::write_event;

/// Reads an event from its line and checks all of it, as an append does.
///
/// The line comes without its line end. Takes one pass over the line and one more over the payload.
///
/// # Errors
/// `JSON` with the column when the line is not one strict JSON value in UTF-8, `LIMIT` when it is too
/// long or nests too deep, then `SHAPE`, `VERSION`, `TYPE` or `PAYLOAD`. No message holds text of the
/// payload.
pub fn read_event(line: &[u8], registry: &TypeRegistry, unknown: UnknownTypes) -> Result<Event> {
    let envelope = envelope::read(line)?;
    check_current(&envelope)?;
    build(&envelope, Some((registry, unknown)))
}

/// Reads an event from its line and checks the envelope alone: for events that are held already, whose
/// types this process may not know.
///
/// # Errors
/// As [`read_event`], without `PAYLOAD`, and `TYPE` only where the type is no type at all.
pub fn parse_event(line: &[u8]) -> Result<Event> {
    let envelope = envelope::read(line)?;
    check_current(&envelope)?;
    build(&envelope, None)
}

/// Reads an event of any version from its line, lifts it to the current one and checks it.
///
/// # Errors
/// As [`read_event`], and `UPCAST` when no step leads from the event's version to the current one.
pub fn upcast_event(
    line: &[u8],
    upcasts: &Upcasts,
    registry: &TypeRegistry,
    unknown: UnknownTypes,
) -> Result<Event> {
    let envelope = envelope::read(line)?;
    match upcasts.path(envelope.v.as_ref())? {
        Path::Current => build(&envelope, Some((registry, unknown))),
        Path::From(v) => {
            let event = upcasts.apply(Event { v, ..build(&envelope, None)? })?;
            validate(&event, registry, unknown)?;
            Ok(event)
        }
    }
}

fn check_current(envelope: &Envelope<'_>) -> Result<()> {
    let v = envelope.v.as_ref().and_then(Json::as_f64).ok_or_else(not_a_version)?;
    check_version(v)
}

/// Builds the event from an envelope whose version was looked at; checks type and payload against a
/// registry where one is given.
fn build(envelope: &Envelope<'_>, check: Option<(&TypeRegistry, UnknownTypes)>) -> Result<Event> {
    let id = shape::id(envelope.id.as_ref())?;
    let host = shape::host(envelope.host.as_ref())?;
    let seq = shape::seq(envelope.seq.as_ref())?;
    let causes = shape::causes(envelope.causes.as_ref())?;
    let at = shape::at(envelope.at.as_ref())?;
    let kind = shape::kind(envelope.kind.as_ref(), check)?;
    let payload = shape::payload(envelope.payload.as_ref())?;
    if let Some((registry, _)) = check {
        registry.check_payload(kind, payload)?;
    }
    let kind = kind.into();
    let payload = JsonText::from_checked(compact(envelope.payload_text).into_owned());
    let extra = write::extra_object(&envelope.extra);
    Ok(Event { v: VERSION, id, host, seq, causes, at, kind, payload, extra })
}
