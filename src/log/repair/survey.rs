//! What there is of a log: whose it is, which segments it has or should have, and what is known of each.
//!
//! Invariants:
//! - Nothing is written.
//! - A file counts as a segment of this log only if its head, or its trailer, does not say otherwise.
//! - Only one segment is looked at a time: with many hosts, states are large.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::codec::{Checkpoint, ControlState, FrameSeed, HEADER_BYTES, HeaderError, SegmentHeader};
use crate::contract::{Code, Error, ErrorKind, Result};
use crate::io::{OpenMode, ProofBudget, Vfs};
use crate::log::files::read_checkpoint;
use crate::log::head::read_head;
use crate::log::identity::owner_of;
use crate::log::mark::{Mark, MarkFile};
use crate::log::names::{SegmentName, Stage, number_of, segment_file};
use crate::log::sealed::{sealed_state, sealed_trailer};
use crate::log::trouble::{header_error, io_error};

/// Missing segments that a repair puts empty ones in the place of. More are no damage that happens.
const MISSING_MAX: u64 = 1 << 12;

/// Which forms of a segment there are.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Forms {
    pub(super) active: bool,
    pub(super) sealed: bool,
}

/// Where a log lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    pub(super) vfs: &'a Arc<dyn Vfs>,
    /// The store's directory.
    pub(super) root: &'a Path,
    /// The directory of segments.
    pub(super) dir: &'a Path,
    pub(super) budget: &'a Arc<ProofBudget>,
}

/// A log as it is found.
pub(super) struct Survey<'a> {
    pub(super) place: Place<'a>,
    pub(super) store: [u8; 16],
    pub(super) secret: [u8; 16],
    pub(super) mark: Option<Mark>,
    /// The first and the last segment that there is or should be.
    pub(super) range: (u64, u64),
    forms: BTreeMap<u64, Forms>,
}

impl<'a> Survey<'a> {
    /// Looks at the names and heads of all files. `secret` is taken where no head tells the store's.
    ///
    /// # Errors
    /// `Corrupt` when it cannot be told whose files they are, or a file bears the name of another segment;
    /// `Unsupported`; system calls.
    pub(super) fn of(place: Place<'a>, secret: [u8; 16]) -> Result<Self> {
        let names = place.vfs.list(place.dir).map_err(|e| io_error("list", place.dir, e))?;
        let mut forms: BTreeMap<u64, Forms> = BTreeMap::new();
        for name in names.iter().filter_map(|name| SegmentName::parse(name)) {
            match name.stage {
                Stage::Active => forms.entry(name.number).or_default().active = true,
                Stage::Sealed => forms.entry(name.number).or_default().sealed = true,
                Stage::Sealing => {}
            }
        }
        let marks = MarkFile::read(&**place.vfs, place.root).map_err(|e| io_error("read", place.root, e))?;
        let mut survey =
            Self { place, store: [0; 16], secret, mark: None, range: (1, 1), forms: BTreeMap::new() };
        let mut heads: Vec<SegmentHeader> = Vec::new();
        let mut named = Vec::new();
        for path in paths(place.dir, &forms) {
            match survey.fields(&path)? {
                Some(head) => {
                    named.push(head.store);
                    heads.push(head);
                }
                None => named.extend(sealed_trailer(&**place.vfs, &path)?.map(|trailer| trailer.store)),
            }
        }
        survey.store = owner_of(marks.owner(), named)
            .ok_or_else(|| Error::corrupt("the files here do not tell whose they are").at_path(place.dir))?;
        if let Some(own) = heads.iter().find(|head| head.store == survey.store) {
            survey.secret = own.secret;
        }
        survey.forms = forms;
        survey.mark = marks.newest(&survey.store);
        survey.range = survey.range_with(&names)?;
        Ok(survey)
    }

    fn range_with(&self, names: &[String]) -> Result<(u64, u64)> {
        let lowest = self.forms.keys().next().copied().unwrap_or(1);
        let mut first = lowest;
        let mut heads = self.forms.keys().map(|number| self.head(*number));
        let oldest = heads.find_map(Result::transpose).transpose()?;
        if oldest.is_some_and(|head| head.state.arrivals > 0 && head.state.ranges.is_empty()) {
            first = 1;
        }
        let checkpoints = names.iter().filter_map(|name| number_of(name.strip_suffix(".checkpoint")?));
        let last = self
            .forms
            .keys()
            .copied()
            .chain(self.mark.map(|mark| mark.segment))
            .chain(checkpoints.filter(|number| self.checkpoint(*number).is_some()))
            .max()
            .unwrap_or(1);
        let there = self.forms.len() as u64;
        if last.saturating_sub(first).saturating_add(1).saturating_sub(there) > MISSING_MAX {
            let what = format!("of the segments {first} to {last} only {there} are here");
            return Err(Error::corrupt(what).at_path(self.place.dir));
        }
        Ok((first, last))
    }

