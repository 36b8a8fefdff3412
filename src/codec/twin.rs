//! Twin copies: 1,024 bytes for one value, in two copies that share no sector, so that a torn write costs one at most.
//!
//! ```text
//! offset  bytes  field of a copy (512 bytes; the other one follows)
//!      0      8  magic, by file
//!      8      8  generation, u64, from 1
//!     16    488  body
//!    504      4  zeros
//!    508      4  CRC-32C of the store's identity, the copy's byte offset in its file (u64), and bytes 0 to 508
//! ```
//!
//! Invariants:
//! - The copy that checks and has the greater generation counts. A copy of zeros is empty; one that is neither empty nor
//!   checks is damaged.
//! - At rest one copy is empty: the one that a change replaced was overwritten with zeros.

use zeroize::Zeroizing;

use super::fields::{is_zeros, put, seeded_crc, take, take_u32, take_u64};

/// Both copies.
pub const TWIN_BYTES: usize = 1024;
/// One copy.
pub const COPY_BYTES: usize = 512;
/// What a copy carries.
pub const BODY_BYTES: usize = 488;

const CRC_AT: usize = 508;

/// Which twin: file, store and place are part of its checksum.
#[derive(Clone, Copy, Debug)]
pub struct TwinPlace {
    /// Says which file it stands in.
    pub magic: [u8; 8],
    /// The store's identity.
    pub store: [u8; 16],
    /// Where the first copy stands in its file, in bytes.
    pub offset: u64,
}

/// One copy, as it was found.
#[derive(Clone)]
pub enum Copy {
    /// Zeros.
    Empty,
    /// It checks.
    Held {
        /// Rises with each change.
        generation: u64,
        /// What it carries. Can be key material.
        body: Box<Zeroizing<[u8; BODY_BYTES]>>,
    },
    /// Neither.
    Damaged,
}

/// Both copies, as they were found.
pub struct Twin {
    /// In the order of the file.
    pub copies: [Copy; 2],
}

impl TwinPlace {
    /// Returns where a copy stands in its file: 0 the first, 1 the second.
    #[must_use]
    pub fn offset_of(&self, copy: u8) -> u64 {
        self.offset.saturating_add(u64::from(copy) * COPY_BYTES as u64)
    }

    /// Lays out one copy.
    #[must_use]
    pub fn encode(&self, copy: u8, generation: u64, body: &[u8; BODY_BYTES]) -> Zeroizing<[u8; COPY_BYTES]> {
        let mut out = Zeroizing::new([0; COPY_BYTES]);
        put(&mut *out, 0, &self.magic);
        put(&mut *out, 8, &generation.to_le_bytes());
        put(&mut *out, 16, body);
        let crc = self.crc(copy, &*out);
        put(&mut *out, CRC_AT, &crc.to_le_bytes());
        out
    }

    /// Lays out a twin that holds its first value.
    #[must_use]
    pub fn encode_first(&self, body: &[u8; BODY_BYTES]) -> Zeroizing<[u8; TWIN_BYTES]> {
        let mut out = Zeroizing::new([0; TWIN_BYTES]);
        put(&mut *out, 0, &*self.encode(0, 1, body));
        out
    }

    /// Reads both copies.
    #[must_use]
    pub fn decode(&self, bytes: &[u8; TWIN_BYTES]) -> Twin {
        let (first, second) = bytes.split_at(COPY_BYTES);
        Twin { copies: [self.copy(0, first), self.copy(1, second)] }
    }

    fn copy(&self, copy: u8, bytes: &[u8]) -> Copy {
        if is_zeros(bytes) {
            return Copy::Empty;
        }
        let generation = take_u64(bytes, 8);
        let checks = self.crc(copy, bytes) == take_u32(bytes, CRC_AT) && take(bytes, 0) == self.magic;
        // Zero is before the first, and behind the greatest there is none: no writer makes them.
        if !checks || generation == 0 || generation == u64::MAX || !is_zeros(&take::<4>(bytes, 504)) {
            return Copy::Damaged;
        }
        Copy::Held { generation, body: Box::new(Zeroizing::new(take(bytes, 16))) }
    }

