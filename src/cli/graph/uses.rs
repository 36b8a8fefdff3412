//! How many events that are still to be drawn name an event: how long its line goes on.

use crate::contract::Result;
use crate::store::Snapshot;

/// Counts by arrival, and the causes of one event at a time. Memory: 4 bytes for each event of the store.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    counts: Vec<u32>,
    causes: Vec<u64>,
}

impl Uses {
    /// Counts the causes of an event, given by its arrival.
    pub(crate) fn count(&mut self, snapshot: &Snapshot, arrival: u64) -> Result<()> {
        self.look(snapshot, arrival)?;
        for cause in &self.causes {
            let Ok(place) = usize::try_from(*cause) else { continue };
            if place >= self.counts.len() {
                self.counts.resize(place + 1, 0);
            }
            if let Some(count) = self.counts.get_mut(place) {
                *count = count.saturating_add(1);
            }
        }
        Ok(())
    }

    /// Returns the held causes of an event, each once. Cost: a look-up of each.
    pub(crate) fn causes(&mut self, snapshot: &Snapshot, arrival: u64) -> Result<&[u64]> {
        self.look(snapshot, arrival)?;
        Ok(&self.causes)
    }

    /// Returns how many of the events that were counted name this one.
    pub(crate) fn of(&self, arrival: u64) -> u32 {
        let place = usize::try_from(arrival).ok();
        place.and_then(|place| self.counts.get(place)).copied().unwrap_or(0)
    }

    fn look(&mut self, snapshot: &Snapshot, arrival: u64) -> Result<()> {
        self.causes.clear();
        snapshot.causes_of(arrival, &mut self.causes)?;
        self.causes.sort_unstable();
        self.causes.dedup();
        Ok(())
    }
}
