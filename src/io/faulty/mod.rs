//! A file system that fails on demand, and that can tell what a power cut would leave of it.
//!
//! Invariants:
//! - Without a fault armed, every call does what the wrapped file system does.
//! - A failed call has no effect, except a write that stops half-way ([`Fault::after_bytes`]) and a
//!   call that fails once its work is done ([`Fault::after_effect`]).
//! - Faults count calls from the moment they are armed. All threads count together; with one
//!   thread, the same calls fail in every run.
//! - A recording file system notes each change in the order in which the wrapped one took them. One
//!   lock spans both, so calls that change something run one at a time; syncs and reads do not.
//! - Only changes made through this file system are uncertain in [`FaultyVfs::crash`]; what was
//!   there before is durable. A write that the wrapped file system itself fails is not recorded.

mod fault;
mod node;
mod random;
mod record;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use super::memory::{MemoryVfs, normal};
use super::vfs::{LockMode, Mapping, OpenMode, Vfs, VfsFile, VfsLock};
pub use fault::{Call, Calls, Failure, Fault};
use node::{Node, NodeId};
use record::Recorder;

/// A file system that fails on demand. Clones share everything.
///
/// ```
/// use causelog::vfs::{Call, Calls, Failure, Fault, FaultyVfs, MemoryVfs, OpenMode, Vfs};
/// use std::{path::Path, sync::Arc};
///
/// let vfs = FaultyVfs::recording(Arc::new(MemoryVfs::new()));
/// let file = vfs.open(Path::new("log"), OpenMode::Create)?;
/// vfs.sync_dir(Path::new(""))?;
/// file.write_at(b"kept", 0)?;
/// file.sync()?;
///
/// vfs.arm(Fault::nth(Calls::Only(Call::Sync), 1, Failure::MEDIUM));
/// file.write_at(b"maybe", 4)?;
/// assert!(file.sync().is_err());
///
/// let image = vfs.crash(7)?;
/// let after = image.open(Path::new("log"), OpenMode::Read)?.map()?;
/// assert!(after.starts_with(b"kept"));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct FaultyVfs {
    inner: Arc<dyn Vfs>,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    calls: BTreeMap<Call, u64>,
    armed: Vec<(Fault, u64)>,
    failed: u64,
    space: Option<u64>,
    recorder: Option<Recorder>,
}

#[derive(Debug)]
struct FaultyFile {
    inner: Arc<dyn VfsFile>,
    state: Arc<Mutex<State>>,
    /// Known when the file system records.
    node: Option<NodeId>,
}

impl FaultyVfs {
    /// Wraps a file system to fail calls of it. Costs no memory.
    #[must_use]
    pub fn new(inner: Arc<dyn Vfs>) -> Self {
        Self { inner, state: Arc::default() }
    }

    /// Wraps a file system to fail calls and to record changes for [`Self::crash`].
    ///
    /// Costs a copy of each file that is touched, and of each change since its last sync.
    #[must_use]
    pub fn recording(inner: Arc<dyn Vfs>) -> Self {
        let state = State { recorder: Some(Recorder::default()), ..State::default() };
        Self { inner, state: Arc::new(Mutex::new(state)) }
    }

    /// Arms a fault, beside those armed before.
    pub fn arm(&self, fault: Fault) {
        self.state.lock().armed.push((fault, 0));
    }

    /// Disarms all faults; [`Self::limit_space`] stays.
    pub fn disarm(&self) {
        self.state.lock().armed.clear();
    }

    /// Returns how many calls faults made fail.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.state.lock().failed
    }

    /// Returns how many calls of a set came in, the failed ones included.
    #[must_use]
    pub fn calls(&self, calls: Calls) -> u64 {
        let state = self.state.lock();
        state.calls.iter().filter(|(call, _)| calls.contains(**call)).map(|(_, n)| n).sum()
    }

    /// Lets all files together grow by that many bytes from now on, or without limit.
    ///
    /// A write past the limit writes what fits and fails with [`Failure::NO_SPACE`]. Cutting,
    /// removing and replacing a file gives its bytes back.
    pub fn limit_space(&self, bytes: Option<u64>) {
        self.state.lock().space = bytes;
    }

    /// Returns a file system as a power cut at this moment could leave it.
    ///
    /// What was synced is there: file contents by [`VfsFile::sync`], names by [`Vfs::sync_dir`] of
    /// their directory. Each later write is kept, dropped, or torn between sectors of 512 bytes; a
    /// kept sector shows what the file held there right after that write. Each later change of a name
    /// is kept or dropped, in order within a directory or not, though changes of one name keep their
    /// order. The same calls and the same seed give the same image. What was written before a sync
    /// that failed may be lost even if a later sync succeeds, as on Linux.
    ///
    /// The file system itself stays as it is: a process that was only killed finds everything there.
    ///
    /// # Errors
    /// `Unsupported`, unless made by [`Self::recording`]; what the wrapped file system reports when
    /// files are read that were there before.
    pub fn crash(&self, seed: u64) -> io::Result<MemoryVfs> {
        let state = self.state.lock();
        let recorder = state.recorder.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        recorder.crash(&*self.inner, seed)
    }

    /// Counts a call and runs it under the state's lock, with the fault it meets, if any.
    fn change<T>(&self, call: Call, work: impl FnOnce(&mut State) -> io::Result<T>) -> io::Result<T> {
        let mut state = self.state.lock();
        match state.meet(call) {
            None => work(&mut state),
            Some(fault) if fault.after_effect => work(&mut state).and(Err(fault.failure.error())),
            Some(fault) => Err(fault.failure.error()),
        }
    }
}

