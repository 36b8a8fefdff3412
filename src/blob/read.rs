//! Reading content: found by address, opened chunk by chunk.
//!
//! Invariants:
//! - No content leaves that does not open under its record's key, at its place, with the head's lengths and addresses.
//! - The slot is read for each call, and again for each MiB: what was shredded meanwhile is not read on.
//! - Memory for a stream is a MiB; for a whole blob, the blob.

use std::io::Write;
use std::ops::Range;

use zeroize::Zeroizing;

use super::cipher::{Cipher, SEALED_CHUNK_BYTES, alias_proof, sealed_trailer_bytes};
use super::hashing::Hashing;
use super::keys::{SlotState, Unwrapped};
use super::packs::Pack;
use super::put::Held;
use super::trouble::to_usize;
use super::vault::Vault;
use crate::codec::{CHUNK_BYTES, FooterEntry, RecordHead, TAG_BYTES};
use crate::contract::{Address, Code, Error, ErrorKind, Result};

/// Chunks that are read at once.
const BATCH: u64 = 16;

/// What became of content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BlobState {
    /// It is held, and can be read by whoever has the key.
    Resident,
    /// It was held and was dropped to make room; putting it again restores it.
    Evicted,
    /// It was shredded, and nobody can read it again.
    Shredded,
    /// It was never put here.
    Absent,
}

impl BlobState {
    /// Returns the spelling in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Resident => "resident",
            Self::Evicted => "evicted",
            Self::Shredded => "shredded",
            Self::Absent => "absent",
        }
    }
}

/// A record that is open for reading.
struct Opened<'v> {
    vault: &'v Vault,
    pack: Pack,
    offset: u64,
    head: RecordHead,
    cipher: Cipher,
}

