//! The budget: how many bytes of records may be resident.
//!
//! Invariants:
//! - What is resident is counted once, when it is first asked for, and kept up to date from then on; after something was
//!   taken away by name it is counted anew.
//! - The oldest goes first: by pack, then by place in it. What is pinned stays.
//! - Bytes count as sealed records. Files can take more until packs die as a whole: see `docs/format.md`.

use std::collections::VecDeque;

use super::keys::{End, SlotState};
use super::vault::{BudgetPolicy, Vault, Writing};
use crate::codec::{FooterEntry, RecordHead, RecordId};
use crate::contract::{Code, Error, ErrorKind, Result};

/// What is resident, and what would go next.
#[derive(Debug, Default)]
pub(super) struct Usage {
    bytes: u64,
    /// Unpinned records of the pack that is being emptied, oldest first.
    queue: VecDeque<(u64, FooterEntry)>,
    /// The pack whose records come into the queue next.
    next_pack: u64,
}

/// What gives way to a record.
#[derive(Debug, Default)]
pub(super) struct Room {
    /// Slot, record, and bytes of each.
    records: Vec<(u32, RecordId, u64)>,
    /// Packs that may be empty then.
    emptied: Vec<u64>,
}

impl Vault {
    /// Says what gives way to a record, or refuses it. Nothing goes before the record is there.
    pub(super) fn plan_room(&self, writing: &mut Writing, record_bytes: u64) -> Result<Room> {
        let Some((budget, policy)) = self.options.budget else { return Ok(Room::default()) };
        if record_bytes > budget {
            return Err(full(budget, "the content is larger than the whole budget"));
        }
        let mut usage = match writing.usage.take() {
            Some(usage) => usage,
            None => Usage { bytes: self.resident_bytes()?, ..Usage::default() },
        };
        let planned = self.pick_oldest(&mut usage, budget.saturating_sub(record_bytes), budget, policy);
        writing.usage = Some(usage);
        if planned.is_err() {
            // What was looked at is looked at again.
            Self::restart(writing);
        }
        planned
    }

    /// Evicts what gives way.
    pub(super) fn give_way(&self, writing: &mut Writing, room: Room) -> Result<()> {
        for (slot, id, bytes) in room.records {
            self.changed();
            self.keys.end(slot, id, End::Evicted)?;
            if let Some(usage) = &mut writing.usage {
                usage.bytes = usage.bytes.saturating_sub(bytes);
            }
        }
        for number in room.emptied {
            self.clear_locked(number)?;
        }
        Ok(())
    }

    /// Refuses a stream early that already passes the whole budget.
    pub(super) fn check_budget(&self, content_bytes: u64) -> Result<()> {
        match self.options.budget {
            Some((budget, _)) if content_bytes > budget => {
                Err(full(budget, "the content is larger than the whole budget"))
            }
            _ => Ok(()),
        }
    }

    /// Counts a record that was written.
    pub(super) fn used(writing: &mut Writing, head: &RecordHead) {
        if let Some(usage) = &mut writing.usage {
            usage.bytes = usage.bytes.saturating_add(head.record_bytes());
        }
    }

    /// Looks for the oldest from the start: what was pinned may go now.
    pub(super) fn restart(writing: &mut Writing) {
        if let Some(usage) = &mut writing.usage {
            usage.queue.clear();
            usage.next_pack = 0;
        }
    }

    /// Counts anew at the next put.
    pub(super) fn forget_usage(&self) {
        self.writer.lock().usage = None;
    }

    fn pick_oldest(
        &self,
        usage: &mut Usage,
        allowed: u64,
        budget: u64,
        policy: BudgetPolicy,
    ) -> Result<Room> {
        let mut room = Room::default();
        if usage.bytes <= allowed {
            return Ok(room);
        }
        if policy == BudgetPolicy::Refuse {
            return Err(full(budget, "it is used up"));
        }
        let mut left = usage.bytes;
        // What was put since the row was last gone through is found by going through it once more.
        let mut is_again = false;
        while left > allowed {
            let Some((pack, entry)) = self.next_oldest(usage, &mut room)? else {
                if std::mem::replace(&mut is_again, true) {
                    return Err(full(budget, "what is left is pinned"));
                }
                continue;
            };
            let is_picked = room.records.iter().any(|(_, id, _)| *id == entry.id);
            let state = self.keys.state_or_damage(entry.slot, entry.id)?;
            if is_picked || !matches!(state, Ok(SlotState::Live { pinned: false })) {
                continue;
            }
            let Some(pack) = self.packs().get(pack).cloned() else { continue };
            let bytes = pack.head(&entry, &self.store).map_or(0, |head| head.record_bytes());
            room.records.push((entry.slot, entry.id, bytes));
            left = left.saturating_sub(bytes);
        }
        Ok(room)
    }

    /// Returns the oldest record that was not looked at yet, and notes packs that were gone through on the way.
    fn next_oldest(&self, usage: &mut Usage, room: &mut Room) -> Result<Option<(u64, FooterEntry)>> {
        loop {
            if let Some(oldest) = usage.queue.pop_front() {
                return Ok(Some(oldest));
            }
            if usage.next_pack > 0 {
                room.emptied.push(usage.next_pack);
            }
            let packs = self.packs();
            let Some(pack) = packs.iter().find(|pack| pack.number() > usage.next_pack) else {
                // From the start the next time: pins may have been lifted.
                usage.next_pack = 0;
                return Ok(None);
            };
            usage.next_pack = pack.number();
            if pack.has_records() {
                let mut entries: Vec<_> = pack.all().filter(|entry| !entry.alias).collect();
                entries.sort_by_key(|entry| entry.offset);
                entries.dedup_by_key(|entry| entry.offset);
                usage.queue.extend(entries.into_iter().map(|entry| (pack.number(), entry)));
            }
        }
    }

    /// Counts the bytes of live records. Cost: a look at each slot.
    fn resident_bytes(&self) -> Result<u64> {
        let mut bytes: u64 = 0;
        self.each_resident(&mut |held| {
            bytes = bytes.saturating_add(
                held.pack.head(&held.entry, &self.store).map_or(0, |head| head.record_bytes()),
            );
            Ok(())
        })?;
        Ok(bytes)
    }
}

fn full(budget: u64, why: &str) -> Error {
    Error::new(ErrorKind::Full, Code::Limit, format!("the budget of {budget} bytes for content: {why}"))
}
