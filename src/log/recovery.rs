//! Opening a log: from the files in its directory to segments, state and a verdict on how it ended.
//!
//! Invariants:
//! - Reading changes nothing. A writer cuts a torn tail and removes what a crash left behind, and nothing
//!   else; opening twice changes nothing more. In a log that is damaged anywhere it cuts nothing.
//! - Damage is never cut, moved or skipped: it is listed, and the log is then only read.
//! - Sealed segments are opened by head, trailer and directory; only what lies behind the newest checkpoint of the
//!   active segment is read frame by frame.
//! - Where both forms of a segment exist, the sealed one wins if its root checks: the crash came
//!   between its rename and the removal of the other.
//! - What does not fit from segment to segment is judged when all were seen: a repair is named in the log itself.
//! - A system call that fails is an error, never damage.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::active::ActiveSegment;
use super::active_index::ActiveIndex;
use super::chain::{Chain, SealedEnd};
use super::ending::{Ending, Known, judge_last, judge_rolled, seed_of};
use super::error::LogError;
use super::files::{checkpoint_file, is_leftover, read_checkpoint};
use super::finding::Finding;
use super::head::{Head, read_head};
use super::identity::owner_of;
use super::ids::{IdTables, TierFiles};
use super::mark::{Mark, MarkFile, MarkWriter};
use super::names::{SegmentName, Stage, segment_file};
use super::parts::Segments;
use super::scan::{Scan, ScanStart, scan};
use super::sealed::SealedSegment;
use super::tail::Torn;
use super::upkeep::remove_active;
use crate::codec::{Checkpoint, ControlState, SegmentHeader};
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
pub struct Recovered {
    /// The store's identity.
    pub store: [u8; 16],
    /// Keys the id fingerprints.
    pub secret: [u8; 16],
    /// The segments.
    pub segments: Segments,
    /// The state behind the last event; in a damaged log, the newest that could be read.
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

/// Without the secret.
impl std::fmt::Debug for Recovered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recovered")
            .field("segments", &self.segments)
            .field("torn", &self.torn)
            .field("damage", &self.damage)
            .finish_non_exhaustive()
    }
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
        match Opening::run(vfs, root, dir, role, budget, &[]) {
            Err(error) if vanished(&error) => last = Some(error),
            outcome => return outcome,
        }
    }
    Err(last.unwrap_or_else(|| Error::corrupt("the log's files keep changing")))
}

/// Opens a log for writing whose segments were just repaired: what does not fit because of that is no damage.
///
/// # Errors
/// As [`recover`].
pub fn recover_repaired(
    vfs: &Arc<dyn Vfs>,
    root: &Path,
    dir: &Path,
    budget: &Arc<ProofBudget>,
    repaired: &[u64],
) -> Result<Recovered> {
    Opening::run(vfs, root, dir, Role::Writer, budget, repaired)
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
    store: [u8; 16],
    mark: Option<Mark>,
    mark_is_whole: bool,
    sealed: Vec<Arc<SealedSegment>>,
    rolled: Vec<Arc<ActiveSegment>>,
    torn: Option<(Torn, Cut)>,
    damage: Vec<Finding>,
    roots: BTreeMap<u64, [u8; 32]>,
    frames_read: u64,
    /// Files that a crash left beside the segments.
    leftovers: Vec<PathBuf>,
    /// Segments whose active form outlived their sealing.
    outlived: Vec<u64>,
}

/// How a torn tail is cut, once everything else was found sound.
struct Cut {
    file: Arc<dyn VfsFile>,
    /// The checkpoint reaches past the cut: once the segment grew again, it would pass for one of what was written
    /// instead.
    checkpoint: bool,
    /// Events that mark file or checkpoint count before what is cut.
    known_events: u64,
}

