//! The file of wrapped data keys: slots by number.
//!
//! Invariants:
//! - Slots are handed out by rising number, and none twice: what is handed out next stands behind the last slot that is
//!   not zeros.
//! - A slot lies within one sector, so a torn write leaves it and its neighbours as they were or as they are to be.
//! - Slots are read from the file each time: what was overwritten is gone for every reader at once.

use std::path::PathBuf;

use parking_lot::{Mutex, MutexGuard};

use super::file::{Access, KeyFile, Poison};
use crate::codec::{KEY_HEAD_BYTES, KeyFault, KeyHead, RecordId, SLOT_BYTES, Slot};
use crate::contract::{Code, Error, ErrorKind, Result};
use crate::io::Vfs;

/// By how much the file grows at least, and at most.
const GROWTH_BYTES: (u64, u64) = (64 << 10, 1 << 20);
/// How far from its end the file is searched for the last slot handed out. If all of that is zeros, numbers are skipped.
const SEARCH_BYTES: u64 = 16 << 20;
/// How much is read at once.
const READ_BYTES: usize = 64 << 10;
/// Times a slot is read before it is called damaged: a writer may be in the midst of it.
const READS: u32 = 3;

pub(super) const SLOTS_MAGIC: [u8; 8] = *b"CLSLOTS\0";

/// Room in the file.
#[derive(Debug)]
pub(super) struct Room {
    /// The number that is handed out next.
    next: u32,
    /// Bytes of the file.
    bytes: u64,
}

impl Room {
    /// Returns the number that is handed out next: how many were.
    pub(super) fn next(&self) -> u32 {
        self.next
    }
}

/// The file of wrapped data keys.
#[derive(Debug)]
pub(super) struct Slots {
    pub(super) file: KeyFile,
    store: [u8; 16],
    /// Held by whoever changes slots.
    room: Mutex<Room>,
}

/// Where a slot stands in the file.
pub(super) fn offset_of(number: u32) -> u64 {
    KEY_HEAD_BYTES as u64 + u64::from(number) * SLOT_BYTES as u64
}

impl Slots {
    /// Opens the file. Cost: one read, and one of 64 KiB.
    ///
    /// # Errors
    /// `Corrupt`, `Unsupported`, what the system reports.
    pub(super) fn open(
        vfs: &dyn Vfs,
        path: PathBuf,
        store: &[u8; 16],
        access: Access,
        poison: &Poison,
    ) -> Result<Self> {
        let file = KeyFile::held(vfs, path, access, poison)?;
        let mut head = vec![0; KEY_HEAD_BYTES];
        file.read(&mut head, 0)?;
        KeyHead { magic: SLOTS_MAGIC, store: *store }.check(&head).map_err(|fault| file.fault(fault, 0))?;
        let bytes = file.size()?;
        if bytes > offset_of(u32::MAX) {
            return Err(file.fault(KeyFault::Damaged("the file is longer than slots have numbers"), bytes));
        }
        let next = last_used(&file, bytes)?;
        Ok(Self { file, store: *store, room: Mutex::new(Room { next, bytes }) })
    }

    /// Returns how many slots are handed out.
    pub(super) fn handed_out(&self) -> u32 {
        self.room.lock().next
    }

