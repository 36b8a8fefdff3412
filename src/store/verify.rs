//! Checking a whole store.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::arranging::{OrderFiles, caught_up};
use super::content::vault_options;
use super::opening::{READER_LOCK, must_exist, recover_for_reading, shared_lock};
use super::options::Options;
use super::progress::Progress;
use super::proving::prove;
use super::snapshot::all_events;
use crate::blob::{Access, Vault};
use crate::codec::ControlState;
use crate::contract::{Code, Error, EventFields, EventId, Result};
use crate::index::NodeAccess;
use crate::io::ProofBudget;
use crate::log::{Finding, Names, Part, Standing, StoredEvent, Torn, View, check_active};

/// Missing causes that a report names; more are counted.
const NAMED_MAX: usize = 1000;

/// What a check found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum VerifyOutcome {
    /// Everything is as it was written.
    Fine,
    /// The log ends in a torn tail: opening it for writing cuts it. The tail says what that is, and what is missing.
    Torn,
    /// Something is not as it was written.
    Damaged,
}

impl VerifyOutcome {
    /// Judges what `verify` and `repair` find, both by this one rule: what was written and is not any more is damage; a
    /// log that ends too early is torn, also where what is missing had been confirmed, which the tail then says.
    pub(super) fn of(torn: Option<&Torn>, findings: &[Finding]) -> Self {
        match (torn, findings) {
            (_, [_, ..]) => Self::Damaged,
            (Some(_), []) => Self::Torn,
            (None, []) => Self::Fine,
        }
    }
}

/// A cause that events name and nobody holds. No damage: a partial log is a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct MissingCause {
    /// The id that is named.
    pub id: String,
    /// Events that name it.
    pub named_by: Vec<String>,
}

/// What was checked, and what was found.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct VerifyReport {
    /// The verdict.
    pub outcome: VerifyOutcome,
    #[serde(skip)]
    store: Option<[u8; 16]>,
    /// Segments read.
    pub segments: u64,
    /// Events read.
    pub events: u64,
    /// Bytes of segments read.
    pub bytes: u64,
    /// Events that were lost to damage and repaired around, ever.
    pub lost: u64,
    /// The torn tail, if the log ends in one.
    pub torn: Option<Torn>,
    /// Everything that is not as it was written.
    pub findings: Vec<Finding>,
    /// The order was proved over so many events; `None` when damage kept it from being computed.
    pub ordered: Option<u64>,
    /// Causes that are named and not held, the first thousand.
    pub missing_causes: Vec<MissingCause>,
    /// How many there are in all.
    pub missing_causes_total: u64,
    /// What was checked of the content; `None` where there never was any, or its key files are damaged.
    pub content: Option<ContentVerified>,
}

/// What a check read of a store's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ContentVerified {
    /// Packs read.
    pub packs: u64,
    /// Records read.
    pub records: u64,
    /// Those among them whose content is resident.
    pub resident: u64,
    /// Bytes of packs read.
    pub bytes: u64,
    /// Whether content was opened and hashed again. Without the key it was compared with its checksum alone.
    pub opened: bool,
}

impl VerifyReport {
    fn empty() -> Self {
        Self {
            outcome: VerifyOutcome::Fine,
            store: None,
            segments: 0,
            events: 0,
            bytes: 0,
            lost: 0,
            torn: None,
            findings: Vec::new(),
            ordered: None,
            missing_causes: Vec::new(),
            missing_causes_total: 0,
            content: None,
        }
    }

    /// Returns the verdict.
    #[must_use]
    pub fn outcome(&self) -> VerifyOutcome {
        self.outcome
    }
}

/// Reads every byte of a store's segments and packs of content, and checks it: checksums, padding, roots, footers, the chain of segments,
/// tables, that each event is found by its id and by `(host, seq)`, that resolved causes are what their ids say, and that
/// the order is the order; that footers name the records that are there, that each record has its key, and that
/// resident content hashes to its addresses. Writes nothing; runs beside a writer, up to what is synced.
///
/// Cost: three passes over the segments, a look-up for each event and cause, and the memory that
/// [`Snapshot::ordered`](super::Snapshot::ordered) takes. `progress` counts bytes of segments.
///
/// # Errors
/// `NotFound`, `Locked` while a repair runs, `Unsupported`, `Io`. Damage is in the report.
pub fn verify(path: impl AsRef<Path>, options: &Options, progress: &dyn Progress) -> Result<VerifyReport> {
    let path = path.as_ref();
    must_exist(options, path)?;
    let _lock = shared_lock(options, &path.join(READER_LOCK))?;
    let (view, mut report) = match read_all(path, options, progress) {
        Ok(read) => read,
        // Nothing of it can be read: not even whose it is.
        Err(error) => {
            let mut report = VerifyReport::empty();
            report.findings.push(Finding::of(error)?);
            report.outcome = VerifyOutcome::of(None, &report.findings);
            return Ok(report);
        }
    };
    if report.findings.is_empty() {
        // Queries over damaged segments would only name the same places again.
        check_events(&view, &mut report)?;
        check_order(path, options, &view, &mut report)?;
    }
    check_content(path, options, progress, &mut report)?;
    report.outcome = VerifyOutcome::of(report.torn.as_ref(), &report.findings);
    Ok(report)
}

fn check_content(
    path: &Path,
    options: &Options,
    progress: &dyn Progress,
    report: &mut VerifyReport,
) -> Result<()> {
    let Some(store) = report.store else { return Ok(()) };
    let vault = Vault::open(&options.vfs, path, &store, Access::Read, vault_options(options));
    let checked = match vault {
        Ok(None) => return Ok(()),
        Ok(Some(vault)) => {
            progress.total(report.bytes.saturating_add(vault.check_bytes()));
            vault.check_all(&mut |bytes| progress.advance(bytes))?
        }
        Err(error) => {
            report.findings.push(Finding::of(error)?);
            return Ok(());
        }
    };
    report.content = Some(ContentVerified {
        packs: checked.packs,
        records: checked.records,
        resident: checked.resident,
        bytes: checked.bytes,
        opened: checked.opened,
    });
    for error in checked.findings {
        report.findings.push(Finding::of(error)?);
    }
    Ok(())
}

