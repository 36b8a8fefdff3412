//! How a store behaves: everything an application can choose, with defaults that are safe.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::sources::{Clock, IdFactory, Random, SystemClock, SystemRandom, UuidV7};
use crate::blob::BudgetPolicy;
use crate::contract::{AddressKind, TypeRegistry, UnknownTypes};
use crate::io::{RealVfs, Vfs};

/// What an append waits for before it returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Durability {
    /// A sync of the medium: the event survives a power cut. Many threads share one sync.
    Durable,
    /// A write to the operating system: the event survives the process. Synced at least this often.
    Interval(Duration),
    /// A write to the operating system. Synced when a segment is sealed, when idle, and on close.
    Os,
}

/// Options of a store; start from [`Options::new`] and change what differs.
#[derive(Clone)]
pub struct Options {
    pub(super) durability: Durability,
    pub(super) segment_bytes_max: u64,
    pub(super) checkpoint_interval: Duration,
    pub(super) idle_after: Duration,
    pub(super) lock_wait: Duration,
    pub(super) background: bool,
    pub(super) proof_bytes_max: usize,
    pub(super) order_cache_bytes: usize,
    pub(super) keep_order: bool,
    pub(super) events_max: Option<u64>,
    pub(super) bytes_max: Option<u64>,
    pub(super) address_kind: AddressKind,
    pub(super) key_file: Option<PathBuf>,
    pub(super) pack_bytes_max: u64,
    pub(super) content_budget: Option<(u64, BudgetPolicy)>,
    pub(super) types: Arc<TypeRegistry>,
    pub(super) unknown_types: UnknownTypes,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Arc<dyn IdFactory>,
    pub(super) random: Arc<dyn Random>,
    pub(super) vfs: Arc<dyn Vfs>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            durability: Durability::Durable,
            segment_bytes_max: 64 << 20,
            checkpoint_interval: Duration::from_secs(30),
            idle_after: Duration::from_secs(1),
            lock_wait: Duration::ZERO,
            background: true,
            proof_bytes_max: 64 << 20,
            order_cache_bytes: 64 << 20,
            keep_order: true,
            events_max: None,
            bytes_max: None,
            address_kind: AddressKind::Blake3,
            key_file: None,
            pack_bytes_max: 64 << 20,
            content_budget: None,
            types: Arc::new(TypeRegistry::v1()),
            unknown_types: UnknownTypes::Refuse,
            clock: Arc::new(SystemClock),
            ids: Arc::new(UuidV7),
            random: Arc::new(SystemRandom),
            vfs: Arc::new(RealVfs),
        }
    }
}

impl Options {
    /// Returns the defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets what an append waits for. Default: [`Durability::Durable`].
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Sets the size in bytes at which a segment is rolled and sealed; at least 64 KiB, at most 4 GiB. Default:
    /// 64 MiB. A single event that is larger gets a segment of its own.
    #[must_use]
    pub fn segment_bytes_max(mut self, bytes: u64) -> Self {
        self.segment_bytes_max = bytes.clamp(64 << 10, 4 << 30);
        self
    }

    /// Sets how often a checkpoint bounds what the next open has to scan. Default: 30 s.
    #[must_use]
    pub fn checkpoint_interval(mut self, interval: Duration) -> Self {
        self.checkpoint_interval = interval;
        self
    }

    /// Sets after how long without appends everything is synced and confirmed. Default: 1 s.
    #[must_use]
    pub fn idle_after(mut self, idle: Duration) -> Self {
        self.idle_after = idle;
        self
    }

    /// Sets how long opening waits for another process's lock. Default: not at all.
    #[must_use]
    pub fn lock_wait(mut self, wait: Duration) -> Self {
        self.lock_wait = wait;
        self
    }

    /// Sets whether sealing, idle syncs and checkpoints run on a thread of the store's own. Default: yes. Without
    /// it the appending thread seals, and the application calls [`Store::sync`](super::Store::sync) and
    /// [`Store::checkpoint`](super::Store::checkpoint) when it likes.
    #[must_use]
    pub fn background(mut self, background: bool) -> Self {
        self.background = background;
        self
    }

    /// Sets how much memory may remember which records were checked; past it each read checks again. Default: 64
    /// MiB, enough for 4 GiB of segments read.
    #[must_use]
    pub fn proof_bytes_max(mut self, bytes: usize) -> Self {
        self.proof_bytes_max = bytes;
        self
    }