impl Vault {
    /// Tells what became of content.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn state(&self, address: &Address) -> Result<BlobState> {
        self.refresh()?;
        if self.ledger.blocks(address) {
            return Ok(BlobState::Shredded);
        }
        let (mut dead, mut fault) = (None, None);
        for (pack, entry) in self.packs().find(address) {
            match self.keys.state_or_damage(entry.slot, entry.id)? {
                Ok(SlotState::Live { .. }) if pack.has_records() => return Ok(BlobState::Resident),
                Ok(SlotState::Shredded) => dead = dead.or(Some(BlobState::Shredded)),
                Ok(SlotState::Live { .. } | SlotState::Evicted) => dead = dead.or(Some(BlobState::Evicted)),
                Ok(SlotState::Foreign) => fault = fault.or_else(|| Some(pack.keyless(entry.offset))),
                Err(error) => fault = fault.or(Some(error)),
            }
        }
        if let (None, Some(error)) = (dead, fault) {
            return Err(error);
        }
        // Of what a power cut took behind a revival there is nothing but the ledger.
        let left = if self.ledger.is_shredded(address) { BlobState::Shredded } else { BlobState::Absent };
        Ok(dead.unwrap_or(left))
    }

    /// Returns the length of resident content in bytes; `None` where it is not resident.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn length(&self, address: &Address) -> Result<Option<u64>> {
        let Some(held) = self.resident(address)? else { return Ok(None) };
        let held = if held.entry.alias { self.behind(&held)? } else { held };
        Ok(Some(held.pack.head(&held.entry, &self.store)?.content_bytes))
    }

    /// Returns content; `None` where it is not resident.
    ///
    /// # Errors
    /// `Corrupt` when it is not what was sealed; `NoKey`; `Io`.
    pub fn get(&self, address: &Address) -> Result<Option<Vec<u8>>> {
        let Some(opened) = self.open_content(address)? else { return Ok(None) };
        opened.collect(0..opened.head.content_bytes).map(Some)
    }

    /// Returns a part of content; `None` where it is not resident. Reads the chunks it lies in.
    ///
    /// # Errors
    /// `Invalid` with `LIMIT` when the range passes the end; else as [`Vault::get`].
    pub fn get_range(&self, address: &Address, range: Range<u64>) -> Result<Option<Vec<u8>>> {
        let Some(opened) = self.open_content(address)? else { return Ok(None) };
        opened.check_range(&range)?;
        opened.collect(range).map(Some)
    }

    /// Writes content, or a part of it, to a writer, a MiB at a time; returns how many bytes that were, `None` where it is
    /// not resident. Each piece is checked before it is written; what comes before a damaged one was written by then.
    ///
    /// # Errors
    /// As [`Vault::get_range`]; `Io` when the writer fails.
    pub fn get_writer(
        &self,
        address: &Address,
        range: Option<Range<u64>>,
        writer: &mut dyn Write,
    ) -> Result<Option<u64>> {
        let Some(opened) = self.open_content(address)? else { return Ok(None) };
        let range = range.unwrap_or(0..opened.head.content_bytes);
        opened.check_range(&range)?;
        let bytes = range.end.saturating_sub(range.start);
        opened.read(range, &mut |piece| {
            writer.write_all(piece).map_err(|e| Error::io("the content cannot be written", e))
        })?;
        Ok(Some(bytes))
    }

    /// Opens content whole and keeps nothing of it: whether it is there and what was sealed. `None` where it is not
    /// resident; `Some(false)` where the key is not held.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn check(&self, address: &Address) -> Result<Option<bool>> {
        match self.open_content(address) {
            Ok(Some(opened)) => {
                opened.read(0..opened.head.content_bytes, &mut |_| Ok(()))?;
                Ok(Some(true))
            }
            Ok(None) => Ok(None),
            Err(error) if error.kind() == ErrorKind::NoKey => Ok(Some(false)),
            Err(error) => Err(error),
        }
    }

    /// Opens content whole and hashes it again.
    pub(super) fn rehash(&self, pack: &Pack, entry: &FooterEntry) -> Result<()> {
        let Some(opened) = self.open_entry(Held { pack: pack.clone(), entry: *entry })? else {
            return Ok(());
        };
        let kinds: Vec<_> = opened.head.addresses.iter().map(Address::kind).collect();
        let mut hashing = Hashing::new(&kinds);
        opened.read(0..opened.head.content_bytes, &mut |piece| {
            hashing.update(piece);
            Ok(())
        })?;
        if hashing.finish() != opened.head.addresses {
            return Err(pack.damaged("content does not hash to its address", entry.offset));
        }
        Ok(())
    }

    fn resident(&self, address: &Address) -> Result<Option<Held>> {
        self.refresh()?;
        if self.ledger.blocks(address) {
            return Ok(None);
        }
        let (mut damaged, mut fault) = (None, None);
        for (pack, entry) in self.packs().find(address) {
            match self.keys.state_or_damage(entry.slot, entry.id)? {
                Err(error) => fault = fault.or(Some(error)),
                Ok(state) if state.is_live() && pack.has_records() => {
                    let held = Held { pack: pack.clone(), entry };
                    if !self.is_damaged(pack, &entry) {
                        return Ok(Some(held));
                    }
                    damaged = damaged.or(Some(held));
                }
                Ok(_) => {}
            }
        }
        match (damaged, fault) {
            (None, Some(error)) => Err(error),
            (damaged, _) => Ok(damaged),
        }
    }

    fn open_content(&self, address: &Address) -> Result<Option<Opened<'_>>> {
        let Some(held) = self.resident(address)? else { return Ok(None) };
        if !held.entry.alias {
            return self.open_entry(held);
        }
        let proved = self.prove_alias(&held, address);
        let behind = self.note_damage(&held.pack, held.entry.offset, proved)?;
        behind.map_or(Ok(None), |content| self.open_entry(content))
    }

    /// Checks that an alias was made by whoever had the key, and returns the content behind it.
    fn prove_alias(&self, held: &Held, address: &Address) -> Result<Option<Held>> {
        let head = held.pack.head(&held.entry, &self.store)?;
        let identity = *head.addresses.last().unwrap_or(address);
        let Unwrapped::Key(key) = self.keys.unwrap(held.entry.slot, held.entry.id)? else { return Ok(None) };
        let mut proof = [0; 32];
        held.pack.read_exactly(&mut proof, held.entry.offset.saturating_add(head.head_bytes()))?;
        if proof != alias_proof(&key, head.id, address, &identity) {
            return Err(held
                .pack
                .damaged("an address was given to content that it is not of", held.entry.offset));
        }
        self.behind(held).map(Some)
    }

    /// Finds the content that an alias leads to.
    fn behind(&self, held: &Held) -> Result<Held> {
        let head = held.pack.head(&held.entry, &self.store)?;
        let packs = self.packs();
        let mut content = head.addresses.iter().skip(1).flat_map(|identity| packs.find(identity));
        if let Some((pack, entry)) = content.find(|(_, entry)| entry.id == head.id && !entry.alias) {
            return Ok(Held { pack: pack.clone(), entry });
        }
        Err(held.pack.damaged("an address leads to content that is not there", held.entry.offset))
    }

    fn open_entry(&self, held: Held) -> Result<Option<Opened<'_>>> {
        let Held { pack, entry } = held;
        let opened = self.open_record(pack.clone(), &entry);
        self.note_damage(&pack, entry.offset, opened)
    }

    fn open_record(&self, pack: Pack, entry: &FooterEntry) -> Result<Option<Opened<'_>>> {
        let head = pack.head(entry, &self.store)?;
        let key = match self.keys.unwrap(entry.slot, entry.id)? {
            Unwrapped::Key(key) => key,
            Unwrapped::Dead(SlotState::Foreign) => {
                return Err(pack.keyless(entry.offset));
            }
            // Shredded or evicted meanwhile.
            Unwrapped::Dead(_) => return Ok(None),
        };
        let cipher = Cipher::new(&key, head.id);
        let opened = Opened { vault: self, pack, offset: entry.offset, head, cipher };
        opened.check_trailer()?;
        Ok(Some(opened))
    }

    /// Remembers a record that turned out to be damaged.
    fn note_damage<T>(&self, pack: &Pack, offset: u64, result: Result<T>) -> Result<T> {
        result.inspect_err(|error| {
            if error.kind() == ErrorKind::Corrupt {
                self.damaged.lock().insert((pack.number(), offset));
            }
        })
    }

    /// Reports whether a record was found damaged.
    pub(super) fn is_damaged(&self, pack: &Pack, entry: &FooterEntry) -> bool {
        self.damaged.lock().contains(&(pack.number(), entry.offset))
    }
}

