//! What names an event as a cause, from the causes as segments store them. No index of it exists: segments are read.

use super::events::AllHosts;
use crate::contract::{EventId, Result};
use crate::log::{StoredEvent, View};

/// Iterates over the events of a view that name an id as a cause, by `(host, seq)`.
///
/// Where the id is held, only events of segments from its own on can have found it when they were written; of the
/// segments before, those count that list it among the causes they did not find.
pub(super) fn dependents(
    view: View,
    id: EventId,
) -> Result<impl Iterator<Item = Result<StoredEvent>> + Send + 'static> {
    let first = first_part(&view, &id)?;
    let names = view.names().clone();
    let behind = view.clone();
    let start = move |host: &str| {
        let host = names.host_number(host)?;
        behind.parts().skip(first).find_map(|part| part.host_first(host))
    };
    let names_it =
        move |event: &StoredEvent| event.record().causes.iter().any(|cause| cause.id.get() == id.as_ref());
    let all = AllHosts::new(view, start);
    Ok(all.filter(move |event| event.as_ref().map_or(true, &names_it)))
}

/// Returns the place among the segments of the first that can hold a dependent.
fn first_part(view: &View, id: &EventId) -> Result<usize> {
    // An id that was held once and is gone was found by events anywhere.
    let Some(held) = view.find(id.as_ref())? else { return Ok(0) };
    let fingerprint = view.fingerprint(id.as_ref());
    for (place, part) in view.parts().enumerate() {
        if part.arrivals_before() + part.events() > held.arrival || part.misses(fingerprint)? {
            return Ok(place);
        }
    }
    Ok(0)
}
