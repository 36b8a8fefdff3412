//! Events of one type, by `(host, seq)`, from the lists that segments keep by type.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::contract::Result;
use crate::log::{Record, StoredEvent, View};

/// Records fetched at once.
const FETCH: usize = 64;

/// Walks hosts in UTF-16 order, and for each the segments by rising number.
pub(super) struct OfType {
    view: View,
    kind: u32,
    /// Index into the hosts in order.
    host: usize,
    part: usize,
    /// Places of the current host's events in the current segment, not fetched yet.
    places: VecDeque<u64>,
    fetched: VecDeque<StoredEvent>,
}

impl OfType {
    pub(super) fn new(view: View, kind: u32) -> Self {
        Self { view, kind, host: 0, part: 0, places: VecDeque::new(), fetched: VecDeque::new() }
    }

    fn advance(&mut self) -> Result<Option<StoredEvent>> {
        loop {
            if let Some(event) = self.fetched.pop_front() {
                return Ok(Some(event));
            }
            let Some(host) = self.view.names().hosts_in_order().get(self.host).copied() else {
                return Ok(None);
            };
            if !self.places.is_empty() {
                // The part whose places these are is the one before the next.
                if let Some(part) = self.view.parts().nth(self.part - 1) {
                    let places: Vec<u64> = self.places.drain(..FETCH.min(self.places.len())).collect();
                    let (first, names) = (part.arrivals_before(), self.view.names());
                    let wrap = |record: Record| {
                        let arrival = first + u64::from(record.ordinal());
                        StoredEvent::new(record, Arc::clone(names), arrival)
                    };
                    self.fetched.extend(part.records(&places)?.into_iter().map(wrap));
                }
                continue;
            }
            match self.view.parts().nth(self.part) {
                Some(part) => self.places.extend(part.places_of_kind(self.kind, host)?),
                None => {
                    self.host += 1;
                    self.part = 0;
                    continue;
                }
            }
            self.part += 1;
        }
    }
}

impl Iterator for OfType {
    type Item = Result<StoredEvent>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().transpose()
    }
}
