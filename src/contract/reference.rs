//! References: what a payload holds in place of content.

use super::error::{Code, Error, Result};
use super::id::Seq;
use super::json::Json;
use super::words::RefKind;

/// A reference to content: what it is, where it comes from, and what its bytes hash to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ref {
    /// What the content is.
    pub kind: RefKind,
    /// The source's own name for it. Not empty.
    pub id: Box<str>,
    /// The content's hash, as `algorithm:hex`. Not empty; compared as text.
    pub hash: Box<str>,
    /// The part of the content that is meant, or `None` for all of it.
    pub range: Option<RefRange>,
    /// Whether the content was put into a store under its hash.
    pub stored: bool,
}

/// A part of referenced content, `from` up to and without `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RefRange {
    /// Where it begins.
    pub from: u64,
    /// Where it ends; at least `from`.
    pub to: u64,
}

/// What became of referenced content. Other content never takes its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Resolution {
    /// The content is held and its hash is the one that was referred to.
    Exact,
    /// The content is not held: never stored here, evicted or shredded. What was recorded stays true.
    Unavailable,
    /// The source answers with other content.
    Drifted,
}

impl Resolution {
    /// Returns the spelling in reports and vectors.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Unavailable => "verified-but-unavailable",
            Self::Drifted => "drifted",
        }
    }
}

impl Ref {
    /// Makes a reference from a value: strict, for writers.
    ///
    /// A `range` and a `stored` that JavaScript counts as false are absent; any other `stored` is true.
    /// Members beyond the contract are dropped.
    ///
    /// # Errors
    /// `REF` when kind, id or hash are missing or the range is not two whole numbers in order.
    pub fn make(value: &Json<'_>) -> Result<Self> {
        let mut made = Self::read(value)
            .ok_or_else(|| Error::invalid(Code::Ref, "a reference needs a known kind, an id and a hash"))?;
        made.range = match value.get("range").filter(|range| is_truthy(range)) {
            None => None,
            Some(range) => Some(read_range(range).ok_or_else(|| {
                Error::invalid(Code::Ref, "`range` must be two whole numbers, `from` not above `to`")
            })?),
        };
        Ok(made)
    }

    /// Reads a reference from a payload, where `range` is whatever its writer put there.
    ///
    /// Returns `None` where [`is_ref`] says no; a range that is none is left out.
    #[must_use]
    pub fn read(value: &Json<'_>) -> Option<Self> {
        let (kind, id, hash) = parts(value)?;
        Some(Self {
            kind,
            id: id.into(),
            hash: hash.into(),
            range: value.get("range").and_then(read_range),
            stored: value.get("stored").is_some_and(is_truthy),
        })
    }

    /// Compares the reference with what a look-up found: the hash of the content held now, or `None`
    /// where there is none.
    #[must_use]
    pub fn resolve(&self, actual_hash: Option<&str>) -> Resolution {
        match actual_hash {
            None => Resolution::Unavailable,
            Some(actual) if actual == &*self.hash => Resolution::Exact,
            Some(_) => Resolution::Drifted,
        }
    }
}

/// Reports whether a value is a reference: a known kind, an id and a hash. Nothing else is asked.
#[must_use]
pub fn is_ref(value: &Json<'_>) -> bool {
    parts(value).is_some()
}

fn parts<'v>(value: &'v Json<'_>) -> Option<(RefKind, &'v str, &'v str)> {
    let text = |name| value.get(name).and_then(Json::as_str).filter(|text| !text.is_empty());
    Some((RefKind::from_word(text("kind")?)?, text("id")?, text("hash")?))
}

fn read_range(range: &Json<'_>) -> Option<RefRange> {
    // Bounds are whole numbers from 0 to 2^53 - 1, as ordinals are.
    let bound = |name| Seq::from_f64(range.get(name)?.as_f64()?).ok().map(Seq::get);
    let (from, to) = (bound("from")?, bound("to")?);
    (from <= to).then_some(RefRange { from, to })
}

/// Reports whether JavaScript counts a value as true.
fn is_truthy(value: &Json<'_>) -> bool {
    match value {
        Json::Null => false,
        Json::Bool(flag) => *flag,
        Json::Number(number) => *number != 0.0,
        Json::String(text) => !text.is_empty(),
        Json::Array(_) | Json::Object(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Json<'_> {
        Json::parse(text).unwrap()
    }

    #[test]
    fn a_range_is_two_whole_numbers_in_order() {
        let make = |range: &str| {
            Ref::make(&value(&format!(r#"{{"kind":"note","id":"a","hash":"h","range":{range}}}"#)))
        };
        assert_eq!(make(r#"{"from":2,"to":2.0}"#).unwrap().range, Some(RefRange { from: 2, to: 2 }));
        for range in [
            r#"{"from":0.5,"to":2}"#,
            r#"{"from":-1,"to":2}"#,
            r#"{"from":3,"to":2}"#,
            r#"{"from":0,"to":9007199254740992}"#,
        ] {
            assert_eq!(make(range).unwrap_err().code(), Code::Ref, "{range}");
        }
    }

    #[test]
    fn reading_keeps_what_making_refuses() {
        let odd = value(r#"{"kind":"brief","id":"a","hash":"h","range":{"from":[],"to":1},"stored":1}"#);
        assert!(is_ref(&odd) && Ref::make(&odd).is_err());
        let read = Ref::read(&odd).unwrap();
        assert_eq!((read.kind, read.range, read.stored), (RefKind::Brief, None, true));
    }

    #[test]
    fn resolving_compares_the_hash_as_text() {
        let reference = Ref::make(&value(r#"{"kind":"note","id":"a","hash":"sha256:ab"}"#)).unwrap();
        assert_eq!(reference.resolve(None), Resolution::Unavailable);
        assert_eq!(reference.resolve(Some("sha256:ab")), Resolution::Exact);
        assert_eq!(reference.resolve(Some("SHA256:AB")), Resolution::Drifted);
    }
}
