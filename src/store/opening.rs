//! Opening a store: its locks, its log, its index, its thread.
//!
//! Invariants:
//! - One writing process: it holds `writer.lock` exclusively for as long as the store is open.
//! - Readers hold `reader.lock` shared, and so does the writer; a repair takes both exclusively.
//! - Opening for reading writes nothing, and needs no lock files on a medium that cannot have them.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::arranging::OrderFiles;
use super::content::Content;
use super::core::{Core, keep_up};
use super::options::{Durability, Options};
use super::reader::Reader;
use super::report::OpenReport;
use super::ring;
use super::subscribers::Subscribers;
use super::{Inner, Mode, Store};
use crate::blob::Access;
use crate::codec::{ControlState, FEATURE_KEEPING, Form, SegmentHeader};
use crate::contract::{Code, Error, ErrorKind, Result};
use crate::index::{CheckpointBatch, Index, IndexState, NodeAccess, RebuildReason};
use crate::io::{LockMode, MemoryVfs, ProofBudget, Vfs, VfsLock};
use crate::log::{
    Arrangement, Finding, HostRanks, MARK_FILE, MarkFile, MarkWriter, Names, Recovered, Role, Staging, View,
    Writer, WriterOptions, create_active, recover,
};

/// Directory of the segments within a store's.
pub(super) const LOG_DIR: &str = "log";

/// The index database within a store's directory.
pub(super) const INDEX_FILE: &str = "index.redb";

pub(super) const WRITER_LOCK: &str = "writer.lock";
pub(super) const READER_LOCK: &str = "reader.lock";

/// A reader looks for a writer by trying its lock for a moment; a writer that meets that tries again so long.
const GRACE: Duration = Duration::from_millis(200);

/// Locks that a store holds while it is open.
#[derive(Debug)]
pub(super) struct Locks {
    _writer: Option<Box<dyn VfsLock>>,
    _reader: Option<Box<dyn VfsLock>>,
}

/// Reports whether there is a store. One whose segments are gone is damaged, and no empty place.
///
/// # Errors
/// `Corrupt` when something of a store is here, and no segment.
pub(super) fn exists(options: &Options, path: &Path) -> Result<bool> {
    if has_segments(options, path)? {
        return Ok(true);
    }
    for name in [MARK_FILE, INDEX_FILE] {
        let left = path.join(name);
        let there = options.vfs.exists(&left);
        if there.map_err(|e| Error::io("cannot look for a file", e).at_path(&left))? {
            // Segments come before these: somebody may have created the store since the first look.
            if has_segments(options, path)? {
                return Ok(true);
            }
            let what = format!(
                "the segments of this store are missing, it still has its {name} file: put them back from a copy; \
                 there is nothing left here that a repair could keep"
            );
            return Err(Error::corrupt(what).at_path(path.join(LOG_DIR)));
        }
    }
    Ok(false)
}

fn has_segments(options: &Options, path: &Path) -> Result<bool> {
    let log = path.join(LOG_DIR);
    let names = options.vfs.list(&log).map_err(|e| Error::io("cannot list a directory", e).at_path(&log))?;
    Ok(names.iter().any(|name| name.ends_with(".active") || name.ends_with(".sealed")))
}

pub(super) fn create(path: &Path, options: Options) -> Result<Store> {
    create_with(path, uncapped(options))
}

/// A store on disk keeps everything, whatever its options say of a cap.
fn uncapped(mut options: Options) -> Options {
    options.events_max = None;
    options.bytes_max = None;
    options
}

fn create_with(path: &Path, options: Options) -> Result<Store> {
    let vfs = Arc::clone(&options.vfs);
    let log = path.join(LOG_DIR);
    vfs.create_dir_all(&log).map_err(|e| Error::io("cannot create a directory", e).at_path(&log))?;
    sync_dirs(&*vfs, path, usize::MAX)?;
    let locks = lock_for_writing(&options, path)?;
    if exists(&options, path)? {
        return Err(Error::invalid(Code::Store, "there is a store already").at_path(path));
    }
    let (mut store, mut secret) = ([0u8; 16], [0u8; 16]);
    options.random.fill(&mut store)?;
    options.random.fill(&mut secret)?;
    let header = SegmentHeader {
        form: Form::Active,
        compatible: 0,
        incompatible: FEATURE_KEEPING,
        store,
        segment: 1,
        prev_bytes: 0,
        prev_root: [0; 32],
        secret,
        state: ControlState::default(),
    };
    create_active(&*vfs, &log, header)?;
    open_locked(path, options, locks)
}

