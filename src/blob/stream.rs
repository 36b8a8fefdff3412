//! Content of any size into a pack of its own, piece by piece.
//!
//! Invariants:
//! - The file bears a name of its own until it is complete and synced: a stream that ends early leaves no pack.
//! - At most [`PIECE_BYTES`] of content wait in memory.
//! - The last chunk is sealed as the last, so one chunk is held back until more comes, or nothing does.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use zeroize::Zeroizing;

use super::cipher::{Cipher, sealed_trailer_bytes};
use super::hashing::Hashing;
use super::key::Key;
use super::names::PART;
use super::trouble::io_error;
use crate::codec::{CHUNK_BYTES, PACK_HEADER_BYTES, RecordHead, RecordId, RecordKind, TAG_BYTES, aligned};
use crate::contract::{Address, AddressKind, Code, Error, Result};
use crate::io::{OpenMode, Vfs, VfsFile};

/// Content that is sealed and written at once.
const PIECE_BYTES: usize = 1 << 20;

/// A record that is being written into a file of its own.
pub(super) struct Stream {
    file: PartFile,
    key: Key,
    cipher: Cipher,
    hashing: Hashing,
    id: RecordId,
    addresses: usize,
    /// Content that is not sealed yet.
    waiting: Zeroizing<Vec<u8>>,
    content_bytes: u64,
    chunks: u64,
    body_crc: u32,
    /// Where the next sealed bytes go.
    offset: u64,
}

/// A file that is removed unless it was kept.
pub(super) struct PartFile {
    vfs: Arc<dyn Vfs>,
    path: PathBuf,
    pub(super) file: Arc<dyn VfsFile>,
    kept: bool,
}

impl PartFile {
    /// Creates a file that nobody else writes.
    pub(super) fn create(vfs: &Arc<dyn Vfs>, dir: &Path, id: RecordId) -> Result<Self> {
        let name = format!("{}{PART}", data_encoding::HEXLOWER.encode(&id));
        let path = dir.join(name);
        let file = vfs.open(&path, OpenMode::Create).map_err(|e| io_error("create a pack", &path, e))?;
        Ok(Self { vfs: Arc::clone(vfs), path, file, kept: false })
    }

    pub(super) fn write(&self, bytes: &[u8], offset: u64) -> Result<()> {
        self.file.write_at(bytes, offset).map_err(|e| io_error("write a pack", &self.path, e))
    }

    pub(super) fn sync(&self) -> Result<()> {
        self.file.sync().map_err(|e| io_error("sync a pack", &self.path, e))
    }

    /// Gives the file its name, which is durable after the directory was synced.
    pub(super) fn keep(mut self, path: &Path) -> Result<()> {
        self.vfs.rename(&self.path, path).map_err(|e| io_error("rename a pack", path, e))?;
        self.kept = true;
        Ok(())
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        if !self.kept {
            // What stays is removed when the store is opened for writing.
            let _ = self.vfs.remove(&self.path);
        }
    }
}

/// A record whose body is written and synced, and that has no place yet.
pub(super) struct Streamed {
    pub(super) file: PartFile,
    pub(super) key: Key,
    pub(super) head: RecordHead,
    /// Where the record ends.
    pub(super) end: u64,
}

impl Stream {
    /// Starts a record. Memory: a piece and what authentication adds to it.
    pub(super) fn start(
        vfs: &Arc<dyn Vfs>,
        dir: &Path,
        id: RecordId,
        key: Key,
        kinds: &[AddressKind],
    ) -> Result<Self> {
        let head = (kinds.len() * 40 + 64) as u64;
        Ok(Self {
            file: PartFile::create(vfs, dir, id)?,
            cipher: Cipher::new(&key, id),
            key,
            hashing: Hashing::new(kinds),
            id,
            addresses: kinds.len(),
            waiting: Zeroizing::new(Vec::with_capacity(2 * PIECE_BYTES + CHUNK_BYTES)),
            content_bytes: 0,
            chunks: 0,
            body_crc: 0,
            offset: PACK_HEADER_BYTES as u64 + head,
        })
    }

    /// Takes the next content.
    pub(super) fn push(&mut self, content: &[u8]) -> Result<()> {
        for piece in content.chunks(PIECE_BYTES) {
            self.hashing.update(piece);
            self.waiting.extend_from_slice(piece);
            self.content_bytes = self.content_bytes.saturating_add(piece.len() as u64);
            if self.waiting.len() > PIECE_BYTES {
                self.seal(false)?;
            }
        }
        Ok(())
    }

    pub(super) fn content_bytes(&self) -> u64 {
        self.content_bytes
    }

    /// Seals whole chunks of what waits; at the end all of it.
    fn seal(&mut self, is_end: bool) -> Result<()> {
        let mut sealed =
            Vec::with_capacity(self.waiting.len() + (self.waiting.len() / CHUNK_BYTES + 1) * TAG_BYTES);
        let mut rest = std::mem::take(&mut self.waiting);
        let mut taken = 0;
        loop {
            let left = rest.get_mut(taken..).unwrap_or_default();
            let is_last = left.len() <= CHUNK_BYTES;
            if is_last && !is_end {
                break;
            }
            let count = left.len().min(CHUNK_BYTES);
            let chunk = left.get_mut(..count).unwrap_or_default();
            let tag = self.cipher.seal_chunk(self.chunks, is_last, chunk).ok_or_else(unsealable)?;
            sealed.extend_from_slice(chunk);
            sealed.extend_from_slice(&tag);
            self.chunks += 1;
            taken += count;
            if is_last {
                break;
            }
        }
        rest.drain(..taken);
        self.waiting = rest;
        self.append(&sealed)
    }

    fn append(&mut self, sealed: &[u8]) -> Result<()> {
        self.file.write(sealed, self.offset)?;
        self.body_crc = crc32c::crc32c_append(self.body_crc, sealed);
        self.offset = self.offset.saturating_add(sealed.len() as u64);
        Ok(())
    }

    /// Seals the end and syncs the file.
    pub(super) fn finish(mut self) -> Result<Streamed> {
        self.seal(true)?;
        let hashing = std::mem::replace(&mut self.hashing, Hashing::new(&[]));
        let addresses: Vec<Address> = hashing.finish();
        let trailer =
            self.cipher.seal_trailer(self.content_bytes, self.chunks, &addresses).ok_or_else(unsealable)?;
        self.append(&trailer)?;
        let end = aligned(self.offset);
        let zeros = vec![0; usize::try_from(end - self.offset).unwrap_or(0)];
        self.file.write(&zeros, self.offset)?;
        self.file.sync()?;
        let tags = (self.chunks).saturating_mul(TAG_BYTES as u64);
        let body_bytes = self
            .content_bytes
            .saturating_add(tags)
            .saturating_add(sealed_trailer_bytes(self.addresses) as u64);
        let head = RecordHead {
            kind: RecordKind::Content,
            id: self.id,
            slot: 0,
            body_crc: self.body_crc,
            content_bytes: self.content_bytes,
            body_bytes,
            durable: 0,
            addresses,
        };
        Ok(Streamed { file: self.file, key: self.key, head, end })
    }
}

/// Content that passes what the cipher takes under one nonce, which no chunk can.
pub(super) fn unsealable() -> Error {
    Error::invalid(Code::Limit, "the content cannot be sealed")
}
