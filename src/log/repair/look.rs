//! One segment, looked at whole: is everything there, and if not, what is known of it?
//!
//! Invariants:
//! - Every byte is read and checked; checkpoints only tell how far a segment was durable.
//! - Where both forms exist, the sealed one counts if it is sound, else the active one: as opening has it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::salvage::{Saved, Source};
use super::survey::Survey;
use crate::codec::{ActiveEntry, ControlState, Form, HostEntry, SegmentHeader};
use crate::contract::{ErrorKind, Result};
use crate::io::OpenMode;
use crate::log::active_index::ActiveIndex;
use crate::log::chain::SealedEnd;
use crate::log::ending::{Ending, Known, judge_last, judge_rolled, seed_of};
use crate::log::error::LogError;
use crate::log::finding::Finding;
use crate::log::head::read_head;
use crate::log::names::Stage;
use crate::log::scan::{ScanStart, scan};
use crate::log::sealed::SealedSegment;
use crate::log::tail::Torn;
use crate::log::trouble::to_usize;

/// What a segment is like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    /// There is none.
    Missing,
    /// Something of it is not as it was written.
    Damaged,
    /// Sealed, and sound.
    Sealed(SealedEnd),
    /// In its active form, and sound; another segment follows.
    Rolled,
    /// In its active form, and sound but for a torn tail; the last segment.
    Active(Option<Torn>),
}

/// A segment that was looked at.
#[derive(Debug)]
pub(super) struct Look {
    pub(super) number: u64,
    pub(super) condition: Condition,
    /// Its head, if it is whole.
    pub(super) header: Option<SegmentHeader>,
    /// The state behind it, as it tells.
    pub(super) after: Option<ControlState>,
    /// The directory of its sealed form, if it is whole.
    pub(super) directory: Vec<HostEntry>,
    /// The events of a sound active form.
    pub(super) events: Vec<Saved>,
    /// The roots of other segments that its control records name.
    pub(super) roots: BTreeMap<u64, [u8; 32]>,
    /// The files of this log that frames may be read from; the first one is the form that counts.
    pub(super) sources: Vec<Source>,
    /// Files in its place that are not of this log.
    pub(super) foreign: Vec<PathBuf>,
    /// What is wrong.
    pub(super) findings: Vec<Finding>,
}

impl Look {
    /// Looks at a segment. `tell` is told the bytes that were checked.
    ///
    /// # Errors
    /// As [`Survey::is_foreign`]; `Unsupported`; system calls.
    pub(super) fn at(survey: &Survey<'_>, number: u64, tell: &mut dyn FnMut(u64)) -> Result<Self> {
        let mut look = Self {
            number,
            condition: Condition::Missing,
            header: None,
            after: None,
            directory: Vec::new(),
            events: Vec::new(),
            roots: BTreeMap::new(),
            sources: Vec::new(),
            foreign: Vec::new(),
            findings: Vec::new(),
        };
        let forms = survey.forms(number);
        if forms.sealed {
            look.sealed(survey, tell)?;
        }
        if forms.active && !matches!(look.condition, Condition::Sealed(_)) {
            look.active(survey, tell)?;
        }
        Ok(look)
    }

    fn own(&mut self, survey: &Survey<'_>, stage: Stage) -> Result<Option<PathBuf>> {
        let path = survey.path(self.number, stage);
        if !survey.is_foreign(self.number, &path)? {
            return Ok(Some(path));
        }
        let what = "the segment belongs to another store".to_owned();
        self.findings.push(Finding::of(LogError::Chain(what).at(&path, self.number, 0))?);
        self.foreign.push(path);
        Ok(None)
    }

