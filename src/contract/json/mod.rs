//! JSON as the contract reads it: text kept as it came, and a strict reader.
//!
//! Strict means that every peer reads the text alike: numbers are finite as doubles, member names are
//! unique, strings are whole Unicode, nesting is bounded.

mod compact;
mod reader;
#[cfg(test)]
mod tests;
mod text;
mod value;
mod write;

pub(crate) use compact::compact;
pub(crate) use reader::{Faults, Key, Strict, error_at, read_at_level, trailing};
#[cfg(test)]
pub(crate) use tests::arbitrary_json;
pub use text::JsonText;
pub use value::Json;
pub(crate) use write::{write_number, write_string};
