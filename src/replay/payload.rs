//! Reads single members of a payload without building a tree of it.
//!
//! Payload text is known to be strict JSON without white space between tokens: it was checked when it
//! came in. So nothing is validated again here; a member is found by skipping over the values before it,
//! at the cost of one look at each byte and no allocation. Text that is not what it should be ends the
//! iteration early and never panics.

use std::borrow::Cow;
use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher13};

/// The text of one JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Raw<'a>(&'a str);

impl<'a> Raw<'a> {
    /// Wraps the text of a value, such as a payload's.
    pub(super) const fn new(text: &'a str) -> Self {
        Self(text)
    }

    /// Returns the value's text.
    pub(super) const fn text(self) -> &'a str {
        self.0
    }

    /// Returns the characters of a string, `None` for any other value. Allocates only for escapes.
    pub(super) fn as_str(self) -> Option<Cow<'a, str>> {
        unquote(self.0)
    }

    /// Reports whether JavaScript takes the value for true: not null, false, 0 or the empty string.
    pub(super) fn is_truthy(self) -> bool {
        match self.0.bytes().next() {
            None | Some(b'n' | b'f') => false,
            Some(b'"') => self.0.len() > 2,
            Some(b'-' | b'0'..=b'9') => self.0.parse() != Ok(0f64),
            Some(_) => true,
        }
    }

    /// Iterates over an object's members as they stand; nothing for any other value.
    pub(super) fn members(self) -> Members<'a> {
        Members { rest: self.0.strip_prefix('{').unwrap_or_default() }
    }

    /// Iterates over an array's elements; nothing for any other value.
    pub(super) fn elements(self) -> Elements<'a> {
        Elements { rest: self.0.strip_prefix('[').unwrap_or_default() }
    }

    /// Returns the members of these names, each `None` where it is absent. One pass.
    pub(super) fn pick<const N: usize>(self, names: [&str; N]) -> [Option<Raw<'a>>; N] {
        let mut picked = [None; N];
        let mut missing = N;
        for (name, value) in self.members() {
            for (slot, wanted) in picked.iter_mut().zip(names) {
                if name == wanted {
                    missing -= usize::from(slot.is_none());
                    *slot = Some(value);
                }
            }
            if missing == 0 {
                break;
            }
        }
        picked
    }

    /// Returns a digest under which values meet that JavaScript takes for the same key of a `Set`; `None`
    /// for arrays and objects, which are never the same as another.
    ///
    /// Spelling does not count: `1` and `1.0` are one number, `"a"` and `"\u0061"` one string.
    pub(super) fn scalar_key(self) -> Option<Digest> {
        match self.0.bytes().next() {
            Some(b'{' | b'[') | None => None,
            Some(b'"') => self.as_str().map(|text| digest(b's', &[text.as_bytes()])),
            Some(b'-' | b'0'..=b'9') => {
                // Adding zero turns -0 into 0.
                let number = self.0.parse::<f64>().ok()? + 0.0;
                Some(digest(b'n', &[&number.to_bits().to_le_bytes()]))
            }
            Some(_) => Some(digest(b'l', &[self.0.as_bytes()])),
        }
    }
}

/// A short stand-in for texts: a SipHash-1-3 of 128 bits. Chance never makes two meet.
pub(super) type Digest = u128;

/// Digests texts under a domain; where one ends and the next begins counts.
pub(super) fn digest(domain: u8, parts: &[&[u8]]) -> Digest {
    let mut hasher = SipHasher13::new();
    hasher.write_u8(domain);
    for part in parts {
        hasher.write_usize(part.len());
        hasher.write(part);
    }
    hasher.finish128().as_u128()
}

/// The members of an object.
#[derive(Clone, Debug)]
pub(super) struct Members<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Members<'a> {
    type Item = (Cow<'a, str>, Raw<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, rest) = split_value(self.rest)?;
        let (value, rest) = split_value(rest.strip_prefix(':')?)?;
        self.rest = rest.strip_prefix(',').unwrap_or_default();
        Some((unquote(name)?, Raw(value)))
    }
}

/// The elements of an array.
#[derive(Clone, Debug)]
pub(super) struct Elements<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Elements<'a> {
    type Item = Raw<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let (value, rest) = split_value(self.rest)?;
        self.rest = rest.strip_prefix(',').unwrap_or_default();
        Some(Raw(value))
    }
}

