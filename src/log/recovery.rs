//! Opening a log: from the files in its directory to segments, state and a verdict on how it ended.
//!
//! Invariants:
//! - Reading changes nothing. A writer cuts a torn tail and removes what a crash left behind, and nothing
//!   else; opening twice changes nothing more.
//! - Damage is never cut, moved or skipped: it is listed, and the log is then only read.
//! - Sealed segments are opened by head, trailer and directory; only what lies behind the newest checkpoint of the
//!   active segment is read frame by frame.
//! - Where both forms of a segment exist, the sealed one wins if its root checks: the crash came
//!   between its rename and the removal of the other.
//! - A system call that fails is an error, never damage.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::active::ActiveSegment;
use super::active_index::ActiveIndex;
use super::error::LogError;
use super::files::{checkpoint_file, is_leftover};
use super::finding::Finding;
use super::ids::{IdTables, TierFiles};
use super::mark::Mark;
use super::names::{SegmentName, Stage, segment_file};
use super::scan::{Scan, ScanStart, scan};
use super::sealed::SealedSegment;
use super::tail::{Tail, Torn, judge};
use super::upkeep::remove_active;
use super::view::Segments;
use crate::codec::{Checkpoint, ControlState, FrameSeed, HEADER_BYTES, HeaderError, SegmentHeader};
use crate::contract::{Code, Error, ErrorKind, Result};
use crate::io::{OpenMode, ProofBudget, Vfs, VfsFile};

/// Directory of the merged fingerprint tables within a store's.
pub const IDS_DIR: &str = "ids";

/// Who opens the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The one writer: may cut a torn tail.
    Writer,
    /// A reader while no writer lives: reads everything that checks.
    Reader,
    /// A reader beside a writer: reads up to the mark.
    Follower,
}

/// A log that was opened.
#[derive(Debug)]
pub struct Recovered {
    /// The store's identity.
    pub store: [u8; 16],
    /// Keys the id fingerprints.
    pub secret: [u8; 16],
    /// The segments.
    pub segments: Segments,
    /// The state behind the last event.
    pub state: ControlState,
    /// The newest mark.
    pub mark: Option<Mark>,
    /// A torn tail: cut by a writer, left out by a reader.
    pub torn: Option<Torn>,
    /// Damage; not empty means that nothing may be appended.
    pub damage: Vec<Finding>,
    /// Frames that were read one by one.
    pub frames_read: u64,
}

/// Opens the log in `dir`, whose marks stand in `root`.
///
/// # Errors
/// `NotFound` when there is no log; `Unsupported` for a newer format; system calls. Damage is no error here.
pub fn recover(
    vfs: &Arc<dyn Vfs>,
    root: &Path,
    dir: &Path,
    role: Role,
    budget: &Arc<ProofBudget>,
) -> Result<Recovered> {
    let mut last = None;
    // Beside a writer, a segment can be sealed and removed between the listing and its opening: look again.
    for _ in 0..if role == Role::Follower { 8 } else { 1 } {
        match Opening::run(vfs, root, dir, role, budget) {
            Err(error) if vanished(&error) => last = Some(error),
            outcome => return outcome,
        }
    }
    Err(last.unwrap_or_else(|| Error::corrupt("the log's files keep changing")))
}

fn vanished(error: &Error) -> bool {
    let source = std::error::Error::source(error).and_then(|e| e.downcast_ref::<std::io::Error>());
    source.is_some_and(|e| e.kind() == std::io::ErrorKind::NotFound)
}

/// Which forms of a segment there are.
#[derive(Clone, Copy, Debug, Default)]
struct Forms {
    active: bool,
    sealed: bool,
}

struct Opening<'a> {
    budget: &'a Arc<ProofBudget>,
    vfs: &'a Arc<dyn Vfs>,
    dir: &'a Path,
    ids_dir: PathBuf,
    role: Role,
    mark: Option<Mark>,
    sealed: Vec<Arc<SealedSegment>>,
    rolled: Vec<Arc<ActiveSegment>>,
    torn: Option<Torn>,
    damage: Vec<Finding>,
    frames_read: u64,
}

