//! What each member of an envelope must be. Each check names its member, none shows a value.

use crate::contract::{
    Code, Error, EventId, HostId, Json, Result, Seq, TypeRegistry, UnknownTypes, check_causes_len,
    check_payload_shape, check_type_name, shape,
};

const TEXT: &str = "a string that is not empty";

pub(super) fn id(value: Option<&Json<'_>>) -> Result<EventId> {
    id_in("id", value)
}

fn id_in(member: &str, value: Option<&Json<'_>>) -> Result<EventId> {
    let text = value.and_then(Json::as_str).ok_or_else(|| shape(member, TEXT))?;
    EventId::new(text)
}

pub(super) fn host(value: Option<&Json<'_>>) -> Result<HostId> {
    let text = value.and_then(Json::as_str).ok_or_else(|| shape("host", TEXT))?;
    HostId::new(text)
}

pub(super) fn seq(value: Option<&Json<'_>>) -> Result<Seq> {
    // A value that is no number is refused with the same words as a number out of range.
    Seq::from_f64(value.and_then(Json::as_f64).unwrap_or(-1.0))
}

pub(super) fn causes(value: Option<&Json<'_>>) -> Result<Vec<EventId>> {
    let causes = value.and_then(Json::as_array).ok_or_else(|| shape("causes", "a list of event ids"))?;
    check_causes_len(causes.len())?;
    causes.iter().map(|cause| id_in("causes", Some(cause))).collect()
}

pub(super) fn at(value: Option<&Json<'_>>) -> Result<f64> {
    value.and_then(Json::as_f64).ok_or_else(|| shape("at", "a number"))
}

pub(super) fn kind<'v>(
    value: Option<&'v Json<'_>>,
    check: Option<(&TypeRegistry, UnknownTypes)>,
) -> Result<&'v str> {
    let kind = value
        .and_then(Json::as_str)
        .ok_or_else(|| Error::invalid(Code::Type, "`type` must be a registered type"))?;
    match check {
        Some((registry, unknown)) => registry.check_type(kind, unknown)?,
        None => check_type_name(kind)?,
    }
    Ok(kind)
}

pub(super) fn payload<'v, 'a>(value: Option<&'v Json<'a>>) -> Result<&'v Json<'a>> {
    let payload = value.ok_or_else(|| shape("payload", "an object"))?;
    check_payload_shape(payload)?;
    Ok(payload)
}
