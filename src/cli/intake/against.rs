//! What a file of events is put to: the events of a store, or none.

use std::collections::HashMap;
use std::ops::Range;

use crate::contract::{
    Code, Error, ErrorKind, Event, EventFields, EventId, HostId, IdRef, Result, Seq, same,
};
use crate::store::Snapshot;

/// What the store says of an event's id.
#[derive(Debug)]
pub(super) enum Held {
    /// Nobody has it.
    No,
    /// The event is held already.
    Same,
    /// An event with other content has it.
    Refused(Error),
}

/// Judges events by a snapshot of the store, as an append would.
#[derive(Debug, Default)]
pub(crate) struct Against {
    /// None where no event is held.
    snapshot: Option<Snapshot>,
    /// Highest seq ever held by host.
    high: HashMap<HostId, Seq>,
}

impl Against {
    /// Judges by no event at all.
    pub(crate) fn nothing() -> Self {
        Self::default()
    }

    /// Judges by the events of a snapshot.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub(crate) fn store(snapshot: Snapshot) -> Result<Self> {
        let high = snapshot.high_marks()?.into_iter().collect();
        Ok(Self { snapshot: (!snapshot.is_empty()).then_some(snapshot), high })
    }

    /// Reports whether the very event is held. Costs a look-up of its id.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub(crate) fn holds(&self, event: &Event) -> Result<bool> {
        Ok(matches!(self.id(event)?, Held::Same))
    }

    /// Judges an event's id. Costs a look-up of it.
    pub(super) fn id(&self, event: &Event) -> Result<Held> {
        let held = self.snapshot.as_ref().map(|snapshot| snapshot.get(&event.id)).transpose()?.flatten();
        let Some(held) = held else { return Ok(Held::No) };
        Ok(if same(&held, event)? {
            Held::Same
        } else {
            let message = format!("the id is held as {}#{} with other content", held.host(), held.seq());
            Held::Refused(Error::new(ErrorKind::Equivocation, Code::Id, message))
        })
    }

    /// Says who has the seq of a new event, or that it is too low.
    pub(super) fn seq(&self, host: &HostId, seq: Seq) -> Result<Option<Error>> {
        let Some(high) = self.high.get(host).filter(|high| seq <= **high) else { return Ok(None) };
        let number = seq.get();
        let at = |snapshot: &Snapshot| snapshot.range(host, number..=number).next();
        Ok(Some(if let Some(holder) = self.snapshot.as_ref().and_then(at).transpose()? {
            let message = format!("seq {seq} of host {host} is held by event {}", holder.id());
            Error::new(ErrorKind::Equivocation, Code::Seq, message)
        } else {
            let message =
                format!("seq {seq} of host {host} is not above the highest it has had here, which is {high}");
            Error::invalid(Code::Seq, message)
        }))
    }

    /// Returns the arrivals of held events that name a new event.
    pub(super) fn waiting_for(&self, id: &EventId) -> Result<Vec<u64>> {
        self.snapshot.as_ref().map_or_else(|| Ok(Vec::new()), |snapshot| snapshot.waiting_for(id))
    }

    /// Returns arrivals among which all causes lie that lead to a held event not before `first`.
    pub(super) fn arrivals_above(&self, first: u64) -> Range<u64> {
        self.snapshot.as_ref().map_or(0..0, |snapshot| snapshot.arrivals_above(first))
    }

    /// Returns the arrival of an event, if it is held.
    pub(super) fn arrival(&self, id: IdRef<'_>) -> Result<Option<u64>> {
        self.snapshot.as_ref().map_or(Ok(None), |snapshot| snapshot.arrival(id))
    }

    /// Appends the arrivals of the held causes of a held event.
    pub(super) fn causes_of(&self, arrival: u64, out: &mut Vec<u64>) -> Result<()> {
        self.snapshot.as_ref().map_or(Ok(()), |snapshot| snapshot.causes_of(arrival, out))
    }
}
