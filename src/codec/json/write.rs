//! Writes an event's line.

use std::borrow::Cow;

use crate::contract::{EventFields, IdRef, JsonText, compact, write_number, write_string};

/// Appends the line of an event, without a line end.
///
/// Members come in the contract's order, then the unknown ones as they came: `v`, `id`, `host`, `seq`,
/// `causes`, `at`, `type`, `payload`. The payload's text is copied. Holds no line feed.
pub fn write_event(event: &impl EventFields, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"v\":");
    write_number(event.v().into(), out);
    out.extend_from_slice(b",\"id\":");
    write_id(event.id(), out);
    out.extend_from_slice(b",\"host\":");
    write_string(event.host(), out);
    out.extend_from_slice(b",\"seq\":");
    write_number(event.seq().to_f64(), out);
    out.extend_from_slice(b",\"causes\":[");
    for index in 0..event.causes_len() {
        if index > 0 {
            out.push(b',');
        }
        if let Some(cause) = event.cause(index) {
            write_id(cause, out);
        }
    }
    out.extend_from_slice(b"],\"at\":");
    write_number(event.at(), out);
    out.extend_from_slice(b",\"type\":");
    write_string(event.kind(), out);
    out.extend_from_slice(b",\"payload\":");
    out.extend_from_slice(event.payload().as_bytes());
    let extra = event.extra().and_then(|extra| extra.strip_prefix('{')?.strip_suffix('}'));
    if let Some(members) = extra.filter(|members| !members.is_empty()) {
        out.push(b',');
        out.extend_from_slice(members.as_bytes());
    }
    out.push(b'}');
}

fn write_id(id: IdRef<'_>, out: &mut Vec<u8>) {
    id.with_str(|text| write_string(text, out));
}

/// Joins unknown members to one object's text; `None` when there are none.
pub(super) fn extra_object(members: &[(Cow<'_, str>, &str)]) -> Option<JsonText> {
    if members.is_empty() {
        return None;
    }
    let mut object = String::from("{");
    for (index, (name, text)) in members.iter().enumerate() {
        if index > 0 {
            object.push(',');
        }
        object.push_str(&serde_json::Value::from(&**name).to_string());
        object.push(':');
        object.push_str(&compact(text));
    }
    object.push('}');
    Some(JsonText::from_checked(object))
}
