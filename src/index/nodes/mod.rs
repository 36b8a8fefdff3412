//! Node files: where the trees of the order lie, and the root that says which nodes count.
//!
//! Invariants:
//! - Everything is derived. Damage never keeps a store from opening: there is no root then, and a reason.
//! - A root is written after a sync of every node that it needs, into the slot that does not hold the root before.
//!   At every moment one of the two is whole, and after [`NodeFiles::publish`] returned the new one is durable.
//! - The highest-numbered file with a root counts. A file without a root is worth nothing, so compaction fills the
//!   next file at leisure, and older files lose their names only once the next one has a durable root and name.
//! - A number is never given twice while a name of it is seen, nor is a file returned to in which a root was tried.
//! - After a failed sync a file takes nothing more: a later sync would not cover what failed.
//! - Of several processes one writes. A reading one keeps the file that it opened, whatever becomes of its name.
//!
//! Byte layout: `codec/nodes.rs`.

mod file;
mod look;
mod name;
#[cfg(test)]
mod tests;
mod trouble;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::codec::{NODES_START, NodesFault, NodesHead, ROOT_BYTES_MAX, ROOT_SLOTS, RootSlot};
use crate::contract::{Code, Error, ErrorKind, Result};
use crate::io::{OpenMode, Vfs};
use crate::order::tree::{NodeAt, Sink, Source};

use file::NodeFile;
use look::{Looked, Rooted, look};
use name::{node_file, number_of};
use trouble::io_error;

/// Dead bytes that never make a rewrite worth while.
const DEAD_BYTES_MIN: u64 = 4 << 20;

/// How often a reading process looks again when a writer may have come between.
const LOOKS: usize = 4;

/// What a process may do to the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeAccess {
    /// Everything; one process at a time.
    Write,
    /// Reading alone.
    Read,
}

/// What was found at opening.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodesFound {
    /// A root; the newest one that was published, or the one before if the newest was damaged.
    Root,
    /// No root was ever published, or the files were deleted.
    Nothing,
    /// There are files, and none can be used.
    Unusable(NodesFault),
}

/// The node files of a store.
pub struct NodeFiles {
    vfs: Arc<dyn Vfs>,
    dir: PathBuf,
    store: [u8; 16],
    access: NodeAccess,
    state: Mutex<State>,
    /// Held while a root is published, so that two of them do not take the same slot.
    publishing: Mutex<()>,
}

#[derive(Default)]
struct State {
    /// Files that nodes are read from, by number.
    files: BTreeMap<u32, Arc<NodeFile>>,
    /// Where new nodes go; always there for a writer.
    current: Option<Current>,
    /// Where they went before the next file was begun, while that has no root yet.
    before: Option<Current>,
    root: Option<Vec<u8>>,
    /// The generation that was tried last.
    generation: u64,
    /// The highest number seen or given.
    number: u32,
    /// Whether there can be names of other files than the current one.
    stale: bool,
}

/// A file that takes nodes.
#[derive(Clone)]
struct Current {
    file: Arc<NodeFile>,
    /// Where the next root goes.
    slot: usize,
    /// Whether a power cut leaves the name.
    named: bool,
    /// Whether a sync failed, so that nothing more can be trusted to it.
    spoiled: bool,
    /// Whether a root may stand in it.
    rooted: bool,
}

/// Keeps the files readable that were in use when it was made; clones share it.
///
/// Whoever holds a tree's root holds one of these beside it.
#[derive(Clone)]
pub struct HeldFiles {
    files: Arc<[Arc<NodeFile>]>,
}

/// Takes nodes for the current file.
#[derive(Debug)]
pub struct NodeSink<'a> {
    files: &'a NodeFiles,
}

