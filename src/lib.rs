//! An embedded event store for the processes that run AI agents.

#![deny(unsafe_code)]

mod codec;
mod contract;
mod io;
pub mod order;
mod replay;
mod store;

pub use codec::{Line, Lines, parse_event, read_event, upcast_event, write_event};
pub use contract::{
    ActorKind, Class, Code, Cursor, CursorEntry, Effects, Egress, Error, ErrorKind, Event, EventFields,
    EventId, HostId, IdRef, Json, JsonText, PayloadFault, Place, Ref, RefKind, RefRange, Resolution, Result,
    Seq, TypeRegistry, UnknownTypes, Upcasts, VERSION, canonical, cmp_utf16, is_ref, limits, same, validate,
};
pub use replay::{
    Arrival, CausePlaces, Drifted, Invariant, NoResolver, References, Replay, ReplayOptions, ReplayReport,
    Resolver, SeenIds, Totals, Turn, Violation, check_invariants, read_events, replay, replay_set,
};
