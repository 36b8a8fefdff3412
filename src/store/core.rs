//! A store open for writing: the log's writer, the index, and the upkeep that goes on beside appends.
//!
//! Invariants:
//! - Upkeep (sealing, checkpoints, idle syncs) runs one at a time, on the store's thread or on an appending one.
//! - A failure of upkeep loses nothing: the log is whole without it, and the next round tries again.
//! - Nothing is confirmed on the way out of a panic: such a store is recovered as after a crash.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::admitted::Admitted;
use super::arranging::OrderFiles;
use super::content::Content;
use super::options::{Durability, Options};
use super::ring;
use crate::contract::{Code, Error, ErrorKind, EventFields, EventId, HostId, Result, Seq, same};
use crate::index::{Checkpoint, CheckpointBatch, HostRow, Index, SegmentRow};
use crate::io::ProofBudget;
use crate::log::{Outcome, Writer, checkpoint, merge_next, seal_next};

/// Rolled segments that may wait to be sealed before appends help.
const ROLLED_MAX: usize = 4;

/// What became of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    /// It was stored.
    Stored,
    /// The same event was held already; nothing changed.
    Duplicate,
}

/// The writing half of a store.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) writer: Writer,
    pub(super) options: Options,
    /// The directory of segments.
    pub(super) log_dir: PathBuf,
    pub(super) budget: Arc<ProofBudget>,
    store_id: [u8; 16],
    content: Content,
    order_files: OrderFiles,
    /// None after a failure: opened again by the next checkpoint.
    index: Mutex<Option<Index>>,
    index_path: PathBuf,
    upkeep: Mutex<()>,
    wake: crossbeam::channel::Sender<Wake>,
    /// Events written when upkeep last looked: it rests while nothing changes.
    seen: AtomicU64,
    /// Segment and durable end of the newest checkpoint.
    checkpointed: Mutex<(u64, u64)>,
    /// The rolled segment that cannot be sealed because it is damaged: tried again when the store closes.
    unsealable: Mutex<Option<u64>>,
    /// A fingerprint table is damaged, so that those due cannot be merged: tried again when the store closes.
    unmergeable: AtomicBool,
}

/// Why the upkeep thread is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wake {
    /// A segment waits to be sealed.
    Seal,
    /// The store closes.
    Stop,
}

impl Core {
    pub(super) fn new(
        writer: Writer,
        options: Options,
        log_dir: PathBuf,
        budget: Arc<ProofBudget>,
        content: Content,
        (store_id, index, order_files): ([u8; 16], Index, OrderFiles),
        wake: crossbeam::channel::Sender<Wake>,
    ) -> Self {
        let seen = AtomicU64::new(writer.view().len());
        Self {
            writer,
            options,
            log_dir,
            budget,
            store_id,
            content,
            order_files,
            index_path: index.path().to_path_buf(),
            index: Mutex::new(Some(index)),
            upkeep: Mutex::new(()),
            wake,
            seen,
            checkpointed: Mutex::new((0, 0)),
            unsealable: Mutex::new(None),
            unmergeable: AtomicBool::new(false),
        }
    }

    /// Checks and stages an event without waiting for it to be safe.
    ///
    /// Not staged where `after`, the ticket of the caller's event before, failed; 0 for none.
    pub(super) fn offer(&self, event: &impl EventFields, after: u64) -> Result<Outcome> {
        match Admitted::check(event, &self.options) {
            Ok(admitted) => self.writer.stage(&admitted, after),
            Err(refusal) => self.unless_held(event, refusal),
        }
    }

    /// Takes the refusal of an event back if only its type or payload speaks against it and it is held already:
    /// then it is a duplicate, whatever this process knows of its type.
    fn unless_held(&self, event: &impl EventFields, refusal: Error) -> Result<Outcome> {
        if matches!(refusal.code(), Code::Type | Code::Payload) {
            let view = self.writer.view();
            if let Some(found) = view.find(event.id())? {
                let held = view.event(found);
                if matches!(same(&held, event), Ok(true)) {
                    return Ok(Outcome::Duplicate(0));
                }
            }
        }
        Err(refusal)
    }

    /// Waits until a ticket is as safe as the durability level asks for.
    pub(super) fn commit(&self, ticket: u64) -> Result<()> {
        self.writer.commit(ticket)?;
        self.after_append();
        Ok(())
    }

    /// Seals what is full. The event is stored by now, so a failure here is no failure of the append.
    fn after_append(&self) {
        if self.order_files.is_due(self.writer.order_fresh_bytes())
            && let Some(_one) = self.upkeep.try_lock()
        {
            self.store_order();
        }
        let waiting = self.writer.rolled();
        if self.is_behind(waiting) {
            if let Err(error) = self.seal_all() {
                tracing::warn!(%error, "sealing failed and will be tried again");
            }
        } else if waiting > 0 {
            // A full channel means that the thread is on its way already.
            let _ = self.wake.try_send(Wake::Seal);
        }
    }

    /// Reports whether so many rolled segments wait that whoever appends has to seal.
    pub(super) fn is_behind(&self, waiting: usize) -> bool {
        let allowed = if self.options.background && !self.options.is_capped() { ROLLED_MAX } else { 1 };
        waiting >= allowed
    }

    /// Wakes the upkeep thread.
    pub(super) fn wake(&self, why: Wake) {
        // Only a thread that is gone cannot be woken.
        let _ = self.wake.send(why);
    }

