//! A file system in memory, for stores without a disk and for tests.
//!
//! Invariants:
//! - An open file stays usable after its name was removed or given to another file, as on Unix.
//! - A mapping shows the bytes at the moment it was made, for ever: a later write copies the file
//!   first, if a mapping of it still lives. Sealed files are not written, so nothing is copied.
//! - File contents start at a multiple of 16, as mapped pages do, so archived records are aligned.
//! - Names and contents are two locks, always taken in that order.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use rkyv::util::AlignedVec;

use super::vfs::{LockMode, Mapping, OpenMode, Vfs, VfsFile, VfsLock};

type Bytes = AlignedVec<16>;

/// A file system in memory. Clones share the files; [`MemoryVfs::new`] makes an empty one.
///
/// Syncs do nothing: what is written is as durable as it will ever be. Files cost their size, and
/// up to twice that while they grow.
#[derive(Clone, Debug, Default)]
pub struct MemoryVfs(Arc<RwLock<Names>>);

#[derive(Debug, Default)]
struct Names {
    files: BTreeMap<PathBuf, Arc<Node>>,
    /// Without the roots, which always exist.
    dirs: BTreeSet<PathBuf>,
}

/// What a name leads to, as an inode does.
#[derive(Default)]
struct Node {
    bytes: RwLock<Arc<Bytes>>,
    locks: Mutex<Locks>,
}

/// Contents can be what users typed: their length alone is shown.
impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Node({} bytes, {:?})", self.bytes.read().len(), self.locks.lock())
    }
}

#[derive(Debug, Default)]
struct Locks {
    shared: usize,
    exclusive: bool,
}

#[derive(Debug)]
struct MemoryFile {
    node: Arc<Node>,
    writable: bool,
}

#[derive(Debug)]
struct MemoryLock {
    node: Arc<Node>,
    mode: LockMode,
}

impl MemoryVfs {
    /// Creates an empty file system.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the sum of all file sizes in bytes.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.0.read().files.values().map(|node| to_u64(node.bytes.read().len())).sum()
    }

    /// Returns the paths of all files, sorted.
    #[must_use]
    pub fn paths(&self) -> Vec<PathBuf> {
        self.0.read().files.keys().cloned().collect()
    }

    /// Copies everything into a file system of its own, without locks.
    #[must_use]
    pub fn fork(&self) -> Self {
        let names = self.0.read();
        let copy = |node: &Arc<Node>| {
            // The two share the bytes until one of them writes.
            Arc::new(Node { bytes: RwLock::new(node.bytes.read().clone()), locks: Mutex::default() })
        };
        let files = names.files.iter().map(|(path, node)| (path.clone(), copy(node))).collect();
        Self(Arc::new(RwLock::new(Names { files, dirs: names.dirs.clone() })))
    }
}

impl Names {
    fn is_dir(&self, path: &Path) -> bool {
        path.parent().is_none() || path.as_os_str().is_empty() || self.dirs.contains(path)
    }