impl NodeFiles {
    /// Opens the node files of a directory and finds the root.
    ///
    /// A writer makes the directory where it is missing, goes on in the file of the root, and removes all others;
    /// where no root can be used it starts a new file. A reader changes nothing and holds the file of the root.
    ///
    /// Costs two reads, for a writer two syncs more where it removes or makes files.
    ///
    /// # Errors
    /// `Io`: the system refuses a call.
    pub fn open(
        vfs: Arc<dyn Vfs>,
        dir: &Path,
        store: [u8; 16],
        access: NodeAccess,
    ) -> Result<(Self, NodesFound)> {
        if access == NodeAccess::Write {
            make_dir(&*vfs, dir)?;
        }
        let looked = match access {
            NodeAccess::Write => look(&*vfs, dir, store, OpenMode::Write)?,
            NodeAccess::Read => look_twice(&*vfs, dir, store)?,
        };
        let found = match (&looked.rooted, looked.fault) {
            (Some(_), _) => NodesFound::Root,
            (None, Some(fault)) => NodesFound::Unusable(fault),
            (None, None) => NodesFound::Nothing,
        };
        let state = Mutex::default();
        let files = Self { vfs, dir: dir.to_path_buf(), store, access, state, publishing: Mutex::default() };
        files.take_up(looked)?;
        Ok((files, found))
    }

    /// Returns the root that was found or published last.
    #[must_use]
    pub fn root(&self) -> Option<Vec<u8>> {
        self.state.lock().root.clone()
    }

