//! The public face of the engine: a store, what it takes and what it answers.

mod admitted;
mod ancestry;
mod appender;
mod arranging;
mod batch;
mod blobs;
mod by_type;
mod causes;
mod content;
mod core;
mod events;
mod hosts;
mod lanes;
#[cfg(feature = "cli")]
mod late;
mod opening;
mod options;
mod order;
mod order_mark;
mod order_subscription;
mod ordered;
mod progress;
mod proving;
mod reader;
mod reindex;
mod repair;
mod report;
mod ring;
mod snapshot;
mod sources;
mod stable;
mod stats;
mod subscribers;
mod subscription;
mod verify;

use std::collections::HashSet;
use std::fmt;
use std::ops::RangeBounds;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use self::content::Content;
pub use self::core::Appended;
use self::core::{Core, Wake};
use self::opening::Locks;
use self::order::OrderOf;
use self::reader::Reader;
use self::subscribers::Subscribers;
pub use appender::{Appender, NewEvent};
pub use batch::{BatchMode, BatchReport};
pub use blobs::{BlobState, BlobStats, Blobs, BudgetPolicy, KeyState, PutOptions, PutReport, TornPack};
pub use events::Events;
pub use hosts::{EvictedSpan, HostInfo};
pub use options::{Durability, Options};
pub(crate) use order::OrderHandle;
pub use order_mark::OrderMark;
pub use order_subscription::{OrderPoint, OrderStep, OrderSubscription};
pub use ordered::{OrderFrom, Ordered};
pub use progress::Progress;
pub use reindex::{ReindexReport, reindex};
pub use repair::{RepairMode, RepairReport, repair};
pub use report::OpenReport;
pub use snapshot::Snapshot;
pub use sources::{Clock, IdFactory, Random, SystemClock, SystemRandom, UuidV7};
pub use stable::{Stable, StableReason};
pub use stats::{HostStats, SegmentForm, SegmentStats, Stats, TypeStats};
pub use subscription::{Gap, Position, SubscribeFrom, Subscription};
pub use verify::{ContentVerified, MissingCause, VerifyOutcome, VerifyReport, verify};

pub use crate::log::{Finding, LostRange, StoredEvent, Torn};

use crate::contract::{Code, Cursor, Error, ErrorKind, EventFields, EventId, HostId, Result};
use crate::log::Outcome;

/// An event store: a directory, or memory.
///
/// A handle; clones are handles to the same store. `Send` and `Sync`: use it from as many threads as you like, appends
/// of many threads share a sync. The store closes when its last handle is dropped; iterators, snapshots and events
/// stay readable after that.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    path: PathBuf,
    options: Options,
    mode: Mode,
    content: Content,
    report: OpenReport,
    appenders: Mutex<HashSet<HostId>>,
    subscribers: Arc<Subscribers>,
    /// None after the store was closed. Dropped last: everything else of the store needs them.
    locks: Mutex<Option<Locks>>,
}

enum Mode {
    Writer(Upkeep),
    Reader(Arc<Reader>),
}

/// The writing half and its thread.
struct Upkeep {
    core: Arc<Core>,
    thread: Mutex<Option<std::thread::JoinHandle<()>>>,
}

impl Upkeep {
    fn new(core: Arc<Core>, thread: Option<std::thread::JoinHandle<()>>) -> Self {
        Self { core, thread: Mutex::new(thread) }
    }

    fn stop_thread(&self) {
        if let Some(thread) = self.thread.lock().take() {
            self.core.wake(Wake::Stop);
            // A panic there was its own report; the store is closed either way.
            let _ = thread.join();
        }
    }
}

impl Inner {
    fn new(
        path: PathBuf,
        options: Options,
        mode: Mode,
        content: Content,
        report: OpenReport,
        subscribers: Arc<Subscribers>,
        locks: Locks,
    ) -> Self {
        let (appenders, locks) = (Mutex::default(), Mutex::new(Some(locks)));
        Self { path, options, mode, content, report, appenders, subscribers, locks }
    }

