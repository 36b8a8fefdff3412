//! A file of checksummed blocks, under the database.
//!
//! redb trusts the pages it reads: of a file that was changed behind its back it may panic, ask for
//! absurd amounts of memory, or return wrong values. So it never gets to see such a page. The file
//! is a row of slots:
//!
//! | bytes | what |
//! |---|---|
//! | 4,096 | the block |
//! | 8 | generation, little-endian; zero except in the first two slots |
//! | 8 | SipHash-1-3 of block number, block and generation, little-endian |
//!
//! Block 0, where redb keeps its commit slots, has the first two slots; block `n` has slot `n + 1`.
//!
//! Invariants:
//! - Bytes reach the database only out of a slot whose checksum holds. Block 0 is zero before its
//!   first write; redb reads no other block before it wrote it.
//! - Block 0 is written to the slot that does not hold its last synced state. A write torn by a
//!   power cut therefore leaves the state before it.
//! - redb writes other blocks whole and refers to them only after a sync, so a torn one is never
//!   read. If it is, it counts as damage: the index is rebuilt, nothing is lost.
//! - The first failure is kept, and tells failed files from damaged ones.

use std::fmt;
use std::hash::Hasher;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;
use redb::StorageBackend;
use siphasher::sip::SipHasher13;

use crate::io::VfsFile;

const BLOCK: usize = 4096;
const GENERATION: Range<usize> = BLOCK..BLOCK + 8;
const CHECKSUM: Range<usize> = BLOCK + 8..SLOT;
const SLOT: usize = BLOCK + 16;
const BLOCK_BYTES: u64 = 4096;
const SLOT_BYTES: u64 = BLOCK_BYTES + 16;

/// Why the database cannot be used, as the layer below it saw it.
#[derive(Debug)]
pub(super) enum Cause {
    /// The operating system refused.
    Io(io::Error),
    /// The bytes are not those that were written.
    Damage(&'static str),
}

/// Where the first failure of a [`Blocks`] is kept.
pub(super) type FirstCause = Arc<Mutex<Option<Cause>>>;

/// The storage of a database.
pub(super) struct Blocks {
    file: Arc<dyn VfsFile>,
    first: Mutex<First>,
    cause: FirstCause,
}

/// The state of block 0.
struct First {
    block: Box<[u8; BLOCK]>,
    generation: u64,
    /// The slot of the last write, 0 or 1.
    slot: u64,
    /// The slot that holds what was synced last.
    synced: u64,
}

type Slot = [u8; SLOT];

impl Blocks {
    /// Takes an open file, which may be empty.
    ///
    /// # Errors
    /// The file cannot be read, or block 0 is damaged; the cause is kept as well.
    pub(super) fn open(file: Arc<dyn VfsFile>, cause: FirstCause) -> io::Result<Self> {
        let blocks = Self { file, first: Mutex::new(First::empty()), cause };
        let size = blocks.noted(blocks.file.size())?;
        if size == 0 {
            return Ok(blocks);
        }
        if size % SLOT_BYTES != 0 || size < 2 * SLOT_BYTES {
            return Err(blocks.damage("its length is not one it can have"));
        }
        let mut newest: Option<(u64, u64, Slot)> = None;
        let mut untouched = true;
        for index in 0..2 {
            let slot = blocks.load(index)?;
            untouched = untouched && is_zero(&slot);
            let generation = number(&slot, GENERATION);
            let newer = newest.is_none_or(|(held, ..)| generation > held);
            if !is_zero(&slot) && holds(&slot, 0) && newer {
                newest = Some((generation, index, slot));
            }
        }
        match newest {
            Some((generation, index, slot)) => {
                let mut first = blocks.first.lock();
                first.generation = generation;
                (first.slot, first.synced) = (index, index);
                if let Some(block) = slot.first_chunk() {
                    *first.block = *block;
                }
            }
            None if untouched => {}
            None => return Err(blocks.damage("its header is damaged")),
        }
        Ok(blocks)
    }

    /// Tells whether the database was not closed since it was opened for writing.
    ///
    /// As redb's format has it: the tenth byte holds flags, the second of which asks for recovery.
    pub(super) fn is_unclean(&self) -> bool {
        self.first.lock().block.get(9).is_some_and(|flags| flags & 2 != 0)
    }

    fn load(&self, index: u64) -> io::Result<Slot> {
        let mut slot = [0; SLOT];
        let n = self.noted(self.file.read_at(&mut slot, index.saturating_mul(SLOT_BYTES)))?;
        if n < SLOT { Err(self.damage("it is shorter than it says")) } else { Ok(slot) }
    }

    fn store(&self, index: u64, number: u64, block: &[u8; BLOCK], generation: u64) -> io::Result<()> {
        let mut slot = [0; SLOT];
        if let Some(target) = slot.first_chunk_mut() {
            *target = *block;
        }
        put(&mut slot, GENERATION, generation);
        let checksum = checksum(&slot, number);
        put(&mut slot, CHECKSUM, checksum);
        self.noted(self.file.write_at(&slot, index.saturating_mul(SLOT_BYTES)))
    }

