//! What the trees hold, and how their entries lie in stored nodes.

use crate::order::tree::Kind;
use crate::order::tree::{put_u64, take_u64};

use super::key::{EventKey, Ranks, Run};
use super::packed::Packed;

/// Tag to run: the order.
#[derive(Debug)]
pub(super) struct Runs;

/// Least key of a run to the run's tag.
#[derive(Debug)]
pub(super) struct Places;

/// Cause and event that names it, both held.
#[derive(Debug)]
pub(super) struct Dependents;

/// Fingerprint of an id that is not held, and event that names it, to whether the id is awaited.
#[derive(Debug)]
pub(super) struct Missing;

/// Event to the number of its causes that are awaited.
#[derive(Debug)]
pub(super) struct Waiting;

/// Events that no held event names.
#[derive(Debug)]
pub(super) struct Heads;

/// Host to what is known of its gaps.
#[derive(Debug)]
pub(super) struct Hosts;

/// What stands below a node of [`Runs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Below {
    pub(super) events: u64,
    /// The event with the greatest key.
    pub(super) greatest: EventKey,
    /// Whether any run waits.
    pub(super) waits: bool,
}

/// What is known of the gaps of a host; hosts of which there is nothing to know have none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Gaps {
    /// Up to this `seq`, nothing is missing without an explanation.
    pub(super) explained: u64,
    /// The least `seq` above that is not held although a greater one is, and that nothing explains.
    pub(super) missing: Option<u64>,
}

impl Kind for Runs {
    const NUMBER: u8 = 1;
    type Key = u64;
    type Value = Run;
    type Sum = Below;
    type Context = Ranks;

    fn sum(entries: &[(u64, Run)], ranks: &Ranks) -> Below {
        let mut events = 0u64;
        let mut waits = false;
        let mut greatest = EventKey::new(0, 0);
        let mut rank = None;
        for (_, run) in entries {
            events = events.saturating_add(run.len);
            waits |= run.waits;
            let last = run.last_key();
            let own = Some(ranks.of(last));
            if own > rank {
                rank = own;
                greatest = last;
            }
        }
        Below { events, greatest, waits }
    }

    fn add(left: Below, right: Below, ranks: &Ranks) -> Below {
        let greatest =
            if ranks.of(left.greatest) < ranks.of(right.greatest) { right.greatest } else { left.greatest };
        let events = left.events.saturating_add(right.events);
        Below { events, greatest, waits: left.waits || right.waits }
    }

    fn change(sum: Below, _: &u64, old: Option<&Run>, new: Option<&Run>, ranks: &Ranks) -> Option<Below> {
        let len = |run: Option<&Run>| run.map_or(0, |run| run.len);
        let events = sum.events.saturating_sub(len(old)).saturating_add(len(new));
        // What was the greatest, or the one that waits, leaves open what comes next.
        let was_greatest = old.is_some_and(|run| run.last_key() == sum.greatest);
        let greatest = match new.map(Run::last_key) {
            Some(last) if ranks.of(last) >= ranks.of(sum.greatest) => last,
            _ if was_greatest => return None,
            _ => sum.greatest,
        };
        let waits = match (old.is_some_and(|run| run.waits), new.is_some_and(|run| run.waits)) {
            (true, false) => return None,
            (_, now) => sum.waits || now,
        };
        Some(Below { events, greatest, waits })
    }

    fn put_entry(out: &mut Vec<u8>, before: Option<&u64>, key: &u64, run: &Run) {
        key.put(out, before);
        put_u64(out, u64::from(run.host) << 1 | u64::from(run.waits));
        put_u64(out, run.first);
        put_u64(out, run.len);
    }

    fn take_entry(bytes: &mut &[u8], before: Option<&u64>) -> Option<(u64, Run)> {
        let key = Packed::take(bytes, before)?;
        let host = take_u64(bytes)?;
        let first = take_u64(bytes)?;
        let len = take_u64(bytes)?;
        first.checked_add(len.checked_sub(1)?)?;
        Some((key, Run { host: u32::try_from(host >> 1).ok()?, first, len, waits: host & 1 == 1 }))
    }

    fn put_key(out: &mut Vec<u8>, key: &u64) {
        key.put(out, None);
    }

    fn take_key(bytes: &mut &[u8]) -> Option<u64> {
        Packed::take(bytes, None)
    }

    fn put_sum(out: &mut Vec<u8>, sum: &Below) {
        put_u64(out, sum.events);
        put_u64(out, u64::from(sum.greatest.host) << 1 | u64::from(sum.waits));
        put_u64(out, sum.greatest.seq);
    }

