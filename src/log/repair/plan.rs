//! From what a log is like to what is to be done about it.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::look::{Condition, Look};
use super::lost::{Held, Known, LostRange, by_host, ranges};
use super::salvage::{Saved, Source};
use super::survey::{Place, Survey, other_history};
use crate::codec::{ControlState, Form, RepairedSegment, SegmentHeader};
use crate::contract::Result;
use crate::io::{Keep, ProofBudget, Vfs};
use crate::log::chain::{Chain, SealedEnd};
use crate::log::finding::Finding;
use crate::log::names::Stage;
use crate::log::recovery::{Role, recover};
use crate::log::sealed::SealedSegment;
use crate::log::tail::Torn;
use crate::log::trouble::to_u64;

/// What a repair of a log does, and what it found.
#[derive(Debug, Default)]
pub struct Plan {
    /// The identity of the store whose log it is.
    pub store: [u8; 16],
    /// A torn tail that is cut.
    pub cut: Option<Torn>,
    /// Everything that is wrong.
    pub findings: Vec<Finding>,
    /// What is lost, by host and `seq`.
    pub lost: Vec<LostRange>,
    /// How many events are lost, as far as it is known.
    pub events_lost: u64,
    /// What is done, in lines for people.
    pub actions: Vec<String>,
    pub(super) keep: Vec<Keep>,
    pub(super) reseal: Vec<Reseal>,
    pub(super) remove: Vec<PathBuf>,
    pub(super) new_active: Option<SegmentHeader>,
    pub(super) records: Vec<RepairedSegment>,
}

/// A segment that is sealed anew.
#[derive(Debug)]
pub(super) struct Reseal {
    pub(super) header: SegmentHeader,
    pub(super) after: ControlState,
    pub(super) sources: Vec<Source>,
    pub(super) events: Vec<Saved>,
    pub(super) action: String,
}

/// Told how far the planning is, in bytes of segments.
#[allow(missing_debug_implementations, reason = "two functions")]
pub struct Tell<'a> {
    /// How many bytes there are.
    pub total: &'a dyn Fn(u64),
    /// So many further bytes were checked.
    pub advance: &'a dyn Fn(u64),
}

/// Looks at every byte of the log in `dir`, whose marks stand in `root`, and says what a repair would do. `kept` is
/// where copies go. `secret` is for a log whose heads are all gone.
///
/// Nothing is written. Memory: about 60 bytes for each event of the segments that are not sealed or not sound.
///
/// # Errors
/// `Corrupt` when it cannot be told whose the files are, when a file bears another segment's name, or when segments
/// come from different histories: a repair would lose what a person can still sort out. `Unsupported`; system calls.
pub fn plan_repair(
    vfs: &Arc<dyn Vfs>,
    (root, dir, kept): (&Path, &Path, &Path),
    budget: &Arc<ProofBudget>,
    secret: [u8; 16],
    tell: &Tell<'_>,
) -> Result<Plan> {
    let mut plan = Plan::default();
    match recover(vfs, root, dir, Role::Reader, budget) {
        Ok(recovered) => plan.findings = recovered.damage,
        Err(error) => plan.findings.push(Finding::of(error)?),
    }
    let survey = Survey::of(Place { vfs, root, dir, budget }, secret)?;
    plan.store = survey.store;
    (tell.total)(survey.bytes());
    let mut planner = Planner {
        survey: &survey,
        kept,
        plan,
        chain: Chain::default(),
        before: ControlState::default(),
        highs: HashMap::new(),
        short: BTreeMap::new(),
        rolled: Vec::new(),
        active: false,
    };
    let (first, last) = survey.range;
    for number in first..=last {
        let look = Look::at(&survey, number, &mut |bytes| (tell.advance)(bytes))?;
        planner.take(look)?;
    }
    Ok(planner.finish())
}

/// A plan in the making.
pub(super) struct Planner<'a> {
    pub(super) survey: &'a Survey<'a>,
    kept: &'a Path,
    pub(super) plan: Plan,
    pub(super) chain: Chain,
    /// The state behind the segments so far.
    pub(super) before: ControlState,
    /// The highest `seq` of each host that the segments so far hold.
    pub(super) highs: HashMap<u32, u64>,
    /// Sound segments that hold fewer events than their state counts: how many, and which.
    short: BTreeMap<u64, (u64, Vec<LostRange>)>,
    /// Sound segments that wait to be sealed.
    rolled: Vec<Reseal>,
    active: bool,
}

