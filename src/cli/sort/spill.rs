//! Temporary files: written front to back, then read at any place.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

use crate::contract::{Error, Result};

const WRITE_BYTES: usize = 1 << 18;

fn failed(error: std::io::Error) -> Error {
    Error::io("a temporary file cannot be used", error)
}

/// A temporary file that is being written. It has no name, so that a killed process leaves none.
#[derive(Debug)]
pub(super) struct SpillWriter {
    file: File,
    pending: Vec<u8>,
    len: u64,
}

impl SpillWriter {
    pub(super) fn create(dir: &Path) -> Result<Self> {
        let file = tempfile::tempfile_in(dir).map_err(|error| failed(error).at_path(dir))?;
        Ok(Self { file, pending: Vec::with_capacity(WRITE_BYTES), len: 0 })
    }

    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        if self.pending.len() + bytes.len() > WRITE_BYTES {
            self.file.write_all(&self.pending).map_err(failed)?;
            self.pending.clear();
        }
        if bytes.len() > WRITE_BYTES {
            self.file.write_all(bytes).map_err(failed)?;
        } else {
            self.pending.extend_from_slice(bytes);
        }
        self.len += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        Ok(())
    }

    /// Returns the number of bytes written.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    pub(super) fn finish(mut self) -> Result<Arc<Spill>> {
        self.file.write_all(&self.pending).map_err(failed)?;
        Ok(Arc::new(Spill { file: self.file, len: self.len }))
    }
}

/// A temporary file that is complete.
#[derive(Debug)]
pub(super) struct Spill {
    file: File,
    len: u64,
}

impl Spill {
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Reads as much as the file holds. One thread reads at a time, each time from a place of its own.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let mut file = &self.file;
        file.seek(SeekFrom::Start(offset)).map_err(failed)?;
        file.read_exact(buffer).map_err(failed)
    }
}

/// A reader of a part of a temporary file, front to back, through a window of its own.
#[derive(Debug)]
pub(super) struct Window {
    spill: Arc<Spill>,
    /// Where the bytes behind the window start.
    next: u64,
    end: u64,
    buffer: Vec<u8>,
    /// How much of `buffer` was taken.
    taken: usize,
    /// How much is read at least.
    step_bytes: usize,
}

impl Window {
    pub(super) fn new(spill: Arc<Spill>, start: u64, end: u64, step_bytes: usize) -> Self {
        Self { spill, next: start, end, buffer: Vec::new(), taken: 0, step_bytes }
    }

    /// Returns where the next byte to be taken stands.
    pub(super) fn position(&self) -> u64 {
        self.next - u64::try_from(self.buffer.len() - self.taken).unwrap_or(0)
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.position() >= self.end
    }

    /// Takes the next `len` bytes, all of which must lie before the end.
    pub(super) fn take(&mut self, len: usize) -> Result<&[u8]> {
        if self.buffer.len() - self.taken < len {
            self.fill(len)?;
        }
        let start = self.taken;
        self.taken += len;
        self.buffer.get(start..self.taken).ok_or_else(cut)
    }

    /// Passes over `len` bytes; what is not in the window is not read.
    pub(super) fn skip(&mut self, len: usize) -> Result<()> {
        let held = self.buffer.len() - self.taken;
        if len <= held {
            self.taken += len;
            return Ok(());
        }
        let beyond = u64::try_from(len - held).map_err(|_| cut())?;
        self.release();
        self.next += u64::try_from(held).map_err(|_| cut())? + beyond;
        Ok(())
    }

    /// Goes to a position. Free where the window holds it.
    pub(super) fn seek(&mut self, position: u64) {
        let start = self.next - u64::try_from(self.buffer.len()).unwrap_or(0);
        match position.checked_sub(start).and_then(|ahead| usize::try_from(ahead).ok()) {
            Some(ahead) if ahead <= self.buffer.len() => self.taken = ahead,
            _ => {
                self.buffer.clear();
                self.taken = 0;
                self.next = position;
            }
        }
    }

    /// Returns the bytes held.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.buffer.capacity()
    }

    /// Gives the window's memory back; the next read starts where this one ended.
    pub(super) fn release(&mut self) {
        self.next = self.position();
        self.buffer = Vec::new();
        self.taken = 0;
    }

    /// Moves the window so that it holds at least `len` bytes.
    fn fill(&mut self, len: usize) -> Result<()> {
        let position = self.position();
        let left = usize::try_from(self.end.saturating_sub(position)).unwrap_or(usize::MAX);
        if left < len {
            return Err(cut());
        }
        let bytes = len.max(self.step_bytes).min(left);
        // One great record must not leave every window great.
        if self.buffer.capacity() > bytes.saturating_mul(2) {
            self.buffer = Vec::new();
        }
        self.buffer.resize(bytes, 0);
        self.taken = 0;
        self.spill.read_at(position, &mut self.buffer)?;
        self.next = position + u64::try_from(bytes).map_err(|_| cut())?;
        Ok(())
    }
}

/// The file ends before the record does: something else wrote to it.
pub(super) fn cut() -> Error {
    failed(std::io::ErrorKind::UnexpectedEof.into())
}