    fn take_sum(bytes: &mut &[u8]) -> Option<Below> {
        let events = take_u64(bytes)?;
        let host = take_u64(bytes)?;
        let greatest = EventKey::new(u32::try_from(host >> 1).ok()?, take_u64(bytes)?);
        Some(Below { events, greatest, waits: host & 1 == 1 })
    }
}

/// The parts of a [`Kind`] that have no sums.
macro_rules! no_sums {
    () => {
        type Sum = ();
        type Context = ();

        fn sum(_: &[(Self::Key, Self::Value)], (): &()) {}

        fn add((): (), (): (), (): &()) {}

        fn put_key(out: &mut Vec<u8>, key: &Self::Key) {
            key.put(out, None);
        }

        fn take_key(bytes: &mut &[u8]) -> Option<Self::Key> {
            Packed::take(bytes, None)
        }

        fn put_sum(_: &mut Vec<u8>, (): &()) {}

        fn take_sum(_: &mut &[u8]) -> Option<()> {
            Some(())
        }
    };
}

/// The parts of a [`Kind`] that is a set.
macro_rules! set {
    () => {
        type Value = ();
        no_sums!();

        fn put_entry(out: &mut Vec<u8>, before: Option<&Self::Key>, key: &Self::Key, (): &()) {
            key.put(out, before);
        }

        fn take_entry(bytes: &mut &[u8], before: Option<&Self::Key>) -> Option<(Self::Key, ())> {
            Some((Packed::take(bytes, before)?, ()))
        }
    };
}

impl Kind for Places {
    const NUMBER: u8 = 2;
    type Key = EventKey;
    type Value = u64;
    no_sums!();

    fn put_entry(out: &mut Vec<u8>, before: Option<&EventKey>, key: &EventKey, tag: &u64) {
        key.put(out, before);
        put_u64(out, *tag);
    }

    fn take_entry(bytes: &mut &[u8], before: Option<&EventKey>) -> Option<(EventKey, u64)> {
        Some((Packed::take(bytes, before)?, take_u64(bytes)?))
    }
}

impl Kind for Dependents {
    const NUMBER: u8 = 3;
    type Key = (EventKey, EventKey);
    set!();
}

impl Kind for Missing {
    const NUMBER: u8 = 4;
    type Key = (u64, EventKey);
    type Value = bool;
    no_sums!();

    fn put_entry(out: &mut Vec<u8>, before: Option<&Self::Key>, key: &Self::Key, awaited: &bool) {
        key.put(out, before);
        put_u64(out, u64::from(*awaited));
    }

    fn take_entry(bytes: &mut &[u8], before: Option<&Self::Key>) -> Option<(Self::Key, bool)> {
        let key = Packed::take(bytes, before)?;
        match take_u64(bytes)? {
            0 => Some((key, false)),
            1 => Some((key, true)),
            _ => None,
        }
    }
}

impl Kind for Waiting {
    const NUMBER: u8 = 5;
    type Key = EventKey;
    type Value = u32;
    no_sums!();

    fn put_entry(out: &mut Vec<u8>, before: Option<&EventKey>, key: &EventKey, causes: &u32) {
        key.put(out, before);
        put_u64(out, u64::from(*causes));
    }

    fn take_entry(bytes: &mut &[u8], before: Option<&EventKey>) -> Option<(EventKey, u32)> {
        Some((Packed::take(bytes, before)?, u32::try_from(take_u64(bytes)?).ok()?))
    }
}

impl Kind for Heads {
    const NUMBER: u8 = 6;
    type Key = EventKey;
    set!();
}

impl Kind for Hosts {
    const NUMBER: u8 = 7;
    type Key = u32;
    type Value = Gaps;
    no_sums!();

    fn put_entry(out: &mut Vec<u8>, before: Option<&u32>, key: &u32, gaps: &Gaps) {
        key.put(out, before);
        put_u64(out, gaps.explained);
        // What is missing lies above what is explained, so 0 is free.
        put_u64(out, gaps.missing.map_or(0, |missing| missing.saturating_sub(gaps.explained)));
    }

    fn take_entry(bytes: &mut &[u8], before: Option<&u32>) -> Option<(u32, Gaps)> {
        let host = Packed::take(bytes, before)?;
        let explained = take_u64(bytes)?;
        let missing = match take_u64(bytes)? {
            0 => None,
            above => Some(explained.checked_add(above)?),
        };
        Some((host, Gaps { explained, missing }))
    }
}
