//! The one writer of a log: stages events, writes them in groups, rolls and closes the active segment.
//!
//! Invariants:
//! - A group is not written before the group before it is synced, where the level asks for syncs; its mark
//!   names the durable end before it.
//! - An event is shown to readers after it is as safe as its durability level says, and to everyone else
//!   after the sync that covers it and the mark that names it.
//! - A write that failed is undone: the file is cut back to what was written before, and every event that was
//!   staged by then is refused with the same error and leaves no trace.
//! - A sync that failed poisons: what the kernel holds is unknown, so nothing more is written through this
//!   handle and the uncertain events stay invisible.
//! - The next segment is created by rename, after everything in the one before is durable. From the first try on
//!   the one before takes no more events: the next one's head says where it ends.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::{Mutex, RwLock};

use super::active::{ActiveSegment, Batch};
use super::active_index::ActiveIndex;
use super::arrangement::Arrangement;
use super::error::LogError;
use super::files::creating_file;
use super::group::{Failure, Group, Leader};
use super::interner::Names;
use super::mark::MarkWriter;
use super::names::{SEGMENT_MAX, Stage, segment_file};
use super::parts::Segments;
use super::staging::{Outcome, Staging, WriterOptions};
use super::standing::Standing;
use super::view::View;
use crate::codec::{Control, FEATURE_KEEPING, Form, FrameKind, GroupMark, SegmentHeader};
use crate::contract::{Code, Error, ErrorKind, EventFields, Result};
use crate::io::{OpenMode, Vfs};

/// Small groups are written into zeros that were written before, so that a sync need not make a new file size
/// durable; this many bytes at a time.
const ZEROS_BYTES: u64 = 1 << 20;

/// Groups of at least this many bytes are not worth the zeros.
const LARGE_GROUP_BYTES: u64 = 128 << 10;

/// Staged bytes from which on a caller writes before it stages more.
const PENDING_BYTES_MAX: usize = 8 << 20;

/// A log open for appending.
pub struct Writer {
    vfs: Arc<dyn Vfs>,
    dir: PathBuf,
    options: WriterOptions,
    pub(super) secret: [u8; 16],
    pub(super) published: RwLock<Published>,
    names: RwLock<Arc<Names>>,
    standing: RwLock<Arc<Standing>>,
    pub(super) staging: Mutex<Staging>,
    pub(super) group: Group,
    mark: MarkWriter,
    /// Durable end of the active segment.
    durable_end: AtomicU64,
    /// Up to here the active file is known to hold zeros or frames.
    zeros_end: AtomicU64,
    /// Memory of nodes of the order that are not stored, when a group was last written.
    order_fresh_bytes: AtomicUsize,
    /// End of the newest watermark: nothing to confirm while nothing is written behind it.
    watermark_end: AtomicU64,
}

/// What readers of this process are shown, of one moment.
pub(super) struct Published {
    pub(super) segments: Arc<Segments>,
    /// The order of what is visible.
    pub(super) order: Arc<Arrangement>,
    /// The order of what is synced.
    pub(super) synced_order: Arc<Arrangement>,
}

/// Without the secret and what is staged.
impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (segment, end) = self.durable_end();
        write!(f, "Writer({}, segment {segment}, durable up to {end})", self.dir.display())
    }
}

impl Writer {
    /// Starts on a recovered log whose active segment is durable up to its end. `confirmed`: a clean end said so already,
    /// and while nothing is appended it need not be said again.
    pub fn new(
        vfs: Arc<dyn Vfs>,
        dir: PathBuf,
        options: WriterOptions,
        segments: Segments,
        staging: Staging,
        mark: MarkWriter,
        confirmed: bool,
    ) -> Self {
        let end = staging.segment.written_end();
        let order = Arc::new(staging.order_as_it_is().clone());
        let published = Published { segments: Arc::new(segments), synced_order: Arc::clone(&order), order };
        Self {
            vfs,
            dir,
            options,
            secret: staging.segment.header().secret,
            published: RwLock::new(published),
            names: RwLock::new(Arc::clone(staging.names())),
            standing: RwLock::new(Arc::clone(&staging.standing)),
            staging: Mutex::new(staging),
            group: Group::default(),
            mark,
            durable_end: AtomicU64::new(end),
            zeros_end: AtomicU64::new(end),
            order_fresh_bytes: AtomicUsize::new(0),
            watermark_end: AtomicU64::new(if confirmed { end } else { 0 }),
        }
    }

    /// Returns what this process's readers see now.
    pub fn view(&self) -> View {
        self.view_of(ActiveSegment::visible, |_| ()).0
    }

