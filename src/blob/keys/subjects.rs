//! The file of the subjects' keys: a head, the store's secret, the default subject, and named subjects.
//!
//! Invariants:
//! - Every subject that this process knows of is synced.
//! - Subjects are numbered without gaps; the first empty twin ends the file. A subject that was destroyed keeps its
//!   number and its digest.
//! - Keys and names are never kept here. Digests are: keyed with the store's secret, they tell nobody a name.

use std::collections::HashMap;
use std::path::PathBuf;

use parking_lot::Mutex;

use super::file::{Access, KeyFile, Poison};
use crate::codec::{KeyFault, SubjectBody, SubjectKind, SubjectsHead, TWIN_BYTES, Twin, TwinPlace};
use crate::contract::{Code, Error, ErrorKind, Result};
use crate::io::Vfs;

/// Times a twin is read before it is called damaged: a writer may be in the midst of it.
const READS: u32 = 3;
/// Twins that are read at once.
const READ_TWINS: usize = 64;

/// The number of the default subject, which is the store itself.
pub(super) const DEFAULT_SUBJECT: u32 = 1;
/// The number of the store's secret.
pub(super) const STORE_SECRET: u32 = 0;

/// Where the head stands.
pub(super) fn head_place(store: &[u8; 16]) -> TwinPlace {
    TwinPlace { magic: *b"CLSUBJEC", store: *store, offset: 0 }
}

/// Where a subject stands.
pub(super) fn subject_place(store: &[u8; 16], number: u32) -> TwinPlace {
    let offset = (u64::from(number) + 1) * TWIN_BYTES as u64;
    TwinPlace { magic: *b"CLSUBKEY", store: *store, offset }
}

/// Named subjects, as far as the file was read.
#[derive(Debug, Default)]
struct Known {
    by_digest: HashMap<[u8; 32], u32>,
    /// How many numbers are taken.
    count: u32,
}

/// The file of the subjects' keys.
pub(super) struct Subjects {
    pub(super) file: KeyFile,
    store: [u8; 16],
    known: Mutex<Known>,
}

impl Subjects {
    /// Opens the file. Cost: two reads for each 64 subjects.
    ///
    /// # Errors
    /// `Corrupt`, `Unsupported`, what the system reports.
    pub(super) fn open(
        vfs: &dyn Vfs,
        path: PathBuf,
        store: &[u8; 16],
        access: Access,
        poison: &Poison,
    ) -> Result<Self> {
        let file = KeyFile::held(vfs, path, access, poison)?;
        let subjects = Self { file, store: *store, known: Mutex::default() };
        subjects.head()?;
        subjects.refresh(&mut subjects.known.lock())?;
        Ok(subjects)
    }

    /// Reads the head.
    ///
    /// # Errors
    /// `Corrupt`, `Unsupported`, what the system reports.
    pub(super) fn head(&self) -> Result<SubjectsHead> {
        let place = head_place(&self.store);
        let twin = self.twin(&place)?;
        let damaged = KeyFault::Damaged("the head of the subjects is damaged, or of another store");
        let body = twin.body().ok_or(damaged);
        body.and_then(SubjectsHead::from_body).map_err(|fault| self.file.fault(fault, place.offset))
    }

    /// Reads what a number stands for.
    ///
    /// # Errors
    /// `Corrupt`, also for a number that was never given; what the system reports.
    pub(super) fn get(&self, number: u32) -> Result<SubjectBody> {
        let place = subject_place(&self.store, number);
        let twin = self.twin(&place)?;
        let body = twin.body().ok_or(KeyFault::Damaged("the key of a subject is missing or damaged"));
        let subject = body.and_then(SubjectBody::from_body);
        subject.map_err(|fault| self.file.fault(fault, place.offset))
    }

    /// Reads a twin. One that seems to hold nothing is read again.
    fn twin(&self, place: &TwinPlace) -> Result<Twin> {
        let mut reads = 1;
        loop {
            let mut bytes = [0; TWIN_BYTES];
            self.file.read(&mut bytes, place.offset)?;
            let twin = place.decode(&bytes);
            if twin.body().is_some() || reads == READS {
                return Ok(twin);
            }
            reads += 1;
        }
    }

