//! Packs: the files that hold content, as ciphertext.
//!
//! A pack is a [`PackHeader`], then records, each a [`RecordHead`] and its body, and once it is sealed a footer of
//! [`FooterEntry`]s and a [`FooterTail`]. What a body holds is the cipher's to say; here are lengths and places.
//!
//! Invariants:
//! - Every part but a body has a checksum that is seeded with the store and the place, so that a part that was copied
//!   from elsewhere never checks.
//! - A body has a plain checksum, so that a torn one is seen without any key.
//! - Little-endian; fields that are reserved are zero, and damage where they are not.

mod fields;
mod footer;
mod head;
mod header;
mod trailer;

pub use footer::{FOOTER_ENTRY_BYTES, FOOTER_TAIL_BYTES, FooterEntry, FooterTail};
pub use head::{
    CHUNK_BYTES, HEAD_BYTES_MAX, HEAD_BYTES_MIN, RECORD_ALIGN, RecordHead, RecordId, RecordKind, TAG_BYTES,
    aligned,
};
pub use header::{PACK_HEADER_BYTES, PackHeader};
pub use trailer::{Trailer as ContentTrailer, address_bytes, trailer_bytes};

use thiserror::Error;

/// Why bytes are not the part of a pack that they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PackError {
    /// A version this build does not read.
    #[error("pack format version {0} where this build reads 1")]
    Version(u16),
    /// Features this build does not know, and cannot do without.
    #[error("the pack needs features {0:#x}, which this build does not know")]
    Features(u32),
    /// Not what was written.
    #[error("{0}")]
    Damaged(&'static str),
}

/// Starts a checksum that is bound to a store and a place.
fn seed(store: &[u8; 16], places: &[u64]) -> u32 {
    places.iter().fold(crc32c::crc32c(store), |crc, place| crc32c::crc32c_append(crc, &place.to_le_bytes()))
}

#[cfg(test)]
mod tests;