    /// Returns what this process's readers see now, and its order.
    pub fn ordered_view(&self) -> (View, Arc<Arrangement>) {
        self.view_of(ActiveSegment::visible, |published| Arc::clone(&published.order))
    }

    /// Returns what is durable now: what may leave this process.
    pub fn synced_view(&self) -> View {
        self.view_of(ActiveSegment::synced, |_| ()).0
    }

    /// Returns what is durable now, and its order.
    pub fn ordered_synced_view(&self) -> (View, Arc<Arrangement>) {
        self.view_of(ActiveSegment::synced, |published| Arc::clone(&published.synced_order))
    }

    fn view_of<T>(
        &self,
        events: impl Fn(&ActiveSegment) -> u32,
        also: impl FnOnce(&Published) -> T,
    ) -> (View, T) {
        let published = self.published.read();
        let segments = Arc::clone(&published.segments);
        // Counts and orders change under this lock alone, so they belong together.
        let visible = segments.active.as_deref().map_or(0, events);
        let also = also(&published);
        drop(published);
        // Read after the count: names are published before the events that need them are shown.
        let names = Arc::clone(&self.names.read());
        let standing = Arc::clone(&self.standing.read());
        (View::new(segments, names, self.secret, visible).with_standing(standing), also)
    }

    /// Offers an event and returns the ticket to wait for; rolls where it has to.
    ///
    /// `after` is the ticket of the event that the caller offered before, 0 for none: where that one failed, this one
    /// is not taken, so that a batch has no hole.
    ///
    /// # Errors
    /// As [`Staging::offer`]; `Poisoned`; what `after` failed with.
    pub fn stage(&self, event: &impl EventFields, after: u64) -> Result<Outcome> {
        loop {
            self.group.check()?;
            let (outcome, pending, segment) = {
                let mut staging = self.staging.lock();
                let alarm = self.group.alarm();
                self.group.check_ticket(after)?;
                let segments = Arc::clone(&self.published.read().segments);
                let view = View::new(segments, Arc::clone(staging.names()), self.secret, u32::MAX);
                let outcome = staging.offer(event, &view, &self.options);
                drop(alarm);
                (outcome?, staging.segment.pending_bytes(), staging.segment.number())
            };
            match outcome {
                Outcome::Full => self.roll(segment)?,
                Outcome::Staged(ticket) if pending > PENDING_BYTES_MAX => {
                    self.commit(ticket)?;
                    return Ok(outcome);
                }
                outcome => return Ok(outcome),
            }
        }
    }

    /// Waits until a ticket is acknowledged at the store's durability level, writing where nobody else does.
    ///
    /// # Errors
    /// What went wrong with the ticket's group.
    pub fn commit(&self, ticket: u64) -> Result<()> {
        while let Some(leader) = self.group.wait(ticket)? {
            self.write(&leader, self.options.sync_each)?;
        }
        Ok(())
    }

    /// Makes everything staged so far durable.
    ///
    /// # Errors
    /// What the system calls report.
    pub fn sync(&self) -> Result<()> {
        let leader = self.group.lead()?;
        self.write(&leader, true)
    }

    /// Writes what is staged; with `sync`, makes all that was written durable.
    pub(super) fn write(&self, leader: &Leader<'_>, sync: bool) -> Result<()> {
        let (segment, batch, ticket, names, standing, order) = {
            let staging = self.staging.lock();
            let segment = Arc::clone(&staging.segment);
            let events = u32::try_from(segment.index().read().len()).unwrap_or(u32::MAX);
            let batch = segment.take_batch(events, self.durable_end.load(Ordering::Relaxed))?;
            let order = Arc::new(staging.order_as_it_is().clone());
            let (names, standing) = (Arc::clone(staging.names()), Arc::clone(&staging.standing));
            (segment, batch, staging.tickets, names, standing, order)
        };
        if let (true, Some(before)) = (sync, &self.options.before_sync)
            && let Err(error) = before.call()
        {
            return self.undo(leader, &segment, error);
        }
        if let Some(batch) = &batch {
            if let Err(error) = self.write_batch(&segment, batch) {
                return self.undo(leader, &segment, not_written(&error, segment.path()));
            }
            segment.written(batch);
        }
        let events =
            batch.as_ref().map_or_else(|| segment.visible().max(segment.synced()), |batch| batch.events);
        if sync && segment.written_end() > self.durable_end.load(Ordering::Relaxed) {
            self.sync_segment(&segment)?;
        }
        *self.names.write() = names;
        self.order_fresh_bytes.store(order.index().fresh_bytes(), Ordering::Relaxed);
        *self.standing.write() = standing;
        {
            let mut staging = self.staging.lock();
            let left = staging.tickets - ticket;
            staging.settle(left);
        }
        if sync {
            self.publish_synced(&segment, events, order)?;
        } else {
            let mut published = self.published.write();
            segment.publish_visible(events);
            published.order = order;
        }
        leader.done(ticket);
        Ok(())
    }

