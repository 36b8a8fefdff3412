//! The hosts of a store: what each promised, what is held of it, what is gone and what is pinned.

use std::collections::HashMap;

use serde::Serialize;

use super::{Snapshot, Store};
use crate::contract::{HostId, HostPromise, Result};
use crate::log::View;

/// What is known of one host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct HostInfo {
    /// The host.
    pub host: String,
    /// It was declared.
    pub declared: bool,
    /// It promised that each of its events names its previous one.
    pub chained: bool,
    /// It promised that no further event comes.
    pub closed: bool,
    /// Events held.
    pub events: u64,
    /// Lowest `seq` held; `None` when none is.
    pub first_seq: Option<u64>,
    /// Highest `seq` held; `None` when none is.
    pub last_seq: Option<u64>,
    /// Highest `seq` that was ever held: the next event's lies above it. `None` before the first event.
    pub high: Option<u64>,
    /// From the first to the last `seq` that was evicted; events between them are held where they are pinned.
    pub evicted: Option<EvictedSpan>,
    /// Events that are pinned.
    pub pinned: u64,
}

/// From one `seq` to another, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct EvictedSpan {
    /// The first.
    pub first: u64,
    /// The last.
    pub last: u64,
}

impl Store {
    /// Writes down that a host is one of those that write to this history, and what it promises from here on. When it
    /// returns, that survives a power cut; it is part of the log, and so survives the loss of every derived file.
    ///
    /// Once one host is declared, no event of a host that is not is taken any more; what is held stays. Of a closed host no
    /// event is taken, and of a chained one only events that name its last one as a cause: its first is free, and so is what came
    /// before the declaration. All of them are refused with code `SEQ`. An event that is held already is a duplicate as ever.
    /// Declaring a host again replaces what it promised, and so opens a closed one; declaring the same again writes nothing.
    ///
    /// Cost: one sync.
    ///
    /// # Errors
    /// `LIMIT` when the store has as many hosts as it can; `Io`, `Poisoned`, `ReadOnly`.
    pub fn declare_host(&self, host: &HostId, promise: HostPromise) -> Result<()> {
        self.core()?.writer.declare(host.as_str(), promise)
    }
}

impl Snapshot {
    /// Lists the hosts that have, or had, events or were declared, in UTF-16 order of their names. Cost: the segments'
    /// directories.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn hosts(&self) -> Result<Vec<HostInfo>> {
        let view = &self.view;
        let mut highs: HashMap<u32, u64> = HashMap::new();
        for (number, host) in (0u32..).zip(view.known_hosts()?) {
            highs.extend(host.high.map(|high| (number, high)));
        }
        let names = view.names();
        let hosts = names.hosts_in_order().iter().filter_map(|number| {
            // A repair can have left a number whose name is lost.
            let name = names.host(*number).filter(|name| !name.is_empty())?;
            Some(host_of(view, *number, name, highs.get(number).copied()))
        });
        Ok(hosts.collect())
    }
}

fn host_of(view: &View, number: u32, name: &str, known_high: Option<u64>) -> HostInfo {
    let standing = view.standing();
    let promise = standing.promise(number);
    let HostPromise { chained, closed } = promise.unwrap_or_default();
    let held = || view.parts().filter_map(|part| part.host_last(number));
    let last_seq = held().next_back().map(|(last, _)| last);
    let evicted = standing.evicted(number);
    let span = evicted.first().zip(evicted.last());
    HostInfo {
        host: name.to_owned(),
        declared: promise.is_some(),
        chained,
        closed,
        events: held().map(|(_, events)| events).sum(),
        first_seq: view.parts().find_map(|part| part.host_first(number)),
        last_seq,
        high: known_high.max(last_seq),
        evicted: span.map(|(first, last)| EvictedSpan { first: first.first, last: last.last }),
        pinned: standing.pinned(number).iter().map(crate::codec::HostRange::len).sum(),
    }
}