impl<'a> Opening<'a> {
    fn run(
        vfs: &'a Arc<dyn Vfs>,
        root: &Path,
        dir: &'a Path,
        role: Role,
        budget: &'a Arc<ProofBudget>,
        repaired: &[u64],
    ) -> Result<Recovered> {
        let mut opening = Self {
            budget,
            vfs,
            dir,
            ids_dir: root.join(IDS_DIR),
            role,
            store: [0; 16],
            mark: None,
            mark_is_whole: true,
            sealed: Vec::new(),
            rolled: Vec::new(),
            torn: None,
            damage: Vec::new(),
            roots: BTreeMap::new(),
            frames_read: 0,
            leftovers: Vec::new(),
            outlived: Vec::new(),
        };
        let mut forms = opening.list()?;
        let marks = MarkFile::read(&**vfs, root)
            .map_err(|e| Error::io("cannot read the mark file", e).at_path(root))?;
        let identity = opening.identity(marks.owner(), &forms)?;
        opening.store = identity.store;
        opening.mark = marks.newest(&identity.store);
        if role == Role::Follower {
            opening.mark_is_whole = marks.is_whole(&identity.store);
            // A mark that is newer than the list could name a segment that is not in it.
            forms = opening.list()?;
        }
        opening.check_numbers(&forms);
        opening.open_all(root, &forms, identity, repaired)
    }

