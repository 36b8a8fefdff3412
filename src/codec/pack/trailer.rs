//! The trailer that ends the body of content, sealed like a chunk: it binds what the head says to the content.
//!
//! ```text
//! offset  bytes  field
//!      0      1  version = 1
//!      1      1  algorithm
//!      2      1  compression
//!      3      1  addresses
//!      4      4  zeros
//!      8     16  record id
//!     24      8  bytes of the content, u64
//!     32      8  chunks, u64
//!     40   40*n  addresses, as in the head
//! ```

use super::PackError;
use super::fields::Fields;
use super::head::{ADDRESS_BYTES, ALGORITHM_AES_256_GCM, RecordHead, RecordId};
use crate::contract::{Address, AddressKind};

/// Bytes of a trailer without addresses.
const FIXED_BYTES: usize = 40;

/// What the trailer of a record says, before it is sealed.
#[derive(Debug)]
pub struct Trailer;

impl Trailer {
    /// Returns the trailer's bytes of content with these addresses.
    #[must_use]
    pub fn to_bytes(id: RecordId, content_bytes: u64, chunks: u64, addresses: &[Address]) -> Vec<u8> {
        let mut out = Vec::with_capacity(trailer_bytes(addresses.len()));
        let count = u8::try_from(addresses.len()).unwrap_or(u8::MAX);
        out.extend_from_slice(&[1, ALGORITHM_AES_256_GCM, 0, count, 0, 0, 0, 0]);
        out.extend_from_slice(&id);
        out.extend_from_slice(&content_bytes.to_le_bytes());
        out.extend_from_slice(&chunks.to_le_bytes());
        for address in addresses {
            out.extend_from_slice(&address_bytes(address));
        }
        out
    }

    /// Reports whether opened bytes are the trailer of this head.
    #[must_use]
    pub fn matches(bytes: &[u8], head: &RecordHead) -> bool {
        bytes == Self::to_bytes(head.id, head.content_bytes, head.chunks(), &head.addresses)
    }
}

/// Returns how many bytes a trailer has before it is sealed.
#[must_use]
pub const fn trailer_bytes(addresses: usize) -> usize {
    FIXED_BYTES + ADDRESS_BYTES * addresses
}

/// Returns an address as it stands in heads and trailers.
#[must_use]
pub fn address_bytes(address: &Address) -> [u8; ADDRESS_BYTES] {
    let mut bytes = [0; ADDRESS_BYTES];
    let field = [address.kind().number(), 0, 0, 0, 0, 0, 0, 0].into_iter().chain(*address.hash());
    for (to, from) in bytes.iter_mut().zip(field) {
        *to = from;
    }
    bytes
}

/// Takes an address off the front of fields.
pub(super) fn read_address(fields: &mut Fields<'_>) -> Result<Address, PackError> {
    let kind =
        AddressKind::from_number(fields.u8()?).ok_or(PackError::Damaged("an address is of no known kind"))?;
    fields.zeros::<7>()?;
    Ok(Address::new(kind, *fields.bytes()?))
}
