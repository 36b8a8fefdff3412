//! References inside payloads.

use crate::contract::{Json, Ref, RefKind};

use super::payload::Raw;

/// Reports whether a value is a reference, as [`is_ref`](crate::contract::is_ref) does, without a tree.
pub(super) fn is_reference(value: Raw<'_>) -> bool {
    let [kind, id, hash] = value.pick(["kind", "id", "hash"]);
    let is_text = |value: Option<Raw<'_>>| {
        value.is_some_and(|value| value.text().starts_with('"') && value.is_truthy())
    };
    kind.and_then(Raw::as_str).is_some_and(|kind| RefKind::from_word(&kind).is_some())
        && is_text(id)
        && is_text(hash)
}

/// Reads a reference; `None` where the value is none.
pub(super) fn read(value: Raw<'_>) -> Option<Ref> {
    Ref::read(&Json::parse(value.text()).ok()?)
}