    fn parent_exists(&self, path: &Path) -> io::Result<()> {
        let parent = path.parent().unwrap_or(path);
        if self.is_dir(parent) { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    fn node(&self, path: &Path) -> io::Result<&Arc<Node>> {
        if self.is_dir(path) {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        self.files.get(path).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn create(&mut self, path: PathBuf) -> io::Result<Arc<Node>> {
        self.parent_exists(&path)?;
        if self.is_dir(&path) || self.files.contains_key(&path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let node = Arc::new(Node::default());
        self.files.insert(path, node.clone());
        Ok(node)
    }
}

impl VfsFile for MemoryFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let bytes = self.node.bytes.read();
        let rest = usize::try_from(offset).ok().and_then(|start| bytes.get(start..)).unwrap_or_default();
        let n = rest.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..n), rest.get(..n)) {
            to.copy_from_slice(from);
        }
        Ok(n)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.check_writable()?;
        if bytes.is_empty() {
            return Ok(());
        }
        let start = to_usize(offset)?;
        let end = start.checked_add(bytes.len()).ok_or(io::ErrorKind::FileTooLarge)?;
        let mut held = self.node.bytes.write();
        let held = Arc::make_mut(&mut held);
        if end > held.len() {
            resize(held, end)?;
        }
        held.get_mut(start..end).ok_or(io::ErrorKind::InvalidInput)?.copy_from_slice(bytes);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn size(&self) -> io::Result<u64> {
        Ok(to_u64(self.node.bytes.read().len()))
    }

    fn set_size(&self, bytes: u64) -> io::Result<()> {
        self.check_writable()?;
        let bytes = to_usize(bytes)?;
        let mut held = self.node.bytes.write();
        resize(Arc::make_mut(&mut held), bytes)
    }

    fn map(&self) -> io::Result<Mapping> {
        struct Shared(Arc<Bytes>);
        impl std::ops::Deref for Shared {
            type Target = [u8];
            fn deref(&self) -> &[u8] {
                &self.0
            }
        }
        Ok(Mapping::new(Shared(self.node.bytes.read().clone())))
    }
}

impl MemoryFile {
    fn check_writable(&self) -> io::Result<()> {
        if self.writable { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) }
    }
}

impl Vfs for MemoryVfs {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn VfsFile>> {
        let path = normal(path);
        let node = match mode {
            OpenMode::Create => self.0.write().create(path)?,
            OpenMode::Read | OpenMode::Write => self.0.read().node(&path)?.clone(),
        };
        Ok(Arc::new(MemoryFile { node, writable: mode != OpenMode::Read }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (from, to) = (normal(from), normal(to));
        let mut names = self.0.write();
        let node = names.node(&from)?.clone();
        names.parent_exists(&to)?;
        if names.is_dir(&to) {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        names.files.remove(&from);
        names.files.insert(to, node);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let path = normal(path);
        let mut names = self.0.write();
        names.node(&path)?;
        names.files.remove(&path);
        Ok(())
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        let path = normal(path);
        let mut names = self.0.write();
        if path.ancestors().any(|dir| names.files.contains_key(dir)) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        for dir in path.ancestors() {
            if !names.is_dir(dir) {
                names.dirs.insert(dir.to_path_buf());
            }
        }
        Ok(())
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let path = normal(path);
        let names = self.0.read();
        if names.is_dir(&path) {
            Ok(())
        } else if names.files.contains_key(&path) {
            Err(io::ErrorKind::NotADirectory.into())
        } else {
            Err(io::ErrorKind::NotFound.into())
        }
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let path = normal(path);
        let names = self.0.read();
        if names.files.contains_key(&path) {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        let mut found: Vec<String> = names
            .files
            .range(path.clone()..)
            .take_while(|(file, _)| file.starts_with(&path))
            .filter(|(file, _)| file.parent() == Some(&path))
            .filter_map(|(file, _)| file.file_name()?.to_str().map(str::to_owned))
            .collect();
        found.sort_unstable();
        Ok(found)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        let path = normal(path);
        let names = self.0.read();
        Ok(names.is_dir(&path) || names.files.contains_key(&path))
    }

    fn try_lock(&self, path: &Path, mode: LockMode, create: bool) -> io::Result<Option<Box<dyn VfsLock>>> {
        let path = normal(path);
        let mut names = self.0.write();
        let node = match names.node(&path) {
            Err(e) if create && e.kind() == io::ErrorKind::NotFound => names.create(path)?,
            other => other?.clone(),
        };
        let mut locks = node.locks.lock();
        match mode {
            _ if locks.exclusive => return Ok(None),
            LockMode::Shared => locks.shared = locks.shared.saturating_add(1),
            LockMode::Exclusive if locks.shared > 0 => return Ok(None),
            LockMode::Exclusive => locks.exclusive = true,
        }
        drop(locks);
        Ok(Some(Box::new(MemoryLock { node, mode })))
    }
}

impl VfsLock for MemoryLock {}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        let mut locks = self.node.locks.lock();
        match self.mode {
            LockMode::Shared => locks.shared = locks.shared.saturating_sub(1),
            LockMode::Exclusive => locks.exclusive = false,
        }
    }
}

/// Spells a path in one way: without `.`, and with `..` taken off again.
pub(super) fn normal(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

/// Cuts, or grows with zeros.
fn resize(bytes: &mut Bytes, len: usize) -> io::Result<()> {
    if len > bytes.capacity() {
        // The aligned vector would end the process where memory is not to be had, so ask before.
        Vec::<u8>::new().try_reserve_exact(len.max(bytes.capacity().saturating_mul(2)))?;
    }
    bytes.resize(len, 0);
    Ok(())
}

fn to_usize(bytes: u64) -> io::Result<usize> {
    usize::try_from(bytes).map_err(|_| io::ErrorKind::FileTooLarge.into())
}

fn to_u64(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_keeps_its_bytes() {
        let vfs = MemoryVfs::new();
        let file = vfs.open(Path::new("a"), OpenMode::Create).unwrap();
        file.write_at(b"before", 0).unwrap();
        let mapping = file.map().unwrap();
        file.write_at(b"behind", 0).unwrap();
        file.set_size(2).unwrap();
        assert_eq!(&*mapping, b"before");
        assert_eq!(&*file.map().unwrap(), b"be");
        assert_eq!(mapping.as_ptr().align_offset(16), 0);
    }

    #[test]
    fn a_fork_goes_its_own_way() {
        let vfs = MemoryVfs::new();
        let file = vfs.open(Path::new("/a"), OpenMode::Create).unwrap();
        file.write_at(b"1", 0).unwrap();
        let _held = vfs.try_lock(Path::new("/a"), LockMode::Exclusive, false).unwrap().unwrap();
        let fork = vfs.fork();
        file.write_at(b"2", 0).unwrap();
        assert_eq!(&*fork.open(Path::new("/a"), OpenMode::Read).unwrap().map().unwrap(), b"1");
        assert!(fork.try_lock(Path::new("/a"), LockMode::Exclusive, false).unwrap().is_some());
        assert_eq!(vfs.total_bytes(), 1);
    }

    #[test]
    fn a_file_too_large_is_an_error() {
        let vfs = MemoryVfs::new();
        let file = vfs.open(Path::new("a"), OpenMode::Create).unwrap();
        assert_eq!(file.write_at(b"x", u64::MAX).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(file.set_size(u64::MAX).unwrap_err().kind(), io::ErrorKind::OutOfMemory);
        assert_eq!(file.set_size(1 << 62).unwrap_err().kind(), io::ErrorKind::OutOfMemory);
        assert_eq!(file.size().unwrap(), 0);
    }
}
