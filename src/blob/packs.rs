//! All packs of a store, as one row.
//!
//! Invariants:
//! - A row never changes; a change makes another one and swaps it in.
//! - Newer content stands in packs that come later, but for packs of one large blob each, which can pass the active one
//!   by. So a look-up asks them all, newest first, until one has a live record.

use std::path::Path;
use std::sync::Arc;

use super::active::Active;
use super::sealed::Sealed;
use super::trouble::{at, pack_error};
use crate::codec::{FooterEntry, HEAD_BYTES_MAX, RecordHead};
use crate::contract::{Address, Error, Result};

/// A pack in either form.
#[derive(Clone, Debug)]
pub(super) enum Pack {
    Sealed(Arc<Sealed>),
    Active(Arc<Active>),
}

impl Pack {
    pub(super) fn number(&self) -> u64 {
        match self {
            Self::Sealed(pack) => pack.number(),
            Self::Active(pack) => pack.number(),
        }
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Sealed(pack) => pack.path(),
            Self::Active(pack) => pack.path(),
        }
    }

    /// Reports whether records can be read, and not only named.
    pub(super) fn has_records(&self) -> bool {
        match self {
            Self::Sealed(pack) => pack.has_records(),
            Self::Active(_) => true,
        }
    }

    pub(super) fn may_have_aliases(&self) -> bool {
        match self {
            Self::Sealed(pack) => pack.may_have_aliases(),
            Self::Active(pack) => pack.aliases() > 0,
        }
    }

    /// Returns the entries of an address, newest first.
    pub(super) fn find(&self, address: &Address) -> Vec<FooterEntry> {
        match self {
            Self::Sealed(pack) => pack.find(address),
            Self::Active(pack) => pack.find(address),
        }
    }

    /// Iterates over all entries.
    pub(super) fn all(&self) -> Box<dyn Iterator<Item = FooterEntry> + '_> {
        match self {
            Self::Sealed(pack) => pack.all(),
            Self::Active(pack) => Box::new(pack.all().into_iter()),
        }
    }

    /// Bytes of the file that hold something.
    pub(super) fn file_bytes(&self) -> u64 {
        match self {
            Self::Sealed(pack) => pack.file_bytes(),
            Self::Active(pack) => pack.end(),
        }
    }

    /// Fills a buffer from an offset.
    ///
    /// # Errors
    /// `Corrupt` when the file ends before; `Io`.
    pub(super) fn read_exactly(&self, buffer: &mut [u8], offset: u64) -> Result<()> {
        let count = self.read(buffer, offset)?;
        if count == buffer.len() { Ok(()) } else { Err(self.damaged("the pack is cut short", offset)) }
    }

    fn read(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        match self {
            Self::Sealed(pack) => pack.read(buffer, offset),
            Self::Active(pack) => pack.read(buffer, offset),
        }
    }

    /// Reads the head of the record that an entry leads to, and checks that it is that one.
    ///
    /// # Errors
    /// `Corrupt` when another record, or none, is there; `Io`.
    pub(super) fn head(&self, entry: &FooterEntry, store: &[u8; 16]) -> Result<RecordHead> {
        let mut buffer = [0; HEAD_BYTES_MAX];
        let count = self.read(&mut buffer, entry.offset)?;
        let bytes = buffer.get(..count).unwrap_or_default();
        let head = RecordHead::from_bytes(bytes, store, self.number(), entry.offset)
            .map_err(|error| at(pack_error(error), self.path(), entry.offset))?;
        let is_named = head.id == entry.id
            && head.slot == entry.slot
            && head.content_bytes == entry.content_bytes
            && head.addresses.contains(&entry.address);
        if !is_named {
            return Err(self.damaged("another record stands where the footer leads to", entry.offset));
        }
        let end = entry.offset.saturating_add(head.record_bytes());
        if end > self.file_bytes() {
            return Err(self.damaged("a record is cut short", entry.offset));
        }
        Ok(head)
    }

    /// An error about a record whose key is gone without a word.
    pub(super) fn keyless(&self, offset: u64) -> Error {
        self.damaged("the key of a record is missing from its slot", offset)
    }

    /// An error about bytes of this pack.
    pub(super) fn damaged(&self, what: &str, offset: u64) -> Error {
        at(Error::corrupt(what), self.path(), offset)
    }
}

/// The packs by rising number.
#[derive(Clone, Debug, Default)]
pub(super) struct Packs {
    row: Vec<Pack>,
}

impl Packs {
    pub(super) fn new(mut row: Vec<Pack>) -> Self {
        row.sort_by_key(Pack::number);
        Self { row }
    }

    /// Iterates by rising number.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Pack> {
        self.row.iter()
    }

    /// Iterates over the entries of an address, those of later packs first.
    pub(super) fn find<'p>(
        &'p self,
        address: &Address,
    ) -> impl Iterator<Item = (&'p Pack, FooterEntry)> + use<'p> {
        let address = *address;
        self.row
            .iter()
            .rev()
            .flat_map(move |pack| pack.find(&address).into_iter().map(move |entry| (pack, entry)))
    }

    /// Returns a row with a pack more, or in another form.
    pub(super) fn with(&self, pack: Pack) -> Self {
        let others = self.row.iter().filter(|other| other.number() != pack.number()).cloned();
        Self::new(others.chain([pack.clone()]).collect())
    }

    /// Returns a pack by its number.
    pub(super) fn get(&self, number: u64) -> Option<&Pack> {
        let found = self.row.binary_search_by_key(&number, Pack::number).ok()?;
        self.row.get(found)
    }

    /// Returns the number of packs.
    pub(super) fn len(&self) -> usize {
        self.row.len()
    }
}
