//! The operating system's files.
//!
//! Invariants:
//! - A call that a signal interrupts is taken up again; [`io::ErrorKind::Interrupted`] is never returned.
//! - A short read or write is continued: a read ends early only at the end of the file, a write
//!   ends early only with an error.
//! - Files are created with mode 0600 where the system knows modes: the log holds what users typed.
//! - Locks belong to the open file, not to the process (`flock`, `LockFileEx`): a second lock from
//!   the same process is excluded like one from another. POSIX record locks are never used.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::mmap;
use super::vfs::{LockMode, Mapping, OpenMode, Vfs, VfsFile, VfsLock};

/// The file system of the operating system. What it makes durable on which platform is in
/// `docs/durability.md`.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealVfs;

#[derive(Debug)]
struct RealFile(File);

/// Held for its drop: closing the file releases the lock.
#[derive(Debug)]
struct RealLock(#[expect(dead_code, reason = "held until dropped")] File);

impl VfsLock for RealLock {}

impl VfsFile for RealFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut done = 0_usize;
        while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
            match read_some(&self.0, rest, advance(offset, done)?) {
                Ok(0) => break,
                Ok(n) => done = done.saturating_add(n),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(done)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut done = 0_usize;
        while let Some(rest) = bytes.get(done..).filter(|rest| !rest.is_empty()) {
            match write_some(&self.0, rest, advance(offset, done)?) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => done = done.saturating_add(n),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn set_size(&self, bytes: u64) -> io::Result<()> {
        self.0.set_len(bytes)
    }

    fn map(&self) -> io::Result<Mapping> {
        mmap::map_file(&self.0)
    }
}

impl Vfs for RealVfs {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn VfsFile>> {
        let mut options = OpenOptions::new();
        options.read(true);
        match mode {
            OpenMode::Read => {}
            OpenMode::Write => {
                options.write(true);
            }
            OpenMode::Create => {
                options.write(true).create_new(true);
            }
        }
        let file = unblocking(private(&mut options)).open(path)?;
        plain(&file)?;
        Ok(Arc::new(RealFile(file)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        sync_dir(or_current(path))
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(or_current(path)) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(e),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry?;
            if !entry.file_type()?.is_dir() {
                // The engine gives no file a name that is not UTF-8, so such a file is not ours.
                names.extend(entry.file_name().into_string());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        fs::exists(or_current(path))
    }

    fn try_lock(&self, path: &Path, mode: LockMode, create: bool) -> io::Result<Option<Box<dyn VfsLock>>> {
        // Each further round means that somebody replaced the lock file in between.
        for _ in 0..8 {
            let file = open_lock_file(path, mode, create)?;
            let taken = match mode {
                LockMode::Shared => file.try_lock_shared(),
                LockMode::Exclusive => file.try_lock(),
            };
            match taken {
                Ok(()) if still_named(&file, path)? => return Ok(Some(Box::new(RealLock(file)))),
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(e)) => return Err(e),
            }
        }
        Ok(None)
    }
}

/// Opens the file a lock is taken on: for reading where that is enough, so that readers work on a
/// read-only medium; for writing where the lock is exclusive, which network file systems ask for.
fn open_lock_file(path: &Path, mode: LockMode, create: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(mode == LockMode::Exclusive);
    let opened = match unblocking(undeletable(&mut options)).open(path) {
        Err(e) if create && e.kind() == io::ErrorKind::NotFound => {
            private(options.write(true).create(true).truncate(false)).open(path)
        }
        other => other,
    };
    opened.and_then(|file| plain(&file).map(|()| file))
}

/// Keeps opening from waiting: a pipe in the place of a file has nobody at its other end.
fn unblocking(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        options,
        rustix::fs::OFlags::NONBLOCK.bits().cast_signed(),
    );
    options
}

/// Refuses what is no plain file: a directory can be opened on Unix, a pipe as well, and each later call would fail in
/// its own way or wait.
fn plain(file: &File) -> io::Result<()> {
    let kind = file.metadata()?.file_type();
    match (kind.is_file(), kind.is_dir()) {
        (true, _) => Ok(()),
        (_, true) => Err(io::ErrorKind::IsADirectory.into()),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "this is no plain file")),
    }
}

/// On Windows, keeps others from removing or replacing the file while it is open, which readers
/// and writers of it may otherwise do.
fn undeletable(options: &mut OpenOptions) -> &mut OpenOptions {
    /// `FILE_SHARE_READ | FILE_SHARE_WRITE`, without `FILE_SHARE_DELETE`.
    #[cfg(windows)]
    const SHARE_MODE: u32 = 0b011;
    #[cfg(windows)]
    std::os::windows::fs::OpenOptionsExt::share_mode(options, SHARE_MODE);
    options
}

/// Adds the mode of created files.
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// Tells whether the locked file is the one that bears the name: a lock on a file that was removed
/// or replaced between opening and locking excludes nobody who comes later.
#[cfg(unix)]
fn still_named(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let held = file.metadata()?;
    match fs::metadata(path) {
        Ok(named) => Ok((held.dev(), held.ino()) == (named.dev(), named.ino())),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e),
    }
}

