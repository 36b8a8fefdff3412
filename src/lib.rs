//! An embedded event store for the processes that run AI agents.

#![deny(unsafe_code)]

mod codec;
mod contract;
mod io;
mod log;
mod store;

pub use contract::{
    Code, Cursor, CursorEntry, Error, ErrorKind, Event, EventFields, EventId, HostId, IdRef, JsonText, Place,
    Result, Seq, VERSION, cmp_utf16, limits,
};

/// The seam between the engine and its files: a store runs on any [`Vfs`](vfs::Vfs).
///
/// Applications need it to keep a store in memory, tests to count calls, to fail them, and to see
/// what a power cut leaves.
pub mod vfs {
    pub use crate::io::{
        AccessError, Call, Calls, Counters, CountingVfs, Failure, Fault, FaultyVfs, LockMode, Mapping,
        MemoryVfs, OpenMode, ProofBudget, RealVfs, Validated, Vfs, VfsFile, VfsLock,
    };
}
