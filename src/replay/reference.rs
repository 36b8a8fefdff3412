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

/// Reads a reference, as [`Ref::read`] does; `None` where the value is none. Builds a tree only for a range.
pub(super) fn read(value: Raw<'_>) -> Option<Ref> {
    let [kind, id, hash, range, stored] = value.pick(["kind", "id", "hash", "range", "stored"]);
    if range.is_some() {
        return Ref::read(&Json::parse(value.text()).ok()?);
    }
    let text =
        |value: Option<Raw<'_>>| value.and_then(Raw::as_str).filter(|text| !text.is_empty()).map(Into::into);
    Some(Ref {
        kind: RefKind::from_word(&kind?.as_str()?)?,
        id: text(id)?,
        hash: text(hash)?,
        range: None,
        stored: stored.is_some_and(Raw::is_truthy),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_a_tree_gives() {
        let values = [
            r#"{"kind":"note","id":"a","hash":"h"}"#,
            r#"{"stored":0,"kind":"page","id":"\u0061","hash":"h","x":[{"kind":1}]}"#,
            r#"{"kind":"n\u006fte","id":"a","hash":"h","stored":{}}"#,
            r#"{"kind":"brief","id":"a","hash":"h","range":{"from":1,"to":2},"stored":"no"}"#,
            r#"{"kind":"brief","id":"a","hash":"h","range":"x"}"#,
            r#"{"kind":"note","id":"","hash":"h"}"#,
            r#"{"kind":"note","id":"a","hash":""}"#,
            r#"{"kind":"Note","id":"a","hash":"h"}"#,
            r#"{"kind":["note"],"id":"a","hash":"h"}"#,
            r#"{"kind":"note","id":1,"hash":"h"}"#,
            r#"{"kind":"note","hash":"h"}"#,
            r#"[{"kind":"note","id":"a","hash":"h"}]"#,
            r#""note""#,
            "null",
            "{}",
        ];
        for text in values {
            let tree = Ref::read(&Json::parse(text).unwrap());
            assert_eq!(read(Raw::new(text)), tree, "{text}");
            assert_eq!(is_reference(Raw::new(text)), tree.is_some(), "{text}");
        }
    }
}
