//! An embedded event store for the processes that run AI agents.
//!
//! It records what a run was shown, did and let out of the device, keeps it, puts it in order and replays it:
//!
//! - **One order.** A set of events has exactly one order. It depends on the set alone, not on clocks, arrival or the
//!   host that computes it; [`order`] says how, and [`Store::ordered`] streams it.
//! - **Nothing acknowledged is lost, nothing altered goes unseen.** [`Store::append`] returns when the event is as
//!   safe as the store's [`Durability`] asks for; checksums tell a torn tail from damage, and damage is named.
//! - **A verdict.** [`replay()`] proves the order while it streams and checks the invariants of a run.
//!
//! ```
//! use causelog::{EventFields, HostId, JsonText, NewEvent, Options, ReplayOptions, Store, StoredContent, replay};
//!
//! # let dir = tempfile::tempdir()?;
//! # let dir = dir.path();
//! let store = Store::open_or_create(dir, Options::new())?;
//!
//! // Each host has one writer, which counts `seq` and makes ids. Events name their causes by id.
//! let mut gateway = store.appender(HostId::new("gateway")?)?;
//! let mut phone = store.appender(HostId::new("phone")?)?;
//! let turn = || JsonText::parse(r#"{"turnId":"t1"}"#);
//! let started = gateway.append(NewEvent::new("turn.started", turn()?))?;
//! let skipped = JsonText::parse(r#"{"turnId":"t1","stepped":false}"#)?;
//! let ended = phone.append(NewEvent::new("turn.ended", skipped).with_causes([started.id.clone()]))?;
//! gateway.append(NewEvent::new("turn.started", turn()?).with_causes([ended.id.clone()]))?;
//!
//! // The order depends on the set of events alone: not on clocks, not on who appended first.
//! for event in store.ordered()? {
//!     let event = event?;
//!     println!("{}#{} {}", event.host(), event.seq(), event.kind());
//! }
//!
//! // Content is known by its hash, and never on disk in the clear. To shred it is to forget it for good.
//! let blobs = store.blobs();
//! let note = blobs.put(b"what the turn was shown")?;
//! blobs.shred(&note)?;
//! assert_eq!(blobs.get(&note)?, None);
//!
//! // Is this the one order, do the invariants hold, and is the content that events name still there?
//! let report = replay(store.ordered()?, &ReplayOptions::new(), &StoredContent::new(&blobs))?;
//! assert!(report.ok);
//! store.close()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where to start
//!
//! [`Store`] is the way in: open, append, read, close. A [`Snapshot`] answers every question about one moment; what it
//! gives, [`Events`] of [`StoredEvent`]s, points into the store's files and stays readable for as long as it is held.
//! [`EventFields`] is what all forms of an event answer, and [`Event`] is the owned one. [`parse_event`], [`read_event`] and
//! [`write_event`] turn lines of JSON into events and back. Everything that can go wrong is an [`Error`], whose
//! [`ErrorKind`] says what can be done about it.
//!
//! There is no async here: calls block, [`Store`] is `Send` and `Sync`, and threads that append at the same time share a
//! sync. `docs/architecture.md` describes the layers, `docs/format.md` the files to the byte, `docs/durability.md`
//! what survives what.
//!
//! # Features
//!
//! `cli`, on by default, is the command line tool. `default-features = false` leaves the library, which depends on none
//! of its crates.

#![deny(unsafe_code)]

mod blob;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
mod codec;
mod contract;
#[cfg(any(fuzzing, test))]
#[doc(hidden)]
pub mod fuzzing;
mod index;
mod io;
mod log;
pub mod order;
mod replay;
mod store;

pub use codec::{Line, Lines, parse_event, read_event, upcast_event, write_event};
pub use contract::{
    ActorKind, Address, AddressKind, Class, Code, Cursor, CursorEntry, Effects, Egress, Error, ErrorKind,
    Event, EventFields, EventId, HostId, HostPromise, IdRef, Json, JsonText, PayloadFault, Place, Ref,
    RefKind, RefRange, Resolution, Result, Seq, TypeRegistry, UnknownTypes, Upcasts, VERSION, canonical,
    cmp_utf16, is_ref, limits, same, validate,
};
pub use index::{IndexState, RebuildReason};
pub use replay::{
    Arrival, CausePlaces, Chain, CurrentHashes, Drifted, Invariant, NoResolver, Reconstruction,
    Reconstructions, References, Replay, ReplayOptions, ReplayReport, Resolver, SavedPoint, SeenIds, Shown,
    StartedOver, StoreReplay, StoredContent, Totals, Turn, Violation, check_invariants, read_events, replay,
    replay_set,
};
pub use store::{
    Appended, Appender, BatchMode, BatchReport, BlobState, BlobStats, Blobs, BudgetPolicy, Clock,
    ContentVerified, Durability, Events, EvictedSpan, Finding, Gap, HostInfo, HostStats, IdFactory, KeyState,
    LostRange, MissingCause, NewEvent, OpenReport, Options, OrderFrom, OrderMark, OrderPoint, OrderStep,
    OrderSubscription, Ordered, Position, Progress, PutOptions, PutReport, Random, ReindexReport, RepairMode,
    RepairReport, SegmentForm, SegmentStats, Snapshot, Stable, StableReason, Stats, Store, StoredEvent,
    SubscribeFrom, Subscription, SystemClock, SystemRandom, Torn, TornPack, TypeStats, UuidV7, VerifyOutcome,
    VerifyReport, reindex, repair, verify,
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
