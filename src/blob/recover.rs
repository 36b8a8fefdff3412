//! Opening the packs: from the files in a directory to a row of packs, and what is wrong with them.
//!
//! Invariants:
//! - Numbers have no gaps, so a pack that is missing shows.
//! - Only the newest active pack takes records again, and only if it is sound. A damaged one stays as it is.
//! - A reader changes nothing; a writer cuts torn ends, removes what never was complete, and finishes what a crash left
//!   half done.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::active::Active;
use super::keys::{Access, Keys, SlotState};
use super::mark::{Durable, Mark};
use super::names::{Form, PART, evidence_file, pack_file, parse};
use super::packs::{Pack, Packs};
use super::scan::{Fault, Scanned, scan};
use super::sealed::{Sealed, entries_of};
use super::trouble::{at, io_error, pack_error};
use crate::codec::{FOOTER_TAIL_BYTES, FooterTail, PACK_HEADER_BYTES, PackError, PackHeader};
use crate::contract::{Error, ErrorKind, Result};
use crate::io::{OpenMode, Vfs, VfsFile};

/// The end of a pack that was cut, because it was never confirmed and does not check.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TornPack {
    /// The pack's file.
    pub path: PathBuf,
    /// Where it was cut.
    pub offset: u64,
    /// Bytes behind that.
    pub bytes: u64,
}

/// What a directory of packs holds.
#[derive(Debug, Default)]
pub(super) struct Recovered {
    pub(super) packs: Packs,
    /// The pack that takes records, if there is one.
    pub(super) active: Option<Arc<Active>>,
    /// Number of the next pack.
    pub(super) next: u64,
    pub(super) damage: Vec<Error>,
    pub(super) torn: Option<TornPack>,
}

/// What the recovery works with.
pub(super) struct Place<'a> {
    pub(super) vfs: &'a Arc<dyn Vfs>,
    pub(super) dir: &'a Path,
    pub(super) store: &'a [u8; 16],
    pub(super) keys: &'a Keys,
    pub(super) access: Access,
    /// What is known to be durable.
    pub(super) durable: Option<Durable>,
}

/// Opens the packs of a directory.
///
/// # Errors
/// `Unsupported` for a newer format; `Io`. Damage is in the result.
pub(super) fn recover(place: &Place<'_>) -> Result<Recovered> {
    /// Changes of a writer that a reader may run into.
    const ROUNDS: usize = 16;
    let list = || place.vfs.list(place.dir).map_err(|e| io_error("list packs", place.dir, e));
    if matches!(place.access, Access::Write) {
        return recover_from(place, &list()?);
    }
    for _ in 1..ROUNDS {
        let names = list()?;
        match recover_from(place, &names) {
            // A pack that was renamed or cleared away meanwhile stands under another name now.
            Err(error) if is_not_found(&error) => {}
            found if list()? == names => return found,
            _ => {}
        }
    }
    recover_from(place, &list()?)
}

fn is_not_found(error: &Error) -> bool {
    let source = std::error::Error::source(error).and_then(|source| source.downcast_ref::<std::io::Error>());
    source.is_some_and(|source| source.kind() == std::io::ErrorKind::NotFound)
}

fn recover_from(place: &Place<'_>, names: &[String]) -> Result<Recovered> {
    let is_writer = matches!(place.access, Access::Write);
    let mut forms: BTreeMap<u64, Vec<Form>> = BTreeMap::new();
    for name in names {
        if let Some((number, form)) = parse(name) {
            forms.entry(number).or_default().push(form);
        } else if name.ends_with(PART) && is_writer {
            remove(place, &place.dir.join(name))?;
        }
    }
    let mut found = Recovered::default();
    let marked = place.durable.map_or(0, |durable| durable.pack.max(durable.last));
    let last = forms.keys().next_back().copied().unwrap_or(0).max(marked);
    let newest_active =
        forms.iter().rev().find(|(_, forms)| forms.contains(&Form::Active)).map(|(number, _)| *number);
    let mut row = Vec::new();
    for number in 1..=last {
        match forms.get(&number) {
            None => found.damage.push(missing(place, number)),
            Some(forms) if forms.contains(&Form::Active) => {
                let takes_records = newest_active == Some(number);
                row.extend(open_active(place, number, takes_records, &mut found)?);
            }
            Some(forms) => {
                let sealed = open_sealed(place, number, forms)?;
                found.damage.extend(sealed.outer_damage());
                row.push(Pack::Sealed(Arc::new(sealed)));
            }
        }
    }
    found.packs = Packs::new(row);
    found.next = found.packs.iter().next_back().map_or(0, Pack::number).max(marked).saturating_add(1);
    Ok(found)
}

