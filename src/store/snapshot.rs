//! A stable view of a store, and every question that can be asked of it.

use std::collections::BTreeMap;
use std::ops::{Bound, RangeBounds};

use super::ancestry::Ancestry;
use super::by_type::OfType;
use super::events::{AllHosts, Events, HostEvents};
use super::order::OrderOf;
use crate::contract::{Code, Cursor, CursorEntry, Error, ErrorKind, EventId, HostId, IdRef, Result, Seq};
use crate::log::{Found, StoredEvent, View};

/// A store as it was at one moment. Appends go on beside it and do not show in it.
///
/// Cheap to take and to clone: a few reference counts. It keeps the segments it names readable, so one
/// that is held for very long keeps their space on disk.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// What was acknowledged at the store's durability level.
    pub(super) view: View,
    /// What was synced: all that may leave this process.
    pub(super) synced: View,
    /// The order of `view`.
    pub(super) order: OrderOf,
}

impl Snapshot {
    /// Returns the event of an id. Cost: a probe of each fingerprint table's filter and a read of one record.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn get(&self, id: &EventId) -> Result<Option<StoredEvent>> {
        Ok(self.view.find(id.as_ref())?.map(|found| self.wrap(found)))
    }

    /// Reports whether an event is held. Cost: as [`Snapshot::get`].
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn has(&self, id: &EventId) -> Result<bool> {
        Ok(self.view.find(id.as_ref())?.is_some())
    }

    fn wrap(&self, found: Found) -> StoredEvent {
        self.view.event(found)
    }

    /// Returns the number of events held.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.view.len()
    }

    /// Reports whether no event is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Iterates over one host's events in a range of `seq`, rising. A host that is not held has none.
    pub fn range(&self, host: &HostId, seqs: impl RangeBounds<u64>) -> Events {
        let from = match seqs.start_bound() {
            Bound::Included(from) => *from,
            Bound::Excluded(before) => before.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let to = match seqs.end_bound() {
            Bound::Included(to) => Some(*to),
            Bound::Excluded(after) => after.checked_sub(1),
            Bound::Unbounded => Some(u64::MAX),
        };
        match (self.view.names().host_number(host.as_str()), to) {
            (Some(host), Some(to)) if from <= to => {
                Events::new(HostEvents::new(self.view.clone(), host, from, to))
            }
            _ => Events::new(std::iter::empty()),
        }
    }

    /// Iterates over all events by `(host, seq)`, hosts in UTF-16 order: a function of the set alone.
    pub fn events(&self) -> Events {
        Events::new(all_events(&self.view))
    }

    /// Returns each host's highest event, bound to this history by its id. Cost: a read of one record a host.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn cursor(&self) -> Result<Cursor> {
        cursor_of(&self.view)
    }

    /// Iterates over the events behind a cursor, by `(host, seq)`: what a replica at the cursor lacks. Gives only
    /// events that are synced, so that nobody holds one that a power cut could take from us.
    ///
    /// A host that the cursor does not name is given whole. An entry without an id is taken as it is and not checked:
    /// what lies above its `seq` is given, also nothing. A store that drops its oldest events gives what is left of
    /// those that the replica lacks; an entry below what was dropped of its host cannot be checked and is taken as it is.
    ///
    /// # Errors
    /// Code `CURSOR` when an entry names an event by an id that is not the one held there, or lies ahead of this store:
    /// it was taken from another history, or from a store that holds more of that host. A replica that knows better
    /// leaves that entry's id out. `Corrupt`, `Io`.
    pub fn since(&self, cursor: &Cursor) -> Result<Events> {
        let mut evicted = None;
        for (host, entry) in cursor.iter() {
            if let Some(id) = &entry.id
                && !self.holds_at(host, entry.seq, id)?
            {
                if evicted.is_none() {
                    evicted = Some(self.view.evicted_highs()?);
                }
                check_evicted(evicted.as_deref().unwrap_or_default(), host, entry.seq, id)?;
            }
        }
        let from: BTreeMap<HostId, u64> =
            cursor.iter().map(|(host, entry)| (host.clone(), entry.seq.get().saturating_add(1))).collect();
        Ok(Events::new(AllHosts::new(self.synced.clone(), move |host| {
            let host = HostId::new(host).ok()?;
            Some(from.get(&host).copied().unwrap_or(0))
        })))
    }

    /// Returns each host's highest `seq` that this store has ever held: that of [`cursor`](Self::cursor), or a higher one
    /// whose event is gone, evicted or lost. An append must be above it. Cost: as `cursor`.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn high_marks(&self) -> Result<BTreeMap<HostId, Seq>> {
        let mut highs: BTreeMap<HostId, Seq> =
            self.cursor()?.iter().map(|(host, entry)| (host.clone(), entry.seq)).collect();
        for known in self.view.known_hosts()? {
            // A host whose name was lost has none.
            if let (Some(high), Ok(host)) = (known.high, HostId::new(&known.name)) {
                let high = Seq::new(high)?;
                highs.entry(host).and_modify(|held| *held = (*held).max(high)).or_insert(high);
            }
        }
        Ok(highs)
    }

    fn holds_at(&self, host: &HostId, seq: Seq, id: &EventId) -> Result<bool> {
        let number = self.view.names().host_number(host.as_str());
        let held = number.map(|number| self.view.at(number, seq.get())).transpose()?.flatten();
        Ok(held.is_some_and(|found| found.record.get().id.get() == id.as_ref()))
    }

    /// Iterates over the events of a type, by `(host, seq)`. Reads those alone.
    pub fn by_type(&self, kind: &str) -> Events {
        match self.view.names().kind_number(kind) {
            Some(kind) => Events::new(OfType::new(self.view.clone(), kind)),
            None => Events::new(std::iter::empty()),
        }
    }

    /// Iterates over an event and everything it rests on, depth first, each once. Causes that are not held are
    /// left out; an id that is not held gives nothing. Memory grows with what was found.
    pub fn ancestry(&self, id: &EventId) -> Events {
        Events::new(Ancestry::new(self.view.clone(), id.clone()))
    }
}

