//! A sealed pack, or what is left of one: mapped, and searched by address in its footer.
//!
//! Invariants:
//! - The file is never written again, so it can be mapped; vacuuming makes another one.
//! - The footer is believed after its checksum was: once, at the first question. A footer that does not check is made up
//!   for from the records, and its damage is kept to be told.
//! - Entries stand by address, and by offset for one address, so the newest record of an address comes last.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::names::{Form, pack_file};
use super::scan::{Source, scan};
use super::trouble::{again, at, io_error, pack_error, to_usize};
use crate::codec::{
    FOOTER_ENTRY_BYTES, FOOTER_TAIL_BYTES, FooterEntry, FooterTail, PACK_HEADER_BYTES, PackHeader,
    RecordHead, RecordKind,
};
use crate::contract::{Address, Error, ErrorKind, Result};
use crate::io::{Mapping, OpenMode, Vfs};

/// A pack that takes no more records.
#[derive(Debug)]
pub(super) struct Sealed {
    number: u64,
    path: PathBuf,
    store: [u8; 16],
    form: Form,
    bytes: Mapping,
    /// None where it does not check.
    tail: Option<FooterTail>,
    entries: OnceLock<Entries>,
}

#[derive(Debug)]
enum Entries {
    /// In the map, checked.
    Mapped,
    /// Gathered from the records, because the footer is damaged.
    Gathered(Vec<FooterEntry>, Vec<Error>),
}

impl Sealed {
    /// Opens a pack by its name. What is damaged in it is in [`Sealed::damage`].
    ///
    /// # Errors
    /// `Unsupported` for a newer format; `Io`.
    pub(super) fn open(vfs: &dyn Vfs, dir: &Path, number: u64, form: Form, store: &[u8; 16]) -> Result<Self> {
        let path = dir.join(pack_file(number, form));
        let file = vfs.open(&path, OpenMode::Read).map_err(|e| io_error("open a pack", &path, e))?;
        let size = file.size().map_err(|e| io_error("read a pack's size", &path, e))?;
        // An empty file cannot be mapped everywhere.
        let bytes = if size == 0 {
            Mapping::new(Vec::new())
        } else {
            file.map().map_err(|e| io_error("map a pack", &path, e))?
        };
        let sealed = Self { number, path, store: *store, form, tail: None, entries: OnceLock::new(), bytes };
        if let Err(error) = sealed.check_header()
            && error.kind() == ErrorKind::Unsupported
        {
            return Err(error);
        }
        let tail = sealed.read_tail().ok();
        Ok(Self { tail, ..sealed })
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Reports whether the records are still there.
    pub(super) fn has_records(&self) -> bool {
        self.form == Form::Sealed
    }

    /// Bytes of the file.
    pub(super) fn file_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Returns where the records end, as far as that is known.
    pub(super) fn records_end(&self) -> u64 {
        self.tail.map_or(self.file_bytes(), |tail| tail.records_end.min(self.file_bytes()))
    }

    /// Reports whether some entry may be an alias.
    pub(super) fn may_have_aliases(&self) -> bool {
        self.tail.is_none_or(|tail| tail.aliases > 0)
    }

    /// Reads up to `buffer.len()` bytes at an offset.
    pub(super) fn read(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        (*self.bytes).read(buffer, offset)
    }

    /// Returns the entries of an address, newest first.
    pub(super) fn find(&self, address: &Address) -> Vec<FooterEntry> {
        match self.entries() {
            Entries::Mapped => {
                let first = self.lower_bound(address);
                let same = (first..self.count()).map_while(|index| self.entry(index));
                let mut found: Vec<_> = same.take_while(|entry| entry.address == *address).collect();
                found.reverse();
                found
            }
            Entries::Gathered(entries, _) => {
                let first = entries.partition_point(|entry| entry.address < *address);
                let same = entries.get(first..).unwrap_or_default().iter();
                let mut found: Vec<_> = same.take_while(|entry| entry.address == *address).copied().collect();
                found.reverse();
                found
            }
        }
    }

    /// Iterates over all entries, by address.
    pub(super) fn all(&self) -> Box<dyn Iterator<Item = FooterEntry> + '_> {
        match self.entries() {
            Entries::Mapped => Box::new((0..self.count()).filter_map(|index| self.entry(index))),
            Entries::Gathered(entries, _) => Box::new(entries.iter().copied()),
        }
    }

    /// Returns what is damaged in head and footer, and, where the footer is, in the row of records.
    pub(super) fn damage(&self) -> Vec<Error> {
        let mut found: Vec<Error> = self.check_header().err().into_iter().collect();
        if let Entries::Gathered(_, damage) = self.entries() {
            found.extend(damage.iter().map(again));
        }
        found
    }