    fn sealed(&mut self, survey: &Survey<'_>, tell: &mut dyn FnMut(u64)) -> Result<()> {
        let Some(path) = self.own(survey, Stage::Sealed)? else { return Ok(()) };
        self.condition = Condition::Damaged;
        self.sources.push(Source { path: path.clone(), form: Form::Sealed, from: 0 });
        self.after = survey.sealed_state(self.number)?;
        match SealedSegment::open(survey.place.vfs, &path, survey.place.budget) {
            Ok(segment) => {
                let mut told = 0;
                // The segment counts two passes over its file.
                let found = segment.verify(&mut |done| {
                    tell((done / 2).saturating_sub(told));
                    told = told.max(done / 2);
                })?;
                tell(segment.bytes().saturating_sub(told));
                for error in found {
                    self.findings.push(Finding::of(error)?);
                }
                self.header = Some(segment.header()?);
                self.directory = segment.hosts().to_vec();
                if self.findings.is_empty() {
                    let end = SealedEnd { events: segment.events(), root: *segment.root() };
                    self.condition = Condition::Sealed(end);
                }
            }
            Err(error) => {
                self.findings.push(Finding::of(error.at_offset(self.number, 0))?);
                self.header = match read_head(&**survey.place.vfs, &path, self.number, OpenMode::Read) {
                    Ok(head) => Some(head.header),
                    Err(error) if error.kind() == ErrorKind::Corrupt => None,
                    Err(error) => return Err(error),
                };
            }
        }
        Ok(())
    }

    fn active(&mut self, survey: &Survey<'_>, tell: &mut dyn FnMut(u64)) -> Result<()> {
        let Some(path) = self.own(survey, Stage::Active)? else { return Ok(()) };
        let head = match read_head(&**survey.place.vfs, &path, self.number, OpenMode::Read) {
            Ok(head) => head,
            Err(error) => {
                self.findings.push(Finding::of(error)?);
                self.condition = Condition::Damaged;
                self.sources.push(Source { path, form: Form::Active, from: 0 });
                return Ok(());
            }
        };
        self.sources.push(Source { path, form: Form::Active, from: head.frames_start });
        let place = |e: LogError| e.at(&head.path, self.number, 0);
        let size = head.file.size().map_err(|e| place(LogError::io("read a segment's size")(e)))?;
        let next = survey.head(self.number.saturating_add(1))?;
        let next = next.map(|next| next.prev_bytes).filter(|bytes| *bytes > 0);
        let limit = next.unwrap_or(size);
        let start = ScanStart {
            offset: head.frames_start,
            index: ActiveIndex::default(),
            state: head.header.state.clone(),
        };
        let mut found =
            scan(&*head.file, seed_of(&head.header), &head.header.secret, start, limit).map_err(place)?;
        self.roots.append(&mut found.roots);
        tell(size);
        self.condition = if self.number == survey.range.1 {
            let known = Known::of(self.number, survey.mark, survey.checkpoint(self.number).as_ref());
            self.take(judge_last(&head, &found, size, known)?, Condition::Active(None))
        } else {
            self.take(judge_rolled(&head, &found, next.is_some())?, Condition::Rolled)
        };
        if self.condition == Condition::Damaged {
            self.header.get_or_insert(head.header);
            return Ok(());
        }
        // The active form counts: what is wrong with a sealed one beside it is mended by sealing again.
        if self.foreign.is_empty() {
            self.findings.clear();
        }
        self.directory.clear();
        if let Some(own) = self.sources.pop() {
            self.sources = vec![own];
        }
        self.events = events_of(found.index.entries());
        self.after = Some(found.state);
        self.header = Some(head.header);
        Ok(())
    }

    /// Takes an ending as the segment's condition: `whole` where there is nothing wrong.
    fn take(&mut self, ending: Ending, whole: Condition) -> Condition {
        match ending {
            Ending::Whole => whole,
            Ending::Torn(torn) => Condition::Active(Some(torn)),
            Ending::Damaged(finding) => {
                self.findings.push(finding);
                Condition::Damaged
            }
        }
    }
}

fn events_of(entries: &[ActiveEntry]) -> Vec<Saved> {
    (0u32..)
        .zip(entries)
        .map(|(ordinal, entry)| Saved {
            source: 0,
            offset: entry.offset,
            bytes: to_usize(u64::from(entry.bytes)),
            host: entry.host,
            kind: entry.kind,
            seq: entry.seq,
            ordinal,
        })
        .collect()
}