    /// Lists the segments, and what a crash left beside them.
    fn list(&mut self) -> Result<BTreeMap<u64, Forms>> {
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
                _ if is_leftover(name, &names) => self.leftovers.push(dir.join(name)),
                _ => {}
            }
        }
        Ok(forms)
    }

    /// Reads the store's identity from the heads; two that agree with the mark file are enough.
    fn identity(&self, owner: Option<[u8; 16]>, forms: &BTreeMap<u64, Forms>) -> Result<SegmentHeader> {
        let (mut heads, mut first_error) = (Vec::new(), None);
        let newest = forms.last_key_value().into_iter();
        for (number, found) in newest.chain(forms.iter().take(forms.len().saturating_sub(1))) {
            let stage = if found.sealed { Stage::Sealed } else { Stage::Active };
            match self.head(*number, stage) {
                Ok(head) => heads.push(head.header),
                Err(error) if error.kind() == ErrorKind::Corrupt => {
                    first_error.get_or_insert(error);
                }
                Err(error) => return Err(error),
            }
            if heads.len() >= 2 && heads.iter().all(|head| Some(head.store) == owner) {
                break;
            }
        }
        let store = owner_of(owner, heads.iter().map(|head| head.store));
        let own = heads.iter().position(|head| store.is_none_or(|store| head.store == store));
        own.map(|at| heads.swap_remove(at)).ok_or_else(|| {
            first_error.unwrap_or_else(|| {
                Error::new(ErrorKind::NotFound, Code::Store, "there is no store here").at_path(self.dir)
            })
        })
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

    fn open_all(
        mut self,
        root: &Path,
        forms: &BTreeMap<u64, Forms>,
        identity: SegmentHeader,
        repaired: &[u64],
    ) -> Result<Recovered> {
        let mut chain = Chain::default();
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
                    chain.interrupt();
                    continue;
                }
            };
            let (header, after) = opened.bounds()?;
            if header.store != identity.store {
                let what = "the segment belongs to another store".to_owned();
                self.damage.push(Finding::of(LogError::Chain(what).at(self.dir, *number, 0))?);
                chain.interrupt();
                continue;
            }
            chain.add(&header, after, opened.sealed_end());
            match opened {
                One::Sealed(segment) => self.sealed.push(segment),
                One::Active(segment, _) if *number == last => active = Some(segment),
                One::Active(segment, _) => self.rolled.push(segment),
            }
        }
        chain.record(std::mem::take(&mut self.roots));
        let (state, suspicions) = chain.judge(repaired);
        for suspicion in suspicions {
            let finding = LogError::Chain(suspicion.what).at(self.dir, suspicion.segment, 0);
            self.damage.push(Finding::of(finding)?);
        }
        if active.is_none() && self.damage.is_empty() {
            let what = "the active segment is missing".to_owned();
            self.damage.push(Finding::of(LogError::Chain(what).at(self.dir, last + 1, 0))?);
        }
        let tidy = self.role == Role::Writer && self.damage.is_empty();
        let files = if tidy { TierFiles::Tidy } else { TierFiles::Keep };
        if tidy {
            self.tidy(root)?;
        }
        let ids = IdTables::open(self.vfs, &self.ids_dir, identity.store, self.sealed.clone(), files)?;
        Ok(Recovered {
            store: identity.store,
            secret: identity.secret,
            segments: Segments { sealed: self.sealed, rolled: self.rolled, active, ids: Arc::new(ids) },
            state,
            mark: self.mark,
            torn: self.torn.map(|(torn, _)| torn),
            damage: self.damage,
            frames_read: self.frames_read,
        })
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
            let sealed = SealedSegment::open(self.vfs, &path, self.budget).and_then(|segment| {
                let other = || LogError::Chain(format!("the file says it is segment {}", segment.number()));
                if segment.number() == number { Ok(segment) } else { Err(other().at(&path, number, 0)) }
            });
            if !found.active {
                return sealed.map(|segment| One::Sealed(Arc::new(segment)));
            }
            let sealed = match sealed.and_then(|segment| segment.verify_root().map(|()| segment)) {
                Err(error) if error.kind() != ErrorKind::Corrupt => return Err(error),
                sealed => sealed.ok(),
            };
            if let Some(segment) = sealed.filter(|segment| *segment.store() == self.store) {
                self.outlived.push(number);
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
        read_head(&**self.vfs, &path, number, mode)
    }

    /// A rolled segment is whole: everything up to the length that the next head names was durable. Where that head
    /// cannot be read, which is damage of the next segment, what stands behind the frames is judged.
    fn open_rolled(&mut self, head: Head, number: u64, forms: &BTreeMap<u64, Forms>) -> Result<One> {
        let next_stage =
            forms.get(&(number + 1)).map(|next| if next.active { Stage::Active } else { Stage::Sealed });
        let next = match next_stage.map(|stage| self.head(number + 1, stage)) {
            Some(Err(error)) if error.kind() != ErrorKind::Corrupt => return Err(error),
            next => next.and_then(Result::ok),
        };
        let size = head
            .file
            .size()
            .map_err(|e| LogError::io("read a segment's size")(e).at(&head.path, number, 0))?;
        let limit = next.as_ref().map_or(size, |next| next.header.prev_bytes);
        let found = self.scan(&head, limit, self.checkpoint(&head))?;
        if let Ending::Damaged(finding) = judge_rolled(&head, &found, next.is_some())? {
            self.damage.push(finding);
        }
        Ok(One::active(head, found.index, found.end, found.state))
    }

    fn open_active(&mut self, head: Head) -> Result<One> {
        let number = head.header.segment;
        let size = head
            .file
            .size()
            .map_err(|e| LogError::io("read a segment's size")(e).at(&head.path, number, 0))?;
        let checkpoint = self.checkpoint(&head);
        let covered = checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.end);
        let marked = Known::of(number, self.mark, None);
        let (limit, known) = match self.role {
            Role::Follower => (marked.end.max(self.confirmed(&head, size)?), marked),
            Role::Writer | Role::Reader => (size, Known::of(number, self.mark, checkpoint.as_ref())),
        };
        let found = self.scan(&head, limit, checkpoint)?;
        match judge_last(&head, &found, size, known)? {
            Ending::Whole => {}
            Ending::Damaged(finding) => self.damage.push(finding),
            Ending::Torn(torn) => {
                let (file, checkpoint) = (Arc::clone(&head.file), covered > found.end);
                let cut = Cut { file, checkpoint, known_events: known.events };
                self.torn = Some((torn, cut));
            }
        }
        Ok(One::active(head, found.index, found.end, found.state))
    }

    /// Returns up to where a reader beside the writer may read whatever the mark says. Where the mark file is not as the
    /// writer keeps it, that is what the frames themselves say was durable: all but the last group.
    fn confirmed(&mut self, head: &Head, size: u64) -> Result<u64> {
        if self.mark_is_whole {
            return Ok(head.frames_start);
        }
        let checkpoint = self.checkpoint(head);
        Ok(self.scan(head, size, checkpoint)?.confirmed)
    }

    /// Removes what a crash left behind, and cuts a torn tail.
    fn tidy(&self, root: &Path) -> Result<()> {
        for path in &self.leftovers {
            self.vfs
                .remove(path)
                .map_err(|e| Error::io("cannot remove a left-over file", e).at_path(path))?;
        }
        if !self.outlived.is_empty() {
            // The crash may have come between the sealed form's rename and the sync that makes its name last.
            self.sync_dir()?;
        }
        for number in &self.outlived {
            remove_active(&**self.vfs, self.dir, *number)?;
        }
        let Some((Torn { path, segment, offset, missing_events, .. }, cut)) = &self.torn else {
            return Ok(());
        };
        if *missing_events > 0 {
            // The cut, and a file that grows again, would take the proof away: the mark keeps it until the loss is
            // recorded in the log.
            let mark = MarkWriter::open(&**self.vfs, root, self.store);
            let proven = mark.and_then(|mark| {
                mark.write(*segment, *offset, cut.known_events)?;
                mark.sync()
            });
            proven.map_err(|e| Error::io("cannot write the mark file", e).at_path(root))?;
        }
        if cut.checkpoint {
            let path = self.dir.join(checkpoint_file(*segment));
            self.vfs.remove(&path).map_err(|e| Error::io("cannot remove a checkpoint", e).at_path(path))?;
            self.sync_dir()?;
        }
        let done = cut.file.set_size(*offset).and_then(|()| cut.file.sync());
        done.map_err(|e| LogError::io("cut a torn tail")(e).at(path, *segment, *offset))
    }

    fn sync_dir(&self) -> Result<()> {
        self.vfs.sync_dir(self.dir).map_err(|e| Error::io("cannot sync a directory", e).at_path(self.dir))
    }

    fn scan(&mut self, head: &Head, limit: u64, checkpoint: Option<Checkpoint>) -> Result<Scan> {
        let start = checkpoint.and_then(|known| resume(head, limit, known)).unwrap_or_else(|| ScanStart {
            offset: head.frames_start,
            index: ActiveIndex::default(),
            state: head.header.state.clone(),
        });
        let mut found = scan(&*head.file, seed_of(&head.header), &head.header.secret, start, limit)
            .map_err(|e| e.at(&head.path, head.header.segment, 0))?;
        self.roots.append(&mut found.roots);
        self.frames_read += found.frames;
        Ok(found)
    }

    fn checkpoint(&self, head: &Head) -> Option<Checkpoint> {
        read_checkpoint(&**self.vfs, self.dir, &head.header.store, head.header.segment)
    }
}

