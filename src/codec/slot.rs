//! A slot of `keys/slots`: one wrapped data key.
//!
//! ```text
//! offset  bytes  field
//!      0      1  state: 0 free, 1 live, 2 shredded, 3 evicted
//!      1      1  flags: bit 0 pinned
//!      2      2  zeros
//!      4      4  CRC-32C of the store's identity, the slot's number (u64), bytes 0 to 4 and bytes 8 to 128
//!      8     16  record id
//!     24      4  subject, u32: whose key wraps the data key
//!     28      4  epoch, u32: zeros for now
//!     32      4  next, u32: number + 1 of the next slot that wraps this record's key; 0: none
//!     36      4  zeros
//!     40     40  the wrapped data key; zeros in a slot that is not live
//!     80     48  zeros
//! ```
//!
//! Invariants:
//! - A free slot is zeros from end to end.
//! - `next` leads to a greater number, so that no chain comes back to where it was.

use std::fmt;

use super::fields::{is_zeros, put, seeded_crc, take, take_u32};
use super::key_head::KeyFault;

/// Bytes of a slot.
pub const SLOT_BYTES: usize = 128;

const PINNED: u8 = 1;

/// What became of the wrapped key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotMark {
    /// It is there.
    Live,
    /// It was overwritten, for good.
    Shredded,
    /// It was overwritten to make room.
    Evicted,
}

impl SlotMark {
    const ALL: [Self; 3] = [Self::Live, Self::Shredded, Self::Evicted];

    const fn number(self) -> u8 {
        match self {
            Self::Live => 1,
            Self::Shredded => 2,
            Self::Evicted => 3,
        }
    }
}

/// A slot that is not free.
#[derive(Clone, PartialEq, Eq)]
pub struct Slot {
    /// What became of the key.
    pub mark: SlotMark,
    /// Not to be evicted.
    pub pinned: bool,
    /// The record whose key it is.
    pub record: [u8; 16],
    /// Whose key wraps it.
    pub subject: u32,
    /// The next slot for the same record; a greater number.
    pub next: Option<u32>,
    /// The wrapped data key; zeros unless live.
    pub wrapped: [u8; 40],
}

impl Slot {
    /// Lays out the slot for its number.
    #[must_use]
    pub fn to_bytes(&self, store: &[u8; 16], number: u32) -> [u8; SLOT_BYTES] {
        let mut out = [0; SLOT_BYTES];
        put(&mut out, 0, &[self.mark.number(), if self.pinned { PINNED } else { 0 }]);
        put(&mut out, 8, &self.record);
        put(&mut out, 24, &self.subject.to_le_bytes());
        put(&mut out, 32, &self.next.map_or(0, |next| next.saturating_add(1)).to_le_bytes());
        put(&mut out, 40, &self.wrapped);
        let crc = crc(store, number, &out);
        put(&mut out, 4, &crc.to_le_bytes());
        out
    }

    /// Reads a slot; `None` when it is free.
    ///
    /// # Errors
    /// Bytes that nobody wrote at this number of this store.
    pub fn from_bytes(
        bytes: &[u8; SLOT_BYTES],
        store: &[u8; 16],
        number: u32,
    ) -> Result<Option<Self>, KeyFault> {
        if is_zeros(bytes) {
            return Ok(None);
        }
        if crc(store, number, bytes) != take_u32(bytes, 4) {
            return Err(KeyFault::Damaged("a slot is damaged"));
        }
        let [mark, flags, zeros @ ..] = take::<4>(bytes, 0);
        let mark = SlotMark::ALL.into_iter().find(|known| known.number() == mark);
        let mark = mark.ok_or(KeyFault::Damaged("a slot has a state that is none"))?;
        let unused = [&zeros[..], &take::<4>(bytes, 28), &take::<4>(bytes, 36), &take::<48>(bytes, 80)];
        if flags & !PINNED != 0 || !unused.into_iter().all(is_zeros) {
            return Err(KeyFault::Damaged("a slot holds what no version writes"));
        }
        let next = take_u32(bytes, 32).checked_sub(1);
        if next.is_some_and(|next| next <= number) {
            return Err(KeyFault::Damaged("a slot leads back"));
        }
        let wrapped = take(bytes, 40);
        if mark != SlotMark::Live && !is_zeros(&wrapped) {
            return Err(KeyFault::Damaged("a slot that is not live holds a key"));
        }
        let pinned = flags & PINNED != 0;
        Ok(Some(Self { mark, pinned, record: take(bytes, 8), subject: take_u32(bytes, 24), next, wrapped }))
    }

    /// Reads the record id of a slot that may be damaged.
    #[must_use]
    pub fn peek_record(bytes: &[u8; SLOT_BYTES]) -> [u8; 16] {
        take(bytes, 8)
    }

    /// Returns the slot without its key.
    #[must_use]
    pub fn ended(&self, mark: SlotMark) -> Self {
        Self { mark, pinned: false, wrapped: [0; 40], ..self.clone() }
    }
}

fn crc(store: &[u8; 16], number: u32, bytes: &[u8; SLOT_BYTES]) -> u32 {
    let part = |range: std::ops::Range<usize>| bytes.get(range).unwrap_or_default();
    seeded_crc(store, u64::from(number), &[part(0..4), part(8..SLOT_BYTES)])
}

/// Shows no key, wrapped or not.
impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot")
            .field("mark", &self.mark)
            .field("pinned", &self.pinned)
            .field("subject", &self.subject)
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn slot() -> Slot {
        let (record, wrapped) = ([2; 16], [3; 40]);
        Slot { mark: SlotMark::Live, pinned: true, record, subject: 1, next: Some(9), wrapped }
    }

    #[test]
    fn round_trips_at_its_place_alone() {
        for mark in SlotMark::ALL {
            let slot = if mark == SlotMark::Live { slot() } else { slot().ended(mark) };
            let bytes = slot.to_bytes(&[1; 16], 5);
            assert_eq!(Slot::from_bytes(&bytes, &[1; 16], 5), Ok(Some(slot)));
            assert!(Slot::from_bytes(&bytes, &[1; 16], 6).is_err());
            assert!(Slot::from_bytes(&bytes, &[2; 16], 5).is_err());
        }
        assert_eq!(Slot::from_bytes(&[0; SLOT_BYTES], &[1; 16], 5), Ok(None));
        assert!(!format!("{:?}", slot()).contains("3, 3"));
    }

    #[test]
    fn every_flipped_bit_shows() {
        for bit in 0..SLOT_BYTES * 8 {
            let mut bytes = slot().to_bytes(&[1; 16], 5);
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(Slot::from_bytes(&bytes, &[1; 16], 5).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn what_cannot_be_is_damage_though_it_checks() {
        let bytes = Slot { next: Some(5), ..slot() }.to_bytes(&[1; 16], 5);
        assert_eq!(Slot::from_bytes(&bytes, &[1; 16], 5), Err(KeyFault::Damaged("a slot leads back")));
        let bytes = Slot { mark: SlotMark::Shredded, ..slot() }.to_bytes(&[1; 16], 5);
        assert!(Slot::from_bytes(&bytes, &[1; 16], 5).is_err(), "a dead slot with a key");
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(mut bytes in any::<[u8; SLOT_BYTES]>(), fix: bool) {
            if fix {
                let right = crc(&[1; 16], 5, &bytes).to_le_bytes();
                bytes[4..8].copy_from_slice(&right);
            }
            let _ = Slot::from_bytes(&bytes, &[1; 16], 5);
        }
    }
}
