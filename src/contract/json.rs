//! JSON as the contract reads it: text kept as it came, and a strict reader.

use std::fmt;

/// Valid JSON text of one value without white space between tokens.
#[derive(Clone, PartialEq, Eq)]
pub struct JsonText(Box<str>);

impl JsonText {
    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Wraps text that the caller knows to be valid, compact JSON.
    #[must_use]
    pub(crate) fn from_checked(text: String) -> Self {
        Self(text.into())
    }
}

impl fmt::Debug for JsonText {
    /// Prints the length alone: payloads can hold what users typed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JsonText({} bytes)", self.0.len())
    }
}