    /// Returns where new nodes go. They can be read at once; [`NodeSink::finish`] writes them.
    pub fn sink(&self) -> NodeSink<'_> {
        NodeSink { files: self }
    }

    /// Keeps the files readable that trees can have nodes in now. To be taken together with the trees' roots.
    #[must_use]
    pub fn hold(&self) -> HeldFiles {
        HeldFiles { files: self.state.lock().files.values().cloned().collect() }
    }

    /// Makes a root durable with all nodes that were appended before, and everything the current file holds.
    ///
    /// Once it returned, a power cut leaves this root; where it failed, this one or the one before. After a failed
    /// sync the file takes no more nodes, and the next root goes into the next file ([`Self::begin_next`]); after
    /// another failure the same call can be tried again. Older files that nobody holds are let go of.
    ///
    /// The root must need nodes of the current file alone.
    ///
    /// Costs two syncs, and one of the directory for the first root of a file.
    ///
    /// # Errors
    /// `Limit`: the root is longer than 3,900 bytes. `Io`: not published. `Poisoned`: the file is spoiled.
    /// `ReadOnly`.
    pub fn publish(&self, root: &[u8]) -> Result<()> {
        if root.len() > ROOT_BYTES_MAX {
            return Err(Error::invalid(Code::Limit, format!("a root is longer than {ROOT_BYTES_MAX} bytes")));
        }
        let _one_at_a_time = self.publishing.lock();
        let current = self.trusted()?;
        let file = &current.file;
        file.write()?;
        let end = file.end();
        self.sync(file)?;
        if !current.named {
            if let Err(e) = self.vfs.sync_dir(&self.dir) {
                self.spoil(file);
                return Err(io_error("sync the name of", &file.path, e));
            }
            self.change(file, |current| current.named = true);
        }
        let generation = {
            let mut state = self.state.lock();
            // From here on a root may stand in this file, and there is no way back to the one before.
            state.before = None;
            state.generation = state.generation.saturating_add(1);
            state.generation
        };
        self.change(file, |current| current.rooted = true);
        let at = ROOT_SLOTS.get(current.slot).copied().unwrap_or_default();
        let slot = file.head.slot_to_bytes(at, &RootSlot { generation, end, root: root.to_vec() });
        file.file.write_at(&slot.unwrap_or_default(), at).map_err(|e| io_error("write", &file.path, e))?;
        self.sync(file)?;
        self.change(file, |current| current.slot = 1 - current.slot);
        let mut state = self.state.lock();
        state.root = Some(root.to_vec());
        state.let_go();
        drop(state);
        self.remove_all_but(file.head.file);
        Ok(())
    }

    /// Starts the next file: new nodes and the next root go there.
    ///
    /// The caller stores all nodes of its trees anew, as `Tree::rewrite` does, and publishes. Until then a crash leaves the root
    /// before, and [`Self::abandon_next`] goes back.
    ///
    /// # Errors
    /// `Io`: the file is as before. `ReadOnly`. `Limit`: there is no number left.
    pub fn begin_next(&self) -> Result<()> {
        self.check_writes()?;
        let number = {
            let mut state = self.state.lock();
            state.number = state.number.checked_add(1).ok_or_else(|| {
                Error::invalid(Code::Limit, "no number is left for a node file").at_path(&self.dir)
            })?;
            state.number
        };
        let head = NodesHead { store: self.store, file: number };
        let path = self.dir.join(node_file(number));
        let file = self.vfs.open(&path, OpenMode::Create).map_err(|e| io_error("create", &path, e))?;
        file.write_at(&head.to_bytes(), 0).map_err(|e| io_error("write", &path, e))?;
        let file = Arc::new(NodeFile::new(head, &path, file, NODES_START));
        let next = Current { file: file.clone(), slot: 0, named: false, spoiled: false, rooted: false };
        let mut state = self.state.lock();
        state.files.insert(number, file);
        let last = state.current.replace(next);
        state.stale = true;
        if let Some(last) = last.filter(|last| last.rooted && !last.spoiled) {
            state.before = Some(last);
        }
        Ok(())
    }

    /// Goes back to the file before the next one was begun, unless publishing into the next one was tried: then the
    /// only way on is another [`Self::begin_next`].
    pub fn abandon_next(&self) {
        let mut state = self.state.lock();
        if let Some(before) = state.before.take() {
            state.current = Some(before);
        } else if let Some(current) = &mut state.current {
            current.spoiled = true;
        }
    }

    /// Returns how many bytes of the current file no tree needs, where its trees need `live` bytes of nodes.
    #[must_use]
    pub fn dead_bytes(&self, live: u64) -> u64 {
        self.node_bytes().saturating_sub(live)
    }

    /// Tells whether the trees are to be stored anew: more than half of the file and 4 MiB are dead, or the file
    /// takes nothing more.
    #[must_use]
    pub fn wants_rewrite(&self, live: u64) -> bool {
        let spoiled = self.state.lock().current.as_ref().is_some_and(|current| current.spoiled);
        spoiled || self.dead_bytes(live) > live.saturating_add(DEAD_BYTES_MIN)
    }

    fn node_bytes(&self) -> u64 {
        let state = self.state.lock();
        state.current.as_ref().map_or(0, |current| current.file.end().saturating_sub(NODES_START))
    }

    /// Goes on from what was found.
    fn take_up(&self, looked: Looked) -> Result<()> {
        let Looked { numbers, rooted, .. } = looked;
        let writes = self.access == NodeAccess::Write;
        let mut state = self.state.lock();
        state.number = numbers.last().copied().unwrap_or_default();
        let Some(Rooted { head, path, file, size, slot, root }) = rooted else {
            drop(state);
            if writes {
                self.begin_next()?;
                let number = self.state.lock().number;
                self.remove_all_but(number);
            }
            return Ok(());
        };
        let others = numbers.iter().any(|number| *number != head.file);
        if writes && others {
            // The process before may have been killed between writing this root and the sync that covers it.
            file.sync().map_err(|e| io_error("sync", &path, e))?;
            self.vfs.sync_dir(&self.dir).map_err(|e| io_error("sync the names of", &self.dir, e))?;
        }
        let file = Arc::new(NodeFile::new(head, &path, file, size));
        state.files.insert(head.file, file.clone());
        state.generation = root.generation;
        state.root = Some(root.root);
        if writes {
            let current = Current { file, slot: 1 - slot, named: false, spoiled: false, rooted: true };
            state.current = Some(current);
        }
        state.stale = others;
        drop(state);
        if writes {
            self.remove_all_but(head.file);
        }
        Ok(())
    }

    fn check_writes(&self) -> Result<()> {
        match self.access {
            NodeAccess::Write => Ok(()),
            NodeAccess::Read => {
                let message = "the node files were opened for reading";
                Err(Error::new(ErrorKind::ReadOnly, Code::Store, message).at_path(&self.dir))
            }
        }
    }

    /// Returns the current file, if it takes nodes.
    fn trusted(&self) -> Result<Current> {
        self.check_writes()?;
        match &self.state.lock().current {
            Some(current) if !current.spoiled => Ok(current.clone()),
            _ => {
                let message = "the node file takes nothing more: a sync of it failed, or it was given up";
                Err(Error::new(ErrorKind::Poisoned, Code::Store, message).at_path(&self.dir))
            }
        }
    }

    fn sync(&self, file: &Arc<NodeFile>) -> Result<()> {
        file.file.sync().map_err(|e| {
            self.spoil(file);
            io_error("sync", &file.path, e)
        })
    }

    fn spoil(&self, file: &Arc<NodeFile>) {
        self.change(file, |current| current.spoiled = true);
    }

    /// Changes what is known of a file, if nodes still go or went there.
    fn change(&self, file: &Arc<NodeFile>, change: impl Fn(&mut Current)) {
        let mut state = self.state.lock();
        let State { current, before, .. } = &mut *state;
        current.iter_mut().chain(before).filter(|held| Arc::ptr_eq(&held.file, file)).for_each(change);
    }

    /// Takes the names from all node files but one.
    ///
    /// A name that cannot be taken, as of a file that a reader on Windows has open, costs space until the next time.
    fn remove_all_but(&self, number: u32) {
        if !self.state.lock().stale {
            return;
        }
        let Ok(names) = self.vfs.list(&self.dir) else { return };
        let others = names.iter().filter_map(|name| number_of(name)).filter(|other| *other != number);
        let removed = others.map(|other| self.vfs.remove(&self.dir.join(node_file(other))));
        let left = removed.filter(io::Result::is_err).count();
        self.state.lock().stale = left > 0;
    }
}