/// Starts a scan where a checkpoint ends, if it is one of these frames.
fn resume(head: &Head, limit: u64, checkpoint: Checkpoint) -> Option<ScanStart> {
    let events = checkpoint.state.arrivals.checked_sub(head.header.state.arrivals);
    let fits = checkpoint.end <= limit
        && checkpoint.end >= head.frames_start
        && events == Some(checkpoint.entries.len() as u64);
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

/// One segment that was opened.
enum One {
    Sealed(Arc<SealedSegment>),
    Active(Arc<ActiveSegment>, ControlState),
}

impl One {
    fn active(head: Head, index: ActiveIndex, end: u64, after: ControlState) -> Self {
        Self::Active(Arc::new(ActiveSegment::new(head.header, head.path, head.file, index, end)), after)
    }

    fn sealed_end(&self) -> Option<SealedEnd> {
        match self {
            Self::Sealed(segment) => Some(SealedEnd { events: segment.events(), root: *segment.root() }),
            Self::Active(..) => None,
        }
    }

    fn bounds(&self) -> Result<(SegmentHeader, ControlState)> {
        match self {
            Self::Sealed(segment) => Ok((segment.header()?, segment.state_after()?)),
            Self::Active(segment, after) => Ok((segment.header().clone(), after.clone())),
        }
    }
}