    /// Returns which forms of a segment there are.
    pub(super) fn forms(&self, number: u64) -> Forms {
        self.forms.get(&number).copied().unwrap_or_default()
    }

    /// Returns the greatest number below which a segment is sealed.
    pub(super) fn last_sealed(&self) -> u64 {
        self.forms.iter().rev().find(|(_, forms)| forms.sealed).map_or(0, |(number, _)| *number)
    }

    /// Returns the bytes of all files, for progress.
    pub(super) fn bytes(&self) -> u64 {
        let size = |path: PathBuf| self.place.vfs.open(&path, OpenMode::Read)?.size();
        paths(self.place.dir, &self.forms).filter_map(|path| size(path).ok()).sum()
    }

    /// Returns the path of a form of a segment.
    pub(super) fn path(&self, number: u64, stage: Stage) -> PathBuf {
        self.place.dir.join(segment_file(number, stage))
    }

    /// Returns what the checksums of a segment's frames start from.
    pub(super) fn seed(&self, number: u64, form: crate::codec::Form) -> FrameSeed {
        FrameSeed::new(&self.store, number, form.code())
    }

    /// Reads the head of a segment from whichever form has a whole one of this log.
    ///
    /// # Errors
    /// `Unsupported`; system calls.
    pub(super) fn head(&self, number: u64) -> Result<Option<SegmentHeader>> {
        let forms = self.forms(number);
        let there = [(forms.sealed, Stage::Sealed), (forms.active, Stage::Active)];
        for (_, stage) in there.into_iter().filter(|(there, _)| *there) {
            let path = self.path(number, stage);
            match read_head(&**self.place.vfs, &path, number, OpenMode::Read) {
                Ok(head) if head.header.store == self.store => return Ok(Some(head.header)),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Corrupt => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Reads the state behind a segment from its sealed form, whatever else of it is damaged.
    pub(super) fn sealed_state(&self, number: u64) -> Result<Option<ControlState>> {
        if !self.forms(number).sealed {
            return Ok(None);
        }
        sealed_state(&**self.place.vfs, &self.path(number, Stage::Sealed))
    }

    /// Reads the checkpoint of a segment, if it is whole and of this log.
    pub(super) fn checkpoint(&self, number: u64) -> Option<Checkpoint> {
        read_checkpoint(&**self.place.vfs, self.place.dir, &self.store, number)
    }

    /// Reports whether a file belongs to another store.
    ///
    /// # Errors
    /// `Corrupt` when it is another segment of this one: a repair would drop what it holds, so it must be given its
    /// name back first.
    pub(super) fn is_foreign(&self, number: u64, path: &Path) -> Result<bool> {
        let told = match self.fields(path)? {
            Some(head) => Some((head.store, head.segment)),
            None => sealed_trailer(&**self.place.vfs, path)?.map(|trailer| (trailer.store, trailer.segment)),
        };
        match told {
            Some((store, _)) if store != self.store => Ok(true),
            Some((_, segment)) if segment != number => {
                let what = format!("this is segment {segment}: give the file its name back, then repair");
                Err(Error::corrupt(what).at_path(path))
            }
            _ => Ok(false),
        }
    }

    /// Reads the fields of a head, whatever became of the state behind them; `None` when they are damaged.
    fn fields(&self, path: &Path) -> Result<Option<SegmentHeader>> {
        let mut bytes = [0; HEADER_BYTES];
        let file = self.place.vfs.open(path, OpenMode::Read).map_err(|e| io_error("open", path, e))?;
        let read = file.read_at(&mut bytes, 0).map_err(|e| io_error("read", path, e))?;
        match SegmentHeader::without_state(bytes.get(..read).unwrap_or_default()) {
            Ok(header) => Ok(Some(header)),
            Err(error @ (HeaderError::Version { .. } | HeaderError::Features { .. })) => {
                Err(header_error(error).at_path(path))
            }
            Err(_) => Ok(None),
        }
    }
}

fn paths(dir: &Path, forms: &BTreeMap<u64, Forms>) -> impl Iterator<Item = PathBuf> {
    forms.iter().flat_map(move |(number, forms)| {
        let there = [(forms.sealed, Stage::Sealed), (forms.active, Stage::Active)];
        there
            .into_iter()
            .filter(|(there, _)| *there)
            .map(move |(_, stage)| dir.join(segment_file(*number, stage)))
    })
}

/// An error for files that cannot all be of one history.
pub(super) fn other_history(number: u64, what: &str) -> Error {
    let message = format!(
        "segment {number} is of another history than those before it: {what}; take it away, then repair"
    );
    Error::new(ErrorKind::Corrupt, Code::Store, message)
}
