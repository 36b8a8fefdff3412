//! Errors of codec and files as the crate's.

use std::io;
use std::path::Path;

use crate::codec::NodesFault;
use crate::contract::Error;

/// A failed call on a file: never damage, whatever it was.
pub(super) fn io_error(action: &str, path: &Path, source: io::Error) -> Error {
    Error::io(format!("cannot {action} a node file"), source).at_path(path)
}

/// What a fault of a node means to whoever reads it.
pub(super) fn fault_error(fault: NodesFault, path: &Path, offset: u64) -> Error {
    Error::corrupt(fault.to_string()).at_path(path).at_byte(offset)
}

pub(super) fn to_u64(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