impl State {
    /// Counts a call, and returns the fault that it meets.
    fn meet(&mut self, call: Call) -> Option<Fault> {
        let count = self.calls.entry(call).or_default();
        *count = count.saturating_add(1);
        let mut met = None;
        for (fault, seen) in &mut self.armed {
            if fault.calls.contains(call) {
                *seen = seen.saturating_add(1);
                let due = fault.nth.max(1);
                if *seen == due || (fault.for_good && *seen > due) {
                    met.get_or_insert(*fault);
                }
            }
        }
        if met.is_some() {
            self.failed = self.failed.saturating_add(1);
        }
        met
    }

    fn give_back(&mut self, bytes: u64) {
        if let Some(left) = &mut self.space {
            *left = left.saturating_add(bytes);
        }
    }

    /// Takes up to `bytes` of the space left and returns how many.
    fn take(&mut self, bytes: u64) -> u64 {
        let Some(left) = &mut self.space else { return bytes };
        let taken = bytes.min(*left);
        *left = left.saturating_sub(taken);
        taken
    }

    /// Returns how many bytes come free when a name is taken from its file.
    fn freed_by(&self, inner: &dyn Vfs, name: &Path) -> u64 {
        if self.space.is_none() {
            return 0;
        }
        inner.open(name, OpenMode::Read).and_then(|file| file.size()).unwrap_or(0)
    }
}

/// Counts a call that changes nothing, and fails it where a fault wants that.
fn pass(state: &Mutex<State>, call: Call) -> io::Result<()> {
    // An effect before the failure makes no difference where there is no effect.
    state.lock().meet(call).map_or(Ok(()), |fault| Err(fault.failure.error()))
}

impl FaultyFile {
    fn node<'a>(&self, state: &'a mut State) -> Option<&'a mut Node> {
        state.recorder.as_mut()?.node(self.node?)
    }

    /// Writes under the state's lock: all, or what fits into the space left.
    fn write(&self, state: &mut State, bytes: &[u8], offset: u64) -> io::Result<()> {
        let end = offset.saturating_add(to_u64(bytes.len()));
        let wanted = if state.space.is_some() { end.saturating_sub(self.inner.size()?) } else { 0 };
        let missing = wanted.saturating_sub(state.take(wanted));
        let fits = bytes.len().saturating_sub(usize::try_from(missing).unwrap_or(usize::MAX));
        let part = bytes.get(..fits).unwrap_or(bytes);
        self.inner.write_at(part, offset)?;
        if let Some(node) = self.node(state) {
            node.write(offset, part);
        }
        if missing > 0 { Err(Failure::NO_SPACE.error()) } else { Ok(()) }
    }
}