    /// Closes the writing half, if there is one and nothing forbids it.
    fn shut(&self) {
        let Mode::Writer(upkeep) = &self.mode else { return };
        upkeep.stop_thread();
        // On the way out of a panic nothing is confirmed: the next open recovers as after a crash.
        if std::thread::panicking() || upkeep.core.writer.check().is_err() {
            return;
        }
        if let Err(error) = upkeep.core.close() {
            tracing::warn!(%error, path = %self.path.display(), "the store could not be closed cleanly");
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.shut();
        // Behind the last sync, so that subscribers have had everything when they see it.
        self.subscribers.close();
    }
}

impl Store {
    fn new(inner: Inner) -> Self {
        Self(Arc::new(inner))
    }

    /// Creates a store in a directory, which is created too, and opens it for writing.
    ///
    /// After it returns the empty store survives a power cut.
    ///
    /// # Errors
    /// `Invalid` when there is a store already; `Locked`; `Io`.
    pub fn create(path: impl AsRef<Path>, options: Options) -> Result<Self> {
        opening::create(path.as_ref(), options)
    }

    /// Opens a store for writing. Reads heads and directories, and frame by frame only what lies behind the newest
    /// checkpoint; a torn tail is cut and reported in [`Store::opening`].
    ///
    /// A damaged store opens for reading alone: [`Store::opening`] says why, and writes answer `ReadOnly`.
    ///
    /// # Errors
    /// `NotFound` when there is none; `Locked` when another process writes, or another handle in this one;
    /// `Unsupported` for a newer format; `Io`.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Self> {
        opening::open(path.as_ref(), options)
    }

    /// Opens a store for writing; creates it first where there is none.
    ///
    /// # Errors
    /// As [`Store::open`] and [`Store::create`].
    pub fn open_or_create(path: impl AsRef<Path>, options: Options) -> Result<Self> {
        let path = path.as_ref();
        if opening::exists(&options, path)? {
            return opening::open(path, options);
        }
        match opening::create(path, options.clone()) {
            // Somebody created it meanwhile.
            Err(error) if error.kind() == ErrorKind::Invalid && opening::exists(&options, path)? => {
                opening::open(path, options)
            }
            created => created,
        }
    }

    /// Opens a store for reading, also while another process writes it. Writes nothing and needs neither the index
    /// database nor a writable medium. Beside a writer it shows what is synced; each [`Store::snapshot`] looks anew.
    ///
    /// # Errors
    /// `NotFound`; `Locked` while a repair runs; `Unsupported`; `Io`.
    pub fn open_read_only(path: impl AsRef<Path>, options: Options) -> Result<Self> {
        opening::open_read_only(path.as_ref(), options)
    }

    /// Creates a store in memory: the same in every respect, but that it is gone with its last handle. With
    /// [`Options::events_max`] or [`Options::bytes_max`] it drops its oldest events to stay within them.
    ///
    /// # Errors
    /// When randomness fails.
    pub fn in_memory(options: Options) -> Result<Self> {
        opening::in_memory(options)
    }

    /// Returns what opening found: a torn tail, damage, what had to be read.
    pub fn opening(&self) -> &OpenReport {
        &self.0.report
    }

    /// Returns the store's directory.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Returns the options that the store was opened with.
    pub fn options(&self) -> &Options {
        &self.0.options
    }

    /// Returns the store's identity: 16 random bytes that every segment carries.
    pub fn identity(&self) -> [u8; 16] {
        self.0.report.store
    }

    fn core(&self) -> Result<&Core> {
        match &self.0.mode {
            Mode::Writer(upkeep) => Ok(&upkeep.core),
            Mode::Reader(_) => {
                let reason = self.0.report.read_only.as_deref().unwrap_or("it was opened so");
                let message = format!("the store is open for reading alone: {reason}");
                Err(Error::new(ErrorKind::ReadOnly, Code::Store, message))
            }
        }
    }

