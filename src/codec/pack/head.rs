//! The head of a record.
//!
//! ```text
//! offset  bytes  field
//!      0      4  magic "CLRB"
//!      4      4  CRC-32C of bytes 0 to 4 and 8 to the head's end, seeded with the store, the pack and the offset
//!      8      2  bytes of the head, u16: 64, and 40 for each address
//!     10      1  kind: 1 content, 2 alias
//!     11      1  algorithm: 1 AES-256-GCM in chunks of 64 KiB with counter nonces
//!     12      1  compression: 0 none
//!     13      1  addresses, 1 to 8
//!     14      2  zeros
//!     16     16  record id
//!     32      4  slot of the data key, u32
//!     36      4  CRC-32C of the body, not seeded
//!     40      8  bytes of the content, u64
//!     48      8  bytes of the body, u64
//!     56      8  durable end of the pack when the record was written, u64
//!     64   40*n  addresses: algorithm, 1 byte; zeros, 7; hash, 32
//! ```
//!
//! The body follows, then zeros up to a multiple of 8.

use super::fields::Fields;
use super::trailer::{address_bytes, read_address};
use super::{PackError, seed};
use crate::contract::Address;

/// Bytes of content in a chunk; the last one of a blob holds fewer.
pub const CHUNK_BYTES: usize = 64 << 10;

/// Bytes that authentication adds to each chunk and to the trailer.
pub const TAG_BYTES: usize = 16;

/// Records start at multiples of this.
pub const RECORD_ALIGN: u64 = 8;

/// Most addresses of one record.
pub const ADDRESSES_MAX: usize = 8;

/// Bytes of a head without addresses.
const FIXED_BYTES: usize = 64;

/// Bytes of an address.
pub(super) const ADDRESS_BYTES: usize = 40;

/// Bytes of the shortest head.
pub const HEAD_BYTES_MIN: usize = FIXED_BYTES + ADDRESS_BYTES;

/// Bytes of the longest head.
pub const HEAD_BYTES_MAX: usize = FIXED_BYTES + ADDRESS_BYTES * ADDRESSES_MAX;

/// The number of the one algorithm there is.
pub const ALGORITHM_AES_256_GCM: u8 = 1;

/// Bytes of an alias's body.
const ALIAS_BODY_BYTES: u64 = 32;

const MAGIC: [u8; 4] = *b"CLRB";

/// Names one stored record: 16 random bytes, never used twice.
pub type RecordId = [u8; 16];

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// Content.
    Content,
    /// A further address of content in another record, whose id it bears.
    Alias,
}

/// The head of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordHead {
    /// What the record is.
    pub kind: RecordKind,
    /// Names the record; of an alias, the record it leads to.
    pub id: RecordId,
    /// Where the data key's first wrap is.
    pub slot: u32,
    /// Checksum of the body.
    pub body_crc: u32,
    /// Bytes of the content.
    pub content_bytes: u64,
    /// Bytes of the body.
    pub body_bytes: u64,
    /// The pack was durable up to here when the record was written.
    pub durable: u64,
    /// The content's addresses; of an alias, the new one, then the identity.
    pub addresses: Vec<Address>,
}

/// Returns an offset, moved up to where a record can start.
#[must_use]
pub const fn aligned(offset: u64) -> u64 {
    offset.saturating_add(RECORD_ALIGN - 1) & !(RECORD_ALIGN - 1)
}

/// Returns how many bytes the body of content takes; `None` where that passes what an offset can say.
#[must_use]
pub fn body_bytes_of(content_bytes: u64, addresses: usize) -> Option<u64> {
    let chunks = chunks_of(content_bytes);
    let tags = chunks.checked_add(1)?.checked_mul(TAG_BYTES as u64)?;
    content_bytes.checked_add(tags)?.checked_add(super::trailer_bytes(addresses) as u64)
}

/// Returns the number of chunks of content: empty content has one.
pub(super) const fn chunks_of(content_bytes: u64) -> u64 {
    let chunks = content_bytes.div_ceil(CHUNK_BYTES as u64);
    if chunks == 0 { 1 } else { chunks }
}

impl RecordHead {
    /// Returns the number of chunks of content.
    #[must_use]
    pub const fn chunks(&self) -> u64 {
        chunks_of(self.content_bytes)
    }

    /// Returns the bytes of the head.
    #[must_use]
    pub fn head_bytes(&self) -> u64 {
        (FIXED_BYTES + ADDRESS_BYTES * self.addresses.len()) as u64
    }

    /// Returns the bytes of the whole record, zeros behind the body included.
    #[must_use]
    pub fn record_bytes(&self) -> u64 {
        aligned(self.head_bytes().saturating_add(self.body_bytes))
    }

