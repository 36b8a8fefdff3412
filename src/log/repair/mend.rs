//! Making a sound segment of one that is damaged or missing.

use super::look::Look;
use super::lost::{Known, by_host, ranges};
use super::naming::Naming;
use super::plan::{Planner, Reseal, agree};
use super::salvage::Salvage;
use crate::codec::{Checkpoint, ControlState, Form, RepairedSegment, SegmentHeader};
use crate::contract::{Error, Result};
use crate::log::trouble::to_u64;

impl Planner<'_> {
    /// Makes a sound segment of one that is damaged or missing.
    pub(super) fn mend(
        &mut self,
        look: Look,
        header: Option<SegmentHeader>,
        after: Option<ControlState>,
    ) -> Result<()> {
        let Look { number, sources, directory, .. } = look;
        self.chain.interrupt();
        let before = header.as_ref().map_or(&self.before, |header| &header.state).clone();
        let next = self.survey.head(number.saturating_add(1))?;
        let known = after.or_else(|| next.map(|next| next.state)).filter(|after| agree(&before, after));
        let checkpoint = if known.is_some() { None } else { self.checkpoint(number, &before) };
        let header = self.sealed_header(number, header, &before);

        let mut naming = Naming::default();
        match &known {
            Some(after) => naming.know(after),
            None => self.know_later(number, &mut naming)?,
        }
        if let Some(source) = sources.iter().find(|source| source.form == Form::Active) {
            let head_bytes = header.to_bytes().map_err(Error::corrupt)?.len();
            let start = if source.from > 0 { source.from } else { to_u64(head_bytes) };
            naming.start(start, &before, checkpoint.as_ref());
        } else {
            naming.know(&before);
        }
        let mut salvage = Salvage::new(naming);
        for (index, source) in sources.iter().enumerate() {
            let seed = self.survey.seed(number, source.form);
            salvage.read(&**self.survey.place.vfs, (index, source), seed, number)?;
        }
        salvage.settle(&before);
        salvage.told = salvage.told.max(self.told(number, &before, checkpoint.as_ref()));

        let counted = known.is_some();
        let after = known.unwrap_or_else(|| salvage.state(&before, checkpoint.as_ref()));
        let events = if counted { after.arrivals.saturating_sub(before.arrivals) } else { salvage.told };
        let (nameless, saved) = (salvage.nameless, salvage.events);
        let lost = events.saturating_sub(to_u64(saved.len()));
        let known = Known { before: &before, after: &after, counted, directory: &directory, events };
        self.plan.lost.extend(ranges(&known, &by_host(&saved)));
        self.plan.records.push(RepairedSegment { segment: number, lost });
        for event in &saved {
            self.highs.insert(event.host, event.seq);
        }
        for source in &sources {
            self.keep(&source.path)?;
        }
        let action = if sources.is_empty() {
            format!("put an empty segment in the place of segment {number}; {lost} events are lost")
        } else {
            let unread = if nameless > 0 {
                format!(", {nameless} of them because the name of their host or type is lost")
            } else {
                String::new()
            };
            format!("seal segment {number} from {} events that check; {lost} are lost{unread}", saved.len())
        };
        self.before = after.clone();
        self.plan.reseal.push(Reseal { header, after, sources, events: saved, action });
        Ok(())
    }

    pub(super) fn sealed_header(
        &self,
        number: u64,
        own: Option<SegmentHeader>,
        before: &ControlState,
    ) -> SegmentHeader {
        let own = own.unwrap_or_else(|| SegmentHeader {
            form: Form::Sealed,
            compatible: 0,
            incompatible: 0,
            store: self.survey.store,
            segment: number,
            prev_bytes: 0,
            prev_root: [0; 32],
            secret: self.survey.secret,
            state: before.clone(),
        });
        SegmentHeader { form: Form::Sealed, ..own }
    }

    /// Reads the checkpoint of a segment whose state `before` is that before it, or an older one.
    pub(super) fn checkpoint(&self, number: u64, before: &ControlState) -> Option<Checkpoint> {
        self.survey.checkpoint(number).filter(|checkpoint| {
            let events = checkpoint.state.arrivals.checked_sub(before.arrivals);
            events >= Some(to_u64(checkpoint.entries.len())) && agree(before, &checkpoint.state)
        })
    }

    /// Returns how many events there were from the state `before` to a segment's end, as mark file and checkpoint
    /// tell.
    pub(super) fn told(&self, number: u64, before: &ControlState, checkpoint: Option<&Checkpoint>) -> u64 {
        let marked = self.survey.mark.filter(|mark| mark.segment == number).map_or(0, |mark| mark.events);
        let covered = checkpoint.map_or(0, |checkpoint| checkpoint.state.arrivals);
        marked.max(covered.saturating_sub(before.arrivals))
    }

    /// Takes the names that the next segment behind knows.
    fn know_later(&self, number: u64, naming: &mut Naming) -> Result<()> {
        for later in number.saturating_add(1)..=self.survey.range.1 {
            let head = self.survey.head(later)?.map(|head| head.state);
            let state = match head {
                Some(state) => Some(state),
                None => self.survey.sealed_state(later)?,
            };
            if let Some(state) = state {
                naming.know(&state);
                break;
            }
        }
        Ok(())
    }
}