    /// Appends an event. Idempotent: the same event again is a duplicate and changes nothing.
    ///
    /// Payload and unknown members are kept as they are spelt, without white space between tokens. When it returns, the
    /// event survives what the store's [`Durability`] says. After an error nothing was stored, unless the error is
    /// `Poisoned`: then the outcome is known after the store is opened again, and appending the same event again is safe.
    /// Cost at the default level: one sync, shared with whoever appends at the same time.
    ///
    /// # Errors
    /// A refusal ([`Error::is_refusal`]), by the first of the contract's checks that fails: `Invalid` with `VERSION`,
    /// `SHAPE`, `TYPE`, `PAYLOAD`, `JSON`, `SEQ`, `CYCLE` or `LIMIT`; `Unsupported` with `VERSION` for an event of a newer
    /// version; `Equivocation` when the id (code `ID`) or `(host, seq)` (code `SEQ`) is held with other content.
    ///
    /// About the store: `Io`, nothing was stored; `Corrupt`, damage was met in what the event was compared with;
    /// `Poisoned`; `ReadOnly`.
    pub fn append(&self, event: &impl EventFields) -> Result<Appended> {
        let core = self.core()?;
        match core.offer(event, 0)? {
            Outcome::Staged(ticket) => core.commit(ticket).map(|()| Appended::Stored),
            Outcome::Duplicate(ticket) => core.commit(ticket).map(|()| Appended::Duplicate),
            Outcome::Full => Err(Error::corrupt("a fresh segment is full")),
        }
    }

    /// Appends many events with one sync, or as few as their size allows. What [`Store::append`] says of one event
    /// holds for each; how refusals are met is the mode's choice. Memory and the segments that wait to be sealed stay
    /// bounded, however many events there are.
    ///
    /// # Errors
    /// `Io`, `Corrupt`, `Poisoned`, `ReadOnly`: the batch ends there, and a part of it can be stored, without a hole: some
    /// number of its first events, refused ones aside. Appending the whole batch again is safe. Refusals of single events
    /// are no error of the call; they are in the report.
    pub fn append_batch<E: EventFields>(&self, events: &[E], mode: BatchMode) -> Result<BatchReport> {
        batch::append(self.core()?, events, mode)
    }

    /// Takes up the writing of a host: the appender owns its `seq` and makes ids. It is a handle to the store, so the
    /// store stays open while it lives.
    ///
    /// # Errors
    /// `Locked` when the host has a live appender in this process; `ReadOnly`.
    pub fn appender(&self, host: HostId) -> Result<Appender> {
        Appender::new(self.clone(), host)
    }

    /// Takes a stable view of the store as it is now.
    ///
    /// # Errors
    /// `Io`, `Corrupt`: only a reading process looks at files here.
    pub fn snapshot(&self) -> Result<Snapshot> {
        match &self.0.mode {
            Mode::Writer(upkeep) => {
                // In this order: what is synced by then is in the other view too.
                let synced = upkeep.core.writer.synced_view();
                let (view, order) = upkeep.core.writer.ordered_view();
                Ok(Snapshot { view, synced, order: OrderOf::Kept(order) })
            }
            Mode::Reader(reader) => {
                let view = reader.view()?;
                Ok(Snapshot { synced: view.clone(), view, order: OrderOf::Reader(Arc::clone(reader)) })
            }
        }
    }