/// An active form whose head was read.
struct Head {
    header: SegmentHeader,
    frames_start: u64,
    path: PathBuf,
    file: Arc<dyn VfsFile>,
}

impl<'a> Opening<'a> {
    fn run(
        vfs: &'a Arc<dyn Vfs>,
        root: &Path,
        dir: &'a Path,
        role: Role,
        budget: &'a Arc<ProofBudget>,
    ) -> Result<Recovered> {
        let mut opening = Self {
            budget,
            vfs,
            dir,
            ids_dir: root.join(IDS_DIR),
            role,
            mark: None,
            sealed: Vec::new(),
            rolled: Vec::new(),
            torn: None,
            damage: Vec::new(),
            frames_read: 0,
        };
        let mut forms = opening.list()?;
        let identity = opening.identity(&forms)?;
        opening.mark = Mark::read(&**vfs, root, &identity.store)
            .map_err(|e| Error::io("cannot read the mark file", e).at_path(root))?;
        if role == Role::Follower {
            // A mark that is newer than the list could name a segment that is not in it.
            forms = opening.list()?;
        }
        opening.check_numbers(&forms);
        opening.open_all(&forms, identity)
    }

    /// Lists the segments; a writer removes what a crash left beside them.
    fn list(&self) -> Result<BTreeMap<u64, Forms>> {
        let dir = self.dir;
        let names = self.vfs.list(dir).map_err(|e| Error::io("cannot list a directory", e).at_path(dir))?;
        let mut forms: BTreeMap<u64, Forms> = BTreeMap::new();
        for name in &names {
            match SegmentName::parse(name) {
                Some(SegmentName { number, stage: Stage::Active }) => {
                    forms.entry(number).or_default().active = true;
                }
                Some(SegmentName { number, stage: Stage::Sealed }) => {
                    forms.entry(number).or_default().sealed = true;
                }
                _ if self.role == Role::Writer && is_leftover(name, &names) => {
                    let path = dir.join(name);
                    self.vfs
                        .remove(&path)
                        .map_err(|e| Error::io("cannot remove a left-over file", e).at_path(path))?;
                }
                _ => {}
            }
        }
        Ok(forms)
    }

    /// Reads the store's identity from the first head that can be read.
    fn identity(&self, forms: &BTreeMap<u64, Forms>) -> Result<SegmentHeader> {
        let mut first_error = None;
        for (number, found) in forms {
            let stage = if found.sealed { Stage::Sealed } else { Stage::Active };
            match self.head(*number, stage) {
                Ok(head) => return Ok(head.header),
                Err(error) if error.kind() == ErrorKind::Corrupt => {
                    first_error.get_or_insert(error);
                }
                Err(error) => return Err(error),
            }
        }
        Err(first_error.unwrap_or_else(|| {
            Error::new(ErrorKind::NotFound, Code::Store, "there is no store here").at_path(self.dir)
        }))
    }

    fn check_numbers(&mut self, forms: &BTreeMap<u64, Forms>) {
        let mut expected = forms.keys().next().copied().unwrap_or(1);
        for number in forms.keys() {
            if *number > expected {
                self.missing(expected, number - 1);
            }
            expected = number + 1;
        }
        if let Some(mark) = self.mark
            && mark.segment >= expected
        {
            self.missing(expected, mark.segment);
        }
    }

    fn missing(&mut self, first: u64, last: u64) {
        let what = if first == last {
            format!("segment {first} is missing")
        } else {
            format!("segments {first} to {last} are missing")
        };
        self.damage.push(Finding {
            path: Some(self.dir.join(segment_file(first, Stage::Sealed))),
            segment: Some(first),
            offset: None,
            what,
            events_behind: None,
        });
    }