    /// Keeps others from changing slots.
    pub(super) fn lock(&self) -> MutexGuard<'_, Room> {
        self.room.lock()
    }

    /// Reads a slot; `None` when it is free. Cost: one read of 128 bytes.
    ///
    /// # Errors
    /// `Corrupt`, what the system reports.
    pub(super) fn get(&self, number: u32) -> Result<Option<Slot>> {
        let mut reads = 1;
        loop {
            match Slot::from_bytes(&self.raw(number)?, &self.store, number) {
                Ok(slot) => return Ok(slot),
                Err(_) if reads < READS => reads += 1,
                Err(fault) => return Err(self.fault(fault, number)),
            }
        }
    }

    fn raw(&self, number: u32) -> Result<[u8; SLOT_BYTES]> {
        let mut bytes = [0; SLOT_BYTES];
        self.file.read(&mut bytes, offset_of(number))?;
        Ok(bytes)
    }

    /// Reads the record id of a slot that is damaged.
    ///
    /// # Errors
    /// What the system reports.
    pub(super) fn peek_record(&self, number: u32) -> Result<RecordId> {
        Ok(Slot::peek_record(&self.raw(number)?))
    }

    /// Returns an error about a slot.
    pub(super) fn fault(&self, fault: KeyFault, number: u32) -> Error {
        self.file.fault(fault, offset_of(number))
    }

    /// Overwrites a slot. Not synced.
    ///
    /// # Errors
    /// What the system reports; the slot is then as it was, as it is to be, or damaged.
    pub(super) fn put(&self, number: u32, slot: &Slot) -> Result<()> {
        self.file.write(&slot.to_bytes(&self.store, number), offset_of(number))
    }

    /// Overwrites a slot that goes on living, and puts it back as it was where that fails. Not synced.
    ///
    /// # Errors
    /// What the system reports.
    pub(super) fn change(&self, number: u32, before: &Slot, after: &Slot) -> Result<()> {
        self.put(number, after).inspect_err(|_| {
            // Where that fails too, the slot is as it was or damaged: there is no more that can be done.
            drop(self.put(number, before));
        })
    }

    /// Writes a slot that was never handed out. Not synced.
    ///
    /// # Errors
    /// `Full` when all numbers are used up; what the system reports: nothing is handed out then, and what was written is
    /// taken back as far as the system lets it.
    pub(super) fn allocate(&self, room: &mut Room, slot: &Slot) -> Result<u32> {
        self.file.check_writable()?;
        let number = room.next;
        let Some(next) = number.checked_add(1).filter(|next| *next < u32::MAX) else {
            return Err(Error::new(ErrorKind::Full, Code::Store, "all slots for keys are used up"));
        };
        let (start, end) = (offset_of(number), offset_of(next));
        if end > room.bytes {
            self.grow(room, end)?;
        }
        if let Err(e) = self.put(number, slot) {
            self.file.take_back(start, SLOT_BYTES, room.bytes);
            return Err(e);
        }
        room.bytes = room.bytes.max(end);
        room.next = next;
        Ok(number)
    }

    /// Makes room for more slots. A full disk is no error: the one slot that is needed may still fit.
    fn grow(&self, room: &mut Room, end: u64) -> Result<()> {
        let (least, most) = GROWTH_BYTES;
        let to = end.saturating_add((room.bytes / 8).clamp(least, most)) & !(SLOT_BYTES as u64 - 1);
        let zeros = vec![0; usize::try_from(to.saturating_sub(room.bytes)).unwrap_or(0)];
        match self.file.write(&zeros, room.bytes) {
            Ok(()) => room.bytes = to,
            Err(e) => {
                tracing::warn!(error = %e, "the file of the keys did not grow");
                room.bytes = self.file.size()?;
            }
        }
        Ok(())
    }

    /// Calls `f` with each slot below a number, and what is wrong with it. Cost: the file, read once.
    ///
    /// # Errors
    /// What `f` and the system report.
    pub(super) fn for_each(
        &self,
        count: u32,
        f: &mut dyn FnMut(u32, Result<Option<Slot>, KeyFault>) -> Result<()>,
    ) -> Result<()> {
        let mut buffer = vec![0; READ_BYTES];
        let mut number = 0u32;
        while number < count {
            self.file.read(&mut buffer, offset_of(number))?;
            let (slots, _) = buffer.as_chunks::<SLOT_BYTES>();
            for (bytes, number) in slots.iter().zip(number..count) {
                f(number, Slot::from_bytes(bytes, &self.store, number))?;
            }
            number = number.saturating_add(u32::try_from(slots.len()).unwrap_or(u32::MAX));
        }
        Ok(())
    }
}

/// Returns the number behind the last slot that is not zeros.
fn last_used(file: &KeyFile, bytes: u64) -> Result<u32> {
    let first = offset_of(0);
    let to_number = |offset: u64| {
        u32::try_from(offset.saturating_sub(first).div_ceil(SLOT_BYTES as u64)).unwrap_or(u32::MAX)
    };
    let stop = first.max(bytes.saturating_sub(SEARCH_BYTES));
    let (mut end, mut buffer) = (bytes, vec![0; READ_BYTES]);
    while end > stop {
        let start = stop.max(end.saturating_sub(READ_BYTES as u64));
        let part = buffer.get_mut(..usize::try_from(end - start).unwrap_or(0)).unwrap_or_default();
        file.read(part, start)?;
        if let Some(last) = part.iter().rposition(|byte| *byte != 0) {
            return Ok(to_number(start.saturating_add(last as u64).saturating_add(1)));
        }
        end = start;
    }
    Ok(to_number(stop))
}
