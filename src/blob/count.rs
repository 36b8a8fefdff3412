//! What a vault holds, counted.

use super::budget::kind_entries;
use super::keys::SlotState;
use super::vault::Vault;
use crate::contract::{Address, ErrorKind, Result};

/// Counts of a store's content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Blobs that are resident.
    pub resident: u64,
    /// Bytes of their content.
    pub resident_bytes: u64,
    /// Records that were evicted.
    pub evicted: u64,
    /// Addresses that were ever shredded.
    pub shredded: u64,
    /// Packs, in whatever form.
    pub packs: u64,
    /// Bytes of their files.
    pub pack_bytes: u64,
    /// Slots of data keys that were handed out.
    pub slots: u64,
}

impl Vault {
    /// Counts what is held. Cost: a look at each slot.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn counts(&self) -> Result<Counts> {
        self.refresh()?;
        let packs = self.packs();
        let mut counts = Counts {
            shredded: self.ledger.shredded(),
            packs: packs.len() as u64,
            slots: self.keys.slots().into(),
            ..Counts::default()
        };
        for pack in packs.iter() {
            counts.pack_bytes = counts.pack_bytes.saturating_add(pack.file_bytes());
            for entry in kind_entries(pack, self.default_kind()) {
                let state = match self.keys.state(entry.slot, entry.id) {
                    Err(error) if error.kind() == ErrorKind::Corrupt => continue,
                    state => state?,
                };
                match state {
                    SlotState::Live { .. } if pack.has_records() => {
                        counts.resident += 1;
                        counts.resident_bytes = counts.resident_bytes.saturating_add(entry.content_bytes);
                    }
                    SlotState::Live { .. } | SlotState::Evicted => counts.evicted += 1,
                    SlotState::Shredded | SlotState::Foreign => {}
                }
            }
        }
        Ok(counts)
    }

    /// Visits the identity of all resident content, pack by pack, with its length in bytes.
    ///
    /// # Errors
    /// What `visit` returns; `Corrupt`, `Io`.
    pub fn for_each(&self, visit: &mut dyn FnMut(Address, u64) -> Result<()>) -> Result<()> {
        self.refresh()?;
        self.each_resident(&mut |held| {
            if self.ledger.blocks(&held.entry.address) {
                return Ok(());
            }
            visit(held.entry.address, held.entry.content_bytes)
        })
    }
}
