//! An entry of `keys/erasures`: that an address was shredded, or put again on purpose.
//!
//! ```text
//! offset  bytes  field
//!      0      4  CRC-32C of the store's identity, the ordinal (u64), and bytes 4 to 128
//!      4      1  kind: 1 shredded, 2 revived
//!      5      1  kind of the address: 1 BLAKE3, 2 SHA-256
//!      6      2  reason, u16; 0: not said
//!      8      8  ordinal, u64, from 0: the entry's place
//!     16     16  erasure id, random: the same for all entries of one erasure
//!     32      8  at, u64: milliseconds since the Unix epoch, shown to people
//!     40     32  hash of the address
//!     72     32  digest of the subject; zeros: all
//!    104     16  record id
//!    120      4  slot, u32
//!    124      4  place in its append, u32: the entry's index from 0; bit 31: it is the last one
//! ```
//!
//! A free entry is zeros. The place in the append tells an append that a crash cut short, which was never answered, from
//! damage: all that stands behind its first bad entry belongs to it.

use super::fields::{is_zeros, put, seeded_crc, take, take_u16, take_u32, take_u64};
use super::key_head::KeyFault;
use crate::contract::{Address, AddressKind};

/// Bytes of an entry.
pub const ENTRY_BYTES: usize = 128;

const LAST: u32 = 1 << 31;

/// What an entry says of its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// It was shredded.
    Shredded,
    /// It was put again on purpose.
    Revived,
}

/// What was erased, or revived, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Shredded or revived.
    pub kind: EntryKind,
    /// The content.
    pub address: Address,
    /// Why, as a code; 0 where it was not said.
    pub reason: u16,
    /// Which erasure: one that covers several addresses has an entry for each.
    pub erasure: [u8; 16],
    /// Milliseconds since the Unix epoch, shown to people.
    pub at: u64,
    /// The subject under whom alone it was erased; zeros: all.
    pub subject: [u8; 32],
    /// The record that held the content.
    pub record: [u8; 16],
    /// The slot of its key.
    pub slot: u32,
}

/// An entry at its place in the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedgerEntry {
    /// Its place, from 0.
    pub ordinal: u64,
    /// What it says.
    pub entry: Entry,
    /// How many entries of the same append stand before it; below 2^31.
    pub index: u32,
    /// No entry of the same append stands behind it.
    pub is_last: bool,
}

impl LedgerEntry {
    /// Lays out the entry.
    #[must_use]
    pub fn to_bytes(self, store: &[u8; 16]) -> [u8; ENTRY_BYTES] {
        let entry = &self.entry;
        let kind = match entry.kind {
            EntryKind::Shredded => 1,
            EntryKind::Revived => 2,
        };
        let mut out = [0; ENTRY_BYTES];
        put(&mut out, 4, &[kind, entry.address.kind().number()]);
        put(&mut out, 6, &entry.reason.to_le_bytes());
        put(&mut out, 8, &self.ordinal.to_le_bytes());
        put(&mut out, 16, &entry.erasure);
        put(&mut out, 32, &entry.at.to_le_bytes());
        put(&mut out, 40, entry.address.hash());
        put(&mut out, 72, &entry.subject);
        put(&mut out, 104, &entry.record);
        put(&mut out, 120, &entry.slot.to_le_bytes());
        let place = (self.index & !LAST) | if self.is_last { LAST } else { 0 };
        put(&mut out, 124, &place.to_le_bytes());
        let crc = crc(store, self.ordinal, &out);
        put(&mut out, 0, &crc.to_le_bytes());
        out
    }

    /// Reads an entry; `None` when it is free, or does not check.
    ///
    /// # Errors
    /// It checks, and holds what cannot be.
    pub fn from_bytes(
        bytes: &[u8; ENTRY_BYTES],
        store: &[u8; 16],
        ordinal: u64,
    ) -> Result<Option<Self>, KeyFault> {
        if is_zeros(bytes) || crc(store, ordinal, bytes) != take_u32(bytes, 0) {
            return Ok(None);
        }
        let [kind, address] = take(bytes, 4);
        let kind = match kind {
            1 => EntryKind::Shredded,
            2 => EntryKind::Revived,
            _ => return Err(KeyFault::Damaged("an entry of the ledger is of a kind that is none")),
        };
        let address = AddressKind::from_number(address)
            .ok_or(KeyFault::Damaged("an entry of the ledger has an address of a kind that is none"))?;
        let place = take_u32(bytes, 124);
        if take_u64(bytes, 8) != ordinal || u64::from(place & !LAST) > ordinal {
            return Err(KeyFault::Damaged("an entry of the ledger stands in the wrong place"));
        }
        let entry = Entry {
            kind,
            address: Address::new(address, take(bytes, 40)),
            reason: take_u16(bytes, 6),
            erasure: take(bytes, 16),
            at: take_u64(bytes, 32),
            subject: take(bytes, 72),
            record: take(bytes, 104),
            slot: take_u32(bytes, 120),
        };
        Ok(Some(Self { ordinal, entry, index: place & !LAST, is_last: place & LAST != 0 }))
    }
}

fn crc(store: &[u8; 16], ordinal: u64, bytes: &[u8; ENTRY_BYTES]) -> u32 {
    seeded_crc(store, ordinal, &[bytes.get(4..).unwrap_or_default()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry(kind: EntryKind) -> LedgerEntry {
        let address = Address::new(AddressKind::Sha256, [1; 32]);
        let (erasure, subject, record) = ([2; 16], [3; 32], [4; 16]);
        let entry = Entry { kind, address, reason: 9, erasure, at: 5, subject, record, slot: 6 };
        LedgerEntry { ordinal: 7, entry, index: 2, is_last: true }
    }

    #[test]
    fn round_trips_at_its_place_alone() {
        for kind in [EntryKind::Shredded, EntryKind::Revived] {
            let bytes = entry(kind).to_bytes(&[1; 16]);
            assert_eq!(LedgerEntry::from_bytes(&bytes, &[1; 16], 7), Ok(Some(entry(kind))));
            assert_eq!(LedgerEntry::from_bytes(&bytes, &[1; 16], 8), Ok(None));
            assert_eq!(LedgerEntry::from_bytes(&bytes, &[2; 16], 7), Ok(None));
        }
        assert_eq!(LedgerEntry::from_bytes(&[0; ENTRY_BYTES], &[1; 16], 7), Ok(None));
    }

    #[test]
    fn every_flipped_bit_shows() {
        for bit in 0..ENTRY_BYTES * 8 {
            let mut bytes = entry(EntryKind::Shredded).to_bytes(&[1; 16]);
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(LedgerEntry::from_bytes(&bytes, &[1; 16], 7), Ok(None), "bit {bit}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(mut bytes in any::<[u8; ENTRY_BYTES]>(), fix: bool) {
            if fix {
                let right = crc(&[1; 16], 5, &bytes).to_le_bytes();
                bytes[..4].copy_from_slice(&right);
            }
            let _ = LedgerEntry::from_bytes(&bytes, &[1; 16], 5);
        }
    }
}