    /// Finds a named subject that is not destroyed. What another process added is found as well.
    ///
    /// # Errors
    /// What the system reports.
    pub(super) fn find(&self, digest: &[u8; 32]) -> Result<Option<u32>> {
        let mut known = self.known.lock();
        if !known.by_digest.contains_key(digest) {
            self.refresh(&mut known)?;
        }
        Ok(known.by_digest.get(digest).copied())
    }

    /// Returns how many numbers are taken.
    pub(super) fn count(&self) -> u32 {
        self.known.lock().count
    }

    /// Adds a subject under its digest, synced when it returns, unless it is there. `make` is called where it is not.
    ///
    /// # Errors
    /// `Full` when all numbers are used up; what `make` and the system report. Nothing is known of the subject then.
    pub(super) fn find_or_add(
        &self,
        digest: [u8; 32],
        make: impl FnOnce() -> Result<SubjectBody>,
    ) -> Result<u32> {
        let mut known = self.known.lock();
        if let Some(number) = known.by_digest.get(&digest) {
            return Ok(*number);
        }
        self.file.check_writable()?;
        let number = known.count;
        let Some(count) = number.checked_add(1).filter(|count| *count < u32::MAX) else {
            return Err(Error::new(ErrorKind::Full, Code::Store, "all numbers of subjects are used up"));
        };
        let place = subject_place(&self.store, number);
        // Nothing that may hold a key is overwritten: an entry of zeros before others is damage.
        let mut there = [0; TWIN_BYTES];
        self.file.read(&mut there, place.offset)?;
        let mut behind = [0; TWIN_BYTES];
        self.file.read(&mut behind, subject_place(&self.store, count).offset)?;
        if there.iter().chain(&behind).any(|byte| *byte != 0) {
            let fault = KeyFault::Damaged("a subject stands behind an empty place");
            return Err(self.file.fault(fault, place.offset));
        }
        let before = self.file.size()?;
        let bytes = place.encode_first(&make()?.to_body());
        if let Err(e) = self.file.write(&*bytes, place.offset) {
            self.file.take_back(place.offset, TWIN_BYTES, before);
            return Err(e);
        }
        self.file.sync()?;
        known.count = count;
        known.by_digest.insert(digest, number);
        Ok(number)
    }

    /// Reads on from where the file was read to.
    fn refresh(&self, known: &mut Known) -> Result<()> {
        let mut buffer = vec![0; TWIN_BYTES * READ_TWINS];
        loop {
            self.file.read(&mut buffer, subject_place(&self.store, known.count).offset)?;
            for bytes in buffer.as_chunks::<TWIN_BYTES>().0 {
                let number = known.count;
                let twin = subject_place(&self.store, number).decode(bytes);
                let Some(count) = number.checked_add(1).filter(|_| !twin.is_empty()) else {
                    return Ok(());
                };
                known.count = count;
                // A damaged one keeps its number; whoever needs its key is told.
                let Some(Ok(subject)) = twin.body().map(SubjectBody::from_body) else { continue };
                if subject.kind == SubjectKind::Subject
                    && number > DEFAULT_SUBJECT
                    && subject.wrapped.is_some()
                {
                    known.by_digest.insert(subject.digest, number);
                }
            }
        }
    }

    /// Calls `f` with the place of each twin, the head's first, and what is there.
    ///
    /// # Errors
    /// What `f` and the system report.
    pub(super) fn for_each(&self, f: &mut dyn FnMut(TwinPlace, &Twin) -> Result<()>) -> Result<()> {
        let subjects = (0..self.count()).map(|number| subject_place(&self.store, number));
        for place in std::iter::once(head_place(&self.store)).chain(subjects) {
            f(place, &self.twin(&place)?)?;
        }
        Ok(())
    }
}

/// Shows no digest.
impl std::fmt::Debug for Subjects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subjects")
            .field("file", &self.file)
            .field("count", &self.count())
            .finish_non_exhaustive()
    }
}