impl Planner<'_> {
    fn take(&mut self, mut look: Look) -> Result<()> {
        self.note(std::mem::take(&mut look.findings));
        self.chain.record(std::mem::take(&mut look.roots));
        if let Some(header) = &look.header
            && !agree(&self.before, &header.state)
        {
            return Err(other_history(look.number, "hosts or types have other numbers"));
        }
        for path in std::mem::take(&mut look.foreign) {
            self.keep(&path)?;
            if matches!(look.condition, Condition::Active(_)) {
                self.plan.actions.push(format!("take away the other store's segment {}", look.number));
                self.plan.remove.push(path);
            }
        }
        let sound = !matches!(look.condition, Condition::Missing | Condition::Damaged);
        match (look.header.take(), look.after.take()) {
            (Some(header), Some(after)) if sound => self.pass(look, header, after),
            (header, after) => self.mend(look, header, after),
        }
    }

    /// Takes a segment that stays as it is.
    fn pass(&mut self, look: Look, header: SegmentHeader, after: ControlState) -> Result<()> {
        let number = look.number;
        let held: Vec<(u32, u64, u64)> = match &look.condition {
            Condition::Sealed(_) => {
                look.directory.iter().map(|entry| (entry.host, entry.first_seq, entry.last_seq)).collect()
            }
            _ => look.events.iter().map(|event| (event.host, event.seq, event.seq)).collect(),
        };
        for (host, first, last) in held {
            if self.highs.insert(host, last).is_some_and(|high| high >= first) {
                return Err(other_history(number, "an earlier segment holds a later seq of a host"));
            }
        }
        match look.condition {
            Condition::Sealed(end) => {
                self.chain.add(&header, after.clone(), Some(end));
                self.count_short(number, &header, &after, end)?;
            }
            Condition::Active(torn) => {
                self.chain.add(&header, after.clone(), None);
                self.active = true;
                if let Some(torn) = torn {
                    self.cut(torn, &header.state, &after, &look.events)?;
                }
            }
            _ => {
                self.chain.add(&header, after.clone(), None);
                let action = format!("seal segment {number}");
                let header = SegmentHeader { form: Form::Sealed, ..header };
                let (sources, events) = (look.sources, look.events);
                self.rolled.push(Reseal { header, after: after.clone(), sources, events, action });
            }
        }
        self.before = after;
        Ok(())
    }

    /// A repair that was interrupted leaves segments that hold less than their state counts.
    fn count_short(
        &mut self,
        number: u64,
        header: &SegmentHeader,
        after: &ControlState,
        end: SealedEnd,
    ) -> Result<()> {
        let events = after.arrivals.saturating_sub(header.state.arrivals);
        if events <= end.events {
            return Ok(());
        }
        let path = self.survey.path(number, Stage::Sealed);
        let segment = Arc::new(SealedSegment::open(self.survey.place.vfs, &path, self.survey.place.budget)?);
        let mut held: BTreeMap<u32, Vec<Held>> = BTreeMap::new();
        for host in segment.hosts() {
            let list = held.entry(host.host).or_default();
            for record in segment.seek(host.host, 0)? {
                // Where between them events are lost is not known any more: every gap may be one.
                let lost_before = to_u64(list.len()) + 1;
                list.push(Held { seq: record?.get().seq().get(), lost_before });
            }
        }
        let known = Known { before: &header.state, after, counted: true, directory: &[], events };
        self.short.insert(number, (events - end.events, ranges(&known, &held)));
        Ok(())
    }

    fn cut(&mut self, torn: Torn, before: &ControlState, own: &ControlState, events: &[Saved]) -> Result<()> {
        let (number, offset, bytes) = (torn.segment, torn.offset, torn.bytes);
        if bytes > 0 {
            let name = format!("{number:010}-at-{offset}.cut");
            let part = Some((offset, offset.saturating_add(bytes)));
            let keep = Keep::plan(&**self.survey.place.vfs, self.kept, &name, &torn.path, part)?;
            self.plan.keep.push(keep);
        }
        self.plan.actions.push(format!("cut {bytes} bytes off segment {number} at offset {offset}"));
        let checkpoint = self.checkpoint(number, before);
        let told = self.told(number, before, checkpoint.as_ref());
        let lost = told.saturating_sub(to_u64(events.len()));
        if lost > 0 {
            let after = checkpoint.as_ref().map_or(own, |checkpoint| &checkpoint.state);
            let known = Known { before, after, counted: true, directory: &[], events: told };
            self.plan.lost.extend(ranges(&known, &by_host(events)));
            self.plan.records.push(RepairedSegment { segment: number, lost });
        }
        self.plan.cut = Some(torn);
        Ok(())
    }

    pub(super) fn keep(&mut self, path: &Path) -> Result<()> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let keep = Keep::plan(&**self.survey.place.vfs, self.kept, &name, path, None)?;
        self.plan.keep.push(keep);
        Ok(())
    }

    /// Notes what is wrong, each thing once.
    fn note(&mut self, findings: Vec<Finding>) {
        for finding in findings {
            let known = self.plan.findings.iter().any(|known| {
                known.segment == finding.segment
                    && (known.offset == finding.offset || known.what == finding.what)
            });
            if !known {
                self.plan.findings.push(finding);
            }
        }
    }

    fn finish(mut self) -> Plan {
        let mended: Vec<u64> = self.plan.records.iter().map(|record| record.segment).collect();
        // In a damaged log the newest state may be one that was just made of what is left.
        let (_, suspicions) = std::mem::take(&mut self.chain).judge(&mended);
        let recorded = |segment: u64| self.before.lost_of(segment);
        for one in suspicions
            .iter()
            .filter(|one| recorded(one.segment).is_none() && one.neighbour.and_then(recorded).is_none())
        {
            let number = one.segment;
            if self.plan.records.iter().any(|record| record.segment == number) {
                continue;
            }
            let (lost, which) = self.short.remove(&number).unwrap_or_default();
            self.plan.lost.extend(which);
            self.plan.records.push(RepairedSegment { segment: number, lost });
            self.plan.actions.push(format!("accept segment {number} as it is; {lost} events of it are lost"));
        }
        for record in &mut self.plan.records {
            record.lost = record.lost.saturating_sub(recorded(record.segment).unwrap_or(0));
        }
        self.plan.records.sort_unstable_by_key(|record| record.segment);
        self.plan.events_lost = self.plan.records.iter().map(|record| record.lost).sum();
        self.plan.lost.sort();

        let last = self.survey.range.1;
        if !self.active {
            let next = self.sealed_header(last.saturating_add(1), None, &self.before);
            self.plan.new_active = Some(SegmentHeader { form: Form::Active, ..next });
        }
        // Sealed segments come before all others: none may wait that a sealed one follows.
        let sealed = self.plan.reseal.iter().map(|reseal| reseal.header.segment).max();
        let sealed = sealed.unwrap_or(0).max(self.survey.last_sealed());
        let waiting = self.rolled.extract_if(.., |rolled| rolled.header.segment <= sealed);
        self.plan.reseal.extend(waiting);
        self.plan.reseal.sort_by_key(|reseal| reseal.header.segment);
        self.plan.actions.extend(self.plan.reseal.iter().map(|reseal| reseal.action.clone()));
        if let Some(header) = &self.plan.new_active {
            self.plan.actions.push(format!("start segment {}", header.segment));
        }
        self.plan
    }
}

/// Do two states of one history give the same numbers to the same names? A name that is lost is any.
pub(super) fn agree(before: &ControlState, after: &ControlState) -> bool {
    let same = |a: &str, b: &str| a == b || a.is_empty() || b.is_empty();
    let mut hosts = before.hosts.iter().zip(&after.hosts);
    let mut types = before.types.iter().zip(&after.types);
    hosts.all(|(a, b)| same(&a.name, &b.name)) && types.all(|(a, b)| same(a, b))
}