impl VfsFile for FaultyFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        pass(&self.state, Call::Read)?;
        self.inner.read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut state = self.state.lock();
        let Some(fault) = state.meet(Call::Write) else {
            return self.write(&mut state, bytes, offset);
        };
        let allowed = if fault.after_effect { u64::MAX } else { fault.bytes };
        let part = bytes.get(..usize::try_from(allowed).unwrap_or(usize::MAX)).unwrap_or(bytes);
        if !part.is_empty() {
            self.write(&mut state, part, offset)?;
        }
        Err(fault.failure.error())
    }

    fn sync(&self) -> io::Result<()> {
        let (fault, before) = {
            let mut state = self.state.lock();
            let fault = state.meet(Call::Sync);
            let before = self.node(&mut state).map(|node| node.written());
            (fault, before)
        };
        // Without the lock: writes beside a sync under way are what group commit is about.
        let result = match fault {
            Some(fault) if !fault.after_effect => Err(fault.failure.error()),
            _ => self.inner.sync(),
        };
        let mut state = self.state.lock();
        if let (Some(node), Some(before)) = (self.node(&mut state), before) {
            match &result {
                Ok(()) => node.settle(before),
                Err(_) => node.doubt(before),
            }
        }
        result.and(fault.map_or(Ok(()), |fault| Err(fault.failure.error())))
    }

    fn size(&self) -> io::Result<u64> {
        pass(&self.state, Call::Look)?;
        self.inner.size()
    }

    fn set_size(&self, bytes: u64) -> io::Result<()> {
        let mut state = self.state.lock();
        let fault = state.meet(Call::SetSize);
        if let Some(fault) = fault.filter(|fault| !fault.after_effect) {
            return Err(fault.failure.error());
        }
        let size = self.inner.size()?;
        // Holes are counted as if they took space: filling them later is not counted again.
        let wanted = bytes.saturating_sub(size);
        let granted = state.take(wanted);
        if granted < wanted {
            state.give_back(granted);
            return Err(Failure::NO_SPACE.error());
        }
        self.inner.set_size(bytes)?;
        state.give_back(size.saturating_sub(bytes));
        if let Some(node) = self.node(&mut state) {
            node.set_size(bytes);
        }
        fault.map_or(Ok(()), |fault| Err(fault.failure.error()))
    }

    fn map(&self) -> io::Result<Mapping> {
        pass(&self.state, Call::Map)?;
        self.inner.map()
    }
}

impl Vfs for FaultyVfs {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn VfsFile>> {
        let call = if mode == OpenMode::Create { Call::Create } else { Call::Open };
        self.change(call, |state| {
            let inner = self.inner.open(path, mode)?;
            let node = match &mut state.recorder {
                None => None,
                Some(recorder) if mode == OpenMode::Create => Some(recorder.create(normal(path))),
                Some(recorder) => Some(recorder.learn(&*self.inner, &normal(path))?),
            };
            let file: Arc<dyn VfsFile> = Arc::new(FaultyFile { inner, state: self.state.clone(), node });
            Ok(file)
        })
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.change(Call::Rename, |state| {
            let (from_name, to_name) = (normal(from), normal(to));
            if let Some(recorder) = &mut state.recorder {
                recorder.learn_if_there(&*self.inner, &from_name)?;
                recorder.learn_if_there(&*self.inner, &to_name)?;
            }
            let freed = if from_name == to_name { 0 } else { state.freed_by(&*self.inner, to) };
            self.inner.rename(from, to)?;
            state.give_back(freed);
            if let Some(recorder) = &mut state.recorder {
                recorder.rename(from_name, to_name);
            }
            Ok(())
        })
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.change(Call::Remove, |state| {
            let name = normal(path);
            if let Some(recorder) = &mut state.recorder {
                recorder.learn_if_there(&*self.inner, &name)?;
            }
            let freed = state.freed_by(&*self.inner, path);
            self.inner.remove(path)?;
            state.give_back(freed);
            if let Some(recorder) = &mut state.recorder {
                recorder.remove(name);
            }
            Ok(())
        })
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.change(Call::CreateDir, |state| {
            let mut made = Vec::new();
            if state.recorder.is_some() {
                let name = normal(path);
                for dir in name.ancestors().filter(|dir| !dir.as_os_str().is_empty()) {
                    if !self.inner.exists(dir)? {
                        made.push(dir.to_path_buf());
                    }
                }
            }
            self.inner.create_dir_all(path)?;
            if let Some(recorder) = &mut state.recorder {
                recorder.saw_dir(normal(path));
                // Parents come first, as the system makes them.
                made.into_iter().rev().for_each(|dir| recorder.create_dir(dir));
            }
            Ok(())
        })
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.change(Call::SyncDir, |state| {
            self.inner.sync_dir(path)?;
            if let Some(recorder) = &mut state.recorder {
                recorder.dir_synced(&normal(path));
            }
            Ok(())
        })
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        pass(&self.state, Call::Look)?;
        self.inner.list(path)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        pass(&self.state, Call::Look)?;
        self.inner.exists(path)
    }

    fn try_lock(&self, path: &Path, mode: LockMode, create: bool) -> io::Result<Option<Box<dyn VfsLock>>> {
        self.change(Call::Lock, |state| {
            let new = create && !self.inner.exists(path)?;
            let lock = self.inner.try_lock(path, mode, create)?;
            if let Some(recorder) = &mut state.recorder {
                let name = normal(path);
                if new {
                    recorder.create(name);
                } else {
                    recorder.learn(&*self.inner, &name)?;
                }
            }
            Ok(lock)
        })
    }
}

fn to_u64(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}
