//! What an import would do with a file, found out by reading it.

use std::collections::HashSet;
use std::io::{self, Read};

use sha2::{Digest, Sha256};

use super::Fate;
use crate::contract::{Address, AddressKind, Error, ErrorKind, Result};
use crate::store::{BlobState, Blobs};

const PIECE_BYTES: usize = 1 << 16;

/// Predicts file by file, in the order in which they would go in.
#[derive(Debug)]
pub(super) struct Prediction {
    /// The algorithm of identities.
    kind: AddressKind,
    /// Whether what is resident is opened.
    recheck: bool,
    /// Identities of what would be stored by now.
    stored: HashSet<[u8; 32]>,
}

/// One of the two hashes.
enum Hashing {
    Blake3(Box<blake3::Hasher>),
    Sha256(Sha256),
}

impl Prediction {
    pub(super) fn new(kind: AddressKind, recheck: bool) -> Self {
        Self { kind, recheck, stored: HashSet::new() }
    }

    /// Reads content and tells what would become of it.
    ///
    /// # Errors
    /// `Io` when it cannot be read; what the store reports.
    pub(super) fn predict(&mut self, named: &Address, reader: impl Read, blobs: &Blobs) -> Result<Fate> {
        let (found, identity, bytes) = self.hash(named.kind(), reader)?;
        if found != *named {
            let what = format!("the content is not what its address says: it is {found}, and not {named}");
            return Ok(Fate::Damaged(Error::corrupt(what)));
        }
        let state = || -> Result<BlobState> {
            let state = blobs.state(&identity)?;
            if self.recheck && state == BlobState::Resident {
                blobs.check(&identity)?;
            }
            Ok(state)
        };
        match state() {
            Ok(BlobState::Shredded) => return Ok(Fate::LeftOut),
            Ok(BlobState::Resident) => return Ok(Fate::Held),
            Err(error) if error.kind() != ErrorKind::Corrupt => return Err(error),
            _ => {}
        }
        Ok(if self.stored.insert(*identity.hash()) { Fate::Stored(bytes) } else { Fate::Held })
    }

    /// Returns the address of content by one algorithm, its identity, and its length.
    fn hash(&self, kind: AddressKind, mut reader: impl Read) -> Result<(Address, Address, u64)> {
        let mut named = Hashing::new(kind);
        let mut identity = (kind != self.kind).then(|| Hashing::new(self.kind));
        let (mut piece, mut bytes) = (vec![0; PIECE_BYTES], 0_u64);
        loop {
            let count = match reader.read(&mut piece) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(Error::io("cannot read the content", error)),
            };
            let read = piece.get(..count).unwrap_or_default();
            named.update(read);
            if let Some(identity) = &mut identity {
                identity.update(read);
            }
            bytes = bytes.saturating_add(count as u64);
        }
        let named = named.finish();
        Ok((named, identity.map_or(named, Hashing::finish), bytes))
    }
}

impl Hashing {
    fn new(kind: AddressKind) -> Self {
        match kind {
            AddressKind::Blake3 => Self::Blake3(Box::default()),
            AddressKind::Sha256 => Self::Sha256(Sha256::new()),
        }
    }

    fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Blake3(hasher) => {
                hasher.update(bytes);
            }
            Self::Sha256(hasher) => hasher.update(bytes),
        }
    }

    fn finish(self) -> Address {
        match self {
            Self::Blake3(hasher) => Address::new(AddressKind::Blake3, *hasher.finalize().as_bytes()),
            Self::Sha256(hasher) => Address::new(AddressKind::Sha256, hasher.finalize().into()),
        }
    }
}
