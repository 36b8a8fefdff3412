//! Memory maps.
//!
//! Invariants, which the callers of [`VfsFile::map`](super::VfsFile::map) uphold:
//! - Only files whose writing is over are mapped; the engine never shortens, rewrites or truncates
//!   such a file in place. It replaces by rename and removes by name, and both leave the mapped
//!   pages as they are.
//! - Whoever maps holds the store's lock, as its writer or as a reader, so no other process of this
//!   engine breaks the first rule either.

#![expect(unsafe_code, reason = "maps and unchecked access to checked records; nothing else in the crate")]

use std::fs::File;
use std::io;

use super::vfs::Mapping;

/// Maps a whole file for reading.
///
/// # Errors
/// What the operating system reports.
pub(super) fn map_file(file: &File) -> io::Result<Mapping> {
    // SAFETY: the bytes must not change while they are mapped. The head of the file says who
    // upholds that: the engine's own processes, through the store's lock.
    let map = unsafe { memmap2::MmapOptions::new().map(file) }?;
    Ok(Mapping::new(map))
}