/// Elsewhere the standard library tells no file identity; on Windows nobody can replace the file
/// while it is open, see [`undeletable`].
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "one signature on all systems")]
fn still_named(_file: &File, _path: &Path) -> io::Result<bool> {
    Ok(true)
}

#[cfg(unix)]
fn read_some(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(unix)]
fn write_some(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::write_at(file, bytes, offset)
}

/// Moves the file's cursor as well, which nothing here uses.
#[cfg(windows)]
fn read_some(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

#[cfg(windows)]
fn write_some(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_write(file, bytes, offset)
}

/// Makes the names in a directory durable.
#[cfg(unix)]
fn sync_dir(path: &Path) -> io::Result<()> {
    match File::open(path)?.sync_all() {
        // Some file systems (a few FUSE and network ones) cannot sync a directory at all and say so
        // with these; failing every store there would help nobody. `docs/durability.md` lists it.
        Err(e) if matches!(e.raw_os_error(), Some(EBADF | EINVAL)) => Ok(()),
        other => other,
    }
}

#[cfg(unix)]
const EBADF: i32 = rustix::io::Errno::BADF.raw_os_error();
#[cfg(unix)]
const EINVAL: i32 = rustix::io::Errno::INVAL.raw_os_error();

/// Windows has no call for it; NTFS journals names in order by itself. A missing directory is still
/// an error, as it is elsewhere.
#[cfg(not(unix))]
fn sync_dir(path: &Path) -> io::Result<()> {
    if fs::metadata(path)?.is_dir() { Ok(()) } else { Err(io::ErrorKind::NotADirectory.into()) }
}

/// The parent of a bare file name is the empty path; the system calls want `.` for it.
fn or_current(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

fn advance(offset: u64, done: usize) -> io::Result<u64> {
    u64::try_from(done)
        .ok()
        .and_then(|done| offset.checked_add(done))
        .ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn created_files_are_private() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        RealVfs.open(&path, OpenMode::Create).unwrap();
        let lock = dir.path().join("lock");
        let _held = RealVfs.try_lock(&lock, LockMode::Exclusive, true).unwrap().unwrap();
        for path in [path, lock] {
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_shared_lock_needs_no_write_permission() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        fs::write(&path, b"").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
        assert!(RealVfs.try_lock(&path, LockMode::Shared, true).unwrap().is_some());
    }

    #[cfg(unix)]
    #[test]
    fn a_lock_file_that_was_replaced_is_locked_anew() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let old = RealVfs.try_lock(&path, LockMode::Exclusive, true).unwrap().unwrap();
        fs::remove_file(&path).unwrap();
        // Nothing can exclude this one; but the file it holds is the one that bears the name.
        let new = RealVfs.try_lock(&path, LockMode::Exclusive, true).unwrap().unwrap();
        drop(old);
        assert!(RealVfs.try_lock(&path, LockMode::Exclusive, true).unwrap().is_none());
        drop(new);
    }

    #[test]
    fn a_directory_is_no_file() {
        let dir = tempfile::tempdir().unwrap();
        assert!(RealVfs.open(dir.path(), OpenMode::Read).is_err());
        assert!(RealVfs.open(dir.path(), OpenMode::Write).is_err());
    }
}