    fn open_all(mut self, forms: &BTreeMap<u64, Forms>, identity: SegmentHeader) -> Result<Recovered> {
        let mut state: Option<ControlState> = None;
        let mut active: Option<Arc<ActiveSegment>> = None;
        let last = forms.keys().next_back().copied().unwrap_or(0);
        for (number, found) in forms {
            let opened = match self.open_one(*number, *found, *number == last, forms) {
                Ok(opened) => opened,
                Err(error) => {
                    let at = self.dir.join(segment_file(*number, Stage::Sealed));
                    let mut finding = Finding::of(error.at_path(at))?;
                    finding.segment.get_or_insert(*number);
                    self.damage.push(finding);
                    state = None;
                    continue;
                }
            };
            let (header, after) = opened.bounds()?;
            if header.store != identity.store {
                let what = "the segment belongs to another store".to_owned();
                self.damage.push(Finding::of(LogError::Chain(what).at(self.dir, *number, 0))?);
                continue;
            }
            self.check_chain(
                *number,
                &header,
                state.as_ref(),
                number == forms.keys().next().unwrap_or(number),
            )?;
            state = Some(after);
            match opened {
                One::Sealed(segment) => self.sealed.push(segment),
                One::Active(segment, _) if *number == last => active = Some(segment),
                One::Active(segment, _) => self.rolled.push(segment),
            }
        }
        if active.is_none() && self.damage.is_empty() {
            let what = "the active segment is missing".to_owned();
            self.damage.push(Finding::of(LogError::Chain(what).at(self.dir, last + 1, 0))?);
        }
        let files = if self.role == Role::Writer { TierFiles::Tidy } else { TierFiles::Keep };
        let ids = IdTables::open(self.vfs, &self.ids_dir, identity.store, self.sealed.clone(), files)?;
        Ok(Recovered {
            store: identity.store,
            secret: identity.secret,
            segments: Segments { sealed: self.sealed, rolled: self.rolled, active, ids: Arc::new(ids) },
            state: state.unwrap_or_default(),
            mark: self.mark,
            torn: self.torn,
            damage: self.damage,
            frames_read: self.frames_read,
        })
    }

    /// A segment starts in the state in which the one before it ended, and names its root where it is known.
    fn check_chain(
        &mut self,
        number: u64,
        header: &SegmentHeader,
        before: Option<&ControlState>,
        first: bool,
    ) -> Result<()> {
        let mut wrong = Vec::new();
        match before {
            Some(before) if *before != header.state => {
                wrong.push("the segment does not start where the one before it ends".to_owned());
            }
            None if first && header.state.arrivals > 0 && header.state.evicted.is_empty() => {
                wrong.push(format!("the segments before number {number} are missing"));
            }
            _ => {}
        }
        if let Some(prev) = self.sealed.last().filter(|prev| prev.number() + 1 == number)
            && header.prev_root != [0; 32]
            && header.prev_root != *prev.root()
        {
            wrong.push("the segment names another root for the one before it".to_owned());
        }
        for what in wrong {
            self.damage.push(Finding::of(LogError::Chain(what).at(self.dir, number, 0))?);
        }
        Ok(())
    }

    fn open_one(
        &mut self,
        number: u64,
        found: Forms,
        last: bool,
        forms: &BTreeMap<u64, Forms>,
    ) -> Result<One> {
        if found.sealed {
            let path = self.dir.join(segment_file(number, Stage::Sealed));
            let sealed = SealedSegment::open(self.vfs, &path, self.budget);
            if !found.active {
                return sealed.map(|segment| One::Sealed(Arc::new(segment)));
            }
            if let Ok(segment) = sealed
                && segment.verify_root().is_ok()
            {
                if self.role == Role::Writer {
                    remove_active(&**self.vfs, self.dir, number)?;
                }
                return Ok(One::Sealed(Arc::new(segment)));
            }
            // The active form is the older truth; a writer seals it again over the bad one.
        }
        let head = self.head(number, Stage::Active)?;
        if last { self.open_active(head) } else { self.open_rolled(head, number, forms) }
    }