/// Makes the names in a store's directory durable, and in up to `above` directories above it. Those may be closed to us,
/// which says that they were there before.
fn sync_dirs(vfs: &dyn Vfs, path: &Path, above: usize) -> Result<()> {
    for (up, dir) in path.ancestors().enumerate().take(above.saturating_add(1)) {
        let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
        match vfs.sync_dir(dir) {
            Err(e) if up > 0 && e.kind() == io::ErrorKind::PermissionDenied => {}
            synced => synced.map_err(|e| Error::io("cannot sync a directory", e).at_path(dir))?,
        }
    }
    Ok(())
}

pub(super) fn open(path: &Path, options: Options) -> Result<Store> {
    let options = uncapped(options);
    must_exist(&options, path)?;
    let locks = lock_for_writing(&options, path)?;
    open_locked(path, options, locks)
}

/// Refuses a directory without a store.
pub(super) fn must_exist(options: &Options, path: &Path) -> Result<()> {
    if exists(options, path)? {
        return Ok(());
    }
    Err(Error::new(ErrorKind::NotFound, Code::Store, "there is no store here").at_path(path))
}

/// Takes a reader's lock, where there is a file to lock.
pub(super) fn shared_lock(options: &Options, path: &Path) -> Result<Option<Box<dyn VfsLock>>> {
    wait_for_lock(options, path, LockMode::Shared, false)
}

pub(super) fn in_memory(mut options: Options) -> Result<Store> {
    options.vfs = Arc::new(MemoryVfs::new());
    if let Some(most) = options.bytes_max {
        options.segment_bytes_max = options.segment_bytes_max.min(most / ring::PARTS);
    }
    create_with(Path::new("/memory"), options)
}

fn open_locked(path: &Path, options: Options, locks: Locks) -> Result<Store> {
    let budget = ProofBudget::new(options.proof_bytes_max);
    let log_dir = path.join(LOG_DIR);
    let recovered = recover(&options.vfs, path, &log_dir, Role::Writer, &budget)?;
    let mut report = OpenReport::of(&recovered);
    let reason = read_only_reason(&recovered);
    let access = if reason.is_some() { Access::Read } else { Access::Write };
    let mut content = Content::open(path, &options, &recovered.store, access, &mut report)?;
    let subscribers = Arc::default();
    let beside = Beside { subscribers: &subscribers, content: &content };
    let started = match reason {
        Some(reason) => Err((recovered, reason)),
        None => match start_writer(path, &options, recovered, &beside, Arc::clone(&budget), &mut report)? {
            Started::Writing(upkeep) => Ok(upkeep),
            Started::Unsealable(error) => {
                let mut recovered = recover(&options.vfs, path, &log_dir, Role::Reader, &budget)?;
                let finding = Finding::of(error)?;
                report.damage.push(finding.clone());
                recovered.damage.push(finding);
                let reason = read_only_reason(&recovered).unwrap_or_default();
                content = Content::open(path, &options, &recovered.store, Access::Read, &mut report)?;
                Err((recovered, reason))
            }
        },
    };
    let mode = match started {
        Ok(upkeep) => Mode::Writer(upkeep),
        Err((recovered, reason)) => {
            report.read_only = Some(reason);
            Mode::Reader(Arc::new(Reader::fixed(recovered)))
        }
    };
    Ok(Store::new(Inner::new(path.to_path_buf(), options, mode, content, report, subscribers, locks)))
}

fn read_only_reason(recovered: &Recovered) -> Option<String> {
    if let Some(finding) = recovered.damage.first() {
        return Some(format!("the log is damaged: {finding}"));
    }
    let reason = &recovered.state.read_only;
    (!reason.is_empty()).then(|| reason.clone())
}

/// How the writer of a sound log starts.
enum Started {
    /// It takes appends.
    Writing(super::Upkeep),
    /// A rolled segment cannot be sealed: what its checkpoint said hid damage so far.
    Unsealable(Error),
}

/// What goes on beside the log.
struct Beside<'a> {
    subscribers: &'a Arc<Subscribers>,
    content: &'a Content,
}

