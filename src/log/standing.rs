//! What readers are told of hosts beside their events: declarations, evicted and pinned ranges.
//!
//! Invariants: a standing never changes; another one is made when the control state's declarations or ranges did. It is
//! published with the group that holds the records, after them.

use std::collections::BTreeMap;

use crate::codec::{ControlState, HostRange, RangeKind, Ranges};
use crate::contract::HostPromise;

/// Declarations and ranges of a log at one moment.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    declared: BTreeMap<u32, HostPromise>,
    ranges: Ranges,
}

impl Standing {
    /// Reads them out of a control state. Cost: a pass over the hosts.
    pub fn of(state: &ControlState) -> Self {
        let declared = (0u32..).zip(&state.hosts).filter(|(_, host)| host.declared);
        let promise =
            |host: &crate::codec::HostState| HostPromise { chained: host.chained, closed: host.closed };
        Self {
            declared: declared.map(|(number, host)| (number, promise(host))).collect(),
            ranges: state.ranges.clone(),
        }
    }

    /// Returns what a host promised; `None` when it was never declared.
    pub fn promise(&self, host: u32) -> Option<HostPromise> {
        self.declared.get(&host).copied()
    }

    /// Returns the evicted ranges of a host, rising.
    pub fn evicted(&self, host: u32) -> &[HostRange] {
        self.ranges.of_host(RangeKind::Evicted, host)
    }

    /// Returns the evicted range that a `seq` stands in, or the next one above it: below what was evicted of a host
    /// nothing is taken any more.
    pub fn evicted_around(&self, host: u32, seq: u64) -> Option<(u64, u64)> {
        let list = self.evicted(host);
        list.get(list.partition_point(|range| range.last < seq)).map(|range| (range.first, range.last))
    }

    /// Returns the pinned ranges of a host, rising.
    pub fn pinned(&self, host: u32) -> &[HostRange] {
        self.ranges.of_host(RangeKind::Pinned, host)
    }

    /// Lists the hosts that were declared, by number, with what they promise.
    pub fn declared(&self) -> impl Iterator<Item = (u32, HostPromise)> {
        self.declared.iter().map(|(host, promise)| (*host, *promise))
    }
}
