//! A JSON value that borrows from its text.

use std::borrow::Cow;
use std::fmt;

use super::reader::read_at_level;
use crate::contract::error::Result;

/// A JSON value, as payload checks see it. Strings borrow from the text unless they hold escapes.
///
/// Member names are unique and numbers finite, as the strict reader makes them.
#[derive(Clone, PartialEq)]
pub enum Json<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, rounded to a double as every peer does.
    Number(f64),
    /// A string, without its escapes.
    String(Cow<'a, str>),
    /// An array.
    Array(Vec<Json<'a>>),
    /// An object's members in the order they were written.
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

impl<'a> Json<'a> {
    /// Reads the text of one value that stands inside an event, such as a payload.
    ///
    /// Reads the text once; the tree takes about 32 bytes for each value in it.
    ///
    /// # Errors
    /// `JSON` with the column when the text is not strict JSON, `LIMIT` when it nests too deep.
    pub fn parse(text: &'a str) -> Result<Self> {
        read_at_level(text, 1)
    }

    /// Returns the member of an object by its name; `None` where it is absent or this is no object.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Json<'a>> {
        match self {
            Self::Object(members) => {
                members.iter().find(|(member, _)| member == name).map(|(_, value)| value)
            }
            _ => None,
        }
    }

    /// Returns the text of a string.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the value of a number.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns the value of a boolean.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// Returns the elements of an array.
    #[must_use]
    pub fn as_array(&self) -> Option<&[Json<'a>]> {
        match self {
            Self::Array(elements) => Some(elements),
            _ => None,
        }
    }

    /// Returns the members of an object.
    #[must_use]
    pub fn as_object(&self) -> Option<&[(Cow<'a, str>, Json<'a>)]> {
        match self {
            Self::Object(members) => Some(members),
            _ => None,
        }
    }
}

impl fmt::Debug for Json<'_> {
    /// Prints the shape alone: payloads can hold what users typed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(_) => f.write_str("bool"),
            Self::Number(_) => f.write_str("number"),
            Self::String(text) => write!(f, "string({} bytes)", text.len()),
            Self::Array(elements) => write!(f, "array({})", elements.len()),
            Self::Object(members) => write!(f, "object({})", members.len()),
        }
    }
}