    /// Returns what is damaged at both ends of the file, which a pack that was cut is: at the cost of two reads.
    pub(super) fn outer_damage(&self) -> Vec<Error> {
        self.check_header().err().into_iter().chain(self.read_tail().err()).collect()
    }

    fn check_header(&self) -> Result<()> {
        let head: Option<&[u8; PACK_HEADER_BYTES]> = self.bytes.first_chunk();
        let head = head.ok_or_else(|| Error::corrupt("the pack is cut short").at_path(&self.path))?;
        let expected = PackHeader { store: self.store, number: self.number };
        expected.check(head).map_err(|error| at(pack_error(error), &self.path, 0))
    }

    fn read_tail(&self) -> Result<FooterTail> {
        let tail: Option<&[u8; FOOTER_TAIL_BYTES]> = self.bytes.last_chunk();
        let tail = tail.ok_or_else(|| Error::corrupt("the pack is cut short").at_path(&self.path))?;
        let offset = self.file_bytes().saturating_sub(FOOTER_TAIL_BYTES as u64);
        FooterTail::from_bytes(tail, &self.store, self.number, self.file_bytes())
            .map_err(|error| at(pack_error(error), &self.path, offset))
    }

    fn entries(&self) -> &Entries {
        self.entries.get_or_init(|| match self.check_entries() {
            Ok(()) => Entries::Mapped,
            Err(error) => {
                let (entries, mut damage) = self.gather();
                damage.insert(0, error);
                Entries::Gathered(entries, damage)
            }
        })
    }

    fn check_entries(&self) -> Result<()> {
        let tail = self.read_tail()?;
        let wrong = |what| at(Error::corrupt(what), &self.path, tail.entries_offset);
        let bytes = self.entry_bytes().ok_or_else(|| wrong("the footer does not fit the pack"))?;
        if FooterTail::crc_of(bytes, &self.store, self.number) != tail.entries_crc {
            return Err(wrong("the footer does not match its checksum"));
        }
        let (chunks, _) = bytes.as_chunks::<FOOTER_ENTRY_BYTES>();
        let mut last: Option<FooterEntry> = None;
        for chunk in chunks {
            let entry = FooterEntry::from_bytes(chunk)
                .map_err(|error| at(pack_error(error), &self.path, tail.entries_offset))?;
            if last.is_some_and(|last| last.order(&entry).is_ge()) {
                return Err(wrong("the footer is not in its order"));
            }
            last = Some(entry);
        }
        Ok(())
    }

    /// Makes up for a footer from the records themselves.
    fn gather(&self) -> (Vec<FooterEntry>, Vec<Error>) {
        if self.form == Form::Gone {
            return (Vec::new(), Vec::new());
        }
        // Everything in a sealed pack was durable.
        let end = self.records_end();
        let Ok(scanned) = scan(&*self.bytes, &self.store, self.number, end, u64::MAX) else {
            return (Vec::new(), Vec::new());
        };
        let mut entries: Vec<_> =
            scanned.records.iter().flat_map(|(offset, head)| entries_of(head, *offset)).collect();
        entries.sort_by(FooterEntry::order);
        // With its tail gone as well, the footer itself looks like bytes that are no records.
        let damage = if self.tail.is_some() { scanned.damage } else { Vec::new() };
        let damage = damage.iter().map(|fault| at(Error::corrupt(fault.what), &self.path, fault.offset));
        (entries, damage.collect())
    }

    fn entry_bytes(&self) -> Option<&[u8]> {
        let tail = self.tail?;
        let end = self.bytes.len().checked_sub(FOOTER_TAIL_BYTES)?;
        self.bytes.get(to_usize(tail.entries_offset)..end)
    }

    fn count(&self) -> usize {
        self.tail.map_or(0, |tail| to_usize(tail.entries))
    }

    fn entry(&self, index: usize) -> Option<FooterEntry> {
        let start = index.checked_mul(FOOTER_ENTRY_BYTES)?;
        let bytes = self.entry_bytes()?.get(start..)?.first_chunk()?;
        FooterEntry::from_bytes(bytes).ok()
    }

    /// Returns the index of the first entry that does not stand before an address.
    fn lower_bound(&self, address: &Address) -> usize {
        let (mut low, mut high) = (0, self.count());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.entry(middle).is_some_and(|entry| entry.address < *address) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

/// Returns the entries of a record: one for each address, and of an alias one for the new address.
pub(super) fn entries_of(head: &RecordHead, offset: u64) -> Vec<FooterEntry> {
    let alias = head.kind == RecordKind::Alias;
    let named = if alias { 1 } else { head.addresses.len() };
    let entry = |address: &Address| FooterEntry {
        address: *address,
        alias,
        slot: head.slot,
        id: head.id,
        offset,
        content_bytes: head.content_bytes,
    };
    head.addresses.iter().take(named).map(entry).collect()
}
