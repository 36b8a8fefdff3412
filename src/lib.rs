//! An embedded event store for the processes that run AI agents.

#![deny(unsafe_code)]

#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
mod codec;
mod contract;
mod index;
mod io;
mod log;
pub mod order;
mod replay;
mod store;

pub use codec::{Line, Lines, parse_event, read_event, upcast_event, write_event};
pub use contract::{
    ActorKind, Class, Code, Cursor, CursorEntry, Effects, Egress, Error, ErrorKind, Event, EventFields,
    EventId, HostId, IdRef, Json, JsonText, PayloadFault, Place, Ref, RefKind, RefRange, Resolution, Result,
    Seq, TypeRegistry, UnknownTypes, Upcasts, VERSION, canonical, cmp_utf16, is_ref, limits, same, validate,
};
pub use index::{IndexState, RebuildReason};
pub use replay::{
    Arrival, CausePlaces, Drifted, Invariant, NoResolver, References, Replay, ReplayOptions, ReplayReport,
    Resolver, SeenIds, Totals, Turn, Violation, check_invariants, read_events, replay, replay_set,
};
pub use store::{
    Appended, Appender, BatchMode, BatchReport, Clock, Durability, Events, Finding, HostStats, IdFactory,
    LostRange, MissingCause, NewEvent, OpenReport, Options, Progress, Random, ReindexReport, RepairMode,
    RepairReport, SegmentForm, SegmentStats, Snapshot, Stats, Store, StoredEvent, SystemClock, SystemRandom,
    Torn, TypeStats, UuidV7, VerifyOutcome, VerifyReport, reindex, repair, verify,
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
