//! Questions on causes, answered from the order's index: who names an event, what nobody names, what came of what.
//!
//! Invariant: each holds a place in the index and no list of what was found, so memory does not grow with history.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::contract::{Error, EventId, Result, cmp_utf16};
use crate::log::{Arrangement, StoredEvent, View, ViewFacts};
use crate::order::index::{EventKey, Facts};

/// Keys that are found one after the other, host by host in UTF-16 order of their names.
struct ByHost<F> {
    hosts: VecDeque<u32>,
    after: Option<EventKey>,
    /// Finds the next key behind one, by number of host and `seq`.
    find: F,
}

impl<F: FnMut(Option<EventKey>) -> Result<Option<EventKey>>> ByHost<F> {
    /// Looks which hosts have any.
    fn over(view: &View, mut find: F) -> Result<Self> {
        let (mut hosts, mut after) = (Vec::new(), None);
        while let Some(key) = find(after)? {
            hosts.push(key.host);
            after = Some(EventKey { host: key.host, seq: u64::MAX });
        }
        let name = |host: &u32| view.names().host(*host).unwrap_or_default();
        hosts.sort_by(|a, b| cmp_utf16(name(a), name(b)));
        Ok(Self { hosts: hosts.into(), after: None, find })
    }

    fn next(&mut self) -> Result<Option<EventKey>> {
        while let Some(host) = self.hosts.front().copied() {
            let after = self.after.or_else(|| before_host(host));
            let found = (self.find)(after)?;
            if let Some(key) = found.filter(|key| key.host == host) {
                self.after = Some(key);
                return Ok(Some(key));
            }
            self.after = None;
            self.hosts.pop_front();
        }
        Ok(None)
    }
}

/// Returns a key behind those of the hosts of lower numbers.
fn before_host(host: u32) -> Option<EventKey> {
    host.checked_sub(1).map(|host| EventKey { host, seq: u64::MAX })
}

/// Reads the events of keys.
struct Read<F> {
    keys: ByHost<F>,
    view: View,
}

impl<F: FnMut(Option<EventKey>) -> Result<Option<EventKey>>> Iterator for Read<F> {
    type Item = Result<StoredEvent>;

    fn next(&mut self) -> Option<Self::Item> {
        let read = |key: EventKey| {
            let found = self.view.at(key.host, key.seq)?;
            found
                .map(|found| self.view.event(found))
                .ok_or_else(|| Error::corrupt("an event of the order's index is not in the log"))
        };
        let next = self.keys.next().transpose()?;
        Some(next.and_then(read))
    }
}

/// Iterates over the events that no held event names, by `(host, seq)`.
pub(super) fn heads(
    view: View,
    order: Arc<Arrangement>,
) -> Result<impl Iterator<Item = Result<StoredEvent>> + Send + 'static> {
    let find = move |after| order.index().next_head(order.shelf(), after);
    Ok(Read { keys: ByHost::over(&view, find)?, view })
}

/// Iterates over the events that name an id as a cause, by `(host, seq)`.
pub(super) fn dependents(
    view: View,
    order: Arc<Arrangement>,
    id: &EventId,
) -> Result<Box<dyn Iterator<Item = Result<StoredEvent>> + Send + 'static>> {
    if let Some(found) = view.find(id.as_ref())? {
        let of = found.key();
        let asked = view.clone();
        let find = move |after| {
            let mut facts = ViewFacts { view: &asked, own: None };
            order.index().next_dependent(order.shelf(), of, after, &mut facts)
        };
        return Ok(Box::new(Read { keys: ByHost::over(&view, find)?, view }));
    }
    let fingerprint = view.fingerprint(id.as_ref()).0;
    let find = move |after| order.index().next_namer(order.shelf(), fingerprint, after);
    let named = id.clone();
    // A fingerprint is a hint: ids are compared.
    let names_it = move |event: &Result<StoredEvent>| {
        let names =
            |event: &StoredEvent| event.record().causes.iter().any(|cause| cause.id.get() == named.as_ref());
        event.as_ref().map_or(true, names)
    };
    Ok(Box::new(Read { keys: ByHost::over(&view, find)?, view }.filter(names_it)))
}

/// Reports whether one held event is a cause of another, direct or indirect.
///
/// Goes from the later one back, always on from the event that stands last in the order, and no further than the earlier
/// one: what is kept are the events that are still to be looked at, and each is looked at once.
pub(super) fn precedes(view: &View, order: &Arrangement, earlier: EventKey, later: EventKey) -> Result<bool> {
    let (index, shelf) = (order.index(), order.shelf());
    let (Some(goal), Some(start)) = (index.position(shelf, earlier)?, index.position(shelf, later)?) else {
        return Ok(false);
    };
    let mut open = BTreeMap::from([(start, later)]);
    let mut facts = ViewFacts { view, own: None };
    let mut causes = Vec::new();
    while let Some((position, key)) = open.pop_last() {
        if position <= goal {
            return Ok(position == goal && start != goal);
        }
        causes.clear();
        facts.causes(key, &mut causes)?;
        for cause in causes.iter().filter_map(|cause| cause.at) {
            if let Some(position) = index.position(shelf, cause)?.filter(|position| *position >= goal) {
                open.insert(position, cause);
            }
        }
    }
    Ok(false)
}
