//! The mark file: how far the log is synced, for processes that read beside the writer.
//!
//! Two slots in sectors of their own, at offsets 0 and 512; the valid one with the higher generation
//! counts. Each slot:
//!
//! ```text
//! offset  bytes  field
//!      0      8  generation, u64, from 1
//!      8      8  segment, u64
//!     16      8  durable end: offset in that segment, u64
//!     24      8  events of that segment before the durable end, u64
//!     32     16  store identity
//!     48      4  CRC-32C of bytes 0 to 48
//! ```
//!
//! Invariants:
//! - A mark is written after the sync that makes it true, and before the appends of that sync are
//!   acknowledged. It is not synced itself: after a power cut it may be older than the log, never newer.
//! - Slots alternate, so a torn write leaves the mark before.

use std::io;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::io::{OpenMode, Vfs, VfsFile};

/// Name of the mark file in a store's directory.
pub const MARK_FILE: &str = "mark";

const SLOT_BYTES: usize = 52;
const SLOT_OFFSETS: [u64; 2] = [0, 512];

/// How far the log is synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Rises with each write of the mark.
    pub generation: u64,
    /// The active segment.
    pub segment: u64,
    /// Everything before this offset of the segment is durable.
    pub end: u64,
    /// Events of the segment before `end`.
    pub events: u64,
}

impl Mark {
    fn to_bytes(self, store: &[u8; 16]) -> Vec<u8> {
        let mut out = Vec::with_capacity(SLOT_BYTES);
        for field in [self.generation, self.segment, self.end, self.events] {
            out.extend_from_slice(&field.to_le_bytes());
        }
        out.extend_from_slice(store);
        out.extend_from_slice(&crc32c::crc32c(&out).to_le_bytes());
        out
    }

    fn from_bytes(bytes: &[u8], store: &[u8; 16]) -> Option<Self> {
        let (covered, crc) = bytes.split_last_chunk::<4>()?;
        if crc32c::crc32c(covered) != u32::from_le_bytes(*crc) || covered.get(32..48)? != store {
            return None;
        }
        let field = |at: usize| covered.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes);
        // Behind the greatest generation there is none: no writer gets there.
        if field(0)? == u64::MAX {
            return None;
        }
        Some(Self { generation: field(0)?, segment: field(8)?, end: field(16)?, events: field(24)? })
    }
}

/// What the mark file held at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MarkFile {
    /// The bytes of each slot, as far as the file reaches.
    slots: [Vec<u8>; 2],
}

impl MarkFile {
    /// Reads the mark file in `dir`. A missing one holds nothing.
    ///
    /// # Errors
    /// What the operating system reports, a missing file aside.
    pub fn read(vfs: &dyn Vfs, dir: &Path) -> io::Result<Self> {
        match vfs.open(&dir.join(MARK_FILE), OpenMode::Read) {
            Ok(file) => Self::of(&*file),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(e) => Err(e),
        }
    }

    fn of(file: &dyn VfsFile) -> io::Result<Self> {
        let mut held = Self::default();
        for (slot, offset) in held.slots.iter_mut().zip(SLOT_OFFSETS) {
            let mut bytes = [0u8; SLOT_BYTES];
            let read = file.read_at(&mut bytes, offset)?;
            slot.extend_from_slice(bytes.get(..read).unwrap_or_default());
        }
        Ok(held)
    }

    fn marks(&self, store: &[u8; 16]) -> impl Iterator<Item = Mark> {
        self.slots.iter().filter_map(|slot| Mark::from_bytes(slot, store))
    }

    /// Returns the newest valid mark of a store; `None` when there is none.
    pub fn newest(&self, store: &[u8; 16]) -> Option<Mark> {
        self.marks(store).max_by_key(|mark| mark.generation)
    }

    /// Returns whose the newest valid mark is; `None` when there is none.
    pub fn owner(&self) -> Option<[u8; 16]> {
        let stores = self.slots.iter().filter_map(|slot| slot.get(32..48)?.try_into().ok());
        let newest = stores.filter_map(|store| Some((self.newest(&store)?.generation, store)));
        newest.max_by_key(|(generation, _)| *generation).map(|(_, store)| store)
    }