    fn write_batch(&self, segment: &ActiveSegment, batch: &Batch) -> Result<(), LogError> {
        let file = segment.file();
        let (bytes, zeros_end) = (batch.bytes.len() as u64, self.zeros_end.load(Ordering::Relaxed));
        if batch.end() > zeros_end {
            let mut end = batch.end();
            if bytes < LARGE_GROUP_BYTES && end + ZEROS_BYTES <= self.options.segment_bytes_max {
                let zeros = vec![0; usize::try_from(end + ZEROS_BYTES - zeros_end).unwrap_or(0)];
                // On a full disk the group itself may still fit: that write reports what is wrong.
                if file.write_at(&zeros, zeros_end).is_ok() {
                    end += ZEROS_BYTES;
                }
            }
            file.write_at(&batch.bytes, batch.offset).map_err(LogError::io("append to a segment"))?;
            self.zeros_end.store(end, Ordering::Relaxed);
            return Ok(());
        }
        file.write_at(&batch.bytes, batch.offset).map_err(LogError::io("append to a segment"))
    }

    fn sync_segment(&self, segment: &ActiveSegment) -> Result<()> {
        let end = segment.written_end();
        if let Err(source) = segment.file().sync() {
            let error = Error::new(
                ErrorKind::Poisoned,
                Code::Store,
                "a sync failed: the outcome of the appends it covered is unknown, and the store takes no more writes \
                 until it is opened again",
            )
            .with_source(source)
            .at_path(segment.path());
            self.group.poison(Failure::of(&error));
            return Err(error);
        }
        self.durable_end.store(end, Ordering::Relaxed);
        Ok(())
    }

    fn publish_synced(&self, segment: &ActiveSegment, events: u32, order: Arc<Arrangement>) -> Result<()> {
        let end = self.durable_end.load(Ordering::Relaxed);
        if let Err(source) = self.mark.write(segment.number(), end, events.into()) {
            // Readers elsewhere would miss what is acknowledged here, and the events are stored all the same.
            let error = poisoned("the mark file cannot be written; open the store again").with_source(source);
            self.group.poison(Failure::of(&error));
            return Err(error);
        }
        let mut published = self.published.write();
        segment.publish_synced(events);
        published.order = Arc::clone(&order);
        published.synced_order = order;
        drop(published);
        // Last: whoever looks now finds them.
        self.options.on_synced.notify();
        Ok(())
    }

    /// Takes back everything that is staged after a write failed, or after what it names could not be made durable.
    fn undo(&self, leader: &Leader<'_>, segment: &ActiveSegment, error: Error) -> Result<()> {
        let mut staging = self.staging.lock();
        let end = segment.written_end();
        // Synced, or a power cut could bring back what is refused here.
        if let Err(source) = segment.file().set_size(end).and_then(|()| segment.file().sync()) {
            // What was half written stands behind the end; only a recovery may judge it.
            let error = poisoned("a failed write could not be taken back; open the store again")
                .with_source(source)
                .at_path(segment.path());
            self.group.poison(Failure::of(&error));
            return Err(error);
        }
        self.zeros_end.store(end, Ordering::Relaxed);
        let settled = Arc::clone(&self.published.read().order);
        staging.undo(&settled);
        let events = staging.state.arrivals.saturating_sub(segment.header().state.arrivals);
        segment.discard_unwritten(u32::try_from(events).unwrap_or(u32::MAX));
        leader.fail_rest(staging.tickets, Failure::of(&error));
        Err(error)
    }

    /// Closes the segment that was found full and starts the next one, unless another thread did so already.
    ///
    /// # Errors
    /// What the system calls report.
    fn roll(&self, full: u64) -> Result<()> {
        self.roll_from(full, false)
    }

    /// Closes the segment of this number and starts the next one, also where it holds no event, unless another thread
    /// did so already.
    ///
    /// # Errors
    /// What the system calls report.
    pub(super) fn roll_even_empty(&self, number: u64) -> Result<()> {
        self.roll_from(number, true)
    }