/// Returns the characters of a JSON string.
fn unquote(text: &str) -> Option<Cow<'_, str>> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        serde_json::from_str(text).ok().map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(inner))
    }
}

/// Splits the text behind its first value.
fn split_value(text: &str) -> Option<(&str, &str)> {
    let bytes = text.as_bytes();
    let end = match bytes.first()? {
        b'"' => string_end(bytes)?,
        b'{' | b'[' => nest_end(bytes)?,
        b'}' | b']' => return None,
        _ => bytes.iter().position(|byte| matches!(byte, b',' | b'}' | b']')).unwrap_or(bytes.len()),
    };
    text.split_at_checked(end)
}

/// Returns where the string ends that the bytes begin with.
fn string_end(bytes: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += bytes.get(at..)?.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
        if bytes.get(at) == Some(&b'"') {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// Returns where the array or object ends that the bytes begin with. Counts levels, so that depth costs
/// no stack.
fn nest_end(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    let mut depth = 0_usize;
    loop {
        let rest = bytes.get(at..)?;
        let skip = rest.iter().position(|byte| matches!(byte, b'"' | b'{' | b'}' | b'[' | b']'))?;
        at += skip;
        match rest.get(skip)? {
            b'"' => at += string_end(bytes.get(at..)?)?,
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            _ => {
                depth = depth.checked_sub(1)?;
                at += 1;
                if depth == 0 {
                    return Some(at);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "[a\\\\\"{}\\[\\],:\u{e9}\u{1f600}\n]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::hash_map("[ab\\\\\"{,:]{0,3}", inner, 0..5)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn finds_what_a_tree_finds(value in json()) {
            let text = value.to_string();
            let raw = Raw::new(&text);
            let members: Vec<_> =
                raw.members().map(|(name, value)| (name.into_owned(), value.text().to_owned())).collect();
            let plain: Vec<_> = value.as_object().into_iter().flatten()
                .map(|(name, value)| (name.clone(), value.to_string())).collect();
            prop_assert_eq!(members, plain);
            let elements: Vec<_> = raw.elements().map(|element| element.text().to_owned()).collect();
            let plain: Vec<_> = value.as_array().into_iter().flatten().map(Value::to_string).collect();
            prop_assert_eq!(elements, plain);
            let characters = raw.as_str();
            prop_assert_eq!(characters.as_deref(), value.as_str());
            let truthy = match &value {
                Value::Null => false,
                Value::Bool(truth) => *truth,
                Value::Number(number) => number.as_f64() != Some(0.0),
                Value::String(text) => !text.is_empty(),
                _ => true,
            };
            prop_assert_eq!(raw.is_truthy(), truthy);
        }

        #[test]
        fn never_panics(text in "[\"\\\\{}\\[\\],:a\u{e9}0]{0,24}") {
            let raw = Raw::new(&text);
            raw.members().chain(raw.elements().map(|element| (Cow::Borrowed(""), element))).for_each(|(_, value)| {
                value.scalar_key();
            });
            raw.pick(["a", "b"]);
            raw.is_truthy();
        }
    }

    #[test]
    fn picks_by_name() {
        let raw = Raw::new(r#"{"a":{"b":[1]},"\u0062":"x,\"}","c":-1}"#);
        let [c, b, absent, a] = raw.pick(["c", "b", "d", "a"]);
        assert_eq!(c, Some(Raw("-1")));
        assert_eq!(b.and_then(Raw::as_str).as_deref(), Some("x,\"}"));
        assert_eq!(absent, None);
        assert_eq!(a, Some(Raw(r#"{"b":[1]}"#)));
    }

    #[test]
    fn keys_meet_whatever_the_spelling() {
        let key = |text| Raw::new(text).scalar_key();
        assert_eq!(key("1"), key("1.0"));
        assert_eq!(key("0"), key("-0.0"));
        assert_eq!(key(r#""a""#), key(r#""\u0061""#));
        assert_ne!(key("1"), key(r#""1""#));
        assert_ne!(key("true"), key("null"));
        assert_eq!(key("[]"), None);
    }
}
