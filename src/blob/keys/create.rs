//! Making the files of keys.
//!
//! Invariants:
//! - What holds a key that something may depend on is never overwritten: only a file that is missing or zeros is filled,
//!   or the subjects before their head was written.
//! - The head of the subjects is written last, when all else is synced: with it the set is complete.

use std::path::Path;

use zeroize::Zeroizing;

use super::file::{Access, KeyFile, Poison, fault_error};
use super::keyring::MASTER_WRAP;
use super::master::{check_value, master_place, read_master_file};
use super::paths::KeyPaths;
use super::slots::{SLOTS_MAGIC, Slots};
use super::subjects::{DEFAULT_SUBJECT, STORE_SECRET, head_place, subject_place};
use crate::blob::key::{FillRandom, Key};
use crate::blob::ledger::Ledger;
use crate::blob::trouble::io_error;
use crate::codec::{
    KEY_HEAD_BYTES, KeyFault, KeyHead, MasterBody, SEALED_NAME_BYTES, SubjectBody, SubjectKind, SubjectsHead,
    TWIN_BYTES,
};
use crate::contract::{AddressKind, Error, Result};
use crate::io::Vfs;

/// The epoch of a store's first master key.
const FIRST_EPOCH: u32 = 1;
/// Free slots that are written at first.
const FIRST_SLOTS_BYTES: usize = 64 << 10;

pub(super) fn create(
    vfs: &dyn Vfs,
    paths: &KeyPaths,
    store: &[u8; 16],
    default: AddressKind,
    fill: &FillRandom,
) -> Result<()> {
    make_dir(vfs, paths.dir())?;
    let subjects = KeyFile::made(vfs, paths.subjects())?;
    let mut head = [0; TWIN_BYTES];
    subjects.read(&mut head, 0)?;
    let twin = head_place(store).decode(&head);
    if twin.body().is_some() {
        return Ok(());
    }
    if !twin.is_empty() {
        return Err(subjects.fault(KeyFault::Damaged("the head of the subjects is damaged"), 0));
    }
    let master = create_master(vfs, &paths.master(), store, fill)?;
    create_slots(vfs, paths, store)?;
    Ledger::create(vfs, paths.erasures(), store)?;
    // The head of the subjects is not to be there before the names of the others are.
    sync_dir(vfs, paths.dir())?;
    create_subjects(&subjects, store, default, fill, &master)
}

/// Makes a directory and its parents, and their names durable.
fn make_dir(vfs: &dyn Vfs, dir: &Path) -> Result<()> {
    let mut missing = Vec::new();
    for dir in dir.ancestors().filter(|dir| !dir.as_os_str().is_empty()) {
        if vfs.exists(dir).map_err(|e| io_error("look for a directory", dir, e))? {
            break;
        }
        missing.push(dir);
    }
    vfs.create_dir_all(dir).map_err(|e| io_error("create a directory", dir, e))?;
    // The nearest one may be there and its name not yet durable: a crash came in between.
    let parents = missing.into_iter().chain([dir]).filter_map(Path::parent);
    parents.into_iter().try_for_each(|parent| sync_dir(vfs, parent))
}

fn sync_dir(vfs: &dyn Vfs, dir: &Path) -> Result<()> {
    vfs.sync_dir(dir).map_err(|e| io_error("sync a directory", dir, e))
}

/// Returns the master key that is there, or makes one.
fn create_master(vfs: &dyn Vfs, path: &Path, store: &[u8; 16], fill: &FillRandom) -> Result<MasterBody> {
    let fault = |fault| fault_error(fault, path, 0);
    let file = KeyFile::made(vfs, path.to_path_buf())?;
    let twin = read_master_file(vfs, path, store)?.filter(|twin| !twin.is_empty());
    let master = match twin {
        Some(twin) => {
            let foreign = KeyFault::Damaged("the file of the master key holds something else");
            twin.body().ok_or(foreign).and_then(MasterBody::from_body).map_err(fault)?
        }
        None if file.size()? > TWIN_BYTES as u64 => {
            return Err(fault(KeyFault::Damaged("the file of the master key holds something else")));
        }
        None => {
            let mut key = Zeroizing::new([0; 32]);
            fill(&mut *key)?;
            let master = MasterBody { epoch: FIRST_EPOCH, key };
            file.write_new(&*master_place(store).encode_first(&master.to_body()), 0)?;
            master
        }
    };
    file.sync()?;
    sync_dir(vfs, path.parent().unwrap_or(Path::new("")))?;
    Ok(master)
}

fn create_slots(vfs: &dyn Vfs, paths: &KeyPaths, store: &[u8; 16]) -> Result<()> {
    let file = KeyFile::made(vfs, paths.slots())?;
    let mut head = vec![0; KEY_HEAD_BYTES];
    file.read(&mut head, 0)?;
    if head.iter().all(|byte| *byte == 0) {
        file.write_new(&KeyHead { magic: SLOTS_MAGIC, store: *store }.to_bytes(), 0)?;
        file.write_new(&vec![0; FIRST_SLOTS_BYTES], KEY_HEAD_BYTES as u64)?;
    }
    let slots = Slots::open(vfs, paths.slots(), store, Access::Read, &Poison::default())?;
    if slots.handed_out() > 0 {
        let message = "there are data keys, and the subjects that they are wrapped for are missing";
        return Err(Error::corrupt(message).at_path(paths.subjects()));
    }
    file.sync()
}

fn create_subjects(
    file: &KeyFile,
    store: &[u8; 16],
    default: AddressKind,
    fill: &FillRandom,
    master: &MasterBody,
) -> Result<()> {
    let epoch = master.epoch;
    let master = Key::of(master.key.clone());
    let wrapping = master.derive(MASTER_WRAP);
    for (number, kind) in [(STORE_SECRET, SubjectKind::StoreSecret), (DEFAULT_SUBJECT, SubjectKind::Subject)]
    {
        let wrapped = Some(wrapping.wrap(&Key::random(fill)?));
        let body = SubjectBody { kind, epoch, digest: [0; 32], wrapped, name: [0; SEALED_NAME_BYTES] };
        let place = subject_place(store, number);
        file.write_new(&*place.encode_first(&body.to_body()), place.offset)?;
    }
    file.sync()?;
    let head = SubjectsHead { default, epoch, check: check_value(&master) };
    file.write_new(&*head_place(store).encode_first(&head.to_body()), 0)?;
    file.sync()
}