fn start_writer(
    path: &Path,
    options: &Options,
    recovered: Recovered,
    beside: &Beside<'_>,
    budget: Arc<ProofBudget>,
    report: &mut OpenReport,
) -> Result<Started> {
    let log_dir = path.join(LOG_DIR);
    let Recovered { store, secret, segments, state, frames_read, torn, .. } = recovered;
    let Some(active) = segments.active.clone() else {
        return Err(Error::corrupt("the log has no active segment").at_path(log_dir));
    };
    // What was recovered may not be on the medium: it was only read, and the process that wrote it may have been killed
    // before a sync. Nothing may rely on it before it is.
    sync_dirs(&*options.vfs, path, 1)?;
    options.vfs.sync_dir(&log_dir).map_err(|e| Error::io("cannot sync a directory", e).at_path(&log_dir))?;
    let mark_path = path.join(MARK_FILE);
    let mark = MarkWriter::open(&*options.vfs, path, store)
        .map_err(|e| Error::io("cannot open the mark file", e).at_path(mark_path))?;
    let gone = torn.as_ref().map_or(0, |torn| torn.missing_events);
    let sync = || -> io::Result<()> {
        active.file().sync()?;
        if gone > 0 {
            // The mark proves the loss until it is recorded.
            return Ok(());
        }
        mark.write(active.number(), active.written_end(), active.synced().into())?;
        if torn.is_some() { mark.sync() } else { Ok(()) }
    };
    sync().map_err(|e| Error::io("cannot sync the active segment", e).at_path(active.path()))?;
    let (index, index_state) = open_index(path, options, &store, (active.number(), active.written_end()))?;
    report.index = Some(index_state);
    let writer_options = WriterOptions {
        segment_bytes_max: options.segment_bytes_max,
        segment_events_max: options
            .events_max
            .and_then(|most| usize::try_from(most / ring::PARTS).ok())
            .map_or(usize::MAX, |most| most.max(1)),
        sync_each: matches!(options.durability, Durability::Durable),
        before_sync: beside.content.before_sync(),
        on_synced: beside.subscribers.notifier(),
    };
    let names = Arc::new(Names::of(&state));
    let order_files = OrderFiles::open(options, path, &store, NodeAccess::Write)?;
    let view = View::new(Arc::new(segments.clone()), Arc::clone(&names), secret, active.visible());
    let order = arrange(&order_files, options, &state, &view, report)?;
    let mut staging = Staging::new(state, names, active, order);
    if !options.keep_order {
        staging.lose_order("it was not asked for");
    }
    let vfs = Arc::clone(&options.vfs);
    // Nothing behind the checkpoint: it was closed, or nothing was appended since.
    let confirmed = frames_read == 0;
    let writer = Writer::new(vfs, log_dir.clone(), writer_options, segments, staging, mark, confirmed);
    if gone > 0 {
        writer.record_loss(gone)?;
        report.lost = report.lost.saturating_add(gone);
    }
    let (wake, woken) = crossbeam::channel::bounded(1);
    let core = Arc::new(Core::new(
        writer,
        options.clone(),
        log_dir,
        budget,
        beside.content.clone(),
        (store, index, order_files),
        wake,
    ));
    match core.seal_all() {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::Corrupt && core.writer.rolled() > 0 => {
            return Ok(Started::Unsealable(error));
        }
        // It waits: appends go on without it, and the next round tries again.
        Err(error) => tracing::warn!(%error, "sealing failed and will be tried again"),
    }
    let thread = options.background.then(|| {
        let core = Arc::clone(&core);
        std::thread::Builder::new().name("causelog-upkeep".to_owned()).spawn(move || keep_up(&core, &woken))
    });
    let thread =
        thread.transpose().map_err(|e| Error::io("cannot start the store's thread", e).at_path(path))?;
    Ok(Started::Writing(super::Upkeep::new(core, thread)))
}

/// Takes the stored order, or an empty one, and brings it up to the end of the log.
fn arrange(
    files: &OrderFiles,
    options: &Options,
    state: &ControlState,
    view: &View,
    report: &mut OpenReport,
) -> Result<Arrangement> {
    let (mut order, rebuilt) = files.stored(options, view)?;
    report.order_rebuilt = rebuilt;
    let chained = |host: u32| state.hosts.get(host as usize).is_some_and(|host| host.chained);
    let mut rest = |order: &mut Arrangement| {
        if files.is_due(order.index().fresh_bytes()) { files.store(order) } else { Ok(()) }
    };
    order.follow(view, &mut HostRanks::of(view.names()), &chained, &mut rest)?;
    Ok(order)
}

/// Opens the index; one that knows more than the log is not of this log and is made anew.
fn open_index(
    path: &Path,
    options: &Options,
    store: &[u8; 16],
    log_end: (u64, u64),
) -> Result<(Index, IndexState)> {
    let path = path.join(INDEX_FILE);
    let (index, state) = Index::open(&*options.vfs, &path, store)?;
    let end_of = |held: &CheckpointBatch| (held.checkpoint.active_segment, held.checkpoint.durable_end);
    let reason = match index.load() {
        Ok(held) if held.as_ref().map(end_of).is_none_or(|end| end <= log_end) => return Ok((index, state)),
        Ok(_) => RebuildReason::Damaged("it is ahead of the log"),
        Err(error) if error.kind() == ErrorKind::Corrupt => RebuildReason::Damaged("it cannot be read"),
        Err(error) => return Err(error),
    };
    drop(index);
    Ok((Index::recreate(&*options.vfs, &path)?, IndexState::Rebuilt { reason }))
}

