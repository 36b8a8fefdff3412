//! What the active segment holds, in memory: rebuilt from its frames, about 50 bytes an event.
//!
//! Invariants:
//! - An event's ordinal is its place in `entries`; offsets rise with it, and so do the ordinals in each
//!   list. A reader that may see the first `n` events ignores every ordinal from `n` on.
//! - Within a host's list `seq` rises.
//! - `dangling` lists each cause that no held event answered when its event was written; it is not
//!   cleared when the cause arrives.

use std::collections::HashMap;

use hashbrown::HashTable;

use crate::codec::{ActiveEntry, Fingerprint};

/// Events of one segment in arrival order, findable by id, by host and by type.
#[derive(Debug, Default)]
pub struct ActiveIndex {
    entries: Vec<ActiveEntry>,
    ids: HashTable<(Fingerprint, u32)>,
    by_host: HashMap<u32, Vec<u32>>,
    by_kind: HashMap<u32, Vec<u32>>,
    dangling: HashMap<Fingerprint, Vec<u32>>,
}

impl ActiveIndex {
    /// Returns the number of events, those not acknowledged yet included.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Adds the next event and the causes it names that are not held.
    pub fn push(&mut self, entry: ActiveEntry, dangling: impl IntoIterator<Item = Fingerprint>) {
        let Ok(ordinal) = u32::try_from(self.entries.len()) else {
            // A segment of 2^32 frames of at least 88 bytes is far past the greatest segment size.
            return;
        };
        self.ids.insert_unique(entry.id.0, (entry.id, ordinal), |(id, _)| id.0);
        self.by_host.entry(entry.host).or_default().push(ordinal);
        self.by_kind.entry(entry.kind).or_default().push(ordinal);
        for cause in dangling {
            self.dangling.entry(cause).or_default().push(ordinal);
        }
        self.entries.push(entry);
    }

    /// Takes out every event from ordinal `len` on.
    pub fn truncate(&mut self, len: usize) {
        let Ok(bound) = u32::try_from(len) else { return };
        while self.entries.len() > len {
            let Some(entry) = self.entries.pop() else { return };
            let ordinal = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
            if let Ok(found) = self.ids.find_entry(entry.id.0, |(_, at)| *at == ordinal) {
                found.remove();
            }
            for list in
                [self.by_host.get_mut(&entry.host), self.by_kind.get_mut(&entry.kind)].into_iter().flatten()
            {
                list.pop();
            }
        }
        self.dangling.retain(|_, namers| {
            namers.retain(|ordinal| *ordinal < bound);
            !namers.is_empty()
        });
    }

    /// Returns the entry of an event.
    pub fn entry(&self, ordinal: u32) -> Option<&ActiveEntry> {
        self.entries.get(usize::try_from(ordinal).ok()?)
    }

    /// Returns all entries in arrival order.
    pub fn entries(&self) -> &[ActiveEntry] {
        &self.entries
    }

    /// Lists the events whose id has this fingerprint, the newest last.
    pub fn candidates(&self, id: Fingerprint) -> Vec<u32> {
        let mut found: Vec<u32> =
            self.ids.iter_hash(id.0).filter(|(at, _)| *at == id).map(|(_, ordinal)| *ordinal).collect();
        found.sort_unstable();
        found
    }

    /// Lists the events that name a cause of this fingerprint which was not held when they were written.
    pub fn namers(&self, cause: Fingerprint) -> &[u32] {
        self.dangling.get(&cause).map_or(&[], Vec::as_slice)
    }

    /// Returns every dangling cause with the event that names it.
    pub fn dangling(&self) -> Vec<(Fingerprint, u32)> {
        let mut all: Vec<_> = self
            .dangling
            .iter()
            .flat_map(|(id, namers)| namers.iter().map(|ordinal| (*id, *ordinal)))
            .collect();
        all.sort_unstable_by_key(|(id, ordinal)| (*ordinal, *id));
        all
    }