    /// Sets how much memory the order's index may take: nodes that were read, three quarters of it, and nodes that are to be
    /// written. Whatever it is, answers are the same; a small one reads more. What snapshots hold on to comes on top of
    /// it. Default: 64 MiB.
    #[must_use]
    pub fn order_cache_bytes(mut self, bytes: usize) -> Self {
        self.order_cache_bytes = bytes;
        self
    }

    /// Does not keep the order while appending: for measuring what it costs. Whoever asks for it has it made in memory.
    #[doc(hidden)]
    #[must_use]
    pub fn without_order(mut self) -> Self {
        self.keep_order = false;
        self
    }

    /// Caps the events of a store in memory: the oldest are dropped by arrival, an eighth of the cap at a time.
    /// Only for [`Store::in_memory`](super::Store::in_memory).
    #[must_use]
    pub fn events_max(mut self, events: u64) -> Self {
        self.events_max = Some(events.max(8));
        self
    }

    /// Caps the bytes of a store in memory, as [`Options::events_max`] caps its events; at least 1 MiB.
    #[must_use]
    pub fn bytes_max(mut self, bytes: u64) -> Self {
        self.bytes_max = Some(bytes.max(1 << 20));
        self
    }

    /// Sets the algorithm that addresses content where nobody asks for another one. Kept by the store that is made with
    /// it; later openings do not change it. Default: BLAKE3.
    #[must_use]
    pub fn address_kind(mut self, kind: AddressKind) -> Self {
        self.address_kind = kind;
        self
    }

    /// Sets the file of the master key, under which all content is encrypted. Default: `keys/master` in the store's
    /// directory. It is made, for its owner alone, when the store is; keep it elsewhere, and copies of the store without
    /// it can be read by nobody.
    #[must_use]
    pub fn key_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.key_file = Some(path.into());
        self
    }

    /// Sets the size in bytes at which a pack of content is sealed and the next one begun; at least 64 KiB. Default:
    /// 64 MiB. Content of more than 4 MiB gets a pack of its own.
    #[must_use]
    pub fn pack_bytes_max(mut self, bytes: u64) -> Self {
        self.pack_bytes_max = bytes.max(64 << 10);
        self
    }

    /// Caps the bytes of content that may be resident, and says what becomes of a put past that. Bytes count as they are
    /// stored: some 200 for each blob, and 16 for each 64 KiB, are added to its own. A put that has to evict does so once
    /// it is stored itself. Files can take more: the space of
    /// what was dropped comes free when nothing of its pack is left. Holds for this handle. Default: no cap.
    #[must_use]
    pub fn content_budget(mut self, bytes: u64, policy: BudgetPolicy) -> Self {
        self.content_budget = Some((bytes, policy));
        self
    }

    /// Sets the event types that appends accept. Default: the contract's version 1.
    #[must_use]
    pub fn types(mut self, types: TypeRegistry) -> Self {
        self.types = Arc::new(types);
        self
    }

    /// Sets whether events of types that are not registered are accepted. Default: they are refused.
    #[must_use]
    pub fn unknown_types(mut self, unknown: UnknownTypes) -> Self {
        self.unknown_types = unknown;
        self
    }

    /// Sets the clock that fills `at` of events made by an [`Appender`](super::Appender).
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Sets where an [`Appender`](super::Appender) gets ids from. Default: UUIDv7.
    #[must_use]
    pub fn ids(mut self, ids: Arc<dyn IdFactory>) -> Self {
        self.ids = ids;
        self
    }

    /// Sets where random bytes come from. Default: the operating system.
    #[must_use]
    pub fn random(mut self, random: Arc<dyn Random>) -> Self {
        self.random = random;
        self
    }

    /// Sets the file system. Default: the real one.
    #[must_use]
    pub fn vfs(mut self, vfs: Arc<dyn Vfs>) -> Self {
        self.vfs = vfs;
        self
    }

    /// Reports whether the store drops its oldest events.
    pub(super) fn is_capped(&self) -> bool {
        self.events_max.is_some() || self.bytes_max.is_some()
    }

    /// Returns the event types that appends accept.
    #[must_use]
    pub fn registry(&self) -> &TypeRegistry {
        &self.types
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("durability", &self.durability)
            .field("segment_bytes_max", &self.segment_bytes_max)
            .field("checkpoint_interval", &self.checkpoint_interval)
            .field("idle_after", &self.idle_after)
            .field("lock_wait", &self.lock_wait)
            .field("background", &self.background)
            .field("order_cache_bytes", &self.order_cache_bytes)
            .field("events_max", &self.events_max)
            .field("bytes_max", &self.bytes_max)
            .field("address_kind", &self.address_kind)
            .field("content_budget", &self.content_budget)
            .finish_non_exhaustive()
    }
}
