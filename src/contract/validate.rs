//! Whether an event may be appended.

use std::cmp::Ordering;

use super::error::{Code, Error, ErrorKind, Result};
use super::event::{EventFields, VERSION};
use super::json::{Json, read_at_level};
use super::limits::{CAUSES_MAX, HOST_BYTES_MAX, ID_BYTES_MAX};
use super::types::{TypeRegistry, UnknownTypes};

/// Members of the envelope, in the contract's order.
const MEMBERS: [&str; 8] = ["v", "id", "host", "seq", "causes", "at", "type", "payload"];

/// Checks a typed event: version, envelope, type, payload and limits, in the contract's order.
///
/// Parses the payload once.
///
/// # Errors
/// `VERSION`, `SHAPE`, `TYPE`, `PAYLOAD`, `JSON` or `LIMIT`, whichever the contract finds first.
pub fn validate(event: &impl EventFields, registry: &TypeRegistry, unknown: UnknownTypes) -> Result<()> {
    check_version(f64::from(event.v()))?;
    event.id().with_str(|id| check_name("id", id, ID_BYTES_MAX))?;
    check_name("host", event.host(), HOST_BYTES_MAX)?;
    check_causes_len(event.causes_len())?;
    for cause in event.causes() {
        cause.with_str(|id| check_name("causes", id, ID_BYTES_MAX))?;
    }
    if !event.at().is_finite() {
        return Err(shape("at", "a finite number"));
    }
    registry.check_type(event.kind(), unknown)?;
    let payload = Json::parse(event.payload())?;
    check_payload_shape(&payload)?;
    if let Some(extra) = event.extra() {
        check_extra(extra)?;
    }
    registry.check_payload(event.kind(), &payload)
}

/// Checks that a version is the one this process writes.
pub(crate) fn check_version(v: f64) -> Result<()> {
    let current = f64::from(VERSION);
    match v.partial_cmp(&current) {
        Some(Ordering::Equal) => Ok(()),
        Some(Ordering::Greater) if v.fract() == 0.0 => {
            let message = "the event was written by a newer version";
            Err(Error::new(ErrorKind::Unsupported, Code::Version, message))
        }
        _ => Err(not_a_version()),
    }
}

/// Says that `v` is none that this process reads, or that there is none.
pub(crate) fn not_a_version() -> Error {
    Error::invalid(Code::Version, format!("`v` is missing or is not {VERSION}"))
}

/// Says what a member of the envelope must be.
pub(crate) fn shape(member: &str, expected: &str) -> Error {
    Error::invalid(Code::Shape, format!("`{member}` must be {expected}"))
}

/// Checks a name that must not be empty.
fn check_name(member: &str, name: &str, bytes_max: usize) -> Result<()> {
    if name.is_empty() {
        return Err(shape(member, "a string that is not empty"));
    }
    if name.len() > bytes_max {
        let message = format!("`{member}` of {} bytes is over the limit of {bytes_max}", name.len());
        return Err(Error::invalid(Code::Limit, message));
    }
    Ok(())
}

/// Checks the number of causes.
pub(crate) fn check_causes_len(len: usize) -> Result<()> {
    if len > CAUSES_MAX {
        return Err(Error::invalid(Code::Limit, format!("{len} causes are over the limit of {CAUSES_MAX}")));
    }
    Ok(())
}

/// Checks that a payload is one. An array is, so that its type's rules judge it, as in every peer.
pub(crate) fn check_payload_shape(payload: &Json<'_>) -> Result<()> {
    match payload {
        Json::Array(_) | Json::Object(_) => Ok(()),
        _ => Err(shape("payload", "an object")),
    }
}

/// Checks that the unknown members are unknown: one of the envelope's names among them would be
/// written twice.
fn check_extra(extra: &str) -> Result<()> {
    // Its members are the envelope's own, so no level stands around it.
    let value = read_at_level(extra, 0)?;
    let members = value.as_object().ok_or_else(|| shape("extra", "an object"))?;
    if members.iter().any(|(name, _)| MEMBERS.contains(&&**name)) {
        return Err(Error::invalid(Code::Shape, "a member of the envelope stands among the unknown ones"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::id::{IdRef, Seq};

    /// A form of event whose names nothing has checked.
    struct Foreign {
        id: String,
        host: String,
        cause: String,
    }

    impl EventFields for Foreign {
        fn v(&self) -> u32 {
            VERSION
        }
        fn id(&self) -> IdRef<'_> {
            IdRef::new(&self.id)
        }
        fn host(&self) -> &str {
            &self.host
        }
        fn seq(&self) -> Seq {
            Seq::ZERO
        }
        fn at(&self) -> f64 {
            0.0
        }
        fn kind(&self) -> &'static str {
            "turn.started"
        }
        fn payload(&self) -> &'static str {
            r#"{"turnId":"t"}"#
        }
        fn extra(&self) -> Option<&str> {
            None
        }
        fn causes_len(&self) -> usize {
            1
        }
        fn cause(&self, _: usize) -> Option<IdRef<'_>> {
            Some(IdRef::new(&self.cause))
        }
    }

    #[test]
    fn names_of_any_form_are_checked() {
        let check = |id: &str, host: &str, cause: &str| {
            let event = Foreign { id: id.into(), host: host.into(), cause: cause.into() };
            validate(&event, &TypeRegistry::v1(), UnknownTypes::Refuse).map_err(|error| error.code())
        };
        let name = "x".repeat(ID_BYTES_MAX);
        let long = "x".repeat(ID_BYTES_MAX + 1);
        assert_eq!(check(&name, &name, &name), Ok(()));
        for (bad, code) in [("", Code::Shape), (long.as_str(), Code::Limit)] {
            assert_eq!(check(bad, "h", "c"), Err(code));
            assert_eq!(check("e", bad, "c"), Err(code));
            assert_eq!(check("e", "h", bad), Err(code));
        }
    }
}