    fn roll_from(&self, full: u64, even_empty: bool) -> Result<()> {
        let leader = self.group.lead()?;
        // Only a leader rolls, so the number stays what it is from here on.
        if self.staging.lock().segment.number() != full {
            return Ok(());
        }
        loop {
            self.write(&leader, true)?;
            let mut staging = self.staging.lock();
            if staging.segment.pending_bytes() > 0 {
                continue;
            }
            // What filled it may have been taken back since.
            if !even_empty && staging.segment.index().read().len() == 0 {
                return Ok(());
            }
            return self.start_next(&mut staging);
        }
    }

    fn start_next(&self, staging: &mut Staging) -> Result<()> {
        let old = Arc::clone(&staging.segment);
        if old.number() >= SEGMENT_MAX {
            return Err(Error::invalid(Code::Limit, "there is no number for a further segment"));
        }
        self.cut_free_space(&old)?;
        let header = SegmentHeader {
            form: Form::Active,
            segment: old.number() + 1,
            prev_bytes: old.written_end(),
            prev_root: [0; 32],
            incompatible: old.header().incompatible | FEATURE_KEEPING,
            state: staging.state.clone(),
            ..old.header().clone()
        };
        staging.rolling = true;
        let next = Arc::new(create_active(&*self.vfs, &self.dir, header)?);
        let end = next.written_end();
        let mut published = self.published.write();
        let mut changed = Segments::clone(&published.segments);
        changed.rolled.extend(changed.active.take());
        changed.active = Some(Arc::clone(&next));
        staging.segment = Arc::clone(&next);
        staging.rolling = false;
        published.segments = Arc::new(changed);
        let order = Arc::clone(&published.order);
        drop(published);
        for bound in [&self.durable_end, &self.zeros_end] {
            bound.store(end, Ordering::Relaxed);
        }
        self.watermark_end.store(end, Ordering::Relaxed);
        self.publish_synced(&next, 0, order)
    }

    /// Syncs, and confirms what was synced by a watermark. Does nothing when that was done already.
    ///
    /// # Errors
    /// What the system calls report.
    pub fn confirm(&self) -> Result<()> {
        let leader = self.group.lead()?;
        self.write(&leader, true)?;
        self.confirm_as(&leader)
    }

    fn confirm_as(&self, leader: &Leader<'_>) -> Result<()> {
        let watermark_end;
        {
            let staging = self.staging.lock();
            let end = self.durable_end.load(Ordering::Relaxed);
            if end == self.watermark_end.load(Ordering::Relaxed) || staging.segment.pending_bytes() > 0 {
                return Ok(());
            }
            let events = staging.segment.index().read().len() as u64;
            let body = GroupMark { durable_end: end, events }.to_body();
            let (offset, bytes) = staging.segment.stage(FrameKind::Watermark, 0, &body)?;
            watermark_end = offset + u64::from(bytes);
        }
        self.write(leader, true)?;
        // Events that came behind it in the same group are not confirmed by it.
        self.watermark_end.store(watermark_end, Ordering::Relaxed);
        Ok(())
    }

    /// Confirms everything, cuts free space off the file and refuses every later write, also where the others fail.
    ///
    /// # Errors
    /// What the system calls report.
    pub fn close(&self) -> Result<()> {
        let leader = self.group.lead()?;
        let confirmed = self.write(&leader, true).and_then(|()| self.confirm_as(&leader));
        let staging = self.staging.lock();
        let cut = if confirmed.is_ok() && staging.segment.pending_bytes() == 0 {
            self.cut_free_space(&staging.segment)
        } else {
            Ok(())
        };
        self.group.poison(Failure::of(&poisoned("the store is closed")));
        confirmed.and(cut)
    }

