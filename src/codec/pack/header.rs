//! The head of a pack file.
//!
//! ```text
//! offset  bytes  field
//!      0      8  magic "CLPACK\r\n"
//!      8      2  format version, u16 = 1
//!     10      2  zeros
//!     12      4  compatible features, u32: a build that does not know them can read the file all the same
//!     16      4  incompatible features, u32
//!     20     16  store identity
//!     36      4  zeros
//!     40      8  pack number, u64, from 1
//!     48     12  zeros
//!     60      4  CRC-32C of bytes 0 to 60, seeded with the store and the number
//! ```

use super::fields::Fields;
use super::{PackError, seed};

/// Bytes of a pack's head; the first record follows.
pub const PACK_HEADER_BYTES: usize = 64;

const MAGIC: [u8; 8] = *b"CLPACK\r\n";
const VERSION: u16 = 1;

/// The head of a pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackHeader {
    /// The store's identity.
    pub store: [u8; 16],
    /// The pack's number, from 1.
    pub number: u64,
}

impl PackHeader {
    /// Returns the bytes.
    #[must_use]
    pub fn to_bytes(self) -> [u8; PACK_HEADER_BYTES] {
        let mut out = Vec::with_capacity(PACK_HEADER_BYTES);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&[0; 10]);
        out.extend_from_slice(&self.store);
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&self.number.to_le_bytes());
        out.extend_from_slice(&[0; 12]);
        let crc = crc32c::crc32c_append(seed(&self.store, &[self.number]), &out);
        let mut bytes = [0; PACK_HEADER_BYTES];
        for (to, from) in bytes.iter_mut().zip(out.into_iter().chain(crc.to_le_bytes())) {
            *to = from;
        }
        bytes
    }

    /// Checks that bytes are the head of this pack of this store.
    ///
    /// # Errors
    /// The first thing that is wrong. A version is believed if the checksum does not say that ours was written.
    pub fn check(&self, bytes: &[u8; PACK_HEADER_BYTES]) -> Result<(), PackError> {
        let ours = self.to_bytes();
        if *bytes == ours {
            return Ok(());
        }
        let mut fields = Fields(bytes);
        if *fields.bytes()? != MAGIC {
            return Err(PackError::Damaged("it is no pack"));
        }
        let version = fields.u16()?;
        let as_ours: Vec<u8> = bytes.iter().zip(ours).enumerate().map(mended).collect();
        if version != VERSION {
            return Err(if as_ours == ours {
                PackError::Damaged("its version was altered")
            } else {
                PackError::Version(version)
            });
        }
        fields.zeros::<2>()?;
        let _compatible = fields.u32()?;
        let incompatible = fields.u32()?;
        let store: &[u8; 16] = fields.bytes()?;
        fields.zeros::<4>()?;
        let number = fields.u64()?;
        fields.zeros::<12>()?;
        let (covered, _) = bytes.split_at(PACK_HEADER_BYTES - 4);
        if crc32c::crc32c_append(seed(store, &[number]), covered) != fields.u32()? {
            return Err(PackError::Damaged("its head does not match its checksum"));
        }
        if store != &self.store {
            return Err(PackError::Damaged("it is another store's"));
        }
        if number != self.number {
            return Err(PackError::Damaged("it is another pack under this name"));
        }
        if incompatible != 0 {
            return Err(PackError::Features(incompatible));
        }
        // Only compatible features differ.
        Ok(())
    }
}

/// A head's byte once this build's version stands in it.
fn mended((at, (found, ours)): (usize, (&u8, u8))) -> u8 {
    if (8..10).contains(&at) { ours } else { *found }
}
