//! The causes of events as lines between them, in plain characters.

mod picture;
#[cfg(test)]
mod tests;
mod uses;

pub(crate) use picture::{COLUMNS_MAX, Picture};
pub(crate) use uses::Uses;
