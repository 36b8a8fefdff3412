//! What a power cut can leave: the record behind [`FaultyVfs::crash`](super::FaultyVfs::crash).
//!
//! Invariants, beside those of `node.rs`:
//! - The durable names, with all pending changes applied, are the names that it holds, as far as
//!   they were learned. What was never learned is durable and unchanged.
//! - An image is a function of the record and the seed alone. No clock, no other randomness.
//! - A durable file is in every image under its durable name with its durable bytes, unless a
//!   pending change concerns that name or those bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use super::super::memory::MemoryVfs;
use super::super::vfs::{OpenMode, Vfs};
use super::node::{Node, NodeId};
use super::random::SplitMix64;

/// All changes since the last syncs.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    nodes: BTreeMap<NodeId, Node>,
    /// As the wrapped file system holds them now.
    names: BTreeMap<PathBuf, NodeId>,
    durable: BTreeMap<PathBuf, NodeId>,
    pending: Vec<NameChange>,
    /// Directories that calls concerned, whose unlearned files belong into an image.
    dirs: BTreeSet<PathBuf>,
}

#[derive(Clone, Debug)]
enum NameChange {
    Create { name: PathBuf, node: NodeId },
    Rename { from: PathBuf, to: PathBuf, node: NodeId },
    Remove { name: PathBuf },
    CreateDir { name: PathBuf },
}

impl NameChange {
    /// The names it concerns; of a rename, the target comes first.
    fn names(&self) -> (&Path, Option<&Path>) {
        match self {
            Self::Create { name, .. } | Self::Remove { name } | Self::CreateDir { name } => (name, None),
            Self::Rename { from, to, .. } => (to, Some(from)),
        }
    }

    /// The directory whose sync makes it durable; of a rename, that of the target.
    fn dir(&self) -> &Path {
        let (name, _) = self.names();
        name.parent().unwrap_or(name)
    }

    fn apply(&self, names: &mut BTreeMap<PathBuf, NodeId>) {
        match self {
            Self::Create { name, node } => {
                names.insert(name.clone(), *node);
            }
            Self::Rename { from, to, node } => {
                names.remove(from);
                names.insert(to.clone(), *node);
            }
            Self::Remove { name } => {
                names.remove(name);
            }
            Self::CreateDir { .. } => {}
        }
    }
}

impl Recorder {
    /// Notes that a file was created.
    pub(super) fn create(&mut self, name: PathBuf) -> NodeId {
        let node = self.add(Node::default());
        self.change(NameChange::Create { name, node });
        node
    }

    /// Returns the node that a name leads to; reads the file where it was not met before.
    pub(super) fn learn(&mut self, inner: &dyn Vfs, name: &Path) -> io::Result<NodeId> {
        if let Some(node) = self.names.get(name) {
            return Ok(*node);
        }
        let durable = read_all(inner, name)?;
        let node = self.add(Node::durable(durable));
        self.names.insert(name.to_path_buf(), node);
        self.durable.insert(name.to_path_buf(), node);
        self.saw_dir(name.parent().unwrap_or(name).to_path_buf());
        Ok(node)
    }

