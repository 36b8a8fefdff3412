//! Reading the head of a segment file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::LogError;
use crate::codec::{HEADER_BYTES, HeaderError, SegmentHeader};
use crate::contract::Result;
use crate::io::{OpenMode, Vfs, VfsFile};

/// A segment file whose head was read.
#[derive(Debug)]
pub struct Head {
    /// The head.
    pub header: SegmentHeader,
    /// Where the frames start.
    pub frames_start: u64,
    /// The file's path.
    pub path: PathBuf,
    /// The file.
    pub file: Arc<dyn VfsFile>,
}

/// Opens a segment file and reads its head. Cost: two reads.
///
/// # Errors
/// `Corrupt` when the head is damaged or of another segment than `number`; `Unsupported`; system calls.
pub fn read_head(vfs: &dyn Vfs, path: &Path, number: u64, mode: OpenMode) -> Result<Head> {
    let place = |e: LogError| e.at(path, number, 0);
    let read = |file: &dyn VfsFile, bytes: usize| -> Result<Vec<u8>> {
        let mut buffer = vec![0; bytes];
        let found =
            file.read_at(&mut buffer, 0).map_err(|e| place(LogError::io("read a segment's head")(e)))?;
        buffer.truncate(found);
        Ok(buffer)
    };
    let file = vfs.open(path, mode).map_err(|e| place(LogError::io("open a segment")(e)))?;
    let size = file.size().map_err(|e| place(LogError::io("read a segment's size")(e)))?;
    let whole = SegmentHeader::peek_bytes(&read(&*file, HEADER_BYTES)?).map_err(|e| place(e.into()))?;
    if whole as u64 > size {
        let short =
            HeaderError::Short { found: usize::try_from(size).unwrap_or(usize::MAX), expected: whole };
        return Err(place(short.into()));
    }
    let (header, frames_start) =
        SegmentHeader::from_bytes(&read(&*file, whole)?).map_err(|e| place(e.into()))?;
    if header.segment != number {
        return Err(place(LogError::Chain(format!("the file says it is segment {}", header.segment))));
    }
    Ok(Head { header, frames_start: frames_start as u64, path: path.to_path_buf(), file })
}
