//! Taking content away: shredding for good, evicting to make room.
//!
//! Invariants:
//! - Shredding: the tombstones are durable first, and block reads at once; then the keys are overwritten and synced; then
//!   comes the answer. What a crash leaves in between is finished when a writer opens.
//! - A tombstone stands for every address that the content is known by.
//! - Evicting leaves no tombstone; a power cut can bring evicted content back.

use super::keys::{End, SlotState};
use super::packs::Pack;
use super::vault::Vault;
use crate::codec::{Entry, EntryKind, FooterEntry, RecordId};
use crate::contract::{Address, Error, ErrorKind, Result};

/// Every record of one blob, and every address that leads to it.
#[derive(Default)]
pub(super) struct Traces {
    pub(super) addresses: Vec<Address>,
    records: Vec<(Pack, FooterEntry)>,
}

impl Vault {
    /// Shreds content: nobody can read it again, from these files or from what was sealed in them. Durable when it
    /// returns. `false` when there was nothing to shred: it was never here, or is shredded already.
    ///
    /// Cost: one write and sync of the ledger, one of the slots.
    ///
    /// # Errors
    /// `Io` before the tombstone: nothing happened. `Io` behind it says that shredding is pending: reads answer
    /// "shredded" already, and the keys are overwritten when the store is opened again. `ReadOnly`, `Poisoned`.
    pub fn shred(&self, address: &Address, at: u64) -> Result<bool> {
        let writing = self.lock_writing()?;
        let traces = self.traces(address);
        let blocked = self.ledger.blocks(address);
        let mut is_held = false;
        let mut left = Vec::new();
        for (pack, entry) in traces.records {
            let (is_left, is_news) = match self.keys.state_or_damage(entry.slot, entry.id)? {
                // What a damaged slot still holds is a key until it is overwritten.
                Ok(SlotState::Live { .. }) | Err(_) => (true, true),
                Ok(SlotState::Evicted) => (true, !blocked),
                Ok(SlotState::Shredded | SlotState::Foreign) => (false, false),
            };
            is_held |= is_news;
            if is_left {
                left.push((pack, entry));
            }
        }
        let traces = Traces { records: left, addresses: traces.addresses };
        if !is_held {
            return self.shred_unseen(address, at);
        }
        let mut erasure = [0; 16];
        (self.options.fill)(&mut erasure)?;
        // Every record has an entry, so that whoever finishes finds every key.
        let record_of = |number: usize| traces.records.get(number).or(traces.records.first());
        let count = traces.addresses.len().max(traces.records.len());
        let entries: Vec<_> = (0..count)
            .filter_map(|number| {
                let address = traces.addresses.get(number).or(traces.addresses.first())?;
                let (_, record) = record_of(number)?;
                Some(Entry {
                    record: record.id,
                    slot: record.slot,
                    ..ledger_entry(EntryKind::Shredded, *address, erasure, at)
                })
            })
            .collect();
        self.ledger.append(&entries)?;
        let ended = traces
            .records
            .iter()
            .try_for_each(|(_, entry)| self.keys.end(entry.slot, entry.id, End::Shredded));
        let done = ended.and_then(|()| self.poisoning(self.keys.sync()));
        drop(writing);
        done.map_err(|error| {
            Error::new(
                error.kind(),
                error.code(),
                "shredding is pending: it finishes when the store is opened again",
            )
            .with_source(error)
        })?;
        self.forget_usage();
        self.clear_packs_of(&traces.records)?;
        Ok(true)
    }

    /// Answers for content of which there is no record: it was never here, or damage hides it. In the second case the
    /// tombstone is written all the same, so that the content stays unread should its pack be put back.
    fn shred_unseen(&self, address: &Address, at: u64) -> Result<bool> {
        if self.damage().is_empty() || self.ledger.blocks(address) {
            return Ok(false);
        }
        let mut erasure = [0; 16];
        (self.options.fill)(&mut erasure)?;
        self.ledger.append(&[ledger_entry(EntryKind::Shredded, *address, erasure, at)])?;
        let what = "content is damaged, and this is not in what is left of it: it is marked as shredded, but its key, if it \
                    has one, could not be found and overwritten";
        Err(Error::corrupt(what).at_path(&self.dir))
    }

    /// Drops content to make room. `false` when it was not resident. Putting it again restores it. Pinned content goes
    /// too: who names it means it.
    ///
    /// # Errors
    /// `ReadOnly`, `Poisoned`, `Io`.
    pub fn evict(&self, address: &Address) -> Result<bool> {
        let writing = self.lock_writing()?;
        let traces = self.traces(address);
        let mut was_live = false;
        for (_, entry) in &traces.records {
            let is_live = self.may_live(entry.slot, entry.id)?;
            if is_live {
                self.changed();
                self.keys.end(entry.slot, entry.id, End::Evicted)?;
                was_live = true;
            }
        }
        drop(writing);
        if was_live {
            self.forget_usage();
            self.clear_packs_of(&traces.records)?;
        }
        Ok(was_live)
    }

