//! A running digest of what was replayed.
//!
//! It is that of a sequence of ids, and so of a sequence of events: a store holds one event of an id and never another.
//! BLAKE3 over blocks of [`BLOCK`] events, each behind the digest of all blocks before it, so that a state of it can be
//! saved between any two events:
//!
//! ```text
//! block 0 = 32 zeros; block n = BLAKE3("causelog replay 1" || block n-1 || ids); the digest = the last block, which may
//! be shorter; an id = length (u32, little-endian) || text, or 2^32-1 || the 16 bytes of a UUID
//! ```

use crate::contract::{IdForm, IdRef, Result};
use crate::replay::state::{In, Out, Wire};

/// Events of a block.
const BLOCK: u32 = 256;

const DOMAIN: &[u8] = b"causelog replay 1";

/// The tag of an id that is kept as the bytes of a UUID: no text is that long.
const UUID: u32 = u32::MAX;

#[derive(Clone, Debug, Default)]
pub(in crate::replay) struct Digest {
    before: [u8; blake3::OUT_LEN],
    events: u32,
    block: Vec<u8>,
}

impl Digest {
    /// Takes the next event.
    pub(in crate::replay) fn take(&mut self, id: IdRef<'_>) {
        match id.form() {
            IdForm::Uuid(bytes) => {
                self.block.extend_from_slice(&UUID.to_le_bytes());
                self.block.extend_from_slice(&bytes);
            }
            IdForm::Text(text) => {
                let length = u32::try_from(text.len()).unwrap_or_default();
                self.block.extend_from_slice(&length.to_le_bytes());
                self.block.extend_from_slice(text.as_bytes());
            }
        }
        self.events += 1;
        if self.events == BLOCK {
            self.before = self.value();
            self.events = 0;
            self.block.clear();
        }
    }

    /// Returns the digest of all events so far.
    pub(in crate::replay) fn value(&self) -> [u8; blake3::OUT_LEN] {
        if self.events == 0 {
            return self.before;
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update(DOMAIN).update(&self.before).update(&self.block);
        hasher.finalize().into()
    }
}

impl Wire for Digest {
    fn write(&self, out: &mut Out<'_>) -> Result<()> {
        self.before.write(out)?;
        self.events.write(out)?;
        out.bytes_with_length(&self.block)
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        let (before, events) = (Wire::read(from)?, Wire::read(from)?);
        Ok(Self { before, events, block: from.bytes_with_length()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(ids: impl IntoIterator<Item = String>) -> [u8; 32] {
        let mut digest = Digest::default();
        ids.into_iter().for_each(|id| digest.take(IdRef::new(&id)));
        digest.value()
    }

    #[test]
    fn every_sequence_has_its_own() {
        let ids = |count: u32| (0..count).map(|number| number.to_string()).collect::<Vec<_>>();
        let mut all: Vec<[u8; 32]> = (0..600).map(|count| digest(ids(count))).collect();
        let mut swapped = ids(600);
        swapped.swap(255, 256);
        all.push(digest(swapped));
        all.push(digest(["12".to_owned(), "3".to_owned()]));
        all.push(digest(["1".to_owned(), "23".to_owned()]));
        all.push(digest(["0198b2a4-0000-7000-8000-000000000000".to_owned()]));
        all.sort_unstable();
        assert!(all.windows(2).all(|two| two[0] != two[1]));
        assert_eq!(digest([]), [0; 32]);
    }
}