    /// As [`Snapshot::get`], on the store as it is now.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn get(&self, id: &EventId) -> Result<Option<StoredEvent>> {
        self.snapshot()?.get(id)
    }

    /// As [`Snapshot::has`], on the store as it is now.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn has(&self, id: &EventId) -> Result<bool> {
        self.snapshot()?.has(id)
    }

    /// As [`Snapshot::range`], on the store as it is now.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn range(&self, host: &HostId, seqs: impl RangeBounds<u64>) -> Result<Events> {
        Ok(self.snapshot()?.range(host, seqs))
    }

    /// As [`Snapshot::events`], on the store as it is now.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn events(&self) -> Result<Events> {
        Ok(self.snapshot()?.events())
    }

    /// As [`Snapshot::cursor`], on the store as it is now.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn cursor(&self) -> Result<Cursor> {
        self.snapshot()?.cursor()
    }

    /// As [`Snapshot::since`], on the store as it is now.
    ///
    /// # Errors
    /// Code `CURSOR` for a cursor from another history; `Corrupt`, `Io`.
    pub fn since(&self, cursor: &Cursor) -> Result<Events> {
        self.snapshot()?.since(cursor)
    }

    /// As [`Snapshot::by_type`], on the store as it is now.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn by_type(&self, kind: &str) -> Result<Events> {
        Ok(self.snapshot()?.by_type(kind))
    }

    /// As [`Snapshot::ancestry`], on the store as it is now.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn ancestry(&self, id: &EventId) -> Result<Events> {
        Ok(self.snapshot()?.ancestry(id))
    }

    /// As [`Snapshot::ordered`], on the store as it is now.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn ordered(&self) -> Result<Ordered> {
        self.snapshot()?.ordered()
    }

    /// Returns the content of the store.
    #[must_use]
    pub fn blobs(&self) -> Blobs {
        Blobs::new(self.clone())
    }

    /// As [`Snapshot::dependents`], on the store as it is now.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn dependents(&self, id: &EventId) -> Result<Events> {
        self.snapshot()?.dependents(id)
    }

    /// Subscribes to the store's events in the order in which they are written: those that are held from a position
    /// on, then those to come, each once. Only what is synced; see [`Subscription`].
    ///
    /// In the process that writes, a sync wakes whoever waits. A store that is open for reading alone is polled; see
    /// [`Subscription::poll_every`].
    ///
    /// # Errors
    /// Code `CURSOR` for a position that is not from this history, or lies ahead of what is synced; `Corrupt`, `Io`.
    pub fn subscribe(&self, from: impl Into<SubscribeFrom>) -> Result<Subscription> {
        let source = self.source();
        Subscription::new(source, self.0.subscribers.join(), from.into())
    }

    /// Subscribes to the order of the store: all of it from the start, or what follows a point that was kept, and what is
    /// placed later. Where the order below the point changed since, and where it cannot be told because the order's index
    /// was made anew, the first step says from where on. Only what is synced; see [`OrderSubscription`].
    ///
    /// # Errors
    /// None yet; the first call of the subscription reports them.
    pub fn subscribe_ordered(&self, after: impl Into<Option<OrderPoint>>) -> Result<OrderSubscription> {
        let seat = self.0.subscribers.join();
        Ok(OrderSubscription::new(self.source(), seat, subscription::POLL, after.into()))
    }

    fn source(&self) -> subscription::Source {
        match &self.0.mode {
            Mode::Writer(upkeep) => subscription::Source::Writer(Arc::clone(&upkeep.core)),
            Mode::Reader(reader) => subscription::Source::Reader(Arc::clone(reader)),
        }
    }

    /// Counts what the store holds. Cost: the segments' directories.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn stats(&self) -> Result<Stats> {
        stats::of(self)
    }

    /// Makes everything appended so far durable, whatever the durability level.
    ///
    /// # Errors
    /// `Io`, `Poisoned`, `ReadOnly`.
    pub fn sync(&self) -> Result<()> {
        self.core()?.writer.sync()
    }

    /// Syncs, and bounds what the next open has to scan. Cost: about 14 bytes written for each event of the active
    /// segment.
    ///
    /// # Errors
    /// `Io`, `Poisoned`, `ReadOnly`.
    pub fn checkpoint(&self) -> Result<()> {
        self.core()?.checkpoint()
    }

    /// Closes the store: everything is durable and confirmed, and the next open scans nothing. Other handles can still
    /// read what is held now; their writes, and those of live appenders, answer `Poisoned`. Dropping the last handle
    /// does the same, but cannot say what failed.
    ///
    /// When it returns without an error the store's locks are given back, whatever handles, appenders and snapshots
    /// live: it can be opened again at once. After an error, and for a store that is open for reading alone, they go
    /// with the last handle; an [`Appender`] is one.
    ///
    /// # Errors
    /// `Io`, `Corrupt`, `Poisoned`.
    pub fn close(self) -> Result<()> {
        if let Mode::Writer(upkeep) = &self.0.mode {
            upkeep.stop_thread();
            let closed = upkeep.core.close();
            self.0.subscribers.close();
            if closed.is_ok() {
                self.0.locks.lock().take();
            }
            return closed;
        }
        self.0.subscribers.close();
        Ok(())
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("path", &self.0.path)
            .field("options", &self.0.options)
            .finish_non_exhaustive()
    }
}
