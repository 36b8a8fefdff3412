//! What the store makes of an event before it is asked to take it.

use std::collections::HashMap;

use crate::cli::intake::Held;
use crate::contract::{Code, Error, ErrorKind, Event, EventFields, HostId, Result, Seq, same};
use crate::store::Snapshot;

/// Judges events by a snapshot of the store, as an append would.
#[derive(Debug)]
pub(super) struct Judge {
    snapshot: Snapshot,
    /// Highest seq held by host.
    high: HashMap<HostId, Seq>,
}

impl Judge {
    pub(super) fn new(snapshot: Snapshot) -> Result<Self> {
        let high = snapshot.cursor()?.iter().map(|(host, entry)| (host.clone(), entry.seq)).collect();
        Ok(Self { snapshot, high })
    }

    /// Judges one event. Costs a look-up of its id.
    pub(super) fn judge(&self, event: &Event) -> Result<Held> {
        if self.high.is_empty() {
            return Ok(Held::No);
        }
        if let Some(held) = self.snapshot.get(&event.id)? {
            return Ok(if same(&held, event)? {
                Held::Same
            } else {
                let message = format!("the id is held as {}#{} with other content", held.host(), held.seq());
                Held::Refused(Error::new(ErrorKind::Equivocation, Code::Id, message))
            });
        }
        match self.high.get(&event.host) {
            Some(high) if event.seq <= *high => self.taken(event, *high).map(Held::Refused),
            _ => Ok(Held::No),
        }
    }

    /// Says who has the seq of an event, or that it is too low.
    fn taken(&self, event: &Event, high: Seq) -> Result<Error> {
        let seq = event.seq.get();
        Ok(if let Some(holder) = self.snapshot.range(&event.host, seq..=seq).next().transpose()? {
            let message = format!("seq {seq} of host {} is held by event {}", event.host, holder.id());
            Error::new(ErrorKind::Equivocation, Code::Seq, message)
        } else {
            let message = format!("seq {seq} of host {} is below {high}, the highest held", event.host);
            Error::invalid(Code::Seq, message)
        })
    }
}
