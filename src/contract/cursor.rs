//! How far a replica is: host to highest `seq` held.

use std::collections::BTreeMap;

use super::id::{EventId, HostId, Seq};

/// Highest event held of one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CursorEntry {
    /// The highest `seq` held.
    pub seq: Seq,
    /// The id of that event where it is known; it binds the cursor to one history.
    pub id: Option<EventId>,
}

/// Host to highest event held; the pair `cursor`/`since` is how replicas catch up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    entries: BTreeMap<HostId, CursorEntry>,
}

impl Cursor {
    /// Returns the entry of a host.
    #[must_use]
    pub fn get(&self, host: &HostId) -> Option<&CursorEntry> {
        self.entries.get(host)
    }

    /// Sets the entry of a host.
    pub fn insert(&mut self, host: HostId, entry: CursorEntry) {
        self.entries.insert(host, entry);
    }

    /// Iterates over the hosts in UTF-16 order.
    pub fn iter(&self) -> impl Iterator<Item = (&HostId, &CursorEntry)> {
        self.entries.iter()
    }

    /// Returns the number of hosts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Reports whether no host is named.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
