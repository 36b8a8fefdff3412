//! The wraps of one record: a chain of slots, one for each subject that holds it.
//!
//! Invariants:
//! - Links lead to greater numbers. A slot that is free or of another record ends the chain: a crash took the wrap that
//!   stood there before it was ever synced.
//! - A link is synced before the wrap that it leads to is written, so that no crash leaves a live wrap that ending the
//!   record would not find.
//! - A slot that ended keeps its record and its link.

use std::collections::HashSet;

use super::slots::{Room, Slots};
use crate::codec::{RecordId, Slot, SlotMark};
use crate::contract::{Code, Error, ErrorKind, Result};

/// What became of a record's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotState {
    /// Some subject holds it.
    Live {
        /// Not to be evicted.
        pinned: bool,
    },
    /// It is gone for good.
    Shredded,
    /// It was dropped to make room.
    Evicted,
    /// The slot is free, or another record's: this record's key was never synced before a crash.
    Foreign,
}

impl SlotState {
    /// Reports whether the key is there.
    pub const fn is_live(self) -> bool {
        matches!(self, Self::Live { .. })
    }

    /// Returns the state of a chain whose next wrap ended too: what was shredded is more than what was evicted.
    pub(super) fn after(self, mark: SlotMark) -> Self {
        match (self, mark) {
            (Self::Foreign, SlotMark::Evicted) => Self::Evicted,
            (_, SlotMark::Shredded) => Self::Shredded,
            (ended, _) => ended,
        }
    }
}

/// How a key ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// For good.
    Shredded,
    /// To make room.
    Evicted,
}

impl End {
    const fn mark(self) -> SlotMark {
        match self {
            Self::Shredded => SlotMark::Shredded,
            Self::Evicted => SlotMark::Evicted,
        }
    }

    /// What ended for good stays so.
    const fn changes(self, mark: SlotMark) -> bool {
        matches!((self, mark), (_, SlotMark::Live) | (Self::Shredded, SlotMark::Evicted))
    }
}

impl Slots {
    /// Calls `visit` with each wrap of a record until it returns a value. Cost: a read for each.
    ///
    /// # Errors
    /// `Corrupt` at a slot that is damaged; what `visit` and the system report.
    pub(super) fn walk<T>(
        &self,
        head: u32,
        record: &RecordId,
        mut visit: impl FnMut(u32, &Slot) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        let mut at = Some(head);
        while let Some(number) = at {
            let Some(slot) = self.get(number)?.filter(|slot| slot.record == *record) else { break };
            if let Some(found) = visit(number, &slot)? {
                return Ok(Some(found));
            }
            at = slot.next;
        }
        Ok(None)
    }

    /// Returns what became of a record's key: live if any of its wraps is.
    ///
    /// # Errors
    /// `Corrupt` at a slot that is damaged; what the system reports.
    pub(super) fn state(&self, head: u32, record: &RecordId) -> Result<SlotState> {
        let mut ended = SlotState::Foreign;
        let live = self.walk(head, record, |_, slot| {
            if slot.mark == SlotMark::Live {
                return Ok(Some(SlotState::Live { pinned: slot.pinned }));
            }
            ended = ended.after(slot.mark);
            Ok(None)
        })?;
        Ok(live.unwrap_or(ended))
    }

    /// Adds a wrap to a record's chain. Cost: a sync; the wrap itself is not synced.
    ///
    /// # Errors
    /// `NotFound` when the record has no live wrap; `Corrupt`; what the system reports.
    pub(super) fn add(&self, head: u32, record: &RecordId, subject: u32, wrapped: [u8; 40]) -> Result<()> {
        let mut room = self.lock();
        let (mut last, mut pinned) = (None, None);
        self.walk::<()>(head, record, |number, slot| {
            if slot.mark == SlotMark::Live {
                pinned.get_or_insert(slot.pinned);
            }
            last = Some((number, slot.clone()));
            Ok(None)
        })?;
        let (Some((number, slot)), Some(pinned)) = (last, pinned) else {
            let gone = "the key of this content is gone: no further subject can hold it";
            return Err(Error::new(ErrorKind::NotFound, Code::Store, gone).at_path(self.file.path()));
        };
        let next = room.next();
        if slot.next != Some(next) {
            self.change(number, &slot, &Slot { next: Some(next), ..slot.clone() })?;
        }
        self.file.sync()?;
        let mark = SlotMark::Live;
        let wrap = Slot { mark, pinned, record: *record, subject, next: None, wrapped };
        self.allocate(&mut room, &wrap).map(drop)
    }

    /// Overwrites every wrap of a record. Not synced. What ended before stays as it is, except that what was evicted can
    /// be shredded. A damaged slot in the chain is overwritten as well, and the whole file searched for what stood behind.
    ///
    /// # Errors
    /// What the system reports; some wraps may have ended by then, and the call can be made again.
    pub(super) fn end(&self, head: u32, record: &RecordId, how: End) -> Result<()> {
        let room = self.lock();
        let walked = self.walk::<()>(head, record, |number, slot| {
            self.end_one(number, slot, how)?;
            Ok(None)
        });
        match walked {
            Err(e) if e.kind() == ErrorKind::Corrupt => self.end_everywhere(&room, head, record, how),
            other => other.map(drop),
        }
    }

    fn end_one(&self, number: u32, slot: &Slot, how: End) -> Result<()> {
        if !how.changes(slot.mark) {
            return Ok(());
        }
        self.put(number, &slot.ended(how.mark()))
    }

    fn end_everywhere(&self, room: &Room, head: u32, record: &RecordId, how: End) -> Result<()> {
        let mut found = Vec::new();
        // Slots that are said to be the record's; a link leads to a greater number, so it comes before its target.
        let mut claimed = HashSet::from([head]);
        self.for_each(room.next(), &mut |number, slot| {
            match slot {
                Ok(Some(slot)) if slot.record == *record => {
                    claimed.extend(slot.next);
                    found.push((number, slot.mark));
                }
                // No key of a slot that is damaged is ever used again, so it loses nothing that could be read.
                Err(_) if claimed.contains(&number) || self.peek_record(number)? == *record => {
                    found.push((number, SlotMark::Live));
                }
                _ => {}
            }
            Ok(())
        })?;
        for (number, mark) in found {
            let mark = if how.changes(mark) { how.mark() } else { mark };
            // All ended together: the first answers for them, and no link is needed any more.
            let record = *record;
            let gone = Slot { mark, pinned: false, record, subject: 0, next: None, wrapped: [0; 40] };
            self.put(number, &gone)?;
        }
        Ok(())
    }

    /// Pins or unpins a record: all its live wraps. Not synced.
    ///
    /// # Errors
    /// `Corrupt` at a slot that is damaged; what the system reports.
    pub(super) fn set_pinned(&self, head: u32, record: &RecordId, pinned: bool) -> Result<()> {
        let _room = self.lock();
        self.walk::<()>(head, record, |number, slot| {
            if slot.mark == SlotMark::Live && slot.pinned != pinned {
                self.change(number, slot, &Slot { pinned, ..slot.clone() })?;
            }
            Ok(None)
        })?;
        Ok(())
    }
}
