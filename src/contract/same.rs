//! Whether two events are the same: RFC 8785, the JSON Canonicalization Scheme.
//!
//! The canonical form sorts members by UTF-16 code units and writes numbers as ECMAScript does, so
//! `1`, `1.0` and `1e0` are one and `-0` is `0`. The crate that implements the scheme copies each value
//! once for every level around it and parses each member name again; here values are written in place
//! from a parsed tree, and that crate checks the result in the tests.

use std::borrow::Cow;

use super::error::Result;
use super::event::EventFields;
use super::id::{IdForm, IdRef};
use super::json::{Json, read_at_level, write_number, write_string};
use super::utf16::cmp_utf16;

/// Levels around a payload: the envelope.
const PAYLOAD_LEVEL: usize = 1;

/// Levels around the object of unknown members: none, its members are the envelope's.
const EXTRA_LEVEL: usize = 0;

/// Reports whether two events are the same: whether their canonical JSON is.
///
/// Everything counts: the order and number of causes, `at`, unknown members. Payloads with equal text
/// are never parsed, so two equal copies cost a comparison of bytes.
///
/// # Errors
/// `JSON` or `LIMIT` when a payload or the unknown members are not strict JSON.
#[expect(clippy::float_cmp, reason = "canonical numbers are equal exactly when the doubles are")]
pub fn same(a: &impl EventFields, b: &impl EventFields) -> Result<bool> {
    let envelope = a.v() == b.v()
        && a.id() == b.id()
        && a.host() == b.host()
        && a.seq() == b.seq()
        && a.at() == b.at()
        && a.kind() == b.kind()
        && a.causes_len() == b.causes_len()
        && a.causes().eq(b.causes());
    let extra = (extra_or_none(a), extra_or_none(b));
    Ok(envelope
        && same_text(a.payload(), b.payload(), PAYLOAD_LEVEL)?
        && same_text(extra.0, extra.1, EXTRA_LEVEL)?)
}

/// Returns the canonical JSON of an event: the bytes that a digest of it covers.
///
/// Parses payload and unknown members once.
///
/// # Errors
/// `JSON` or `LIMIT` when the payload or the unknown members are not strict JSON.
pub fn canonical(event: &impl EventFields) -> Result<Vec<u8>> {
    let causes = event.causes().map(id_value).collect();
    let mut members = vec![
        (Cow::Borrowed("v"), Json::Number(event.v().into())),
        (Cow::Borrowed("id"), id_value(event.id())),
        (Cow::Borrowed("host"), Json::String(event.host().into())),
        (Cow::Borrowed("seq"), Json::Number(event.seq().to_f64())),
        (Cow::Borrowed("causes"), Json::Array(causes)),
        (Cow::Borrowed("at"), Json::Number(event.at())),
        (Cow::Borrowed("type"), Json::String(event.kind().into())),
        (Cow::Borrowed("payload"), read_at_level(event.payload(), PAYLOAD_LEVEL)?),
    ];
    if let Json::Object(extra) = read_at_level(extra_or_none(event), EXTRA_LEVEL)? {
        members.extend(extra);
    }
    let mut out = Vec::with_capacity(event.payload().len() + 192);
    write_value(&Json::Object(members), &mut out);
    Ok(out)
}

fn id_value(id: IdRef<'_>) -> Json<'_> {
    Json::String(match id.form() {
        IdForm::Text(text) => text.into(),
        IdForm::Uuid(_) => id.to_string().into(),
    })
}

fn extra_or_none(event: &impl EventFields) -> &str {
    event.extra().unwrap_or("{}")
}

fn same_text(a: &str, b: &str, level: usize) -> Result<bool> {
    Ok(a == b || canonical_text(a, level)? == canonical_text(b, level)?)
}

fn canonical_text(text: &str, level: usize) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    write_value(&read_at_level(text, level)?, &mut out);
    Ok(out)
}