/// Reads every byte of a store's segments; returns the first thing that is not as it was written.
pub(super) fn first_damage(
    path: &Path,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Option<Finding>> {
    Ok(read_all(path, options, progress)?.1.findings.into_iter().next())
}

fn read_all(path: &Path, options: &Options, progress: &dyn Progress) -> Result<(View, VerifyReport)> {
    let budget = ProofBudget::new(options.proof_bytes_max);
    let recovered = recover_for_reading(&options.vfs, path, &budget)?;
    let mut report = VerifyReport::empty();
    report.store = Some(recovered.store);
    (report.lost, report.torn, report.findings) = (recovered.state.lost(), recovered.torn, recovered.damage);
    let visible = recovered.segments.active.as_ref().map_or(0, |active| active.visible());
    let names = Names::of(&recovered.state).into();
    let standing = Standing::of(&recovered.state).into();
    let view = View::new(recovered.segments.into(), names, recovered.secret, visible).with_standing(standing);
    check_segments(&view, &recovered.state, progress, &mut report)?;
    Ok((view, report))
}

fn check_segments(
    view: &View,
    state: &ControlState,
    progress: &dyn Progress,
    report: &mut VerifyReport,
) -> Result<()> {
    let bytes_of = |part: &Part<'_>| match part {
        Part::Sealed(segment) => segment.bytes(),
        Part::Active(segment, _) => segment.written_end(),
    };
    progress.total(view.parts().map(|part| bytes_of(&part)).sum());
    for part in view.parts() {
        let bytes = bytes_of(&part);
        report.segments += 1;
        report.events += part.events();
        report.bytes += bytes;
        match part {
            Part::Sealed(segment) => {
                let mut told = 0;
                // The segment counts two passes over its file.
                let found = segment.verify(&mut |done| {
                    progress.advance((done / 2).saturating_sub(told));
                    told = told.max(done / 2);
                })?;
                progress.advance(bytes.saturating_sub(told));
                for error in found {
                    report.findings.push(Finding::of(error)?);
                }
            }
            Part::Active(segment, _) => {
                // What opening found is found here again: named once is enough.
                let found = check_active(segment, view.segments(), state)?;
                let known: Vec<_> =
                    report.findings.iter().map(|known| (known.segment, known.offset)).collect();
                report
                    .findings
                    .extend(found.into_iter().filter(|new| !known.contains(&(new.segment, new.offset))));
                progress.advance(bytes);
            }
        }
    }
    Ok(())
}

/// Each event is found by its id and its place, and each resolved cause is what its id says.
fn check_events(view: &View, report: &mut VerifyReport) -> Result<()> {
    let mut missing: BTreeMap<EventId, Vec<String>> = BTreeMap::new();
    for event in all_events(view) {
        let checked = event.and_then(|event| check_event(view, &event, &mut missing));
        if let Err(error) = checked {
            report.findings.push(Finding::of(error)?);
        }
    }
    report.missing_causes_total = missing.len() as u64;
    let named = missing.into_iter().take(NAMED_MAX);
    report.missing_causes =
        named.map(|(id, named_by)| MissingCause { id: id.to_string(), named_by }).collect();
    Ok(())
}

fn check_event(view: &View, event: &StoredEvent, missing: &mut BTreeMap<EventId, Vec<String>>) -> Result<()> {
    let wrong = |what: &str| Error::corrupt(format!("event {}: {what}", event.id()));
    let found = view.find(event.id())?;
    if found.is_none_or(|found| found.arrival != event.arrival()) {
        return Err(wrong("its id leads elsewhere"));
    }
    let record = event.record();
    let placed = view.at(record.host.to_native(), record.seq().get())?;
    if placed.is_none_or(|found| found.arrival != event.arrival()) {
        return Err(wrong("its host and seq lead elsewhere"));
    }
    let arrived = view.arrived(event.arrival())?;
    if arrived.is_none_or(|found| found.record.get().id.get() != event.id()) {
        return Err(wrong("its arrival leads elsewhere"));
    }
    for cause in record.causes.iter() {
        let held = match cause.resolved() {
            Some((host, seq)) => {
                let held = view.at(host, seq.get())?;
                if held.as_ref().is_some_and(|held| held.record.get().id.get() != cause.id.get()) {
                    return Err(wrong("a cause is resolved to another event"));
                }
                held
            }
            None => view.find(cause.id.get())?,
        };
        if held.is_none() {
            missing.entry(cause.id.get().to_owned()).or_default().push(event.id().to_string());
        }
    }
    Ok(())
}

/// Proves the order as a reading process would give it: the stored one, where it is of this log.
fn check_order(path: &Path, options: &Options, view: &View, report: &mut VerifyReport) -> Result<()> {
    let Some(store) = report.store else { return Ok(()) };
    let proved = OrderFiles::open(options, path, &store, NodeAccess::Read)
        .and_then(|files| files.stored(options, view))
        .and_then(|(order, _)| caught_up(order.into(), view))
        .and_then(|order| prove(view, &order));
    match proved {
        Ok(events) => report.ordered = Some(events),
        Err(error) if error.code() == Code::Cycle => {
            report.findings.push(Finding::of(Error::corrupt(error.message()))?);
        }
        Err(error) => report.findings.push(Finding::of(error)?),
    }
    Ok(())
}