    /// Lists a host's events with `seq >= from`, of the first `visible` events.
    pub fn of_host(&self, host: u32, from: u64, visible: u32) -> &[u32] {
        let list = self.by_host.get(&host).map_or(&[][..], Vec::as_slice);
        let end = list.partition_point(|ordinal| *ordinal < visible);
        let list = list.get(..end).unwrap_or_default();
        let start =
            list.partition_point(|ordinal| self.entry(*ordinal).is_some_and(|entry| entry.seq < from));
        list.get(start..).unwrap_or_default()
    }

    /// Lists a host's events or those of a type, whichever are fewer, of the first `visible` events.
    pub fn of_host_or_kind(&self, host: u32, kind: u32, visible: u32) -> &[u32] {
        let (of_host, of_kind) = (self.of_host(host, 0, visible), self.of_kind(kind, visible));
        if of_host.len() < of_kind.len() { of_host } else { of_kind }
    }

    /// Lists the events of a type, of the first `visible` events.
    pub fn of_kind(&self, kind: u32, visible: u32) -> &[u32] {
        let list = self.by_kind.get(&kind).map_or(&[][..], Vec::as_slice);
        list.get(..list.partition_point(|ordinal| *ordinal < visible)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Row = (u32, u32, u64, u8, Option<u8>);

    fn build(rows: &[Row]) -> ActiveIndex {
        let mut index = ActiveIndex::default();
        for (at, (host, kind, gap, id, dangling)) in rows.iter().enumerate() {
            let seq =
                index.of_host(*host, 0, u32::MAX).last().map_or(0, |o| index.entry(*o).unwrap().seq + 1)
                    + gap;
            let entry = ActiveEntry {
                offset: at as u64 * 96,
                bytes: 96,
                host: *host,
                kind: *kind,
                seq,
                id: Fingerprint((*id).into()),
            };
            index.push(entry, dangling.map(|d| Fingerprint(d.into())));
        }
        index
    }

    #[test]
    fn a_type_is_walked_once_over_all_hosts() {
        let rows: Vec<Row> = (0..6_000).map(|at| (at % 2_000, at % 7, 0, 0, None)).collect();
        let index = build(&rows);
        for kind in 0..7 {
            let hosts = (0..2_000).map(|host| index.of_host_or_kind(host, kind, u32::MAX));
            let found: usize = hosts.map(<[u32]>::len).sum();
            assert!(found <= rows.len(), "{found} entries looked at for type {kind}");
        }
        assert_eq!(index.of_host_or_kind(0, 8, u32::MAX), [] as [u32; 0]);
    }

    proptest! {
        #[test]
        fn answers_as_a_scan_of_its_entries_does(
            rows in proptest::collection::vec((0u32..3, 0u32..3, 0u64..3, 0u8..6, proptest::option::of(0u8..4)), 0..40),
            cut: prop::sample::Index, from in 0u64..20, visible in 0u32..50,
        ) {
            let mut index = build(&rows);
            let keep = cut.index(rows.len() + 1);
            index.truncate(keep);
            let rows = &rows[..keep];
            let plain = build(rows);
            prop_assert_eq!(index.entries(), plain.entries());
            let within = |o: &u32| *o < visible;
            let all: Vec<u32> = (0..u32::try_from(keep).unwrap()).collect();
            for n in 0..6u32 {
                let of = |f: &dyn Fn(&ActiveEntry) -> bool| -> Vec<u32> {
                    all.iter().copied().filter(|o| f(index.entry(*o).unwrap())).collect()
                };
                prop_assert_eq!(index.candidates(Fingerprint(n.into())), of(&|e| e.id.0 == u64::from(n)));
                let host: Vec<_> = of(&|e| e.host == n && e.seq >= from).into_iter().filter(within).collect();
                prop_assert_eq!(index.of_host(n, from, visible), host);
                let kind: Vec<_> = of(&|e| e.kind == n).into_iter().filter(within).collect();
                prop_assert_eq!(index.of_kind(n, visible), kind);
                let namers: Vec<u32> = all.iter().copied()
                    .filter(|o| rows[*o as usize].4.is_some_and(|d| u32::from(d) == n)).collect();
                prop_assert_eq!(index.namers(Fingerprint(n.into())), namers);
            }
        }
    }
}
