//! What a vault holds, counted.

use super::keys::SlotState;
use super::packs::Pack;
use super::put::Held;
use super::vault::Vault;
use crate::codec::FooterEntry;
use crate::contract::{Address, AddressKind, Result};

/// Counts of the content of a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct BlobStats {
    /// Blobs that are resident.
    pub resident: u64,
    /// Bytes of their content.
    pub resident_bytes: u64,
    /// Times that content was evicted, as long as its pack is known.
    pub evicted: u64,
    /// Addresses that were ever shredded.
    pub shredded: u64,
    /// Packs of content.
    pub packs: u64,
    /// Bytes of their files.
    pub pack_bytes: u64,
}

impl Vault {
    /// Counts what is held. Cost: a look at each slot.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn counts(&self) -> Result<BlobStats> {
        self.refresh()?;
        let packs = self.packs();
        let mut counts =
            BlobStats { shredded: self.ledger.shredded(), packs: packs.len() as u64, ..BlobStats::default() };
        for pack in packs.iter() {
            counts.pack_bytes = counts.pack_bytes.saturating_add(pack.file_bytes());
            for entry in kind_entries(pack, self.default_kind()) {
                match self.keys.state_or_damage(entry.slot, entry.id)? {
                    Ok(SlotState::Live { .. }) if pack.has_records() => {
                        counts.resident += 1;
                        counts.resident_bytes = counts.resident_bytes.saturating_add(entry.content_bytes);
                    }
                    Ok(SlotState::Live { .. } | SlotState::Evicted) => counts.evicted += 1,
                    Ok(SlotState::Shredded | SlotState::Foreign) | Err(_) => {}
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

    /// Visits every live record once.
    pub(super) fn each_resident(&self, visit: &mut dyn FnMut(Held) -> Result<()>) -> Result<()> {
        let kind = self.default_kind();
        for pack in self.packs().iter().filter(|pack| pack.has_records()) {
            for entry in kind_entries(pack, kind) {
                // One whose slot is damaged is not to be had, and `verify` names it.
                if self.keys.state_or_damage(entry.slot, entry.id)?.is_ok_and(SlotState::is_live) {
                    visit(Held { pack: pack.clone(), entry })?;
                }
            }
        }
        Ok(())
    }
}

/// Iterates over the records of a pack by their identities.
fn kind_entries(pack: &Pack, kind: AddressKind) -> impl Iterator<Item = FooterEntry> + '_ {
    pack.all().filter(move |entry| !entry.alias && entry.address.kind() == kind)
}