    /// Reports whether the file is as a living writer keeps it: both slots are valid, or one is and the other was never
    /// written.
    pub fn is_whole(&self, store: &[u8; 16]) -> bool {
        let unwritten = |slot: &Vec<u8>| slot.iter().all(|byte| *byte == 0);
        let valid: Vec<u64> = self.marks(store).map(|mark| mark.generation).collect();
        valid.len() == 2 || (valid == [1] && self.slots.iter().any(unwritten))
    }
}

/// Writes marks; held by the writer.
#[derive(Debug)]
pub struct MarkWriter {
    file: Arc<dyn VfsFile>,
    store: [u8; 16],
    generation: Mutex<u64>,
}

impl MarkWriter {
    /// Opens the mark file of a store, creating it where it is missing.
    ///
    /// # Errors
    /// What the operating system reports.
    pub fn open(vfs: &dyn Vfs, dir: &Path, store: [u8; 16]) -> io::Result<Self> {
        let path = dir.join(MARK_FILE);
        let file = match vfs.open(&path, OpenMode::Write) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                let file = vfs.open(&path, OpenMode::Create)?;
                vfs.sync_dir(dir)?;
                file
            }
            opened => opened?,
        };
        let generation = MarkFile::of(&*file)?.newest(&store).map_or(0, |mark| mark.generation);
        Ok(Self { file, store, generation: Mutex::new(generation) })
    }

    /// Writes the next mark. The caller has synced what it names.
    ///
    /// # Errors
    /// What the operating system reports.
    pub fn write(&self, segment: u64, end: u64, events: u64) -> io::Result<()> {
        let mut generation = self.generation.lock();
        let next = *generation + 1;
        let bytes = Mark { generation: next, segment, end, events }.to_bytes(&self.store);
        let [even, odd] = SLOT_OFFSETS;
        self.file.write_at(&bytes, if next.is_multiple_of(2) { even } else { odd })?;
        *generation = next;
        Ok(())
    }

    /// Makes the newest mark durable. Needed once after the log was cut: an older mark that came back after a power cut
    /// would name bytes that are no longer meant to be there.
    ///
    /// # Errors
    /// What the operating system reports.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::MemoryVfs;

    const STORE: [u8; 16] = [4; 16];

    #[test]
    fn the_newest_valid_mark_counts() {
        let vfs = MemoryVfs::new();
        let dir = Path::new("/store");
        vfs.create_dir_all(dir).unwrap();
        assert_eq!(MarkFile::read(&vfs, dir).unwrap().newest(&STORE), None);
        let writer = MarkWriter::open(&vfs, dir, STORE).unwrap();
        assert_eq!(MarkFile::read(&vfs, dir).unwrap().newest(&STORE), None);
        for n in 1..=5 {
            writer.write(1, n * 100, n).unwrap();
            let mark = Mark { generation: n, segment: 1, end: n * 100, events: n };
            assert_eq!(MarkFile::read(&vfs, dir).unwrap().newest(&STORE), Some(mark));
        }
        assert_eq!(MarkFile::read(&vfs, dir).unwrap().newest(&[5; 16]), None, "a mark of another store");
        assert_eq!(MarkFile::read(&vfs, dir).unwrap().owner(), Some(STORE));
        // Each flipped bit of the newest slot (the fifth: odd, at 512) leaves the one before.
        let file = vfs.open(&dir.join(MARK_FILE), OpenMode::Write).unwrap();
        for bit in 0..SLOT_BYTES * 8 {
            let at = 512 + bit as u64 / 8;
            let mut byte = [0u8];
            file.read_at(&mut byte, at).unwrap();
            file.write_at(&[byte[0] ^ 1 << (bit % 8)], at).unwrap();
            assert_eq!(MarkFile::read(&vfs, dir).unwrap().newest(&STORE).unwrap().generation, 4);
            file.write_at(&byte, at).unwrap();
        }
        drop(writer);
        // A generation that has no next one is no mark.
        let greatest = Mark { generation: u64::MAX, segment: 1, end: 1, events: 1 }.to_bytes(&STORE);
        file.write_at(&greatest, 0).unwrap();
        let writer = MarkWriter::open(&vfs, dir, STORE).unwrap();
        writer.write(2, 64, 0).unwrap();
        assert_eq!(MarkFile::read(&vfs, dir).unwrap().newest(&STORE).unwrap().generation, 6);
    }
}
