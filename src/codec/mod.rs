//! Bytes to values and back, over slices; opens no files.

mod json;
mod lines;

pub use json::{parse_event, read_event, upcast_event, write_event};
pub use lines::{Line, Lines};