    /// Returns the head's bytes for a place.
    ///
    /// # Errors
    /// When there are no addresses, or too many.
    pub fn to_bytes(&self, store: &[u8; 16], pack: u64, offset: u64) -> Result<Vec<u8>, PackError> {
        let addresses = self.addresses.len();
        if addresses == 0 || addresses > ADDRESSES_MAX {
            return Err(PackError::Damaged("a record needs 1 to 8 addresses"));
        }
        let bytes = FIXED_BYTES + ADDRESS_BYTES * addresses;
        let small = |n: usize| u16::try_from(n).unwrap_or(u16::MAX);
        let mut rest = Vec::with_capacity(bytes);
        rest.extend_from_slice(&small(bytes).to_le_bytes());
        let kind = match self.kind {
            RecordKind::Content => 1,
            RecordKind::Alias => 2,
        };
        let [count, _] = small(addresses).to_le_bytes();
        rest.extend_from_slice(&[kind, ALGORITHM_AES_256_GCM, 0, count, 0, 0]);
        rest.extend_from_slice(&self.id);
        rest.extend_from_slice(&self.slot.to_le_bytes());
        rest.extend_from_slice(&self.body_crc.to_le_bytes());
        for field in [self.content_bytes, self.body_bytes, self.durable] {
            rest.extend_from_slice(&field.to_le_bytes());
        }
        for address in &self.addresses {
            rest.extend_from_slice(&address_bytes(address));
        }
        let crc = checksum(store, pack, offset, &rest);
        let mut out = Vec::with_capacity(bytes);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&crc.to_le_bytes());
        out.extend_from_slice(&rest);
        Ok(out)
    }

    /// Tells how many bytes a head has from its first ten; `None` where they do not start one.
    #[must_use]
    pub fn peek_bytes(bytes: &[u8]) -> Option<usize> {
        let mut fields = Fields(bytes);
        let magic: &[u8; 4] = fields.bytes().ok()?;
        fields.u32().ok()?;
        let bytes = usize::from(fields.u16().ok()?);
        let fits = (HEAD_BYTES_MIN..=HEAD_BYTES_MAX).contains(&bytes)
            && (bytes - FIXED_BYTES).is_multiple_of(ADDRESS_BYTES);
        (*magic == MAGIC && fits).then_some(bytes)
    }

    /// Reads a head from bytes that begin with it.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn from_bytes(bytes: &[u8], store: &[u8; 16], pack: u64, offset: u64) -> Result<Self, PackError> {
        let whole = Self::peek_bytes(bytes).ok_or(PackError::Damaged("no record starts here"))?;
        let head = bytes.get(..whole).ok_or(PackError::Damaged("a record's head is cut short"))?;
        let mut fields = Fields(head);
        fields.bytes::<4>()?;
        let crc = fields.u32()?;
        if checksum(store, pack, offset, fields.0) != crc {
            return Err(PackError::Damaged("a record's head does not match its checksum"));
        }
        fields.u16()?;
        let kind = match fields.u8()? {
            1 => RecordKind::Content,
            2 => RecordKind::Alias,
            _ => return Err(PackError::Damaged("a record is of no known kind")),
        };
        if fields.u8()? != ALGORITHM_AES_256_GCM {
            return Err(PackError::Damaged("a record's algorithm is not known"));
        }
        if fields.u8()? != 0 {
            return Err(PackError::Damaged("a record's compression is not known"));
        }
        let count = usize::from(fields.u8()?);
        fields.zeros::<2>()?;
        let id = *fields.bytes()?;
        let (slot, body_crc) = (fields.u32()?, fields.u32()?);
        let (content_bytes, body_bytes, durable) = (fields.u64()?, fields.u64()?, fields.u64()?);
        if count * ADDRESS_BYTES + FIXED_BYTES != whole {
            return Err(PackError::Damaged("a record's addresses do not fit its head"));
        }
        let mut addresses = Vec::with_capacity(count);
        for _ in 0..count {
            addresses.push(read_address(&mut fields)?);
        }
        let expected = match kind {
            RecordKind::Content => body_bytes_of(content_bytes, count),
            RecordKind::Alias => (count == 2 && content_bytes == 0).then_some(ALIAS_BODY_BYTES),
        };
        if expected != Some(body_bytes) {
            return Err(PackError::Damaged("a record's lengths do not fit one another"));
        }
        Ok(Self { kind, id, slot, body_crc, content_bytes, body_bytes, durable, addresses })
    }
}

/// Checksum of a head without its own field; `rest` is what follows that.
fn checksum(store: &[u8; 16], pack: u64, offset: u64, rest: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c_append(seed(store, &[pack, offset]), &MAGIC), rest)
}
