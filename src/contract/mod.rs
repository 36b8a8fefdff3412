//! What an event is: plain types and rules, no files.

mod cursor;
mod error;
mod event;
mod id;
mod json;
pub mod limits;
mod utf16;

pub use cursor::{Cursor, CursorEntry};
pub use error::{Code, Error, ErrorKind, Place, Result};
pub use event::{Event, EventFields, VERSION};
pub use id::{EventId, HostId, IdRef, Seq};
pub use json::JsonText;
pub use utf16::cmp_utf16;