    /// Gives back what was written ahead for groups that will not come.
    fn cut_free_space(&self, segment: &ActiveSegment) -> Result<()> {
        let end = segment.written_end();
        if self.zeros_end.load(Ordering::Relaxed) > end {
            let cut = segment.file().set_size(end);
            cut.map_err(|e| {
                LogError::io("cut free space off a segment")(e).at(segment.path(), segment.number(), end)
            })?;
            self.zeros_end.store(end, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Returns the memory of nodes of the order that are not stored, in bytes, as of the last group.
    pub fn order_fresh_bytes(&self) -> usize {
        self.order_fresh_bytes.load(Ordering::Relaxed)
    }

    /// Returns how many rolled segments wait to be sealed.
    pub fn rolled(&self) -> usize {
        self.published.read().segments.rolled.len()
    }

    /// Returns the number of the rolled segment that is sealed next.
    pub fn next_to_seal(&self) -> Option<u64> {
        self.published.read().segments.rolled.first().map(|segment| segment.number())
    }

    /// Returns a host's highest `seq` and the id there, staged events included.
    pub fn high_of(&self, host: &str) -> Option<(u64, String)> {
        let staging = self.staging.lock();
        let number = staging.names().host_number(host)?;
        let state = staging.state.hosts.get(number as usize)?;
        state.high.map(|high| (high, state.last_id.clone()))
    }

    /// Returns the active segment and its durable end.
    pub fn durable_end(&self) -> (u64, u64) {
        let segment = self.published.read().segments.active.as_ref().map_or(0, |segment| segment.number());
        (segment, self.durable_end.load(Ordering::Relaxed))
    }

    /// Runs `change` on the list of segments and publishes the result.
    pub fn replace_segments(&self, change: impl FnOnce(&mut Segments)) {
        let mut published = self.published.write();
        let mut changed = Segments::clone(&published.segments);
        change(&mut changed);
        published.segments = Arc::new(changed);
    }

    /// Stages a control record; it is written with the next group.
    ///
    /// # Errors
    /// `Poisoned`; when the record names a host that is not defined.
    pub fn control(&self, control: &Control) -> Result<()> {
        self.group.check()?;
        self.staging.lock().control(control)
    }

    /// Writes down that acknowledged events are gone with the end of the log. After it returns that is durable, and so is the mark,
    /// which names no end any more that the log does not reach.
    ///
    /// # Errors
    /// What the system calls report.
    pub fn record_loss(&self, lost: u64) -> Result<()> {
        // No segment is to blame: what is left of each is as it was written, and goes on being checked.
        self.control(&Control::Repaired { segment: 0, lost })?;
        self.sync()?;
        self.sync_mark()
    }

    /// Makes the newest mark durable: after a cut, an older one that came back would name bytes that are gone.
    ///
    /// # Errors
    /// What the system calls report.
    pub fn sync_mark(&self) -> Result<()> {
        self.mark.sync().map_err(|e| Error::io("cannot sync the mark file", e))
    }

    /// Runs `read` while nothing is staged, written or rolled, and everything is confirmed.
    ///
    /// # Errors
    /// `Poisoned`; what `read` returns.
    pub fn quiesce<T>(&self, read: impl FnOnce(&mut Staging, u64) -> Result<T>) -> Result<T> {
        let leader = self.group.lead()?;
        loop {
            self.write(&leader, true)?;
            self.confirm_as(&leader)?;
            let mut staging = self.staging.lock();
            let end = self.durable_end.load(Ordering::Relaxed);
            // Somebody may have staged an event since the write.
            if staging.segment.pending_bytes() == 0 && end == self.watermark_end.load(Ordering::Relaxed) {
                let read = read(&mut staging, end)?;
                // All of it is shown already, so the order is that of what is shown, however it lies.
                let order = Arc::new(staging.order_as_it_is().clone());
                let mut published = self.published.write();
                published.order = Arc::clone(&order);
                published.synced_order = order;
                return Ok(read);
            }
        }
    }

    /// Returns an error when the log takes no more writes.
    ///
    /// # Errors
    /// `Poisoned`.
    pub fn check(&self) -> Result<()> {
        self.group.check()
    }
}

/// Says that a group was not written.
fn not_written(error: &LogError, path: &std::path::Path) -> Error {
    match error {
        LogError::Io { what, source } => {
            let source = std::io::Error::new(source.kind(), source.to_string());
            Error::io(format!("cannot {what}: its group was not kept"), source).at_path(path)
        }
        other => Error::corrupt(other.to_string()),
    }
}

fn poisoned(message: &str) -> Error {
    Error::new(ErrorKind::Poisoned, Code::Store, message)
}

/// Creates an active segment: written under another name, synced, renamed, the directory synced.
///
/// # Errors
/// What the system calls report.
pub fn create_active(vfs: &dyn Vfs, dir: &std::path::Path, header: SegmentHeader) -> Result<ActiveSegment> {
    let number = header.segment;
    let (temporary, path) = (dir.join(creating_file(number)), dir.join(segment_file(number, Stage::Active)));
    let bytes = header.to_bytes().map_err(Error::corrupt)?;
    let create = || -> std::io::Result<_> {
        if vfs.exists(&temporary)? {
            vfs.remove(&temporary)?;
        }
        let file = vfs.open(&temporary, OpenMode::Create)?;
        file.write_at(&bytes, 0)?;
        file.sync()?;
        vfs.rename(&temporary, &path)?;
        vfs.sync_dir(dir)?;
        Ok(file)
    };
    let file = create().map_err(|e| LogError::io("create a segment")(e).at(&path, number, 0))?;
    Ok(ActiveSegment::new(header, path, file, ActiveIndex::default(), bytes.len() as u64))
}
