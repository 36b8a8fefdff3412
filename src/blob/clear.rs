//! Clearing away packs of which nothing is left: the records go, the footer stays, so that what was evicted is known to
//! have been here.
//!
//! Invariants:
//! - The slots are synced before: no live key is left without its record.
//! - The footer is synced under its own name before the pack is removed. Where a crash leaves both, the footer counts.
//! - A pack is removed, never shortened: who has it mapped reads on.

use std::path::Path;
use std::sync::Arc;

use super::footing::footer;
use super::keys::SlotState;
use super::names::{Form, pack_file};
use super::packs::Pack;
use super::sealed::Sealed;
use super::stream::PartFile;
use super::trouble::io_error;
use super::vault::Vault;
use crate::codec::{PACK_HEADER_BYTES, PackHeader};
use crate::contract::Result;

impl Vault {
    /// Clears away every sealed pack whose records are all dead.
    pub(super) fn clear_dead_packs(&self) -> Result<()> {
        let numbers: Vec<_> = self
            .packs()
            .iter()
            .filter(|pack| matches!(pack, Pack::Sealed(sealed) if sealed.has_records()))
            .map(Pack::number)
            .collect();
        numbers.into_iter().try_for_each(|number| self.clear_if_dead(number).map(drop))
    }

    /// Clears a pack away if its records are all dead; returns how many bytes came free. Stops at the first live one.
    pub(super) fn clear_if_dead(&self, number: u64) -> Result<u64> {
        let _writing = self.writer.lock();
        self.clear_locked(number)
    }

    /// As [`Vault::clear_if_dead`], by whoever holds the writer's lock.
    pub(super) fn clear_locked(&self, number: u64) -> Result<u64> {
        let packs = self.packs();
        let Some(Pack::Sealed(sealed)) = packs.get(number) else { return Ok(0) };
        if !sealed.has_records() || !sealed.damage().is_empty() {
            return Ok(0);
        }
        let mut entries = Vec::new();
        for entry in sealed.all() {
            match self.keys.state(entry.slot, entry.id)? {
                SlotState::Shredded | SlotState::Evicted => entries.push(entry),
                SlotState::Live { .. } | SlotState::Foreign => return Ok(0),
            }
        }
        self.poisoning(self.keys.sync())?;
        let records =
            entries.iter().map(|entry| entry.offset).collect::<std::collections::BTreeSet<_>>().len();
        let start = PACK_HEADER_BYTES as u64;
        let mut bytes = PackHeader { store: self.store, number }.to_bytes().to_vec();
        bytes.extend(footer(entries, records as u64, sealed.records_end(), start, &self.store, number));
        let (id, _) = self.new_record()?;
        let part = PartFile::create(&self.vfs, &self.dir, id)?;
        part.write(&bytes, 0)?;
        part.sync()?;
        part.keep(&self.dir.join(pack_file(number, Form::Gone)))?;
        let gone = Sealed::open(&*self.vfs, &self.dir, number, Form::Gone, &self.store)?;
        let freed = sealed.file_bytes().saturating_sub(bytes.len() as u64);
        self.remove_pack(sealed.path())?;
        self.publish(Pack::Sealed(Arc::new(gone)));
        Ok(freed)
    }

    fn remove_pack(&self, path: &Path) -> Result<()> {
        let synced = || self.vfs.sync_dir(&self.dir).map_err(|e| io_error("sync a directory", &self.dir, e));
        self.poisoning(synced())?;
        self.vfs.remove(path).map_err(|e| io_error("remove a pack", path, e))
    }
}
