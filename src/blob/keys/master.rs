//! The master key, in a file.

use std::fmt;
use std::io;
use std::path::Path;

use zeroize::Zeroizing;

use crate::blob::key::Key;
use crate::blob::trouble::io_error;
use crate::codec::{MasterBody, SubjectsHead, TWIN_BYTES, Twin, TwinPlace};
use crate::contract::{Code, Error, ErrorKind, Result};
use crate::io::{OpenMode, Vfs};

/// Whether a process can open what the store holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holding {
    /// The master key is here.
    Held,
    /// There is none, or this process may not read it.
    Missing,
    /// What is there is not the master key of this store and epoch.
    Wrong,
}

impl fmt::Display for Holding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Held => "the master key is here",
            Self::Missing => "the master key is not here",
            Self::Wrong => "this is not the store's master key",
        })
    }
}

impl Holding {
    /// Returns the error of a call that needs the master key.
    pub fn error(self, path: &Path) -> Error {
        Error::new(ErrorKind::NoKey, Code::Store, self.to_string()).at_path(path)
    }
}

/// Where the master key of a store stands in its file.
pub fn master_place(store: &[u8; 16]) -> TwinPlace {
    TwinPlace { magic: *b"CLMASTER", store: *store, offset: 0 }
}

/// Tells the right master key from a wrong one, and nothing else about it.
pub fn check_value(master: &Key) -> [u8; 16] {
    let derived = master.derive("causelog 1 master key check");
    let (value, _) = derived.bytes().split_first_chunk().unwrap_or((&[0; 16], &[]));
    *value
}

/// Reads the file of the master key; `None` when there is none to be had.
///
/// # Errors
/// What the system reports, other than that the file is missing or not for this process.
pub fn read_master_file(vfs: &dyn Vfs, path: &Path, store: &[u8; 16]) -> Result<Option<Twin>> {
    let file = match vfs.open(path, OpenMode::Read) {
        Ok(file) => file,
        Err(e)
            if matches!(
                e.kind(),
                io::ErrorKind::NotFound
                    | io::ErrorKind::PermissionDenied
                    | io::ErrorKind::IsADirectory
                    | io::ErrorKind::NotADirectory
                    | io::ErrorKind::InvalidInput
            ) =>
        {
            return Ok(None);
        }
        Err(e) => return Err(io_error("open the master key", path, e)),
    };
    let mut bytes = Zeroizing::new([0; TWIN_BYTES]);
    file.read_at(&mut *bytes, 0).map_err(|e| io_error("read the master key", path, e))?;
    Ok(Some(master_place(store).decode(&bytes)))
}

/// Returns the master key that a head of subjects asks for, or why not.
///
/// # Errors
/// `Unsupported` for one of a newer version; what the system reports.
pub fn load_master(
    vfs: &dyn Vfs,
    path: &Path,
    store: &[u8; 16],
    head: &SubjectsHead,
) -> Result<Result<Key, Holding>> {
    let twin = match read_master_file(vfs, path, store)? {
        Some(twin) if !twin.is_empty() => twin,
        _ => return Ok(Err(Holding::Missing)),
    };
    let Some(Ok(master)) = twin.body().map(MasterBody::from_body) else { return Ok(Err(Holding::Wrong)) };
    let key = Key::of(master.key);
    let is_right = master.epoch == head.epoch && check_value(&key) == head.check;
    Ok(if is_right { Ok(key) } else { Err(Holding::Wrong) })
}