    fn crc(&self, copy: u8, bytes: &[u8]) -> u32 {
        seeded_crc(&self.store, self.offset_of(copy), &[bytes.get(..CRC_AT).unwrap_or_default()])
    }
}

impl Twin {
    /// Returns the body that counts.
    #[must_use]
    pub fn body(&self) -> Option<&[u8; BODY_BYTES]> {
        let held = self.copies.iter().filter_map(|copy| match copy {
            Copy::Held { generation, body } => Some((*generation, &***body)),
            Copy::Empty | Copy::Damaged => None,
        });
        held.max_by_key(|(generation, _)| *generation).map(|(_, body)| body)
    }

    /// Reports whether neither copy was ever written, or both are gone.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.copies.iter().all(|copy| matches!(copy, Copy::Empty))
    }
}

/// Bodies can be key material.
impl std::fmt::Debug for Copy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Empty => f.write_str("Empty"),
            Self::Held { generation, .. } => write!(f, "Held(generation {generation})"),
            Self::Damaged => f.write_str("Damaged"),
        }
    }
}

impl std::fmt::Debug for Twin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(&self.copies).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: TwinPlace = TwinPlace { magic: *b"CLSUBKEY", store: [4; 16], offset: 2048 };

    #[test]
    fn the_greater_generation_that_checks_counts() {
        let mut bytes = [0; TWIN_BYTES];
        assert!(PLACE.decode(&bytes).is_empty() && PLACE.decode(&bytes).body().is_none());
        bytes[..COPY_BYTES].copy_from_slice(&*PLACE.encode(0, 3, &[1; BODY_BYTES]));
        assert_eq!(PLACE.decode(&bytes).body(), Some(&[1; BODY_BYTES]));
        bytes[COPY_BYTES..].copy_from_slice(&*PLACE.encode(1, 4, &[2; BODY_BYTES]));
        assert_eq!(PLACE.decode(&bytes).body(), Some(&[2; BODY_BYTES]));
        bytes[COPY_BYTES + 20] ^= 1;
        assert_eq!(PLACE.decode(&bytes).body(), Some(&[1; BODY_BYTES]));
        assert!(matches!(PLACE.decode(&bytes).copies, [Copy::Held { generation: 3, .. }, Copy::Damaged]));
    }

    #[test]
    fn a_copy_checks_at_its_place_alone() {
        let bytes = PLACE.encode_first(&[7; BODY_BYTES]);
        let others = [
            TwinPlace { magic: *b"CLMASTER", ..PLACE },
            TwinPlace { store: [5; 16], ..PLACE },
            TwinPlace { offset: 3072, ..PLACE },
        ];
        for other in others {
            assert!(other.decode(&bytes).body().is_none(), "{other:?}");
        }
        let mut moved = [0; TWIN_BYTES];
        moved[COPY_BYTES..].copy_from_slice(&bytes[..COPY_BYTES]);
        assert!(PLACE.decode(&moved).body().is_none());
    }

    #[test]
    fn every_flipped_bit_shows() {
        let whole = PLACE.encode_first(&[9; BODY_BYTES]);
        for bit in 0..COPY_BYTES * 8 {
            let mut bytes = *whole;
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(matches!(PLACE.decode(&bytes).copies, [Copy::Damaged, Copy::Empty]), "bit {bit}");
        }
        for byte in COPY_BYTES..TWIN_BYTES {
            let mut bytes = *whole;
            bytes[byte] ^= 0x80;
            let twin = PLACE.decode(&bytes);
            assert!(matches!(twin.copies, [Copy::Held { .. }, Copy::Damaged]) && twin.body().is_some());
        }
    }

    #[test]
    fn no_body_is_shown() {
        let twin = PLACE.decode(&PLACE.encode_first(&[0xC7; BODY_BYTES]));
        assert_eq!(format!("{twin:?}"), "[Held(generation 1), Empty]");
    }
}
