//! Making a damaged row of packs whole again: everything that still opens is kept, what is lost is named.
//!
//! Invariants:
//! - Nothing is repaired that was not asked for, and a damaged pack is copied before it is replaced.
//! - A pack is rewritten under another name, synced, and renamed over the damaged one: where a crash interrupts, either is
//!   there, and the repair can be run again.
//! - Records are copied as ciphertext; no key is needed. With the key, content that does not open is found as well.
//! - A record that is lost has its key ended, as if it were evicted: putting its content again restores it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::footing::footer;
use super::keys::{End, Holding, SlotState};
use super::names::{Form, evidence_file, pack_file};
use super::packs::Pack;
use super::scan::{Window, scan};
use super::sealed::{Sealed, entries_of};
use super::stream::PartFile;
use super::trouble::{again, at, io_error, pack_error};
use super::vault::Vault;
use crate::codec::{PACK_HEADER_BYTES, PackHeader, RecordHead, RecordKind, aligned};
use crate::contract::{Address, Error, ErrorKind, Result};
use crate::io::Keep;

/// Bytes copied at once.
const PIECE_BYTES: u64 = 1 << 20;

/// What is wrong with the packs, and what is to be done about it.
#[derive(Debug, Default)]
pub struct ContentPlan {
    /// What is not as it was written.
    pub findings: Vec<Error>,
    /// What is done, in lines for people.
    pub actions: Vec<String>,
    /// Addresses of content that cannot be read any more.
    pub lost: Vec<Address>,
    /// Copies of the packs that are replaced.
    pub kept: Vec<PathBuf>,
    steps: Vec<Step>,
    keeps: Vec<Keep>,
}

#[derive(Debug)]
enum Step {
    /// A pack that is gone gets a footer without entries.
    GiveUp(u64),
    /// A pack is written anew from these records.
    Rewrite { number: u64, records: Vec<(u64, RecordHead)>, lost: Vec<RecordHead> },
}

impl ContentPlan {
    /// Reports whether there is something to do.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}

impl Vault {
    /// Finds what a repair would do. Reads every byte of every pack; `progress` is told of them. Changes nothing.
    ///
    /// # Errors
    /// `Io`.
    pub fn plan_repair(&self, kept: &Path, progress: &mut dyn FnMut(u64)) -> Result<ContentPlan> {
        let mut plan = ContentPlan::default();
        let packs = self.packs();
        let last = packs.iter().next_back().map_or(0, Pack::number).max(self.last_known());
        for number in 1..=last {
            let Some(pack) = packs.get(number) else {
                let path = self.dir.join(pack_file(number, Form::Sealed));
                plan.findings.push(Error::corrupt("a pack is missing").at_path(path));
                plan.actions
                    .push(format!("give pack {number} up, which is missing; what it held is not known"));
                plan.steps.push(Step::GiveUp(number));
                continue;
            };
            self.plan_pack(pack, kept, &mut plan)?;
            progress(pack.file_bytes());
        }
        Ok(plan)
    }

    fn plan_pack(&self, pack: &Pack, kept: &Path, plan: &mut ContentPlan) -> Result<()> {
        let mut findings: Vec<Error> = match pack {
            Pack::Sealed(sealed) => sealed.damage(),
            Pack::Active(active) => self.damage_of(active.path()),
        };
        let end = match pack {
            Pack::Sealed(sealed) => sealed.records_end(),
            Pack::Active(active) => active.end(),
        };
        let (mut records, mut lost) = (Vec::new(), Vec::new());
        if pack.has_records() {
            let scanned = scan(pack, &self.store, pack.number(), end, end)?;
            findings.extend(scanned.damage.iter().map(|found| pack.damaged(found.what, found.offset)));
            let mut window = Window::new(pack);
            for (offset, head) in scanned.records {
                match self.fault_of_record(pack, offset, &head, &mut window)? {
                    None => records.push((offset, head)),
                    Some(error) => {
                        findings.push(error);
                        lost.push(head);
                    }
                }
            }
        }
        if findings.is_empty() {
            return Ok(());
        }
        let number = pack.number();
        let (kept_records, lost_records) = (records.len(), lost.len());
        plan.actions.push(format!(
            "write pack {number} anew from {kept_records} records that check; {lost_records} are lost"
        ));
        for head in lost.iter().filter(|head| head.kind == RecordKind::Content) {
            plan.lost.extend(&head.addresses);
        }
        let name = pack.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let keep = Keep::plan(&*self.vfs, kept, &name, pack.path(), None)?;
        plan.kept.push(keep.to().to_path_buf());
        plan.keeps.push(keep);
        plan.findings.append(&mut findings);
        plan.steps.push(Step::Rewrite { number, records, lost });
        Ok(())
    }

    /// Returns what is wrong with one record; what is dead may be anything.
    fn fault_of_record(
        &self,
        pack: &Pack,
        offset: u64,
        head: &RecordHead,
        window: &mut Window<'_, Pack>,
    ) -> Result<Option<Error>> {
        match self.keys.state_or_damage(head.slot, head.id)? {
            Ok(SlotState::Shredded | SlotState::Evicted) => return Ok(None),
            Ok(SlotState::Live { .. }) => {}
            Ok(SlotState::Foreign) => return Ok(Some(pack.keyless(offset))),
            Err(error) => return Ok(Some(error)),
        }
        if let Some(what) = window.fault_of(head, offset)? {
            return Ok(Some(pack.damaged(what, offset)));
        }
        if self.keys.holding()? != Holding::Held || head.kind == RecordKind::Alias {
            return Ok(None);
        }
        let opened = entries_of(head, offset).first().map_or(Ok(()), |entry| self.rehash(pack, entry));
        match opened {
            Err(error) if error.kind() == ErrorKind::Corrupt => Ok(Some(error)),
            opened => opened.map(|()| None),
        }
    }

