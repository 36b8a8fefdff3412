//! An embedded event store for the processes that run AI agents.

#![deny(unsafe_code)]

mod codec;
mod contract;
mod io;
pub mod order;
mod store;

pub use contract::{
    Code, Cursor, CursorEntry, Error, ErrorKind, Event, EventFields, EventId, HostId, IdRef, JsonText, Place,
    Result, Seq, VERSION, cmp_utf16, limits,
};
