//! The footer of a sealed pack: every address in it, and where its record is.
//!
//! ```text
//! entries, sorted by (algorithm, hash, offset), 72 bytes each
//!      0      1  algorithm of the address
//!      1      1  1 for an alias, else 0
//!      2      2  zeros
//!      4      4  slot of the data key, u32
//!      8     32  hash
//!     40     16  record id
//!     56      8  offset of the record, u64
//!     64      8  bytes of the content, u64
//! tail, the last 64 bytes of the file
//!      0      8  magic "CLFOOT\r\n"
//!      8      8  entries, u64
//!     16      8  offset of the first entry, u64
//!     24      8  records, u64
//!     32      8  end of the last record, u64
//!     40      8  entries that are aliases, u64
//!     48      8  zeros
//!     56      4  CRC-32C of the entries, seeded with the store and the pack
//!     60      4  CRC-32C of bytes 0 to 60, seeded alike
//! ```
//!
//! What is left of a pack whose records are all dead has the same footer behind its head, and no records.

use std::cmp::Ordering;

use super::fields::Fields;
use super::head::RecordId;
use super::{PackError, seed};
use crate::contract::{Address, AddressKind};

/// Bytes of an entry.
pub const FOOTER_ENTRY_BYTES: usize = 72;

/// Bytes of the tail.
pub const FOOTER_TAIL_BYTES: usize = 64;

const MAGIC: [u8; 8] = *b"CLFOOT\r\n";

/// One address of one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FooterEntry {
    /// The address.
    pub address: Address,
    /// The record only leads to the one with the content.
    pub alias: bool,
    /// Where the data key is.
    pub slot: u32,
    /// The record's id.
    pub id: RecordId,
    /// Where the record starts.
    pub offset: u64,
    /// Bytes of the content.
    pub content_bytes: u64,
}

impl FooterEntry {
    /// Returns the bytes.
    #[must_use]
    pub fn to_bytes(self) -> [u8; FOOTER_ENTRY_BYTES] {
        let mut bytes = [0; FOOTER_ENTRY_BYTES];
        let fields = [self.address.kind().number(), u8::from(self.alias), 0, 0]
            .into_iter()
            .chain(self.slot.to_le_bytes())
            .chain(*self.address.hash())
            .chain(self.id)
            .chain(self.offset.to_le_bytes())
            .chain(self.content_bytes.to_le_bytes());
        for (to, from) in bytes.iter_mut().zip(fields) {
            *to = from;
        }
        bytes
    }

    /// Reads an entry.
    ///
    /// # Errors
    /// When it cannot be one.
    pub fn from_bytes(bytes: &[u8; FOOTER_ENTRY_BYTES]) -> Result<Self, PackError> {
        let mut fields = Fields(bytes);
        let kind = AddressKind::from_number(fields.u8()?)
            .ok_or(PackError::Damaged("an entry is of no known kind"))?;
        let alias = match fields.u8()? {
            0 => false,
            1 => true,
            _ => return Err(PackError::Damaged("an entry's flags are not known")),
        };
        fields.zeros::<2>()?;
        let slot = fields.u32()?;
        let address = Address::new(kind, *fields.bytes()?);
        let id = *fields.bytes()?;
        Ok(Self { address, alias, slot, id, offset: fields.u64()?, content_bytes: fields.u64()? })
    }

    /// The order in which entries stand.
    #[must_use]
    pub fn order(&self, other: &Self) -> Ordering {
        (self.address, self.offset).cmp(&(other.address, other.offset))
    }
}

/// The end of a sealed pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FooterTail {
    /// How many entries there are.
    pub entries: u64,
    /// Where they start.
    pub entries_offset: u64,
    /// How many records there are.
    pub records: u64,
    /// Where the last record ended; in a pack without its records, where it had ended.
    pub records_end: u64,
    /// How many entries are aliases.
    pub aliases: u64,
    /// Checksum of the entries.
    pub entries_crc: u32,
}

impl FooterTail {
    /// Returns the checksum of entries.
    #[must_use]
    pub fn crc_of(entries: &[u8], store: &[u8; 16], pack: u64) -> u32 {
        crc32c::crc32c_append(seed(store, &[pack]), entries)
    }

    /// Returns the bytes.
    #[must_use]
    pub fn to_bytes(self, store: &[u8; 16], pack: u64) -> Vec<u8> {
        let mut out = Vec::with_capacity(FOOTER_TAIL_BYTES);
        out.extend_from_slice(&MAGIC);
        for field in [self.entries, self.entries_offset, self.records, self.records_end, self.aliases, 0] {
            out.extend_from_slice(&field.to_le_bytes());
        }
        out.extend_from_slice(&self.entries_crc.to_le_bytes());
        let crc = Self::crc_of(&out, store, pack);
        out.extend_from_slice(&crc.to_le_bytes());
        out
    }

    /// Reads the tail of a file of `file_bytes`.
    ///
    /// # Errors
    /// When it is none, or does not fit the file.
    pub fn from_bytes(
        bytes: &[u8; FOOTER_TAIL_BYTES],
        store: &[u8; 16],
        pack: u64,
        file_bytes: u64,
    ) -> Result<Self, PackError> {
        let mut fields = Fields(bytes);
        if *fields.bytes()? != MAGIC {
            return Err(PackError::Damaged("the pack does not end in a footer"));
        }
        let (entries, entries_offset) = (fields.u64()?, fields.u64()?);
        let (records, records_end) = (fields.u64()?, fields.u64()?);
        let aliases = fields.u64()?;
        fields.zeros::<8>()?;
        let entries_crc = fields.u32()?;
        let (covered, _) = bytes.split_at(FOOTER_TAIL_BYTES - 4);
        if Self::crc_of(covered, store, pack) != fields.u32()? {
            return Err(PackError::Damaged("the footer's tail does not match its checksum"));
        }
        let end = entries
            .checked_mul(FOOTER_ENTRY_BYTES as u64)
            .and_then(|bytes| bytes.checked_add(entries_offset))
            .and_then(|end| end.checked_add(FOOTER_TAIL_BYTES as u64));
        if end != Some(file_bytes) || entries < records || entries < aliases {
            return Err(PackError::Damaged("the footer does not fit the pack"));
        }
        Ok(Self { entries, entries_offset, records, records_end, aliases, entries_crc })
    }
}
