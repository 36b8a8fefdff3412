//! Which events are lost, as far as what is left can tell.

use std::collections::BTreeMap;

use super::salvage::Saved;
use crate::codec::{ControlState, HostEntry};

/// Events of one host that are lost: none of this range is held in the segment that was repaired.
///
/// An upper bound: where the host's `seq` had gaps, there may never have been an event.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct LostRange {
    /// The host.
    pub host: String,
    /// Lowest `seq`.
    pub first: u64,
    /// Highest `seq`.
    pub last: u64,
}

/// What is known of a segment beside the events that can be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known<'a> {
    /// The state before it.
    pub(super) before: &'a ControlState,
    /// The state behind it.
    pub(super) after: &'a ControlState,
    /// The state behind it counts all events, those that are lost too.
    pub(super) counted: bool,
    /// The directory of the sealed form; empty where it is not known.
    pub(super) directory: &'a [HostEntry],
    /// Events that it held.
    pub(super) events: u64,
}

/// An event that is held: its `seq`, and how many events before it are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) seq: u64,
    pub(super) lost_before: u64,
}

/// Sorts events by host, for [`ranges`]: they are in the order in which they arrived, so a gap in their ordinals
/// tells where events are lost.
pub(super) fn by_host(events: &[Saved]) -> BTreeMap<u32, Vec<Held>> {
    let mut hosts: BTreeMap<u32, Vec<Held>> = BTreeMap::new();
    for (rank, event) in (0u64..).zip(events) {
        let lost_before = u64::from(event.ordinal).saturating_sub(rank);
        hosts.entry(event.host).or_default().push(Held { seq: event.seq, lost_before });
    }
    hosts
}

/// Lists what each host should have in the segment and has not.
pub(super) fn ranges(known: &Known<'_>, held: &BTreeMap<u32, Vec<Held>>) -> Vec<LostRange> {
    let total: u64 = held.values().map(|list| list.len() as u64).sum();
    let lost = known.events.saturating_sub(total);
    let mut ranges = Vec::new();
    if lost == 0 {
        return ranges;
    }
    for (number, host) in (0u32..).zip(&known.after.hosts).filter(|(_, host)| !host.name.is_empty()) {
        let held = held.get(&number).map_or(&[][..], Vec::as_slice);
        let Some((first, last)) = bounds(known, number, held) else { continue };
        let mut push = |first: u64, last: u64| {
            if first <= last {
                ranges.push(LostRange { host: host.name.clone(), first, last });
            }
        };
        let (mut next, mut lost_before) = (first, 0);
        for event in held {
            if event.lost_before != lost_before {
                if let Some(last) = event.seq.checked_sub(1) {
                    push(next, last);
                }
                lost_before = event.lost_before;
            }
            next = event.seq.saturating_add(1);
        }
        if lost_before != lost {
            push(next, last);
        }
    }
    ranges
}

/// Returns the lowest and highest `seq` that a host can have in the segment; `None` when it lost nothing.
fn bounds(known: &Known<'_>, number: u32, held: &[Held]) -> Option<(u64, u64)> {
    let index = usize::try_from(number).ok()?;
    let (before, after) = (known.before.hosts.get(index), known.after.hosts.get(index)?);
    let first = before.and_then(|host| host.high).map_or(0, |high| high.saturating_add(1));
    let last = after.high?;
    let held = held.len() as u64;
    if !known.directory.is_empty() {
        let entry = known.directory.iter().find(|entry| entry.host == number)?;
        return (u64::from(entry.events) > held).then_some((entry.first_seq, entry.last_seq));
    }
    if known.counted {
        let events = after.events.saturating_sub(before.map_or(0, |host| host.events));
        return (events > held).then_some((first, last));
    }
    Some((first, last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::HostState;

    fn state(highs: &[(Option<u64>, u64)]) -> ControlState {
        let host = |(at, (high, events)): (usize, &(Option<u64>, u64))| HostState {
            name: format!("h{at}"),
            high: *high,
            events: *events,
            ..HostState::default()
        };
        ControlState { hosts: highs.iter().enumerate().map(host).collect(), ..ControlState::default() }
    }

    fn saved(host: u32, seq: u64, ordinal: u32) -> Saved {
        Saved { source: 0, offset: 0, bytes: 0, host, kind: 0, seq, ordinal }
    }

    fn found(known: &Known<'_>, events: &[Saved]) -> Vec<(String, u64, u64)> {
        ranges(known, &by_host(events)).into_iter().map(|lost| (lost.host, lost.first, lost.last)).collect()
    }

    #[test]
    fn gaps_count_only_where_events_are_lost() {
        let (before, after) = (state(&[(Some(9), 10)]), state(&[(Some(40), 16)]));
        let known = Known { before: &before, after: &after, counted: true, directory: &[], events: 6 };
        // seq 10 20 [lost: 25] 30 [lost: 35] 40: gaps of the host's own are none of ours.
        let events = [saved(0, 10, 0), saved(0, 20, 1), saved(0, 30, 3), saved(0, 40, 5)];
        let lost = |first, last| ("h0".to_owned(), first, last);
        assert_eq!(found(&known, &events), [lost(21, 29), lost(31, 39)]);
        assert_eq!(found(&known, &events[..2]), [lost(21, 40)]);
        assert_eq!(found(&known, &[]), [lost(10, 40)]);
        let all: Vec<Saved> = (0..6).map(|n| saved(0, 10 + u64::from(n), n)).collect();
        assert_eq!(found(&known, &all), []);
    }

    #[test]
    fn hosts_that_lost_nothing_are_left_out() {
        let (before, after) = (state(&[]), state(&[(Some(3), 2), (Some(5), 1), (None, 0)]));
        let known = Known { before: &before, after: &after, counted: true, directory: &[], events: 3 };
        let events = [saved(0, 0, 0), saved(0, 3, 2)];
        assert_eq!(found(&known, &events), [("h1".to_owned(), 0, 5)]);
        // A state that does not count what is lost still bounds it.
        let known = Known { counted: false, ..known };
        assert_eq!(found(&known, &events), [("h0".to_owned(), 1, 2), ("h1".to_owned(), 0, 5)]);
        let entry = HostEntry { host: 1, events: 1, first_seq: 5, last_seq: 5, start: 0, end: 0 };
        let known = Known { directory: &[HostEntry { host: 0, events: 2, ..entry }, entry], ..known };
        assert_eq!(found(&known, &events), [("h1".to_owned(), 5, 5)]);
    }
}