    /// What opening found of one file.
    fn damage_of(&self, path: &Path) -> Vec<Error> {
        self.damage().iter().filter(|error| error.place().path.as_deref() == Some(path)).map(again).collect()
    }

    /// Carries a plan out. What is lost is ended, so that putting it again restores it.
    ///
    /// # Errors
    /// `Io`, `ReadOnly`, `Poisoned`. The repair can be run again.
    pub fn carry_out(&self, plan: &ContentPlan) -> Result<()> {
        let _writing = self.lock_writing()?;
        for keep in &plan.keeps {
            keep.carry_out(&*self.vfs)?;
        }
        for (directory, keep) in plan.keeps.iter().filter_map(|keep| Some((keep.to().parent()?, keep))) {
            self.vfs.sync_dir(directory).map_err(|e| io_error("sync a directory", keep.to(), e))?;
        }
        for step in &plan.steps {
            match step {
                Step::GiveUp(number) => self.write_gone(*number)?,
                Step::Rewrite { number, records, lost } => {
                    for head in lost {
                        self.keys.end(head.slot, head.id, End::Evicted)?;
                    }
                    self.keys.sync()?;
                    self.rewrite(*number, records)?;
                }
            }
        }
        Ok(())
    }

    fn write_gone(&self, number: u64) -> Result<()> {
        let start = PACK_HEADER_BYTES as u64;
        let mut bytes = PackHeader { store: self.store, number }.to_bytes().to_vec();
        bytes.extend(footer(Vec::new(), 0, start, start, &self.store, number));
        self.put_in_place(number, Form::Gone, |part| part.write(&bytes, 0))
    }

    fn rewrite(&self, number: u64, records: &[(u64, RecordHead)]) -> Result<()> {
        let packs = self.packs();
        let Some(pack) = packs.get(number) else { return Ok(()) };
        if !pack.has_records() {
            return self.write_gone(number);
        }
        self.put_in_place(number, Form::Sealed, |part| {
            part.write(&PackHeader { store: self.store, number }.to_bytes(), 0)?;
            let mut to = PACK_HEADER_BYTES as u64;
            let mut entries = Vec::new();
            for (from, head) in records {
                let placed = RecordHead { durable: 0, ..head.clone() };
                let bytes = placed.to_bytes(&self.store, number, to).map_err(pack_error)?;
                part.write(&bytes, to)?;
                let (body, new_body) =
                    (from.saturating_add(head.head_bytes()), to.saturating_add(head.head_bytes()));
                copy(pack, body, part, new_body, head.body_bytes)?;
                entries.extend(entries_of(&placed, to));
                let end = new_body.saturating_add(head.body_bytes);
                let next = aligned(end);
                part.write(&vec![0; usize::try_from(next.saturating_sub(end)).unwrap_or(0)], end)?;
                to = next;
            }
            part.write(&footer(entries, records.len() as u64, to, to, &self.store, number), to)
        })
    }

    /// Writes a file under another name, and puts it in the place of whatever a pack has been so far.
    fn put_in_place(
        &self,
        number: u64,
        form: Form,
        write: impl FnOnce(&PartFile) -> Result<()>,
    ) -> Result<()> {
        let (id, _) = self.new_record()?;
        let part = PartFile::create(&self.vfs, &self.dir, id)?;
        write(&part)?;
        part.sync()?;
        let path = self.dir.join(pack_file(number, form));
        part.keep(&path)?;
        self.vfs.sync_dir(&self.dir).map_err(|e| io_error("sync a directory", &self.dir, e))?;
        for other in [Form::Active, Form::Sealed, Form::Gone].into_iter().filter(|other| *other != form) {
            let path = self.dir.join(pack_file(number, other));
            if self.vfs.exists(&path).map_err(|e| io_error("look for a pack", &path, e))? {
                self.vfs.remove(&path).map_err(|e| io_error("remove a pack", &path, e))?;
            }
        }
        let evidence = self.dir.join(evidence_file(number));
        if self.vfs.exists(&evidence).map_err(|e| io_error("look for a file", &evidence, e))? {
            self.vfs.remove(&evidence).map_err(|e| io_error("remove a file", &evidence, e))?;
        }
        let sealed = Sealed::open(&*self.vfs, &self.dir, number, form, &self.store)?;
        self.publish(Pack::Sealed(Arc::new(sealed)));
        Ok(())
    }
}

/// Copies a range of a pack.
fn copy(pack: &Pack, from: u64, part: &PartFile, to: u64, bytes: u64) -> Result<()> {
    let mut done = 0;
    let mut buffer = Vec::new();
    while done < bytes {
        let piece = (bytes - done).min(PIECE_BYTES);
        buffer.resize(usize::try_from(piece).unwrap_or(0), 0);
        pack.read_exactly(&mut buffer, from.saturating_add(done))
            .map_err(|error| at(error, pack.path(), from))?;
        part.write(&buffer, to.saturating_add(done))?;
        done = done.saturating_add(piece);
    }
    Ok(())
}
