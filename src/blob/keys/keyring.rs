//! The keys of a store, in the order in which they open one another: master key, subject's key, data key.
//!
//! Invariants:
//! - A process that reads keeps no key: each call reads the files anew. The writer keeps the master key, and what wraps
//!   data keys for the subject it was last asked about, until it closes.
//! - A master key that is not here, or wrong, stops only what needs a key: states, ends and pins need none.
//! - One failed sync ends all writing through this handle.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

use super::chain::{End, SlotState};
use super::create::create;
use super::file::{Access, Poison};
use super::master::{Holding, load_master};
#[cfg(test)]
use super::names::open_name;
use super::names::{check_name, digest_of, seal_name};
use super::paths::KeyPaths;
use super::slots::Slots;
use super::subjects::{DEFAULT_SUBJECT, STORE_SECRET, Subjects, subject_place};
use crate::blob::key::{FillRandom, Key};
use crate::codec::{KeyFault, RecordId, Slot, SlotMark, SubjectBody, SubjectKind, SubjectsHead, TWIN_BYTES};
use crate::contract::{AddressKind, Code, Error, ErrorKind, Result};
use crate::io::{OpenMode, Vfs};

/// Purpose of the key, derived from the master key, that wraps subjects' keys.
pub(super) const MASTER_WRAP: &str = "causelog 1 master wrap";
/// Purpose of the key, derived from a subject's key, that wraps data keys.
const SUBJECT_WRAP: &str = "causelog 1 subject wrap";

/// A record's data key, or what became of it.
#[derive(Debug)]
pub enum Unwrapped {
    /// The key.
    Key(Key),
    /// There is none any more.
    Dead(SlotState),
}

/// The master key, or why there is none.
type Master = Result<Arc<Key>, Holding>;

/// The keys of a store.
pub struct Keys {
    vfs: Arc<dyn Vfs>,
    paths: KeyPaths,
    store: [u8; 16],
    fill: FillRandom,
    default: AddressKind,
    subjects: Subjects,
    slots: Slots,
    /// What the writer keeps; `None` in a process that reads.
    kept: Option<Master>,
    /// A subject, and what wraps data keys for it; the writer's alone.
    last: Mutex<Option<(u32, Arc<Key>)>>,
}

impl Keys {
    /// Makes the files that are missing: the master key, slots, ledger and, last, the subjects, whose head makes the set
    /// complete. A set that is complete is left as it is. Files and names are synced when it returns; after a crash it
    /// can be called again. Cost: a few syncs.
    ///
    /// # Errors
    /// `Corrupt` when files are there that belong to no set that could be completed: nothing that holds a key is
    /// overwritten. What `fill` and the system report.
    pub fn create(
        vfs: &Arc<dyn Vfs>,
        paths: &KeyPaths,
        store: &[u8; 16],
        default: AddressKind,
        fill: &FillRandom,
    ) -> Result<()> {
        create(&**vfs, paths, store, default, fill)
    }

