//! From what codec and files report to the crate's error.

use std::io;
use std::path::Path;

use crate::codec::{FooterError, HeaderError, TableError};
use crate::contract::{Code, Error, ErrorKind, Result};
use crate::io::VfsFile;

/// A failed call on a file: never damage, whatever it was.
pub(super) fn io_error(action: &str, path: &Path, source: io::Error) -> Error {
    Error::io(format!("cannot {action}"), source).at_path(path)
}

/// A head that this build does not read is no damage; anything else is.
pub(super) fn header_error(error: HeaderError) -> Error {
    let kind = match error {
        HeaderError::Version { .. } | HeaderError::Features { .. } => ErrorKind::Unsupported,
        HeaderError::Short { .. } | HeaderError::Magic | HeaderError::Damaged { .. } => ErrorKind::Corrupt,
    };
    Error::new(kind, Code::Store, error.to_string()).with_source(error)
}

pub(super) fn footer_error(error: FooterError) -> Error {
    Error::corrupt(error.to_string()).with_source(error)
}

pub(super) fn table_error(error: TableError) -> Error {
    Error::corrupt(error.to_string()).with_source(error)
}

/// Reads exactly `bytes` bytes at `offset`.
///
/// # Errors
/// `Corrupt` when the file ends before, `Io` when the read fails.
pub(super) fn read_exactly(file: &dyn VfsFile, path: &Path, offset: u64, bytes: usize) -> Result<Vec<u8>> {
    let mut buffer = vec![0; bytes];
    let found = file.read_at(&mut buffer, offset).map_err(|e| io_error("read", path, e))?;
    if found != bytes {
        let message = format!("the file ends at offset {}", offset.saturating_add(to_u64(found)));
        return Err(Error::corrupt(message).at_path(path));
    }
    Ok(buffer)
}

pub(super) fn to_u64(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// An offset as an index; offsets beyond the address space index nothing.
pub(super) fn to_usize(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}
