//! Identities: event ids, host names, ordinals. Strings on the outside, compact inside.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use super::error::{Code, Error, Result};
use super::limits::{HOST_BYTES_MAX, ID_BYTES_MAX, SEQ_MAX};
use super::utf16::cmp_utf16;

/// Identifier of an event: any non-empty string. A UUID in its canonical lower-case form is held
/// as 16 bytes.
///
/// Equality and hash are those of the text. Ordered by UTF-16 code units of the text.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct EventId(Repr);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Repr {
    Uuid([u8; 16]),
    Text(Box<str>),
}

/// A borrowed [`EventId`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct IdRef<'a>(IdForm<'a>);

/// How an id is held.
///
/// Invariant: `Text` never holds a UUID in its canonical form, so that equality of values is
/// equality of texts. [`IdRef::new`] keeps it, and nothing else makes one from text.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum IdForm<'a> {
    /// A UUID in canonical lower-case text form.
    Uuid([u8; 16]),
    /// Any other text.
    Text(&'a str),
}

/// Length of a UUID's text form, in bytes.
const UUID_TEXT_BYTES: usize = 36;

impl<'a> IdRef<'a> {
    /// Reads an id from its text, without checking its length.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        Self(canonical_uuid(text).map_or(IdForm::Text(text), IdForm::Uuid))
    }

    /// Makes an id from the bytes of a UUID.
    #[must_use]
    pub const fn from_uuid_bytes(bytes: [u8; 16]) -> Self {
        Self(IdForm::Uuid(bytes))
    }

    /// Returns the bytes of a UUID in canonical lower-case text form; `None` for any other text.
    #[must_use]
    pub const fn uuid_bytes(self) -> Option<[u8; 16]> {
        match self.0 {
            IdForm::Uuid(bytes) => Some(bytes),
            IdForm::Text(_) => None,
        }
    }

    /// Returns how it is held.
    #[must_use]
    pub(crate) const fn form(self) -> IdForm<'a> {
        self.0
    }

    /// Calls `f` with the id's text, formatted on the stack where needed.
    pub fn with_str<T>(self, f: impl FnOnce(&str) -> T) -> T {
        match self.0 {
            IdForm::Uuid(bytes) => {
                let mut buffer = [0u8; UUID_TEXT_BYTES];
                f(uuid::Uuid::from_bytes(bytes).hyphenated().encode_lower(&mut buffer))
            }
            IdForm::Text(text) => f(text),
        }
    }

    /// Returns an owned copy.
    #[must_use]
    pub fn to_owned(self) -> EventId {
        EventId(match self.0 {
            IdForm::Uuid(bytes) => Repr::Uuid(bytes),
            IdForm::Text(text) => Repr::Text(text.into()),
        })
    }
}

fn canonical_uuid(text: &str) -> Option<[u8; 16]> {
    let bytes = text.as_bytes();
    if bytes.len() != UUID_TEXT_BYTES || bytes.iter().any(u8::is_ascii_uppercase) {
        return None;
    }
    uuid::Uuid::try_parse_ascii(bytes).ok().map(uuid::Uuid::into_bytes)
}

impl EventId {
    /// Creates an id from its text.
    ///
    /// # Errors
    /// `SHAPE` when the text is empty, `LIMIT` when it is longer than [`ID_BYTES_MAX`].
    pub fn new(text: &str) -> Result<Self> {
        if text.is_empty() {
            return Err(Error::invalid(Code::Shape, "an event id must not be empty"));
        }
        if text.len() > ID_BYTES_MAX {
            let message = format!("an event id of {} bytes is over the limit of {ID_BYTES_MAX}", text.len());
            return Err(Error::invalid(Code::Limit, message));
        }
        Ok(IdRef::new(text).to_owned())
    }

    /// Creates an id from the bytes of a UUID.
    #[must_use]
    pub const fn from_uuid_bytes(bytes: [u8; 16]) -> Self {
        Self(Repr::Uuid(bytes))
    }

    /// Borrows the id.
    #[must_use]
    pub fn as_ref(&self) -> IdRef<'_> {
        IdRef(match &self.0 {
            Repr::Uuid(bytes) => IdForm::Uuid(*bytes),
            Repr::Text(text) => IdForm::Text(text),
        })
    }
}

impl Ord for IdRef<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.0, other.0) {
            (IdForm::Uuid(a), IdForm::Uuid(b)) => a.cmp(&b),
            _ => self.with_str(|a| other.with_str(|b| cmp_utf16(a, b))),
        }
    }
}

impl PartialOrd for IdRef<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for EventId {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_ref().cmp(&other.as_ref())
    }
}

impl PartialOrd for EventId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for IdRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_str(|text| f.write_str(text))
    }
}

impl fmt::Debug for IdRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_str(|text| fmt::Debug::fmt(text, f))
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}

impl fmt::Debug for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.as_ref(), f)
    }
}

impl FromStr for EventId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::new(text)
    }
}

/// Name of a host: the writer that owns a run of `seq`. Any non-empty string.
///
/// Ordered by UTF-16 code units.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct HostId(Box<str>);

impl HostId {
    /// Creates a host name.
    ///
    /// # Errors
    /// `SHAPE` when the text is empty, `LIMIT` when it is longer than [`HOST_BYTES_MAX`].
    pub fn new(text: &str) -> Result<Self> {
        if text.is_empty() {
            return Err(Error::invalid(Code::Shape, "a host name must not be empty"));
        }
        if text.len() > HOST_BYTES_MAX {
            let message =
                format!("a host name of {} bytes is over the limit of {HOST_BYTES_MAX}", text.len());
            return Err(Error::invalid(Code::Limit, message));
        }
        Ok(Self(text.into()))
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Ord for HostId {
    fn cmp(&self, other: &Self) -> Ordering {
        cmp_utf16(&self.0, &other.0)
    }
}

impl PartialOrd for HostId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for HostId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for HostId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl FromStr for HostId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::new(text)
    }
}

/// Ordinal of an event within its host: 0 to 2^53 - 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seq(u64);

impl Seq {
    /// The first ordinal.
    pub const ZERO: Self = Self(0);

    /// Creates an ordinal.
    ///
    /// # Errors
    /// `SHAPE` beyond [`SEQ_MAX`].
    pub fn new(value: u64) -> Result<Self> {
        if value > SEQ_MAX {
            return Err(Error::invalid(Code::Shape, format!("seq {value} is beyond 2^53 - 1")));
        }
        Ok(Self(value))
    }

    /// Returns the number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Creates an ordinal from a number of JSON.
    ///
    /// # Errors
    /// `SHAPE` when the number is not whole or not from 0 to [`SEQ_MAX`].
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "the number is whole and in the range where doubles are exact"
    )]
    pub fn from_f64(number: f64) -> Result<Self> {
        if number.fract() != 0.0 || !(0.0..=SEQ_MAX as f64).contains(&number) {
            return Err(Error::invalid(Code::Shape, "`seq` must be a whole number from 0 to 2^53 - 1"));
        }
        Ok(Self(number as u64))
    }

    /// Returns the number as a double, which holds it exactly.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "exact up to 2^53")]
    pub const fn to_f64(self) -> f64 {
        self.0 as f64
    }

    /// Returns the next ordinal, or `None` at the end of the range.
    #[must_use]
    pub fn next(self) -> Option<Self> {
        (self.0 < SEQ_MAX).then_some(Self(self.0 + 1))
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