    /// Seals every rolled segment up to a damaged one, of which the first call reports the damage, then keeps a capped
    /// store within its cap.
    pub(super) fn seal_all(&self) -> Result<()> {
        let _one = self.upkeep.lock();
        // Once the store is closed, its files may be another process's to change.
        self.writer.check()?;
        let mut sealed_any = false;
        while let Some(waiting) = self.writer.next_to_seal() {
            let mut unsealable = self.unsealable.lock();
            if *unsealable == Some(waiting) {
                break;
            }
            match seal_next(&self.writer, &self.options.vfs, &self.log_dir, &self.budget) {
                Ok(Some(sealed)) => {
                    sealed_any = true;
                    tracing::debug!(segment = sealed.segment, events = sealed.events, "sealed");
                }
                Ok(None) => break,
                Err(error) => {
                    if error.kind() == ErrorKind::Corrupt {
                        *unsealable = Some(waiting);
                    }
                    return Err(error);
                }
            }
        }
        if self.options.is_capped() {
            return ring::trim(self);
        }
        if sealed_any {
            self.store_order();
        }
        while !self.unmergeable.load(Ordering::Relaxed) {
            match merge_next(&self.writer, &*self.options.vfs) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    self.unmergeable.store(error.kind() == ErrorKind::Corrupt, Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Makes everything durable, then bounds what the next open has to scan.
    pub(super) fn checkpoint(&self) -> Result<()> {
        let _one = self.upkeep.lock();
        self.store_order();
        let covered = checkpoint(&self.writer, &*self.options.vfs, &self.log_dir)?;
        *self.checkpointed.lock() = (covered.segment, covered.end);
        let view = self.writer.view();
        let mut hosts = BTreeMap::new();
        for host in &covered.state.hosts {
            if let Some(high) = host.high {
                let row = HostRow {
                    seq: Seq::new(high)?,
                    last_id: EventId::new(&host.last_id)?,
                    events: host.events,
                };
                hosts.insert(HostId::new(&host.name)?, row);
            }
        }
        let segments = view.segments().sealed.iter().map(|sealed| {
            let path = sealed.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
            let row =
                SegmentRow { path, root: *sealed.root(), events: sealed.events(), bytes: sealed.bytes() };
            (sealed.number(), row)
        });
        let checkpoint = Checkpoint {
            store_id: self.store_id,
            arrivals: covered.state.arrivals,
            active_segment: covered.segment,
            durable_end: covered.end,
            events: view.len(),
        };
        self.write_index(&CheckpointBatch { checkpoint, hosts, segments: segments.collect() })
    }

    /// Stores the order, so that the next open need not place again what it covers. A failure loses nothing: the order is made
    /// anew from the log. Under the lock of upkeep.
    fn store_order(&self) {
        if !self.options.keep_order {
            return;
        }
        let stored = self.writer.quiesce(|staging, _| {
            staging.change_order(|order, _| self.order_files.store(order))?;
            staging.order().cloned()
        });
        // Everything that is staged was durable then.
        let published = stored.and_then(|order| self.order_files.publish(&order, &self.writer.view()));
        if let Err(error) = published
            && self.writer.check().is_ok()
        {
            tracing::warn!(%error, "the order's index was not stored and will be tried again");
        }
    }

    fn write_index(&self, batch: &CheckpointBatch) -> Result<()> {
        let mut slot = self.index.lock();
        let index = match slot.take() {
            Some(index) => index,
            None => Index::open(&*self.options.vfs, &self.index_path, &self.store_id)?.0,
        };
        index.write_checkpoint(batch)?;
        *slot = Some(index);
        Ok(())
    }

    /// Confirms everything and leaves a checkpoint, so that the next open scans nothing. Whatever part of it fails, the
    /// others are done; the first failure is returned. Nothing writes to the store after it returns.
    pub(super) fn close(&self) -> Result<()> {
        *self.unsealable.lock() = None;
        self.unmergeable.store(false, Ordering::Relaxed);
        let sealed = self.seal_all();
        let checkpointed = self.checkpoint();
        let closed = self.writer.close();
        let content = self.content.close();
        // Whoever still seals or leaves a checkpoint finishes first: nothing writes after this.
        let _one = self.upkeep.lock();
        let index = self.index.lock().take().map_or(Ok(()), Index::close);
        closed.and(sealed).and(checkpointed).and(content).and(index)
    }

    /// One round of the upkeep thread after a quiet time.
    fn rest(&self, since_checkpoint: &mut Duration, waited: Duration) -> Result<()> {
        let events = self.writer.view().len();
        let quiet = self.seen.swap(events, Ordering::Relaxed) == events;
        if quiet {
            // Also what was put and no event named yet.
            self.content.sync()?;
            self.writer.confirm()?;
        } else if matches!(self.options.durability, Durability::Interval(_)) {
            self.writer.sync()?;
        }
        *since_checkpoint += waited;
        if *since_checkpoint >= self.options.checkpoint_interval
            && *self.checkpointed.lock() != self.writer.durable_end()
        {
            *since_checkpoint = Duration::ZERO;
            self.checkpoint()?;
        }
        Ok(())
    }
}

/// Runs until told to stop.
pub(super) fn keep_up(core: &Core, woken: &crossbeam::channel::Receiver<Wake>) {
    let tick = match core.options.durability {
        Durability::Interval(interval) => interval.min(core.options.idle_after),
        Durability::Durable | Durability::Os => core.options.idle_after,
    }
    .max(Duration::from_millis(1));
    let mut since_checkpoint = Duration::ZERO;
    loop {
        let done = match woken.recv_timeout(tick) {
            Ok(Wake::Stop) | Err(crossbeam::channel::RecvTimeoutError::Disconnected) => return,
            Ok(Wake::Seal) => core.seal_all(),
            Err(crossbeam::channel::RecvTimeoutError::Timeout) => core.rest(&mut since_checkpoint, tick),
        };
        if let Err(error) = done {
            if core.writer.check().is_err() {
                return;
            }
            tracing::warn!(%error, "upkeep failed and will be tried again");
        }
    }
}