fn missing(place: &Place<'_>, number: u64) -> Error {
    Error::corrupt("a pack is missing").at_path(place.dir.join(pack_file(number, Form::Sealed)))
}

fn remove(place: &Place<'_>, path: &Path) -> Result<()> {
    place.vfs.remove(path).map_err(|e| io_error("remove a file that was never complete", path, e))
}

/// Opens a sealed pack, or what is left of it where both are there: the footer was written before the pack went.
fn open_sealed(place: &Place<'_>, number: u64, forms: &[Form]) -> Result<Sealed> {
    let open = |form| Sealed::open(&**place.vfs, place.dir, number, form, place.store);
    if forms.contains(&Form::Gone) {
        let gone = open(Form::Gone)?;
        if !forms.contains(&Form::Sealed) {
            return Ok(gone);
        }
        let (keep, drop) =
            if gone.damage().is_empty() { (Form::Gone, Form::Sealed) } else { (Form::Sealed, Form::Gone) };
        if matches!(place.access, Access::Write) {
            remove(place, &place.dir.join(pack_file(number, drop)))?;
        }
        return if keep == Form::Gone { Ok(gone) } else { open(keep) };
    }
    open(Form::Sealed)
}

/// Opens a pack in its active form; `None` where it never came to be.
fn open_active(
    place: &Place<'_>,
    number: u64,
    takes_records: bool,
    found: &mut Recovered,
) -> Result<Option<Pack>> {
    let path = place.dir.join(pack_file(number, Form::Active));
    let is_writer = matches!(place.access, Access::Write);
    let mode = if is_writer { OpenMode::Write } else { OpenMode::Read };
    let file = place.vfs.open(&path, mode).map_err(|e| io_error("open a pack", &path, e))?;
    let size = file.size().map_err(|e| io_error("read a pack's size", &path, e))?;
    let kept = kept_evidence(place, number)?;
    let marked = place.durable.filter(|durable| durable.pack == number).map_or(0, |durable| durable.end);
    let durable = marked.max(kept);
    if let Err(error) = check_header(place, &*file, &path, number)? {
        let error = at(pack_error(error), &path, 0);
        if matches!(error.kind(), ErrorKind::Unsupported) {
            return Err(error);
        }
        if durable == 0 && takes_records && size <= PACK_HEADER_BYTES as u64 {
            // It was being created: nothing was ever in it.
            if is_writer {
                remove(place, &path)?;
            }
            return Ok(None);
        }
        found.damage.push(error);
    }
    let footed = footed_end(place, &*file, &path, number, size)?;
    if footed.is_some() && is_writer && found.damage.is_empty() {
        // Sealed but for its name.
        file.sync().map_err(|e| io_error("sync a pack", &path, e))?;
        let sealed = place.dir.join(pack_file(number, Form::Sealed));
        place.vfs.rename(&path, &sealed).map_err(|e| io_error("rename a pack", &path, e))?;
        place.vfs.sync_dir(place.dir).map_err(|e| io_error("sync a directory", place.dir, e))?;
        return open_sealed(place, number, &[Form::Sealed]).map(|pack| Some(Pack::Sealed(Arc::new(pack))));
    }
    let end = footed.unwrap_or(size);
    let reader = Active::new(number, path.clone(), Arc::clone(&file), end);
    let scanned = scan(&reader, place.store, number, end, durable)?;
    let scanned = drop_keyless(place, scanned, durable)?;
    let is_cut = durable > end;
    let active =
        publish(&scanned, Active::new(number, path.clone(), Arc::clone(&file), scanned.end), durable);
    let sound = scanned.damage.is_empty() && !is_cut && footed.is_none();
    found
        .damage
        .extend(scanned.damage.iter().map(|fault| at(Error::corrupt(fault.what), &path, fault.offset)));
    if is_cut {
        found.damage.push(at(
            Error::corrupt(format!("the pack ends before offset {durable}, where it was synced")),
            &path,
            end,
        ));
    }
    if let Some(torn) = &scanned.torn {
        let bytes = size.saturating_sub(torn.offset);
        if is_writer && sound && takes_records {
            file.set_size(torn.offset).map_err(|e| io_error("cut a pack", &path, e))?;
            file.sync().map_err(|e| io_error("sync a pack", &path, e))?;
        }
        // Beside a writer it is a record under way, and of a damaged pack nothing is cut.
        if is_writer && sound && takes_records {
            found.torn = Some(TornPack { path, offset: torn.offset, bytes });
        }
    }
    if is_writer && !sound && footed.is_none() && kept < durable {
        keep_evidence(place, number, durable)?;
    }
    let active = Arc::new(active);
    if takes_records && sound {
        found.active = Some(Arc::clone(&active));
    }
    Ok(Some(Pack::Active(active)))
}