    fn head(&self, number: u64, stage: Stage) -> Result<Head> {
        let path = self.dir.join(segment_file(number, stage));
        let mode = if self.role == Role::Writer { OpenMode::Write } else { OpenMode::Read };
        let place = |e: LogError| e.at(&path, number, 0);
        let read = |file: &dyn VfsFile, bytes: usize| -> Result<Vec<u8>> {
            let mut buffer = vec![0; bytes];
            let found =
                file.read_at(&mut buffer, 0).map_err(|e| place(LogError::io("read a segment's head")(e)))?;
            buffer.truncate(found);
            Ok(buffer)
        };
        let file = self.vfs.open(&path, mode).map_err(|e| place(LogError::io("open a segment")(e)))?;
        let size = file.size().map_err(|e| place(LogError::io("read a segment's size")(e)))?;
        let whole = SegmentHeader::peek_bytes(&read(&*file, HEADER_BYTES)?).map_err(|e| place(e.into()))?;
        if whole as u64 > size {
            let short =
                HeaderError::Short { found: usize::try_from(size).unwrap_or(usize::MAX), expected: whole };
            return Err(place(short.into()));
        }
        let (header, frames_start) =
            SegmentHeader::from_bytes(&read(&*file, whole)?).map_err(|e| place(e.into()))?;
        if header.segment != number {
            return Err(place(LogError::Chain(format!("the file says it is segment {}", header.segment))));
        }
        Ok(Head { header, frames_start: frames_start as u64, path, file })
    }

    /// A rolled segment is whole: everything up to the length that the next head names was durable.
    fn open_rolled(&mut self, head: Head, number: u64, forms: &BTreeMap<u64, Forms>) -> Result<One> {
        let next_stage =
            forms.get(&(number + 1)).map(|next| if next.active { Stage::Active } else { Stage::Sealed });
        let next = next_stage.map(|stage| self.head(number + 1, stage)).transpose()?;
        let size = head
            .file
            .size()
            .map_err(|e| LogError::io("read a segment's size")(e).at(&head.path, number, 0))?;
        let limit = next.map_or(size, |next| next.header.prev_bytes);
        let found = self.scan(&head, limit)?;
        if let Some(error) = found.stop {
            let finding = Finding::of(error.at(&head.path, number, found.end))?;
            self.damage.push(self.with_events_behind(&head, found.end, finding)?);
        }
        Ok(One::active(head, found.index, found.end, found.state))
    }

    fn open_active(&mut self, head: Head) -> Result<One> {
        let number = head.header.segment;
        let place = |e: LogError| e.at(&head.path, number, 0);
        let size = head.file.size().map_err(|e| place(LogError::io("read a segment's size")(e)))?;
        let marked = self.mark.filter(|mark| mark.segment == number).map_or(0, |mark| mark.end);
        let limit = match self.role {
            Role::Follower => marked.max(head.frames_start),
            Role::Writer | Role::Reader => size,
        };
        let found = self.scan(&head, limit)?;
        let marked_end = if marked > size.max(found.end) || found.stop.is_some() { marked } else { 0 };
        if found.stop.is_some() || marked_end > 0 {
            let seed = seed_of(&head.header);
            let tail = judge(&*head.file, seed, found.end, marked_end).map_err(&place)?;
            self.take_tail(&head, &found, tail)?;
        }
        Ok(One::active(head, found.index, found.end, found.state))
    }

