//! Counts the calls that reach a file system.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::vfs::{LockMode, Mapping, OpenMode, Vfs, VfsFile, VfsLock};

/// What was asked of a [`CountingVfs`], up to one moment. Failed calls count as well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Files opened or created.
    pub opens: u64,
    /// Positioned reads.
    pub reads: u64,
    /// Bytes that the reads returned.
    pub read_bytes: u64,
    /// Positioned writes.
    pub writes: u64,
    /// Bytes handed to the writes.
    pub written_bytes: u64,
    /// Syncs of files.
    pub syncs: u64,
    /// Syncs of directories.
    pub dir_syncs: u64,
    /// Changes of a file's size.
    pub resizes: u64,
    /// Renames, removals and directories made.
    pub name_changes: u64,
    /// Maps. What is read through them is not counted.
    pub maps: u64,
    /// Bytes mapped.
    pub mapped_bytes: u64,
}

impl Counters {
    /// Returns what came since an earlier moment.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            opens: self.opens.wrapping_sub(earlier.opens),
            reads: self.reads.wrapping_sub(earlier.reads),
            read_bytes: self.read_bytes.wrapping_sub(earlier.read_bytes),
            writes: self.writes.wrapping_sub(earlier.writes),
            written_bytes: self.written_bytes.wrapping_sub(earlier.written_bytes),
            syncs: self.syncs.wrapping_sub(earlier.syncs),
            dir_syncs: self.dir_syncs.wrapping_sub(earlier.dir_syncs),
            resizes: self.resizes.wrapping_sub(earlier.resizes),
            name_changes: self.name_changes.wrapping_sub(earlier.name_changes),
            maps: self.maps.wrapping_sub(earlier.maps),
            mapped_bytes: self.mapped_bytes.wrapping_sub(earlier.mapped_bytes),
        }
    }
}

#[derive(Debug, Default)]
struct Tally {
    opens: AtomicU64,
    reads: AtomicU64,
    read_bytes: AtomicU64,
    writes: AtomicU64,
    written_bytes: AtomicU64,
    syncs: AtomicU64,
    dir_syncs: AtomicU64,
    resizes: AtomicU64,
    name_changes: AtomicU64,
    maps: AtomicU64,
    mapped_bytes: AtomicU64,
}

/// A file system that counts what passes through it. Clones count together.
#[derive(Clone, Debug)]
pub struct CountingVfs {
    inner: Arc<dyn Vfs>,
    tally: Arc<Tally>,
}

#[derive(Debug)]
struct CountingFile {
    inner: Arc<dyn VfsFile>,
    tally: Arc<Tally>,
}

impl CountingVfs {
    /// Wraps a file system; all counters start at zero.
    #[must_use]
    pub fn new(inner: Arc<dyn Vfs>) -> Self {
        Self { inner, tally: Arc::default() }
    }

    /// Returns the counters. Calls of other threads that are under way may be counted or not.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let tally = &self.tally;
        Counters {
            opens: get(&tally.opens),
            reads: get(&tally.reads),
            read_bytes: get(&tally.read_bytes),
            writes: get(&tally.writes),
            written_bytes: get(&tally.written_bytes),
            syncs: get(&tally.syncs),
            dir_syncs: get(&tally.dir_syncs),
            resizes: get(&tally.resizes),
            name_changes: get(&tally.name_changes),
            maps: get(&tally.maps),
            mapped_bytes: get(&tally.mapped_bytes),
        }
    }
}

fn add(counter: &AtomicU64, n: usize) {
    counter.fetch_add(u64::try_from(n).unwrap_or(u64::MAX), Ordering::Relaxed);
}

impl VfsFile for CountingFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        add(&self.tally.reads, 1);
        let n = self.inner.read_at(buffer, offset)?;
        add(&self.tally.read_bytes, n);
        Ok(n)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        add(&self.tally.writes, 1);
        add(&self.tally.written_bytes, bytes.len());
        self.inner.write_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        add(&self.tally.syncs, 1);
        self.inner.sync()
    }

    fn size(&self) -> io::Result<u64> {
        self.inner.size()
    }

    fn set_size(&self, bytes: u64) -> io::Result<()> {
        add(&self.tally.resizes, 1);
        self.inner.set_size(bytes)
    }

    fn map(&self) -> io::Result<Mapping> {
        add(&self.tally.maps, 1);
        let mapping = self.inner.map()?;
        add(&self.tally.mapped_bytes, mapping.len());
        Ok(mapping)
    }
}

impl Vfs for CountingVfs {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn VfsFile>> {
        add(&self.tally.opens, 1);
        let inner = self.inner.open(path, mode)?;
        Ok(Arc::new(CountingFile { inner, tally: self.tally.clone() }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        add(&self.tally.name_changes, 1);
        self.inner.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        add(&self.tally.name_changes, 1);
        self.inner.remove(path)
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        add(&self.tally.name_changes, 1);
        self.inner.create_dir_all(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        add(&self.tally.dir_syncs, 1);
        self.inner.sync_dir(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.inner.list(path)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.inner.exists(path)
    }

    fn try_lock(&self, path: &Path, mode: LockMode, create: bool) -> io::Result<Option<Box<dyn VfsLock>>> {
        self.inner.try_lock(path, mode, create)
    }
}

#[cfg(test)]
mod tests {
    use super::super::memory::MemoryVfs;
    use super::*;

    #[test]
    fn calls_are_counted() {
        let vfs = CountingVfs::new(Arc::new(MemoryVfs::new()));
        let file = vfs.open(Path::new("a"), OpenMode::Create).unwrap();
        file.write_at(b"12345", 0).unwrap();
        let before = vfs.counters();
        file.read_at(&mut [0; 8], 2).unwrap();
        file.sync().unwrap();
        file.map().unwrap();
        vfs.rename(Path::new("a"), Path::new("b")).unwrap();
        let expected = Counters {
            reads: 1,
            read_bytes: 3,
            syncs: 1,
            maps: 1,
            mapped_bytes: 5,
            name_changes: 1,
            ..Counters::default()
        };
        assert_eq!(vfs.counters().since(&before), expected);
        assert_eq!((before.opens, before.writes, before.written_bytes), (1, 1, 5));
    }
}