impl State {
    /// Drops the files that nobody holds, except where new nodes go.
    fn let_go(&mut self) {
        let current = self.current.as_ref().map(|current| current.file.head.file);
        self.files.retain(|number, file| Some(*number) == current || Arc::strong_count(file) > 1);
    }
}

impl Source for NodeFiles {
    /// Reads a node: one read, of the file's length that the node takes.
    ///
    /// # Errors
    /// `Io`, and `Corrupt`: it is not what was stored there, or its file is not held any more.
    fn read(&self, at: NodeAt) -> Result<Vec<u8>> {
        let file = self.state.lock().files.get(&at.file).cloned();
        match file {
            Some(file) => file.read(at),
            None => {
                let path = self.dir.join(node_file(at.file));
                Err(Error::corrupt("a node lies in a file that is not held").at_path(path).at_byte(at.offset))
            }
        }
    }
}

impl Sink for NodeSink<'_> {
    fn append(&mut self, node: &[u8]) -> Result<NodeAt> {
        self.files.trusted()?.file.append(node)
    }
}

impl NodeSink<'_> {
    /// Writes what was appended, without a sync.
    ///
    /// # Errors
    /// `Io`: the nodes stay readable, and the next write tries again. `Poisoned`, `ReadOnly`.
    pub fn finish(self) -> Result<()> {
        self.files.trusted()?.file.write()
    }
}

/// Makes the directory, with a durable name.
fn make_dir(vfs: &dyn Vfs, dir: &Path) -> Result<()> {
    if vfs.exists(dir).map_err(|e| io_error("look for", dir, e))? {
        return Ok(());
    }
    let made = vfs.create_dir_all(dir).and_then(|()| match dir.parent() {
        Some(parent) => vfs.sync_dir(parent),
        None => Ok(()),
    });
    made.map_err(|e| io_error("make the directory of", dir, e))
}

/// Looks as a reader does: a file that a writer removes meanwhile is followed by another one with a root.
fn look_twice(vfs: &dyn Vfs, dir: &Path, store: [u8; 16]) -> Result<Looked> {
    let mut looked = look(vfs, dir, store, OpenMode::Read)?;
    for _ in 1..LOOKS {
        if looked.rooted.is_some() || looked.numbers.is_empty() {
            break;
        }
        looked = look(vfs, dir, store, OpenMode::Read)?;
    }
    Ok(looked)
}

impl fmt::Display for NodesFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => f.write_str("there is a root"),
            Self::Nothing => f.write_str("there is no root"),
            Self::Unusable(fault) => write!(f, "there is no root that can be used: {fault}"),
        }
    }
}

impl fmt::Debug for NodeFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeFiles")
            .field("dir", &self.dir)
            .field("access", &self.access)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for HeldFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldFiles").field("files", &self.files.len()).finish()
    }
}