pub(super) fn open_read_only(path: &Path, options: Options) -> Result<Store> {
    must_exist(&options, path)?;
    let reader = shared_lock(&options, &path.join(READER_LOCK))?;
    let budget = ProofBudget::new(options.proof_bytes_max);
    let reader_half = Reader::open(&options, path, budget)?;
    let mut report = reader_half.report();
    let content = Content::open(path, &options, &report.store.clone(), Access::Read, &mut report)?;
    let locks = Locks { _writer: None, _reader: reader };
    Ok(Store::new(Inner::new(
        path.to_path_buf(),
        options,
        Mode::Reader(Arc::new(reader_half)),
        content,
        report,
        Arc::default(),
        locks,
    )))
}

/// Recovers a log for reading: up to the mark beside a living writer, else everything that checks.
pub(super) fn recover_for_reading(
    vfs: &Arc<dyn Vfs>,
    path: &Path,
    budget: &Arc<ProofBudget>,
) -> Result<Recovered> {
    /// Writers that may come and go meanwhile.
    const ROUNDS: usize = 8;
    let log = path.join(LOG_DIR);
    for _ in 0..ROUNDS {
        let before = marks(&**vfs, path)?;
        if writer_lives(&**vfs, path)? {
            break;
        }
        let recovered = recover(vfs, path, &log, Role::Reader, budget);
        // A writer that started meanwhile made a moving target of the end; each that starts moves the mark.
        if !writer_lives(&**vfs, path)? && marks(&**vfs, path)? == before {
            return recovered;
        }
    }
    recover(vfs, path, &log, Role::Follower, budget)
}

/// Reads the mark file as it is now.
pub(super) fn marks(vfs: &dyn Vfs, path: &Path) -> Result<MarkFile> {
    MarkFile::read(vfs, path).map_err(|e| Error::io("cannot read the mark file", e).at_path(path))
}

/// Reports whether a writer is alive, by trying its lock for a moment.
fn writer_lives(vfs: &dyn Vfs, path: &Path) -> Result<bool> {
    let lock = path.join(WRITER_LOCK);
    match vfs.try_lock(&lock, LockMode::Shared, false) {
        Ok(held) => Ok(held.is_none()),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(Error::io("cannot try the writer's lock", e).at_path(lock)),
    }
}

pub(super) fn lock_for_writing(options: &Options, path: &Path) -> Result<Locks> {
    let writer = wait_for_lock(options, &path.join(WRITER_LOCK), LockMode::Exclusive, true)?;
    let reader = wait_for_lock(options, &path.join(READER_LOCK), LockMode::Shared, true)?;
    Ok(Locks { _writer: writer, _reader: reader })
}

/// Takes both locks exclusively: for a repair, which no reader may run beside.
pub(super) fn lock_for_repair(options: &Options, path: &Path) -> Result<Locks> {
    let writer = wait_for_lock(options, &path.join(WRITER_LOCK), LockMode::Exclusive, true)?;
    let reader = wait_for_lock(options, &path.join(READER_LOCK), LockMode::Exclusive, true)?;
    Ok(Locks { _writer: writer, _reader: reader })
}

/// Keeps writers out while a repair is planned, without creating anything.
pub(super) fn lock_for_plan(options: &Options, path: &Path) -> Result<Locks> {
    let writer = wait_for_lock(options, &path.join(WRITER_LOCK), LockMode::Exclusive, false)?;
    let reader = wait_for_lock(options, &path.join(READER_LOCK), LockMode::Shared, false)?;
    Ok(Locks { _writer: writer, _reader: reader })
}

/// Waits for a lock; `None` when there is no lock file and it must not be created.
fn wait_for_lock(
    options: &Options,
    path: &Path,
    mode: LockMode,
    create: bool,
) -> Result<Option<Box<dyn VfsLock>>> {
    // None: for ever.
    let until = Instant::now().checked_add(options.lock_wait.max(GRACE));
    let mut pause = Duration::from_millis(1);
    loop {
        match options.vfs.try_lock(path, mode, create) {
            Ok(Some(lock)) => return Ok(Some(lock)),
            Err(e) if !create && e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(Error::io("cannot take a lock", e).at_path(path)),
            Ok(None) => {}
        }
        let left = until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()));
        if left.is_zero() {
            let message = "another process, or another handle in this one, holds the store";
            return Err(Error::new(ErrorKind::Locked, Code::Store, message).at_path(path));
        }
        std::thread::sleep(pause.min(left));
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}