    fn read_block(&self, number: u64) -> io::Result<[u8; BLOCK]> {
        if number == 0 {
            return Ok(*self.first.lock().block);
        }
        let slot = self.load(number.saturating_add(1))?;
        if !holds(&slot, number) {
            return Err(self.damage("a block is damaged"));
        }
        slot.first_chunk().copied().ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    fn write_block(&self, number: u64, block: &[u8; BLOCK]) -> io::Result<()> {
        if number != 0 {
            return self.store(number.saturating_add(1), number, block, 0);
        }
        let mut first = self.first.lock();
        let slot = 1 - first.synced;
        let generation = first.generation.saturating_add(1);
        self.store(slot, 0, block, generation)?;
        first.generation = generation;
        first.slot = slot;
        *first.block = *block;
        Ok(())
    }

    /// Keeps the first failure.
    fn noted<T>(&self, result: io::Result<T>) -> io::Result<T> {
        result.inspect_err(|e| {
            let copy = e.raw_os_error().map_or_else(|| e.kind().into(), io::Error::from_raw_os_error);
            self.cause.lock().get_or_insert(Cause::Io(copy));
        })
    }

    fn damage(&self, what: &'static str) -> io::Error {
        self.cause.lock().get_or_insert(Cause::Damage(what));
        io::Error::new(io::ErrorKind::InvalidData, what)
    }
}

impl First {
    fn empty() -> Self {
        // The slot counts as synced although it was never written: there is nothing to lose.
        Self { block: Box::new([0; BLOCK]), generation: 0, slot: 1, synced: 1 }
    }
}

impl StorageBackend for Blocks {
    fn len(&self) -> io::Result<u64> {
        let slots = self.noted(self.file.size())? / SLOT_BYTES;
        Ok(slots.saturating_sub(1).saturating_mul(BLOCK_BYTES))
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let end = offset.checked_add(to_u64(out.len()));
        if end.is_none_or(|end| self.len().is_ok_and(|len| end > len)) {
            return Err(self.damage("it is shorter than it says"));
        }
        for piece in pieces(offset, out.len()) {
            let block = self.read_block(piece.block)?;
            if let (Some(to), Some(from)) = (out.get_mut(piece.buffer), block.get(piece.within)) {
                to.copy_from_slice(from);
            }
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        if !len.is_multiple_of(BLOCK_BYTES) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let slots = if len == 0 { 0 } else { len / BLOCK_BYTES + 1 };
        self.noted(self.file.set_size(slots.saturating_mul(SLOT_BYTES)))?;
        if len == 0 {
            *self.first.lock() = First::empty();
        }
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let written = self.first.lock().slot;
        self.noted(self.file.sync())?;
        // A write of block 0 beside the sync went to the same slot, and may be torn: then the state
        // before is gone, and the index is rebuilt. redb does not write beside its syncs.
        self.first.lock().synced = written;
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        for piece in pieces(offset, data.len()) {
            let from = data.get(piece.buffer).unwrap_or_default();
            if let Ok(whole) = from.try_into() {
                self.write_block(piece.block, whole)?;
            } else {
                let mut block = self.read_block(piece.block)?;
                if let Some(to) = block.get_mut(piece.within) {
                    to.copy_from_slice(from);
                }
                self.write_block(piece.block, &block)?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blocks").field("file", &self.file).finish_non_exhaustive()
    }
}

/// The part of a transfer that lies in one block.
struct Piece {
    block: u64,
    within: Range<usize>,
    buffer: Range<usize>,
}

fn pieces(offset: u64, len: usize) -> impl Iterator<Item = Piece> {
    let mut done = 0_usize;
    std::iter::from_fn(move || {
        let rest = len.checked_sub(done).filter(|rest| *rest > 0)?;
        let at = offset.checked_add(to_u64(done))?;
        let start = usize::try_from(at % BLOCK_BYTES).ok()?;
        let n = rest.min(BLOCK.saturating_sub(start));
        let buffer = done..done.saturating_add(n);
        done = buffer.end;
        Some(Piece { block: at / BLOCK_BYTES, within: start..start.saturating_add(n), buffer })
    })
}

fn checksum(slot: &Slot, number: u64) -> u64 {
    let mut hasher = SipHasher13::new_with_keys(0x6361_7573_656c_6f67, number);
    hasher.write(slot.get(..GENERATION.end).unwrap_or_default());
    hasher.finish()
}

fn holds(slot: &Slot, block: u64) -> bool {
    number(slot, CHECKSUM) == checksum(slot, block)
}

fn is_zero(slot: &Slot) -> bool {
    slot.iter().all(|byte| *byte == 0)
}

fn number(slot: &Slot, at: Range<usize>) -> u64 {
    slot.get(at).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes)
}

fn put(slot: &mut Slot, at: Range<usize>, number: u64) {
    if let Some(target) = slot.get_mut(at) {
        target.copy_from_slice(&number.to_le_bytes());
    }
}

fn to_u64(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}
