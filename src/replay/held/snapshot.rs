//! What a snapshot answers of its order, computed when it is asked for.
//!
//! Stands in for the index of the order, which answers the same from disk: a place for each event is kept in memory here.

use std::collections::{HashMap, HashSet};

use crate::contract::{Code, Error, EventFields, EventId, IdRef, Result};
use crate::log::StoredEvent;
use crate::order::linearize;
use crate::store::{Events, Snapshot};

use super::Held;

/// One state of a store's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::replay) struct OrderMark {
    /// Which index it is of.
    pub(in crate::replay) incarnation: [u8; 16],
    /// Rises with every change.
    pub(in crate::replay) generation: u64,
}

/// The order of a snapshot.
pub(in crate::replay) struct SnapshotOrder {
    snapshot: Snapshot,
    positions: HashMap<(u32, u64), u64>,
    missing: u64,
    mark: OrderMark,
}

impl SnapshotOrder {
    pub(in crate::replay) fn new(snapshot: &Snapshot) -> Result<Self> {
        let mut positions = HashMap::new();
        let (mut oldest, mut generation) = (None, 0);
        for (position, event) in (0..).zip(snapshot.ordered()?) {
            let event = event?;
            positions.insert((event.record().host.to_native(), event.seq().get()), position);
            generation = generation.max(event.arrival() + 1);
            if oldest.as_ref().is_none_or(|(arrival, _)| event.arrival() < *arrival) {
                oldest = Some((event.arrival(), event.id().to_owned()));
            }
        }
        let mark = OrderMark { incarnation: incarnation(oldest), generation };
        let mut missing = HashSet::new();
        for event in snapshot.events() {
            let event = event?;
            for cause in event.record().causes.iter() {
                let place = cause.resolved().map(|(host, seq)| (host, seq.get()));
                if !place.is_some_and(|place| positions.contains_key(&place)) {
                    let id = cause.id.get().to_owned();
                    if !snapshot.has(&id)? {
                        missing.insert(id);
                    }
                }
            }
        }
        let missing = u64::try_from(missing.len()).unwrap_or(u64::MAX);
        Ok(Self { snapshot: snapshot.clone(), positions, missing, mark })
    }

    /// Returns the state it is in.
    pub(in crate::replay) const fn mark(&self) -> OrderMark {
        self.mark
    }

    /// Returns the number of events.
    pub(in crate::replay) fn len(&self) -> u64 {
        self.snapshot.len()
    }

    /// Iterates over the order from a position on.
    pub(in crate::replay) fn ordered_from(
        &self,
        position: u64,
    ) -> Result<impl Iterator<Item = Result<StoredEvent>> + use<>> {
        let events: Events = self.snapshot.ordered()?;
        Ok(events.skip(usize::try_from(position).unwrap_or(usize::MAX)))
    }

    /// Returns the least position that changed since the order was in a state: what stands before it is as it was.
    ///
    /// # Errors
    /// Code `CURSOR` where that cannot be told, `Corrupt`, `Io`.
    pub(in crate::replay) fn changed_since(&self, mark: &OrderMark) -> Result<Option<u64>> {
        // That of a store without events has no name yet.
        let is_other = mark.generation > 0 && mark.incarnation != self.mark.incarnation;
        if is_other || mark.generation > self.mark.generation {
            return Err(Error::invalid(Code::Cursor, "the state of the order is not one of this store"));
        }
        let now = self.snapshot.ordered()?.collect::<Result<Vec<_>>>()?;
        let then: Vec<StoredEvent> =
            now.iter().filter(|event| event.arrival() < mark.generation).cloned().collect();
        let order = linearize(&then)?;
        let then = order.iter().filter_map(|index| then.get(*index)).map(StoredEvent::arrival);
        let same = now.iter().zip(then).take_while(|(now, then)| now.arrival() == *then).count();
        Ok((same < now.len()).then(|| u64::try_from(same).unwrap_or(u64::MAX)))
    }
}

impl Held for SnapshotOrder {
    fn position(&self, host: u32, seq: u64) -> Result<Option<u64>> {
        Ok(self.positions.get(&(host, seq)).copied())
    }

    fn get(&self, id: IdRef<'_>) -> Result<Option<StoredEvent>> {
        self.snapshot.get(&id.to_owned())
    }

    fn missing(&self) -> u64 {
        self.missing
    }
}

/// The oldest event tells stores apart.
fn incarnation(oldest: Option<(u64, EventId)>) -> [u8; 16] {
    let digest = oldest.map(|(_, id)| id.as_ref().with_str(|id| blake3::hash(id.as_bytes())));
    digest.and_then(|digest| digest.as_bytes().first_chunk().copied()).unwrap_or_default()
}
