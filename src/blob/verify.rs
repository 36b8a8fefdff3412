//! Checking a whole vault.
//!
//! Invariants:
//! - Without the key, every byte of every record is compared with its checksum; with it, every live record is opened and
//!   hashed again as well.
//! - The row of records is walked, not only what the footer names; and both must name the same.
//! - What is dead is no content: a dead record's body may be anything. Its head may not.

use std::collections::HashSet;

use super::keys::{Holding, SlotState};
use super::packs::Pack;
use super::scan::{Source, Window, scan};
use super::sealed::entries_of;
use super::trouble::{again, at};
use super::vault::Vault;
use crate::codec::FooterEntry;
use crate::contract::{Error, ErrorKind, Result};

/// What a check of a vault found.
#[derive(Debug, Default)]
pub struct Checked {
    /// Packs read.
    pub packs: u64,
    /// Records read.
    pub records: u64,
    /// Those among them that are resident.
    pub resident: u64,
    /// Bytes of packs read.
    pub bytes: u64,
    /// Whether content was opened and hashed; without the key, it was compared with its checksum alone.
    pub opened: bool,
    /// Everything that is not as it was written.
    pub findings: Vec<Error>,
}

impl Vault {
    /// Returns how many bytes a check reads.
    pub fn check_bytes(&self) -> u64 {
        self.packs().iter().map(Pack::file_bytes).sum()
    }

    /// Checks everything; `progress` is told bytes of packs as they are read.
    ///
    /// # Errors
    /// `Io`. Damage is in the result.
    pub fn check_all(&self, progress: &mut dyn FnMut(u64)) -> Result<Checked> {
        self.refresh()?;
        let mut checked = Checked { opened: self.keys.holding()? == Holding::Held, ..Checked::default() };
        checked.findings.extend(self.damage().iter().map(again));
        self.keys.verify(&mut |error| {
            checked.findings.push(error);
            Ok(())
        })?;
        for pack in self.packs().iter() {
            checked.packs += 1;
            checked.bytes = checked.bytes.saturating_add(pack.file_bytes());
            if let Pack::Sealed(sealed) = pack {
                checked.findings.extend(sealed.damage());
            }
            if pack.has_records() {
                self.check_pack(pack, &mut checked)?;
            }
            progress(pack.file_bytes());
        }
        let mut told = HashSet::new();
        checked.findings.retain(|error| told.insert((error.place().path.clone(), error.place().offset)));
        Ok(checked)
    }

    fn check_pack(&self, pack: &Pack, checked: &mut Checked) -> Result<()> {
        let end = match pack {
            Pack::Sealed(sealed) => sealed.records_end(),
            Pack::Active(active) => active.end(),
        };
        // Bodies are compared one by one below, those of live records alone.
        let scanned = scan(pack, &self.store, pack.number(), end, end)?;
        let fault = |what: &str, offset| at(Error::corrupt(what), pack.path(), offset);
        checked.findings.extend(scanned.damage.iter().map(|found| fault(found.what, found.offset)));
        let mut window = Window::new(pack);
        let mut walked: Vec<FooterEntry> = Vec::new();
        for (offset, head) in &scanned.records {
            checked.records += 1;
            walked.extend(entries_of(head, *offset));
            match self.keys.state_or_damage(head.slot, head.id)? {
                Ok(SlotState::Live { .. }) => {}
                Ok(SlotState::Foreign) if is_confirmed(pack, *offset) => {
                    checked.findings.push(pack.keyless(*offset));
                    continue;
                }
                Ok(SlotState::Foreign | SlotState::Shredded | SlotState::Evicted) => continue,
                Err(error) => {
                    checked.findings.push(error);
                    continue;
                }
            }
            checked.resident += 1;
            if let Some(what) = window.fault_of(head, *offset)? {
                checked.findings.push(fault(what, *offset));
                continue;
            }
            if checked.opened && !entries_of(head, *offset).iter().any(|entry| entry.alias) {
                for entry in entries_of(head, *offset).iter().take(1) {
                    note(self.rehash(pack, entry), &mut checked.findings)?;
                }
            } else if checked.opened {
                for entry in &entries_of(head, *offset) {
                    note(self.check(&entry.address).map(drop), &mut checked.findings)?;
                }
            }
        }
        if let Pack::Sealed(sealed) = pack {
            walked.sort_by(FooterEntry::order);
            let named: Vec<_> = sealed.all().collect();
            if named != walked && scanned.damage.is_empty() {
                checked.findings.push(fault("the footer does not name the records that are there", end));
            }
        }
        Ok(())
    }
}

/// Reports whether a record was ever known to be durable: its key was then, too.
fn is_confirmed(pack: &Pack, offset: u64) -> bool {
    match pack {
        Pack::Sealed(_) => true,
        Pack::Active(active) => offset < active.durable(),
    }
}

impl Source for Pack {
    fn read(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        match self {
            Self::Sealed(pack) => pack.read(buffer, offset),
            Self::Active(pack) => pack.read(buffer, offset),
        }
    }
}

/// Takes damage for a finding; anything else ends the check.
fn note(result: Result<()>, findings: &mut Vec<Error>) -> Result<()> {
    match result {
        Err(error) if error.kind() == ErrorKind::Corrupt => {
            findings.push(error);
            Ok(())
        }
        // Shredded or evicted meanwhile.
        Err(error) if error.kind() == ErrorKind::Shredded => Ok(()),
        other => other,
    }
}