    /// Reports whether a complete set of files is there, damaged or not.
    ///
    /// # Errors
    /// What the system reports.
    pub fn exists(vfs: &Arc<dyn Vfs>, paths: &KeyPaths) -> Result<bool> {
        let path = paths.subjects();
        let failed = |e| crate::blob::trouble::io_error("read the subjects", &path, e);
        match vfs.open(&path, OpenMode::Read) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(e) => Err(failed(e)),
            Ok(file) => {
                let mut head = [0; TWIN_BYTES];
                file.read_at(&mut head, 0).map_err(failed)?;
                Ok(head.iter().any(|byte| *byte != 0))
            }
        }
    }

    /// Opens the files of a store. A master key that is missing or wrong is no error: see [`Self::holding`].
    ///
    /// # Errors
    /// `Corrupt` with path and offset; `Unsupported` for files of a newer version; what the system reports.
    pub fn open(
        vfs: &Arc<dyn Vfs>,
        paths: &KeyPaths,
        store: &[u8; 16],
        access: Access,
        fill: &FillRandom,
    ) -> Result<Self> {
        let poison = Poison::default();
        let subjects = Subjects::open(&**vfs, paths.subjects(), store, access, &poison)?;
        let slots = Slots::open(&**vfs, paths.slots(), store, access, &poison)?;
        let head = subjects.head()?;
        if subjects.count() <= DEFAULT_SUBJECT {
            let place = subject_place(store, subjects.count());
            let fault = KeyFault::Damaged("the store's own keys are missing");
            return Err(subjects.file.fault(fault, place.offset));
        }
        let mut keys = Self {
            vfs: Arc::clone(vfs),
            paths: paths.clone(),
            store: *store,
            fill: Arc::clone(fill),
            default: head.default,
            subjects,
            slots,
            kept: None,
            last: Mutex::default(),
        };
        if access == Access::Write {
            // A process that was killed may have added subjects that it did not live to sync.
            keys.subjects.file.sync()?;
            keys.kept = Some(keys.load(&head)?);
        }
        Ok(keys)
    }

    fn load(&self, head: &SubjectsHead) -> Result<Master> {
        Ok(load_master(&*self.vfs, &self.paths.master(), &self.store, head)?.map(Arc::new))
    }

    fn master(&self) -> Result<Master> {
        match &self.kept {
            Some(master) => Ok(master.clone()),
            None => self.load(&self.subjects.head()?),
        }
    }

    fn held_master(&self) -> Result<Arc<Key>> {
        self.master()?.map_err(|why| why.error(&self.paths.master()))
    }

    /// Returns the kind of address that every record carries.
    pub fn default_kind(&self) -> AddressKind {
        self.default
    }

    /// Reports whether the master key is here: as it was at opening for the writer, as it is now for who reads.
    ///
    /// # Errors
    /// `Corrupt`, what the system reports.
    pub fn holding(&self) -> Result<Holding> {
        Ok(self.master()?.err().unwrap_or(Holding::Held))
    }

    /// Refuses what needs the master key when it is not here.
    ///
    /// # Errors
    /// `NoKey`, with the path and the reason.
    pub fn require(&self) -> Result<()> {
        self.held_master().map(drop)
    }

    /// Finds a subject by its name; without a name, the default subject, which is always there.
    ///
    /// # Errors
    /// `Invalid` for what cannot be a name; `NoKey`: names are found by the store's secret; `Corrupt`; system calls.
    pub fn subject(&self, name: Option<&str>) -> Result<Option<u32>> {
        let Some(name) = name else { return Ok(Some(DEFAULT_SUBJECT)) };
        check_name(name)?;
        self.subjects.find(&digest_of(&self.store_secret()?, name))
    }

    /// Finds a subject by its name, or makes it; a new one is synced when it returns.
    ///
    /// # Errors
    /// As [`Self::subject`]; `Full` when there are 2^32 subjects. After an error the subject is not there, unless the
    /// sync failed: then it may be, once the store is opened again.
    pub fn subject_or_create(&self, name: Option<&str>) -> Result<u32> {
        let Some(name) = name else { return Ok(DEFAULT_SUBJECT) };
        check_name(name)?;
        let digest = digest_of(&self.store_secret()?, name);
        self.subjects.find_or_add(digest, || {
            let key = Key::random(&self.fill)?;
            let wrapped = Some(self.held_master()?.derive(MASTER_WRAP).wrap(&key));
            let name = seal_name(&key, &digest, name, &self.fill)?;
            let epoch = self.subjects.head()?.epoch;
            Ok(SubjectBody { kind: SubjectKind::Subject, epoch, digest, wrapped, name })
        })
    }

    /// Returns the name of a subject: none for the default subject, and for one that was destroyed.
    ///
    /// # Errors
    /// `NoKey`, `Corrupt`, what the system reports.
    #[cfg(test)]
    pub fn subject_name(&self, subject: u32) -> Result<Option<zeroize::Zeroizing<String>>> {
        let body = self.subjects.get(subject)?;
        if subject <= DEFAULT_SUBJECT {
            return Ok(None);
        }
        let Some(key) = self.own_key(subject, &body)? else { return Ok(None) };
        let damaged = || self.subject_fault(subject, "the name of a subject is damaged");
        open_name(&key, &body.digest, &body.name).map(Some).ok_or_else(damaged)
    }

    /// Unwraps a key among the subjects; `None` when it was destroyed.
    fn own_key(&self, number: u32, body: &SubjectBody) -> Result<Option<Key>> {
        let Some(wrapped) = &body.wrapped else { return Ok(None) };
        let key = self.held_master()?.derive(MASTER_WRAP).unwrap(wrapped);
        key.map(Some).ok_or_else(|| self.subject_fault(number, "the key of a subject does not unwrap"))
    }

    fn subject_fault(&self, number: u32, what: &'static str) -> Error {
        self.subjects.file.fault(KeyFault::Damaged(what), subject_place(&self.store, number).offset)
    }

    fn store_secret(&self) -> Result<Key> {
        let body = self.subjects.get(STORE_SECRET)?;
        let damaged = || self.subject_fault(STORE_SECRET, "the store's secret is gone");
        if body.kind != SubjectKind::StoreSecret {
            return Err(damaged());
        }
        self.own_key(STORE_SECRET, &body)?.ok_or_else(damaged)
    }

    /// Returns what wraps data keys for a subject; `None` when the subject was destroyed.
    fn wrapping(&self, subject: u32) -> Result<Option<Arc<Key>>> {
        if let Some((_, key)) = self.last.lock().as_ref().filter(|(number, _)| *number == subject) {
            return Ok(Some(Arc::clone(key)));
        }
        let body = self.subjects.get(subject)?;
        if body.kind != SubjectKind::Subject {
            return Err(self.subject_fault(subject, "this is no subject"));
        }
        let Some(key) = self.own_key(subject, &body)? else { return Ok(None) };
        let wrapping = Arc::new(key.derive(SUBJECT_WRAP));
        if self.kept.is_some() {
            *self.last.lock() = Some((subject, Arc::clone(&wrapping)));
        }
        Ok(Some(wrapping))
    }

    fn wrap(&self, subject: u32, data_key: &Key) -> Result<[u8; 40]> {
        let wrapping = self.wrapping(subject)?;
        let gone = || Error::new(ErrorKind::NotFound, Code::Store, "the subject was destroyed");
        Ok(wrapping.ok_or_else(gone)?.wrap(data_key))
    }

    /// Writes the data key of a new record, wrapped for a subject, and returns its slot. Not synced. Cost: one write of
    /// 128 bytes; from time to time the file grows by up to 1 MiB.
    ///
    /// # Errors
    /// `NoKey`, `NotFound` for a subject that was destroyed, `Full`, `ReadOnly`, `Poisoned`, system calls. Nothing is
    /// handed out then.
    pub fn allocate(&self, record: RecordId, subject: u32, data_key: &Key) -> Result<u32> {
        let wrapped = self.wrap(subject, data_key)?;
        let mark = SlotMark::Live;
        let slot = Slot { mark, pinned: false, record, subject, next: None, wrapped };
        self.slots.allocate(&mut self.slots.lock(), &slot)
    }

    /// Wraps the data key of a record for a further subject. Costs a sync, of what was written before: the way to the
    /// wrap must be durable before the wrap is written, lest a crash leave a wrap that no [`Self::end`] finds. The wrap
    /// itself is not synced.
    ///
    /// # Errors
    /// As [`Self::allocate`]; `NotFound` when the record's key is gone; `Corrupt`.
    pub fn add_wrap(&self, slot: u32, record: RecordId, subject: u32, data_key: &Key) -> Result<()> {
        self.slots.add(slot, &record, subject, self.wrap(subject, data_key)?)
    }

    /// Reports whether a live wrap of a record is a subject's. Needs no key. Cost: a read for each wrap.
    ///
    /// # Errors
    /// `Corrupt`, what the system reports.
    pub fn is_held_by(&self, slot: u32, record: RecordId, subject: u32) -> Result<bool> {
        let found = self.slots.walk(slot, &record, |_, slot| {
            Ok((slot.mark == SlotMark::Live && slot.subject == subject).then_some(()))
        })?;
        Ok(found.is_some())
    }

    /// Returns what became of a record's key. Needs no key. Cost: a read for each wrap up to a live one.
    ///
    /// # Errors
    /// `Corrupt`, what the system reports.
    pub fn state(&self, slot: u32, record: RecordId) -> Result<SlotState> {
        self.slots.state(slot, &record)
    }

    /// As [`Self::state`], where the damage of a slot is that record's matter alone: it comes as the inner error, and what
    /// goes over many records goes on.
    ///
    /// # Errors
    /// What the system reports.
    pub fn state_or_damage(&self, slot: u32, record: RecordId) -> Result<Result<SlotState>> {
        match self.state(slot, record) {
            Err(error) if error.kind() != ErrorKind::Corrupt => Err(error),
            known => Ok(known),
        }
    }

    /// Returns the data key of a record, from the first wrap whose subject still has its key. Cost: a read for each wrap;
    /// for who reads, the subject's key and the master key as well.
    ///
    /// # Errors
    /// `NoKey` when a wrap is live and the master key is not here; `Corrupt` where a slot is damaged, or checks and does
    /// not unwrap; what the system reports.
    pub fn unwrap(&self, slot: u32, record: RecordId) -> Result<Unwrapped> {
        let mut dead = SlotState::Foreign;
        let key = self.slots.walk(slot, &record, |number, slot| {
            if slot.mark != SlotMark::Live {
                dead = dead.after(slot.mark);
                return Ok(None);
            }
            let Some(wrapping) = self.wrapping(slot.subject)? else {
                // The subject's key is gone, and the data key with it.
                dead = SlotState::Shredded;
                return Ok(None);
            };
            let damaged = || self.slots.fault(KeyFault::Damaged("the key in a slot does not unwrap"), number);
            wrapping.unwrap(&slot.wrapped).map(Some).ok_or_else(damaged)
        })?;
        Ok(key.map_or(Unwrapped::Dead(dead), Unwrapped::Key))
    }

    /// Overwrites every wrap of a record, whoever holds it. Not synced. Needs no key. What was shredded stays shredded;
    /// ending twice is fine. Also ends what a damaged slot of the record would give. Cost: a read and a write for each
    /// wrap; where a slot is damaged, the file is read once.
    ///
    /// # Errors
    /// `ReadOnly`, `Poisoned`, what the system reports: some wraps may be gone by then, and the call can be made again.
    pub fn end(&self, slot: u32, record: RecordId, how: End) -> Result<()> {
        self.slots.end(slot, &record, how)
    }

    /// Pins a record, or lifts that. Not synced. Needs no key.
    ///
    /// # Errors
    /// `Corrupt`, `ReadOnly`, `Poisoned`, what the system reports.
    pub fn set_pinned(&self, slot: u32, record: RecordId, pinned: bool) -> Result<()> {
        self.slots.set_pinned(slot, &record, pinned)
    }

    /// Makes durable what was written to slots. Costs nothing when nothing was written since.
    ///
    /// # Errors
    /// What the system reports, after which this handle writes no more: `Poisoned`.
    pub fn sync(&self) -> Result<()> {
        self.slots.file.sync()
    }

    /// Returns how many slots are handed out. A process that reads is told how many there were when it opened the files.
    #[cfg(test)]
    pub fn slots(&self) -> u32 {
        self.slots.handed_out()
    }

    pub(super) fn parts(&self) -> (&Subjects, &Slots) {
        (&self.subjects, &self.slots)
    }
}

/// Shows no key.
impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys")
            .field("paths", &self.paths)
            .field("subjects", &self.subjects)
            .field("slots", &self.slots)
            .finish_non_exhaustive()
    }
}