/// Checks that an event may be one of those that were evicted: of each host the newest of them is known.
fn check_evicted(highs: &[(HostId, u64, String)], host: &HostId, seq: Seq, id: &EventId) -> Result<()> {
    let high = highs.iter().find(|(name, ..)| name == host);
    let evicted = high.is_some_and(|(_, high, last_id)| {
        seq.get() < *high || (seq.get() == *high && id.as_ref() == IdRef::new(last_id))
    });
    if evicted {
        return Ok(());
    }
    let message = format!("the cursor is not from this history: {host}#{seq} is not event {id} here");
    Err(Error::new(ErrorKind::Invalid, Code::Cursor, message))
}

/// Iterates over all events of a view by `(host, seq)`.
pub(super) fn all_events(view: &View) -> AllHosts {
    AllHosts::new(view.clone(), |_| Some(0))
}

/// Returns each host's highest event of a view, those of evicted events included.
pub(super) fn cursor_of(view: &View) -> Result<Cursor> {
    let mut cursor = Cursor::default();
    for (host, high, last_id) in view.evicted_highs()? {
        cursor.insert(host, CursorEntry { seq: Seq::new(high)?, id: EventId::new(&last_id).ok() });
    }
    for number in view.names().hosts_in_order() {
        let high = view.parts().rev().find_map(|part| part.host_last(*number)).map(|(last, _)| last);
        let found = high.map(|high| view.at(*number, high)).transpose()?.flatten();
        if let (Some(found), Some(name)) = (found, view.names().host(*number)) {
            let record = found.record.get();
            let entry = CursorEntry { seq: record.seq(), id: Some(record.id.get().to_owned()) };
            cursor.insert(HostId::new(name)?, entry);
        }
    }
    Ok(cursor)
}
