//! The seam between the engine and its files: a real, an in-memory and a faulty implementation.
//!
//! Every byte the engine reads or writes goes through [`Vfs`] and [`VfsFile`], so that tests can
//! count calls, fail them, and rebuild what a power cut would leave.

use std::fmt;
use std::io;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// For reading; the file must exist.
    Read,
    /// For reading and writing; the file must exist.
    Write,
    /// For reading and writing; the file must not exist. Mode 0600 where the system knows modes.
    Create,
}

/// Which lock is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
    /// Held by many at once.
    Shared,
    /// Held by one alone.
    Exclusive,
}

/// An immutable view of a whole file: a memory map, or a copy where maps are not to be had.
#[derive(Clone)]
pub struct Mapping(Arc<dyn Deref<Target = [u8]> + Send + Sync>);

impl Mapping {
    /// Wraps bytes that never change while the mapping lives.
    pub fn new(bytes: impl Deref<Target = [u8]> + Send + Sync + 'static) -> Self {
        Self(Arc::new(bytes))
    }
}

impl Deref for Mapping {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mapping({} bytes)", self.len())
    }
}

/// An open file. All methods take `&self`: positioned reads and writes share no cursor.
///
/// A file that was removed or replaced stays usable through its handle; on Windows removing and
/// replacing may fail instead. A call that a signal interrupts is taken up again by itself.
pub trait VfsFile: Send + Sync + fmt::Debug {
    /// Reads up to `buffer.len()` bytes at `offset`; fewer only at the end of the file.
    ///
    /// # Errors
    /// What the operating system reports.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes all bytes at `offset`, growing the file where needed. On error any part may be written.
    ///
    /// # Errors
    /// What the operating system reports.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Makes everything written durable (`fdatasync`), the length included; the name is not.
    ///
    /// Not to be tried again after a failure: a later success would not cover what failed.
    ///
    /// # Errors
    /// What the operating system reports; what is durable is then unknown.
    fn sync(&self) -> io::Result<()>;

    /// Returns the length in bytes.
    ///
    /// # Errors
    /// What the operating system reports.
    fn size(&self) -> io::Result<u64>;

    /// Cuts or grows the file.
    ///
    /// # Errors
    /// What the operating system reports.
    fn set_size(&self, bytes: u64) -> io::Result<()>;

    /// Maps the whole file for reading. Only for files that are never shortened or rewritten.
    ///
    /// # Errors
    /// What the operating system reports.
    fn map(&self) -> io::Result<Mapping>;
}

/// A lock that is held until it is dropped.
pub trait VfsLock: Send + Sync + fmt::Debug {}

/// A file system.
///
/// A name that was created, given, or taken is durable after [`Vfs::sync_dir`] of its directory.
pub trait Vfs: Send + Sync + fmt::Debug {
    /// Opens a file. The directory must exist.
    ///
    /// # Errors
    /// What the operating system reports.
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn VfsFile>>;

    /// Renames a file, replacing the target. Durable after [`Vfs::sync_dir`].
    ///
    /// # Errors
    /// What the operating system reports.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// What the operating system reports.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Creates a directory and its parents; fine when it exists. Durable after [`Vfs::sync_dir`] of
    /// the parent of each directory that was created.
    ///
    /// # Errors
    /// What the operating system reports.
    fn create_dir_all(&self, path: &Path) -> io::Result<()>;

    /// Makes the names in a directory durable.
    ///
    /// # Errors
    /// What the operating system reports.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;

    /// Lists the names of the files in a directory, sorted by their bytes; empty when it does not
    /// exist. Directories, and files whose names are not UTF-8, are left out.
    ///
    /// # Errors
    /// What the operating system reports.
    fn list(&self, path: &Path) -> io::Result<Vec<String>>;

    /// Reports whether a file or directory exists.
    ///
    /// # Errors
    /// What the operating system reports.
    fn exists(&self, path: &Path) -> io::Result<bool>;

    /// Takes a lock on a file without waiting; `None` when another holder excludes it.
    ///
    /// The file is created when it is missing and `create` is set; without it a missing file is
    /// an error of kind `NotFound`.
    ///
    /// # Errors
    /// What the operating system reports.
    fn try_lock(&self, path: &Path, mode: LockMode, create: bool) -> io::Result<Option<Box<dyn VfsLock>>>;
}
