//! One file that is overwritten in place.
//!
//! Invariants:
//! - No sync is tried again: one that failed poisons the file, and all that share its [`Poison`], for every later write.
//! - A sync covers all writes that returned before it was asked for, also those of a process that was killed.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::blob::trouble::io_error;
use crate::codec::KeyFault;
use crate::contract::{Code, Error, ErrorKind, Result};
use crate::io::{OpenMode, Vfs, VfsFile};

/// What a process may do to the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Everything; one process at a time.
    Write,
    /// Reading alone.
    Read,
}

/// Set once a sync failed; shared by files that are trusted together.
#[derive(Clone, Debug, Default)]
pub struct Poison(Arc<AtomicBool>);

impl Poison {
    /// Refuses writes from now on.
    pub fn set(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    fn check(&self, path: &Path) -> Result<()> {
        if !self.0.load(Ordering::SeqCst) {
            return Ok(());
        }
        let message = "a sync failed before: nothing more is written until the store is opened again";
        Err(Error::new(ErrorKind::Poisoned, Code::Store, message).at_path(path))
    }
}

/// What a fault means to a caller.
pub fn fault_error(fault: KeyFault, path: &Path, offset: u64) -> Error {
    let kind = match fault {
        KeyFault::Version { .. } | KeyFault::Features { .. } => ErrorKind::Unsupported,
        KeyFault::Damaged(_) => ErrorKind::Corrupt,
    };
    Error::new(kind, Code::Store, fault.to_string()).at_path(path).at_byte(offset)
}

/// A file that is overwritten in place.
#[derive(Debug)]
pub struct KeyFile {
    file: Arc<dyn VfsFile>,
    path: PathBuf,
    access: Access,
    poison: Poison,
    /// How many writes returned.
    written: AtomicU64,
    /// How many of them are synced. Held while one syncs.
    synced: Mutex<u64>,
}

impl KeyFile {
    /// Opens a file that the store cannot do without.
    ///
    /// # Errors
    /// `Corrupt` when it is missing; what the system reports.
    pub fn held(vfs: &dyn Vfs, path: PathBuf, access: Access, poison: &Poison) -> Result<Self> {
        let mode = match access {
            Access::Write => OpenMode::Write,
            Access::Read => OpenMode::Read,
        };
        match vfs.open(&path, mode) {
            Ok(file) => Ok(Self::of(file, path, access, poison)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                Err(Error::corrupt("a file of the keys is missing").with_source(e).at_path(path))
            }
            Err(e) => Err(io_error("open a file of the keys", &path, e)),
        }
    }

    /// Opens a file for writing, and makes it if it is missing. Its name is not synced.
    ///
    /// # Errors
    /// What the system reports.
    pub fn made(vfs: &dyn Vfs, path: PathBuf) -> Result<Self> {
        let opened = match vfs.open(&path, OpenMode::Write) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => vfs.open(&path, OpenMode::Create),
            opened => opened,
        };
        let file = opened.map_err(|e| io_error("create a file of the keys", &path, e))?;
        Ok(Self::of(file, path, Access::Write, &Poison::default()))
    }

    fn of(file: Arc<dyn VfsFile>, path: PathBuf, access: Access, poison: &Poison) -> Self {
        // What a process before this one wrote may not be synced, so the first sync is always made.
        let written = AtomicU64::new(u64::from(access == Access::Write));
        let synced = Mutex::new(0);
        Self { file, path, access, poison: poison.clone(), written, synced }
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns an error about bytes of this file.
    pub fn fault(&self, fault: KeyFault, offset: u64) -> Error {
        fault_error(fault, &self.path, offset)
    }

    /// Reads at an offset; behind the end of the file there are zeros. Returns how many bytes the file has there.
    ///
    /// # Errors
    /// What the system reports.
    pub fn read(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        let read = self.file.read_at(buffer, offset).map_err(|e| io_error("read", &self.path, e))?;
        buffer.get_mut(read..).unwrap_or_default().fill(0);
        Ok(read)
    }

    /// Refuses a process that may not write, or no more.
    ///
    /// # Errors
    /// `ReadOnly`, `Poisoned`.
    pub fn check_writable(&self) -> Result<()> {
        if self.access == Access::Read {
            let error = Error::new(ErrorKind::ReadOnly, Code::Store, "this process only reads the keys");
            return Err(error.at_path(&self.path));
        }
        self.poison.check(&self.path)
    }

    /// Writes at an offset. On error any part may be written.
    ///
    /// # Errors
    /// `ReadOnly`, `Poisoned`, what the system reports.
    pub fn write(&self, bytes: &[u8], offset: u64) -> Result<()> {
        self.check_writable()?;
        let written = self.file.write_at(bytes, offset);
        // Counted once it returned: a sync that starts in between may miss it.
        self.written.fetch_add(1, Ordering::SeqCst);
        written.map_err(|e| io_error("write", &self.path, e))
    }

    /// Writes where there are zeros, and takes back what a failure leaves of it, so that the next try finds zeros again.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn write_new(&self, bytes: &[u8], offset: u64) -> Result<()> {
        let before = self.size()?;
        self.write(bytes, offset).inspect_err(|_| {
            // Where that fails too, the next try tells.
            self.take_back(offset, bytes.len(), before);
        })
    }

    /// Takes back a write that failed into what was zeros: cuts what the file grew by, and writes zeros over the rest.
    /// Reports whether that worked.
    pub fn take_back(&self, offset: u64, bytes: usize, size_before: u64) -> bool {
        let cut = match self.file.size() {
            Ok(size) if size > size_before => self.file.set_size(size_before),
            Ok(_) => Ok(()),
            Err(e) => Err(e),
        };
        let inside = size_before.saturating_sub(offset).min(bytes as u64);
        let zeros = vec![0; usize::try_from(inside).unwrap_or(0)];
        cut.and_then(|()| self.file.write_at(&zeros, offset)).is_ok()
    }

    /// Cuts or grows the file, as far as that works.
    pub fn try_set_size(&self, bytes: u64) {
        if self.check_writable().is_ok() {
            // What remains too long is zeros or is written over.
            drop(self.file.set_size(bytes));
        }
    }

    /// Returns the size in bytes.
    ///
    /// # Errors
    /// What the system reports.
    pub fn size(&self) -> Result<u64> {
        self.file.size().map_err(|e| io_error("read the size", &self.path, e))
    }

    /// Makes everything written durable. Costs nothing when nothing was written since.
    ///
    /// # Errors
    /// `Poisoned`, also by another thread's failed sync; what the system reports, once.
    pub fn sync(&self) -> Result<()> {
        let mut synced = self.synced.lock();
        self.poison.check(&self.path)?;
        let written = self.written.load(Ordering::SeqCst);
        if written == *synced {
            return Ok(());
        }
        if let Err(e) = self.file.sync() {
            self.poison.set();
            return Err(io_error("sync", &self.path, e));
        }
        *synced = written;
        Ok(())
    }
}