impl Opened<'_> {
    fn check_range(&self, range: &Range<u64>) -> Result<()> {
        let bytes = self.head.content_bytes;
        if range.start <= range.end && range.end <= bytes {
            return Ok(());
        }
        let what = format!(
            "the range {}..{} is not within the {bytes} bytes of the content",
            range.start, range.end
        );
        Err(Error::invalid(Code::Limit, what))
    }

    /// Returns a part of the content, whose range was checked: so it takes no more memory than the file does.
    fn collect(&self, range: Range<u64>) -> Result<Vec<u8>> {
        let mut content = Vec::with_capacity(to_usize(range.end.saturating_sub(range.start)));
        self.read(range, &mut |piece| {
            content.extend_from_slice(piece);
            Ok(())
        })?;
        Ok(content)
    }

    fn body(&self) -> u64 {
        self.offset.saturating_add(self.head.head_bytes())
    }

    fn check_trailer(&self) -> Result<()> {
        let mut sealed = vec![0; sealed_trailer_bytes(self.head.addresses.len())];
        let end = self.body().saturating_add(self.head.body_bytes);
        let start = end.saturating_sub(sealed.len() as u64);
        self.pack.read_exactly(&mut sealed, start)?;
        if self.cipher.is_trailer_of(&mut sealed, &self.head) {
            return Ok(());
        }
        Err(self.pack.damaged("a record is not the one that was sealed", self.offset))
    }

    /// Passes on a part of the content, piece by piece.
    fn read(&self, range: Range<u64>, take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.vault.note_damage(&self.pack, self.offset, self.read_pieces(range, take))
    }

    fn read_pieces(&self, range: Range<u64>, take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let chunk_bytes = CHUNK_BYTES as u64;
        if range.is_empty() && self.head.content_bytes > 0 {
            return Ok(());
        }
        let chunks = self.head.chunks();
        let end = range.end.div_ceil(chunk_bytes).clamp(1, chunks);
        // Overwritten when it goes: what it holds last is content.
        let mut buffer = Zeroizing::new(Vec::new());
        let mut index = range.start / chunk_bytes;
        while index < end {
            if index > range.start / chunk_bytes {
                self.check_live()?;
            }
            let batch = end.min(index.saturating_add(BATCH));
            let (first, last) = (index.saturating_mul(chunk_bytes), batch.saturating_mul(chunk_bytes));
            let content = last.min(self.head.content_bytes).saturating_sub(first);
            let sealed = to_usize(content.saturating_add((batch - index).saturating_mul(TAG_BYTES as u64)));
            buffer.resize(sealed, 0);
            let start = self.body().saturating_add(index.saturating_mul(SEALED_CHUNK_BYTES as u64));
            self.pack.read_exactly(&mut buffer, start)?;
            for sealed in buffer.chunks_mut(SEALED_CHUNK_BYTES) {
                let is_last = index + 1 == chunks;
                let place = index.saturating_mul(chunk_bytes);
                let opened = self
                    .cipher
                    .open_chunk(index, is_last, sealed)
                    .ok_or_else(|| self.damaged_chunk(index))?;
                let from = to_usize(range.start.saturating_sub(place));
                let to = to_usize(range.end.saturating_sub(place)).min(opened.len());
                take(opened.get(from..to).unwrap_or_default())?;
                index += 1;
            }
        }
        Ok(())
    }

    fn damaged_chunk(&self, index: u64) -> Error {
        let offset = self.body().saturating_add(index.saturating_mul(SEALED_CHUNK_BYTES as u64));
        self.pack.damaged("a chunk of content is not the one that was sealed", offset)
    }

    /// Ends a reading whose content was shredded or evicted meanwhile.
    fn check_live(&self) -> Result<()> {
        self.vault.refresh_erasures()?;
        let blocked = self.head.addresses.iter().any(|address| self.vault.ledger.blocks(address));
        let is_live = self.vault.keys.state(self.head.slot, self.head.id)?.is_live();
        if is_live && !blocked {
            return Ok(());
        }
        let what = "the content was shredded or evicted while it was read";
        Err(Error::new(ErrorKind::Shredded, Code::Store, what))
    }
}