    /// Keeps content from being dropped by the budget, or lets it be dropped again. `false` when it is not resident.
    ///
    /// # Errors
    /// `ReadOnly`, `Poisoned`, `Io`.
    pub fn set_pinned(&self, address: &Address, pinned: bool) -> Result<bool> {
        let mut writing = self.lock_writing()?;
        let Some(held) = self.held(address)? else { return Ok(false) };
        self.keys.set_pinned(held.entry.slot, held.entry.id, pinned)?;
        Self::restart(&mut writing);
        self.changed();
        Ok(true)
    }

    /// Reports whether content was ever shredded, also if it was put again since.
    ///
    /// # Errors
    /// `Corrupt`, `Io`: only a reading process looks at files here.
    pub fn is_shredded(&self, address: &Address) -> Result<bool> {
        self.refresh()?;
        Ok(self.ledger.is_shredded(address))
    }

    /// Takes up tombstones that another process wrote.
    pub(super) fn refresh_erasures(&self) -> Result<()> {
        if self.is_writer() { Ok(()) } else { self.ledger.refresh() }
    }

    /// Overwrites the keys that tombstones name and a crash left.
    pub(super) fn finish_erasures(&self) -> Result<()> {
        let mut is_changed = false;
        for entry in self.ledger.entries() {
            let entry = entry?;
            if entry.kind != EntryKind::Shredded || entry.record == [0; 16] {
                continue;
            }
            if self.may_live(entry.slot, entry.record)? {
                self.keys.end(entry.slot, entry.record, End::Shredded)?;
                is_changed = true;
            }
        }
        if is_changed { self.poisoning(self.keys.sync()) } else { Ok(()) }
    }

    /// Reports whether a slot may still hold a key: one that is damaged may.
    fn may_live(&self, slot: u32, record: RecordId) -> Result<bool> {
        Ok(self.keys.state_or_damage(slot, record)?.map_or(true, SlotState::is_live))
    }

    /// Finds every record and every address of the blob that an address is of.
    pub(super) fn traces(&self, address: &Address) -> Traces {
        let packs = self.packs();
        let mut traces = Traces { addresses: vec![*address], ..Traces::default() };
        let mut done = 0;
        while let Some(address) = traces.addresses.get(done).copied() {
            done += 1;
            packs.find(&address).for_each(|(pack, entry)| self.trace(pack, &entry, &mut traces));
        }
        let ids: Vec<_> = traces.records.iter().map(|(_, entry)| entry.id).collect();
        for pack in packs.iter().filter(|pack| pack.may_have_aliases()) {
            for entry in pack.all().filter(|entry| entry.alias && ids.contains(&entry.id)) {
                if !traces.addresses.contains(&entry.address) {
                    traces.addresses.push(entry.address);
                }
            }
        }
        traces
    }

    /// Adds a record, and the addresses its head names; where the head cannot be read, those the footer has for it.
    fn trace(&self, pack: &Pack, entry: &FooterEntry, traces: &mut Traces) {
        let is_new = !traces.records.iter().any(|(_, other)| other.id == entry.id);
        if is_new {
            traces.records.push((pack.clone(), *entry));
        }
        let head = if pack.has_records() { pack.head(entry, &self.store).ok() } else { None };
        let named = || pack.all().filter(|other| other.id == entry.id).map(|other| other.address).collect();
        let addresses: Vec<_> = head.map_or_else(named, |head| head.addresses);
        for address in addresses {
            if !traces.addresses.contains(&address) {
                traces.addresses.push(address);
            }
        }
    }

    /// Clears away what is left of packs after single records of them died, where one look tells that.
    fn clear_packs_of(&self, records: &[(Pack, FooterEntry)]) -> Result<()> {
        for (pack, _) in records {
            let Pack::Sealed(sealed) = pack else { continue };
            let is_lone =
                sealed.has_records() && sealed.all().take(9).map(|entry| entry.offset).max() == Some(64);
            if is_lone {
                match self.clear_if_dead(sealed.number()) {
                    // The content is gone either way; its space comes free with a later try.
                    Err(error) if error.kind() == ErrorKind::Io => {
                        tracing::warn!(%error, "a pack of which nothing is left could not be cleared away");
                    }
                    done => {
                        done?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// An entry of the ledger that names no record yet.
pub(super) fn ledger_entry(kind: EntryKind, address: Address, erasure: [u8; 16], at: u64) -> Entry {
    Entry { kind, address, reason: 0, erasure, at, subject: [0; 32], record: [0; 16], slot: 0 }
}
