//! The head of `keys/slots` and of `keys/erasures`, and what can be wrong with a file of keys.
//!
//! ```text
//! offset  bytes  field
//!      0      8  magic, by file
//!      8      2  version, u16 = 1
//!     10      2  zeros
//!     12      4  compatible feature bits, u32: unknown ones are ignored
//!     16      4  incompatible feature bits, u32: an unknown one refuses the file
//!     20     16  store identity
//!     36    472  zeros
//!    508      4  CRC-32C of the store's identity, a u64 zero, and bytes 0 to 508
//!    512   3584  zeros
//! ```

use thiserror::Error;

use super::fields::{is_zeros, put, seeded_crc, take, take_u16, take_u32};

/// Bytes in front of the first slot or entry.
pub const KEY_HEAD_BYTES: usize = 4096;

/// The version that this build writes and reads.
pub(super) const VERSION: u16 = 1;

const CRC_AT: usize = 508;

/// Why bytes of a key file are not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum KeyFault {
    /// A newer version.
    #[error("the file has version {found}, this build reads {VERSION}")]
    Version {
        /// The version it names.
        found: u16,
    },
    /// It needs something that this build cannot do.
    #[error("the file needs features {bits:#x} that this build does not know")]
    Features {
        /// The bits that are not known.
        bits: u32,
    },
    /// Bytes that nobody wrote like this.
    #[error("{0}")]
    Damaged(&'static str),
}

/// Checks the version and the incompatible features of bytes that check.
pub(super) fn check_version(version: u16, incompatible: u32) -> Result<(), KeyFault> {
    match (version, incompatible) {
        (VERSION, 0) => Ok(()),
        (VERSION, bits) => Err(KeyFault::Features { bits }),
        (found, _) => Err(KeyFault::Version { found }),
    }
}

/// Whose and what a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyHead {
    /// Says which file it is.
    pub magic: [u8; 8],
    /// The store's identity.
    pub store: [u8; 16],
}

impl KeyHead {
    /// Lays out the head.
    #[must_use]
    pub fn to_bytes(self) -> [u8; KEY_HEAD_BYTES] {
        let mut out = [0; KEY_HEAD_BYTES];
        put(&mut out, 0, &self.magic);
        put(&mut out, 8, &VERSION.to_le_bytes());
        put(&mut out, 20, &self.store);
        let crc = self.crc(&out);
        put(&mut out, CRC_AT, &crc.to_le_bytes());
        out
    }

    /// Checks that bytes are this head.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn check(&self, bytes: &[u8]) -> Result<(), KeyFault> {
        if self.crc(bytes) != take_u32(bytes, CRC_AT) {
            return Err(KeyFault::Damaged("the head of the file is damaged, or of another store"));
        }
        if take(bytes, 0) != self.magic || take(bytes, 20) != self.store {
            return Err(KeyFault::Damaged("the head of the file is that of another file"));
        }
        check_version(take_u16(bytes, 8), take_u32(bytes, 16))?;
        if !is_zeros(&take::<2>(bytes, 10)) || !is_zeros(bytes.get(36..CRC_AT).unwrap_or_default()) {
            return Err(KeyFault::Damaged("the head of the file holds what no version writes"));
        }
        Ok(())
    }

    fn crc(&self, bytes: &[u8]) -> u32 {
        seeded_crc(&self.store, 0, &[bytes.get(..CRC_AT).unwrap_or_default()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: KeyHead = KeyHead { magic: *b"CLSLOTS\0", store: [6; 16] };

    #[test]
    fn every_flipped_bit_of_it_shows() {
        let bytes = HEAD.to_bytes();
        assert_eq!(HEAD.check(&bytes), Ok(()));
        for bit in 0..512 * 8 {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(matches!(HEAD.check(&flipped), Err(KeyFault::Damaged(_))), "bit {bit}");
        }
        assert!(KeyHead { store: [7; 16], ..HEAD }.check(&bytes).is_err());
        assert!(KeyHead { magic: *b"CLERASED", ..HEAD }.check(&bytes).is_err());
        assert!(HEAD.check(&bytes[..300]).is_err());
    }

    #[test]
    fn what_a_newer_version_wrote_is_refused_by_name() {
        let with = |at: usize, byte: u8| {
            let mut bytes = HEAD.to_bytes();
            bytes[at] = byte;
            let crc = HEAD.crc(&bytes);
            put(&mut bytes, CRC_AT, &crc.to_le_bytes());
            HEAD.check(&bytes)
        };
        assert_eq!(with(8, 2), Err(KeyFault::Version { found: 2 }));
        assert_eq!(with(16, 4), Err(KeyFault::Features { bits: 4 }));
        assert_eq!(with(12, 4), Ok(()), "a compatible feature");
    }
}