    /// As [`Self::learn`]; fine when there is no such file.
    pub(super) fn learn_if_there(&mut self, inner: &dyn Vfs, name: &Path) -> io::Result<()> {
        match self.learn(inner, name) {
            Err(e) if !matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::IsADirectory) => Err(e),
            _ => Ok(()),
        }
    }

    pub(super) fn rename(&mut self, from: PathBuf, to: PathBuf) {
        if let Some(node) = self.names.get(&from).copied().filter(|_| from != to) {
            self.change(NameChange::Rename { from, to, node });
        }
    }

    pub(super) fn remove(&mut self, name: PathBuf) {
        self.change(NameChange::Remove { name });
    }

    pub(super) fn create_dir(&mut self, name: PathBuf) {
        self.saw_dir(name.clone());
        self.change(NameChange::CreateDir { name });
    }

    pub(super) fn saw_dir(&mut self, dir: PathBuf) {
        self.dirs.insert(dir);
    }

    pub(super) fn dir_synced(&mut self, dir: &Path) {
        let (synced, pending) = std::mem::take(&mut self.pending).into_iter().partition(|c| c.dir() == dir);
        let synced: Vec<NameChange> = synced;
        self.pending = pending;
        for change in synced {
            change.apply(&mut self.durable);
        }
        self.saw_dir(dir.to_path_buf());
    }

    /// Returns what is known of a file's contents.
    pub(super) fn node(&mut self, node: NodeId) -> Option<&mut Node> {
        self.nodes.get_mut(&node)
    }

    /// Builds the image of one power cut.
    pub(super) fn crash(&self, inner: &dyn Vfs, seed: u64) -> io::Result<MemoryVfs> {
        let mut random = SplitMix64(seed);
        let kept = self.names_kept(&mut random);
        let mut names = self.durable.clone();
        let mut lost_dirs = BTreeSet::new();
        for (change, kept) in self.pending.iter().zip(&kept) {
            match change {
                NameChange::CreateDir { name } if !kept => {
                    lost_dirs.insert(name.as_path());
                }
                change if *kept => change.apply(&mut names),
                _ => {}
            }
        }
        let is_lost = |path: &Path| path.ancestors().any(|dir| lost_dirs.contains(dir));

        let image = MemoryVfs::new();
        for dir in self.dirs.iter().filter(|dir| !is_lost(dir)) {
            image.create_dir_all(dir)?;
        }
        for (name, node) in names.iter().filter(|(name, _)| !is_lost(name)) {
            let bytes = self.nodes.get(node).map(|node| node.crash(&mut random)).unwrap_or_default();
            put(&image, name, &bytes)?;
        }
        for dir in self.dirs.iter().filter(|dir| !is_lost(dir)) {
            for file in inner.list(dir)? {
                let name = dir.join(file);
                if !self.names.contains_key(&name) && !image.exists(&name)? {
                    put(&image, &name, &read_all(inner, &name)?)?;
                }
            }
        }
        Ok(image)
    }

    fn add(&mut self, node: Node) -> NodeId {
        let id = NodeId(self.nodes.len());
        self.nodes.insert(id, node);
        id
    }

    fn change(&mut self, change: NameChange) {
        change.apply(&mut self.names);
        self.saw_dir(change.dir().to_path_buf());
        self.pending.push(change);
    }

    /// Chooses which pending changes of names a power cut keeps.
    fn names_kept(&self, random: &mut SplitMix64) -> Vec<bool> {
        let n = self.pending.len();
        match random.below(5) {
            0 => vec![false; n],
            1 => vec![true; n],
            // A journal per directory: each is cut somewhere.
            2 | 3 => {
                let mut left: BTreeMap<&Path, usize> = BTreeMap::new();
                for change in &self.pending {
                    let count = left.entry(change.dir()).or_default();
                    *count = count.saturating_add(1);
                }
                for count in left.values_mut() {
                    *count = random.below(count.saturating_add(1));
                }
                let mut take = |dir| {
                    let left = left.get_mut(dir).filter(|left| **left > 0);
                    left.map(|left| *left = left.saturating_sub(1)).is_some()
                };
                self.pending.iter().map(|change| take(change.dir())).collect()
            }
            // No journal: each on its own, but a kept change needs those of its names before it.
            _ => {
                let mut needed = BTreeSet::new();
                let mut kept: Vec<bool> = Vec::with_capacity(n);
                for change in self.pending.iter().rev() {
                    let (name, other) = change.names();
                    let is_needed =
                        needed.contains(name) || other.is_some_and(|other| needed.contains(other));
                    let keep = random.coin() || is_needed;
                    if keep {
                        needed.insert(name);
                        needed.extend(other);
                    }
                    kept.push(keep);
                }
                kept.reverse();
                kept
            }
        }
    }
}

fn read_all(vfs: &dyn Vfs, name: &Path) -> io::Result<Vec<u8>> {
    let file = vfs.open(name, OpenMode::Read)?;
    let mut bytes = vec![0; usize::try_from(file.size()?).map_err(|_| io::ErrorKind::FileTooLarge)?];
    let n = file.read_at(&mut bytes, 0)?;
    bytes.truncate(n);
    Ok(bytes)
}

fn put(image: &MemoryVfs, name: &Path, bytes: &[u8]) -> io::Result<()> {
    image.create_dir_all(name.parent().unwrap_or(name))?;
    image.open(name, OpenMode::Create)?.write_at(bytes, 0)
}
