//! Sealing content under a data key, and opening it.
//!
//! AES-256-GCM (NIST SP 800-38D) in chunks, after the STREAM construction of Hoang, Reyhanitabar, Rogaway and Vizár
//! (CRYPTO 2015): each chunk says its place and whether it is the last.
//!
//! Invariants:
//! - One data key seals one record: no nonce is used twice under a key. A chunk's nonce is its index, the trailer's has
//!   a domain of its own.
//! - A chunk opens only at its own index of its own record, and the last one only as the last: chunks and records cannot
//!   be swapped, and nothing can be cut off at a chunk's end.
//! - The trailer opens only if the head's lengths and addresses are those that were sealed.

use aes_gcm::aead::{AeadInOut, KeyInit};
use aes_gcm::{Aes256Gcm, Nonce, Tag};

use super::key::Key;
use crate::codec::{
    CHUNK_BYTES, ContentTrailer, RecordHead, RecordId, TAG_BYTES, address_bytes, trailer_bytes,
};
use crate::contract::Address;

/// Bytes of a sealed chunk that is not the last.
pub(super) const SEALED_CHUNK_BYTES: usize = CHUNK_BYTES + TAG_BYTES;

const CHUNK: u8 = 0;
const TRAILER: u8 = 1;

const MIDDLE: u8 = 0;
const LAST: u8 = 1;
const END: u8 = 2;

/// Seals and opens one record.
pub(super) struct Cipher {
    gcm: Aes256Gcm,
    id: RecordId,
}

impl Cipher {
    pub(super) fn new(key: &Key, id: RecordId) -> Self {
        Self { gcm: Aes256Gcm::new(key.bytes().into()), id }
    }

    /// Seals a chunk in place and returns its tag; `None` where it is too long for the algorithm.
    pub(super) fn seal_chunk(&self, index: u64, is_last: bool, chunk: &mut [u8]) -> Option<[u8; TAG_BYTES]> {
        self.seal(CHUNK, index, if is_last { LAST } else { MIDDLE }, chunk)
    }

    /// Opens a sealed chunk in place; `None` where it is not what was sealed there.
    pub(super) fn open_chunk<'c>(&self, index: u64, is_last: bool, sealed: &'c mut [u8]) -> Option<&'c [u8]> {
        self.open(CHUNK, index, if is_last { LAST } else { MIDDLE }, sealed)
    }

    /// Returns the sealed trailer.
    pub(super) fn seal_trailer(
        &self,
        content_bytes: u64,
        chunks: u64,
        addresses: &[Address],
    ) -> Option<Vec<u8>> {
        let mut trailer = ContentTrailer::to_bytes(self.id, content_bytes, chunks, addresses);
        let tag = self.seal(TRAILER, chunks, END, &mut trailer)?;
        trailer.extend_from_slice(&tag);
        Some(trailer)
    }

    /// Reports whether a sealed trailer is the one of this head.
    pub(super) fn is_trailer_of(&self, sealed: &mut [u8], head: &RecordHead) -> bool {
        self.open(TRAILER, head.chunks(), END, sealed)
            .is_some_and(|opened| ContentTrailer::matches(opened, head))
    }

    fn seal(&self, domain: u8, index: u64, place: u8, bytes: &mut [u8]) -> Option<[u8; TAG_BYTES]> {
        let tag =
            self.gcm.encrypt_inout_detached(&nonce(domain, index), &self.aad(index, place), bytes.into());
        tag.ok().map(Into::into)
    }

    fn open<'c>(&self, domain: u8, index: u64, place: u8, sealed: &'c mut [u8]) -> Option<&'c [u8]> {
        let (bytes, tag) = sealed.split_last_chunk_mut::<TAG_BYTES>()?;
        let tag = Tag::from(*tag);
        let nonce = nonce(domain, index);
        self.gcm.decrypt_inout_detached(&nonce, &self.aad(index, place), (&mut *bytes).into(), &tag).ok()?;
        Some(bytes)
    }

    /// Associated data: the record, the index, and the place in the row.
    fn aad(&self, index: u64, place: u8) -> [u8; 25] {
        let mut aad = [0; 25];
        let fields = self.id.into_iter().chain(index.to_le_bytes()).chain([place]);
        for (to, from) in aad.iter_mut().zip(fields) {
            *to = from;
        }
        aad
    }
}

fn nonce(domain: u8, index: u64) -> Nonce<aes_gcm::aead::consts::U12> {
    let mut nonce = [0; 12];
    for (to, from) in nonce.iter_mut().zip([domain, 0, 0, 0].into_iter().chain(counter(domain, index))) {
        *to = from;
    }
    nonce.into()
}

/// A trailer's nonce does not count: a record has one.
fn counter(domain: u8, index: u64) -> [u8; 8] {
    if domain == TRAILER { [0; 8] } else { index.to_le_bytes() }
}

/// Returns how many bytes the sealed trailer takes.
pub(super) fn sealed_trailer_bytes(addresses: usize) -> usize {
    trailer_bytes(addresses) + TAG_BYTES
}

/// Binds a further address to a record: nobody without the data key can make one up.
pub(super) fn alias_proof(key: &Key, id: RecordId, alias: &Address, identity: &Address) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_keyed(key.derive("causelog 1 alias").bytes());
    hasher.update(&id).update(&address_bytes(alias)).update(&address_bytes(identity));
    *hasher.finalize().as_bytes()
}
