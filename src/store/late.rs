//! What somebody must know of held events who wants to bring the ones that they wait for.

use std::ops::Range;

use super::snapshot::Snapshot;
use crate::contract::{EventId, IdRef, Result};

impl Snapshot {
    /// Returns the arrivals of held events that name an id which is not held. Cost: a probe of each segment.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub(crate) fn waiting_for(&self, id: &EventId) -> Result<Vec<u64>> {
        Ok(self.view.namers(id.as_ref())?.into_iter().map(|found| found.arrival).collect())
    }

    /// Returns the arrival of an event, if it is held. Cost: as [`Snapshot::get`].
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub(crate) fn arrival(&self, id: IdRef<'_>) -> Result<Option<u64>> {
        Ok(self.view.find(id)?.map(|found| found.arrival))
    }

    /// Returns arrivals among which every path of held causes lies that leads to one not before `first`.
    ///
    /// A path goes down in arrivals but where a cause came late, and segments say when any did before them.
    pub(crate) fn arrivals_above(&self, first: u64) -> Range<u64> {
        let end = self.view.parts().next_back().map_or(0, |part| part.arrivals_before() + part.events());
        let state = self.view.segments().active.as_ref().map(|segment| &segment.header().state);
        let start = state.filter(|state| !state.late_causes).map_or(0, |state| first.min(state.arrivals));
        start..end
    }

    /// Appends the arrivals of the held causes of the event of an arrival. Cost: a look-up of each.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub(crate) fn causes_of(&self, arrival: u64, out: &mut Vec<u64>) -> Result<()> {
        let Some(found) = self.view.arrived(arrival)? else { return Ok(()) };
        for cause in found.record.get().causes.iter() {
            let held = match cause.resolved() {
                Some((host, seq)) => self.view.at(host, seq.get())?,
                None => self.view.find(cause.id.get())?,
            };
            out.extend(held.map(|cause| cause.arrival));
        }
        Ok(())
    }
}