    fn take_tail(&mut self, head: &Head, found: &Scan, tail: Tail) -> Result<()> {
        let (number, offset) = (head.header.segment, found.end);
        match tail {
            Tail::Free => {}
            Tail::Damaged { durable_end, events } => {
                let why =
                    found.stop.as_ref().map_or_else(|| "bytes are missing".to_owned(), ToString::to_string);
                let what = format!("{why}, below the durable end at {durable_end}");
                let finding = Finding::of(LogError::Chain(what).at(&head.path, number, offset))?;
                self.damage.push(finding.with_events_behind(events));
            }
            Tail::Torn { bytes, events, missing_bytes } => {
                if self.role == Role::Writer {
                    let cut = head.file.set_size(offset).and_then(|()| head.file.sync());
                    cut.map_err(|e| LogError::io("cut a torn tail")(e).at(&head.path, number, offset))?;
                }
                let path = head.path.clone();
                self.torn = Some(Torn { path, segment: number, offset, bytes, events, missing_bytes });
            }
        }
        Ok(())
    }

    fn with_events_behind(&self, head: &Head, offset: u64, finding: Finding) -> Result<Finding> {
        let place = |e: LogError| e.at(&head.path, head.header.segment, offset);
        Ok(match judge(&*head.file, seed_of(&head.header), offset, 0).map_err(place)? {
            Tail::Torn { events, .. } | Tail::Damaged { events, .. } => finding.with_events_behind(events),
            Tail::Free => finding,
        })
    }

    fn scan(&mut self, head: &Head, limit: u64) -> Result<Scan> {
        let start = self.checkpoint(head, limit).unwrap_or_else(|| ScanStart {
            offset: head.frames_start,
            index: ActiveIndex::default(),
            state: head.header.state.clone(),
        });
        let found = scan(&*head.file, seed_of(&head.header), &head.header.secret, start, limit)
            .map_err(|e| e.at(&head.path, head.header.segment, 0))?;
        self.frames_read += found.frames;
        Ok(found)
    }

    /// Reads the checkpoint of a segment; anything wrong with it only means a longer scan.
    fn checkpoint(&self, head: &Head, limit: u64) -> Option<ScanStart> {
        let path = self.dir.join(checkpoint_file(head.header.segment));
        let file = self.vfs.open(&path, OpenMode::Read).ok()?;
        let mut bytes = vec![0; usize::try_from(file.size().ok()?).ok()?];
        let read = file.read_at(&mut bytes, 0).ok()?;
        let checkpoint = match Checkpoint::from_bytes(bytes.get(..read)?) {
            Ok(checkpoint) => checkpoint,
            Err(what) => {
                tracing::warn!(path = %path.display(), what, "a checkpoint is not used; the segment is scanned");
                return None;
            }
        };
        let fits = checkpoint.store == head.header.store
            && checkpoint.segment == head.header.segment
            && checkpoint.end <= limit
            && checkpoint.end >= head.frames_start
            && checkpoint.state.arrivals.checked_sub(head.header.state.arrivals)
                == Some(checkpoint.entries.len() as u64);
        if !fits {
            return None;
        }
        let mut dangling = checkpoint.dangling.into_iter().peekable();
        let mut index = ActiveIndex::default();
        for (ordinal, entry) in checkpoint.entries.into_iter().enumerate() {
            let mut named = Vec::new();
            while let Some((cause, _)) = dangling.next_if(|(_, namer)| *namer as usize == ordinal) {
                named.push(cause);
            }
            index.push(entry, named);
        }
        Some(ScanStart { offset: checkpoint.end, index, state: checkpoint.state })
    }
}

fn seed_of(header: &SegmentHeader) -> FrameSeed {
    FrameSeed::new(&header.store, header.segment, header.form.code())
}

/// One segment that was opened.
enum One {
    Sealed(Arc<SealedSegment>),
    Active(Arc<ActiveSegment>, ControlState),
}

impl One {
    fn active(head: Head, index: ActiveIndex, end: u64, after: ControlState) -> Self {
        Self::Active(Arc::new(ActiveSegment::new(head.header, head.path, head.file, index, end)), after)
    }

    fn bounds(&self) -> Result<(SegmentHeader, ControlState)> {
        match self {
            Self::Sealed(segment) => Ok((segment.header()?, segment.state_after()?)),
            Self::Active(segment, after) => Ok((segment.header().clone(), after.clone())),
        }
    }
}