fn write_value(value: &Json<'_>, out: &mut Vec<u8>) {
    match value {
        Json::Null => out.extend_from_slice(b"null"),
        Json::Bool(true) => out.extend_from_slice(b"true"),
        Json::Bool(false) => out.extend_from_slice(b"false"),
        Json::Number(number) => write_number(*number, out),
        Json::String(text) => write_string(text, out),
        Json::Array(elements) => {
            out.push(b'[');
            for (index, element) in elements.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_value(element, out);
            }
            out.push(b']');
        }
        Json::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_unstable_by(|(a, _), (b, _)| cmp_utf16(a, b));
            out.push(b'{');
            for (index, (name, member)) in sorted.into_iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_string(name, out);
                out.push(b':');
                write_value(member, out);
            }
            out.push(b'}');
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::contract::event::Event;
    use crate::contract::id::{EventId, HostId, Seq};
    use crate::contract::json::{JsonText, arbitrary_json};

    fn event(payload: &str) -> Event {
        let id = EventId::new("0198b2a4-0000-7000-8000-000000000001").unwrap();
        let host = HostId::new("h").unwrap();
        Event::new(id, host, Seq::new(7).unwrap(), "turn.started", JsonText::parse(payload).unwrap())
    }

    fn with_extra(text: &str) -> Event {
        event("{}").with_extra(JsonText::parse(text).unwrap())
    }

    #[test]
    fn numbers_compare_as_doubles() {
        for (a, b) in [("1", "1.0"), ("1", "1e0"), ("100", "1E2"), ("-0", "0"), ("0.0", "-0.0")] {
            assert!(same(&event(&format!("[{a}]")), &event(&format!("[{b}]"))).unwrap(), "{a} {b}");
        }
        assert!(same(&event("[9007199254740993]"), &event("[9007199254740992]")).unwrap());
        assert!(!same(&event("[9007199254740991]"), &event("[9007199254740992]")).unwrap());
        assert!(!same(&event("[1]"), &event(r#"["1"]"#)).unwrap());
        assert!(same(&event("{}").with_at(-0.0), &event("{}").with_at(0.0)).unwrap());
    }

    #[test]
    fn member_order_and_spelling_do_not_count_and_array_order_does() {
        assert!(same(&event(r#"{"a":1,"b":[1,2]}"#), &event(r#"{"\u0062":[1,2],"a":1.0}"#)).unwrap());
        assert!(same(&event(r#"["\/é"]"#), &event(r#"["/\u00e9"]"#)).unwrap());
        assert!(!same(&event("[1,2]"), &event("[2,1]")).unwrap());
        assert!(!same(&event("{}"), &event("[]")).unwrap());
    }

    #[test]
    fn the_whole_envelope_counts() {
        let id = |text: &str| EventId::new(text).unwrap();
        let plain = event("{}");
        assert!(same(&plain, &with_extra("{}")).unwrap());
        assert!(!same(&plain, &with_extra(r#"{"sig":null}"#)).unwrap());
        assert!(same(&with_extra(r#"{"x":1,"y":2}"#), &with_extra(r#"{"y":2.0,"x":1}"#)).unwrap());
        let two = event("{}").with_causes([id("a"), id("b")]);
        assert!(same(&two, &two.clone()).unwrap());
        for causes in [vec!["b", "a"], vec!["a"], vec!["a", "b", "b"], vec![]] {
            assert!(!same(&two, &event("{}").with_causes(causes.into_iter().map(id))).unwrap());
        }
        let others = [
            Event { v: 2, ..plain.clone() },
            Event { id: id("e"), ..plain.clone() },
            Event { host: HostId::new("g").unwrap(), ..plain.clone() },
            Event { seq: Seq::ZERO, ..plain.clone() },
            Event { at: 0.5, ..plain.clone() },
            Event { kind: "turn.ended".into(), ..plain.clone() },
        ];
        for other in others {
            assert!(!same(&plain, &other).unwrap(), "{other:?}");
        }
    }

    #[test]
    fn canonical_bytes_follow_the_scheme() {
        let event = event(r#"{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"ö":1E30}"#)
            .with_at(1_700_000_000_000.0)
            .with_extra(JsonText::parse(r#"{"sig":"\u0007\n\"","a":4.50}"#).unwrap());
        let expected = concat!(
            r#"{"a":4.5,"at":1700000000000,"causes":[],"host":"h","id":"0198b2a4-0000-7000-8000-000000000001","#,
            "\"payload\":{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"ö\":1e+30,\"€\":1,\"😀\":5,\"\u{fb33}\":3},",
            r#""seq":7,"sig":"\u0007\n\"","type":"turn.started","v":1}"#,
        );
        assert_eq!(String::from_utf8(canonical(&event).unwrap()).unwrap(), expected);
    }

    proptest! {
        #[test]
        fn equals_the_plain_scheme(a in arbitrary_json(), b in arbitrary_json()) {
            let plain = |text: &str| serde_json_canonicalizer::pipe(text).unwrap();
            prop_assert_eq!(String::from_utf8(canonical_text(&a, PAYLOAD_LEVEL).unwrap()).unwrap(), plain(&a));
            prop_assert_eq!(same_text(&a, &b, PAYLOAD_LEVEL).unwrap(), plain(&a) == plain(&b));
            let respelt = serde_json::to_string(&serde_json::from_str::<serde_json::Value>(&a).unwrap());
            prop_assert!(same_text(&a, &respelt.unwrap(), PAYLOAD_LEVEL).unwrap());
        }
    }
}