/// Where it is kept how far a damaged pack was durable, once the mark is about to name another one.
fn evidence(place: &Place<'_>, number: u64) -> Mark {
    Mark::new(place.vfs, place.dir.join(evidence_file(number)), place.store)
}

fn kept_evidence(place: &Place<'_>, number: u64) -> Result<u64> {
    let kept = evidence(place, number).read()?;
    Ok(kept.filter(|kept| kept.pack == number).map_or(0, |kept| kept.end))
}

/// Keeps the proof of damage for good: until a repair.
fn keep_evidence(place: &Place<'_>, number: u64, end: u64) -> Result<()> {
    evidence(place, number).write_synced(Durable { pack: number, end, last: number })?;
    place.vfs.sync_dir(place.dir).map_err(|e| io_error("sync a directory", place.dir, e))
}

/// Drops the records that a power cut took the keys of, and all behind them. Slots are synced before packs are, so none of
/// these was ever acknowledged.
fn drop_keyless(place: &Place<'_>, mut scanned: Scanned, durable: u64) -> Result<Scanned> {
    for number in 0..scanned.records.len() {
        let Some((offset, head)) = scanned.records.get(number) else { break };
        let is_confirmed = offset.saturating_add(head.record_bytes()) <= durable;
        // A damaged slot is damage, and told by whoever asks for the content.
        let is_lost = || {
            let state = place.keys.state_or_damage(head.slot, head.id);
            state.map(|state| matches!(state, Ok(SlotState::Foreign)))
        };
        if is_confirmed || !is_lost()? {
            continue;
        }
        scanned.end = *offset;
        scanned.torn = Some(Fault { offset: *offset, what: "the key of a record was never synced" });
        scanned.records.truncate(number);
        break;
    }
    Ok(scanned)
}

fn publish(scanned: &Scanned, active: Active, durable: u64) -> Active {
    for (offset, head) in &scanned.records {
        active.publish(entries_of(head, *offset), offset.saturating_add(head.record_bytes()));
    }
    active.publish_end(scanned.end);
    active.confirm(durable);
    active
}

fn check_header(
    place: &Place<'_>,
    file: &dyn VfsFile,
    path: &Path,
    number: u64,
) -> Result<std::result::Result<(), PackError>> {
    let mut bytes = [0; PACK_HEADER_BYTES];
    file.read_at(&mut bytes, 0).map_err(|e| io_error("read a pack", path, e))?;
    Ok(PackHeader { store: *place.store, number }.check(&bytes))
}

/// Returns where the records end of a pack that has its footer already.
fn footed_end(
    place: &Place<'_>,
    file: &dyn VfsFile,
    path: &Path,
    number: u64,
    size: u64,
) -> Result<Option<u64>> {
    let Some(offset) = size.checked_sub(FOOTER_TAIL_BYTES as u64) else { return Ok(None) };
    let mut bytes = [0; FOOTER_TAIL_BYTES];
    let count = file.read_at(&mut bytes, offset).map_err(|e| io_error("read a pack", path, e))?;
    if count < FOOTER_TAIL_BYTES {
        return Ok(None);
    }
    let Ok(tail) = FooterTail::from_bytes(&bytes, place.store, number, size) else { return Ok(None) };
    let entries = offset.saturating_sub(tail.entries_offset);
    let mut bytes = vec![0; usize::try_from(entries).unwrap_or(0)];
    let count =
        file.read_at(&mut bytes, tail.entries_offset).map_err(|e| io_error("read a pack", path, e))?;
    let checks = count == bytes.len() && FooterTail::crc_of(&bytes, place.store, number) == tail.entries_crc;
    Ok(checks.then_some(tail.entries_offset))
}
