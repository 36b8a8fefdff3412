//! Temporary files: written front to back, read at any place.
//!
//! Invariant: no file outlives who wrote it. Its name is taken away as soon as it is open, where the system allows that,
//! and else when the file is dropped.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::contract::{Error, Result};
use crate::io::{OpenMode, RealVfs, Vfs, VfsFile};

/// Written at once.
const WRITE_BYTES: usize = 1 << 16;

/// Tells the files of this process apart.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Where temporary files lie.
#[derive(Clone)]
pub(in crate::replay) struct Scratch {
    vfs: Arc<dyn Vfs>,
    dir: PathBuf,
}

impl Scratch {
    pub(in crate::replay) fn new(vfs: Arc<dyn Vfs>, dir: PathBuf) -> Self {
        Self { vfs, dir }
    }

    /// Creates an empty file.
    pub(super) fn create(&self) -> Result<ScratchFile> {
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = self.dir.join(format!(".causelog-replay-{}-{number}", std::process::id()));
            match self.vfs.open(&path, OpenMode::Create) {
                Ok(file) => return Ok(ScratchFile::new(Arc::clone(&self.vfs), path, file)),
                // Left by a process of the same number that was killed.
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(error, &self.dir)),
            }
        }
    }
}

impl Default for Scratch {
    /// The system's directory for temporary files.
    fn default() -> Self {
        Self::new(Arc::new(RealVfs), std::env::temp_dir())
    }
}

impl fmt::Debug for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scratch").field("dir", &self.dir).finish_non_exhaustive()
    }
}

/// A temporary file. What is appended is buffered until [`flush`](Self::flush).
pub(super) struct ScratchFile {
    file: Arc<dyn VfsFile>,
    vfs: Arc<dyn Vfs>,
    path: PathBuf,
    has_name: bool,
    written: u64,
    pending: Vec<u8>,
}

impl ScratchFile {
    fn new(vfs: Arc<dyn Vfs>, path: PathBuf, file: Arc<dyn VfsFile>) -> Self {
        let has_name = vfs.remove(&path).is_err();
        Self { file, vfs, path, has_name, written: 0, pending: Vec::new() }
    }

    /// Returns the number of bytes appended.
    pub(super) fn len(&self) -> u64 {
        self.written.saturating_add(u64::try_from(self.pending.len()).unwrap_or(u64::MAX))
    }

    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.pending.extend_from_slice(bytes);
        if self.pending.len() >= WRITE_BYTES { self.flush() } else { Ok(()) }
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.file.write_at(&self.pending, self.written).map_err(|error| failed(error, &self.path))?;
        self.written = self.len();
        self.pending.clear();
        Ok(())
    }

    /// Reads what was flushed; all of `buffer` must be there.
    pub(super) fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let read = self.file.read_at(buffer, offset).map_err(|error| failed(error, &self.path))?;
        if read == buffer.len() { Ok(()) } else { Err(cut()) }
    }
}

impl Drop for ScratchFile {
    fn drop(&mut self) {
        if self.has_name {
            // There is nobody to tell, and nothing that a failure would change.
            let _ = self.vfs.remove(&self.path);
        }
    }
}

impl fmt::Debug for ScratchFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ScratchFile({} bytes)", self.len())
    }
}

fn failed(error: std::io::Error, path: &Path) -> Error {
    Error::io("a temporary file cannot be used", error).at_path(path)
}

/// A temporary file holds less than was written to it.
pub(super) fn cut() -> Error {
    Error::corrupt("a temporary file was changed by somebody else")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::MemoryVfs;

    #[test]
    fn nothing_is_left_behind() {
        let vfs: Arc<dyn Vfs> = Arc::new(MemoryVfs::new());
        let dir = Path::new("/tmp/replay");
        vfs.create_dir_all(dir).unwrap();
        let scratch = Scratch::new(Arc::clone(&vfs), dir.to_path_buf());
        let (mut one, mut other) = (scratch.create().unwrap(), scratch.create().unwrap());
        for number in 0..40_000_u32 {
            one.append(&number.to_le_bytes()).unwrap();
        }
        other.append(b"other").unwrap();
        one.flush().unwrap();
        other.flush().unwrap();
        let mut four = [0; 4];
        one.read(4 * 33_333, &mut four).unwrap();
        assert_eq!((u32::from_le_bytes(four), one.len()), (33_333, 160_000));
        assert!(other.read(2, &mut four).is_err());
        drop((one, other));
        assert!(vfs.list(dir).unwrap().is_empty());
        assert!(Scratch::new(vfs, PathBuf::from("/nowhere")).create().is_err());
    }
}
