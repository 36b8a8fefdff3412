//! From what codec and files report to the crate's error.

use std::io;
use std::path::Path;

use crate::codec::PackError;
use crate::contract::{Code, Error, ErrorKind};

/// A failed call on a file: never damage, whatever it was.
pub(super) fn io_error(action: &str, path: &Path, source: io::Error) -> Error {
    Error::io(format!("cannot {action}"), source).at_path(path)
}

/// What a build does not read is no damage; anything else is.
pub(super) fn pack_error(error: PackError) -> Error {
    let kind = match error {
        PackError::Version(_) | PackError::Features(_) => ErrorKind::Unsupported,
        PackError::Damaged(_) => ErrorKind::Corrupt,
    };
    Error::new(kind, Code::Store, error.to_string())
}

/// Says in which pack and where.
pub(super) fn at(error: Error, path: &Path, offset: u64) -> Error {
    error.at_path(path).at_byte(offset)
}

/// Damage, told once more.
pub fn again(error: &Error) -> Error {
    let told = Error::new(error.kind(), error.code(), error.message());
    let place = error.place();
    let told = place.path.iter().fold(told, Error::at_path);
    place.offset.iter().fold(told, |told, offset| told.at_byte(*offset))
}

/// An offset as an index; offsets beyond the address space index nothing.
pub(super) fn to_usize(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}
