//! Entries as bytes and back, over all of their range.

use std::fmt::Debug;

use proptest::prelude::*;

use super::super::kinds::{Below, Dependents, Gaps, Heads, Hosts, Missing, Places, Runs, Waiting};
use super::*;
use crate::order::tree::Kind;

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0..4u64, any::<u64>(), u64::MAX - 2..=u64::MAX]
}

fn host() -> impl Strategy<Value = u32> {
    prop_oneof![0..4u32, any::<u32>(), Just(u32::MAX)]
}

fn key() -> impl Strategy<Value = EventKey> {
    (host(), number()).prop_map(|(host, seq)| EventKey::new(host, seq))
}

fn run() -> impl Strategy<Value = Run> {
    (key(), number(), any::<bool>()).prop_map(|(key, len, waits)| Run {
        len: len.clamp(1, (u64::MAX - key.seq).max(1)),
        ..Run::of(key, waits)
    })
}

fn gaps() -> impl Strategy<Value = Gaps> {
    (number(), number()).prop_map(|(explained, above)| Gaps {
        explained,
        missing: explained.checked_add(above).filter(|missing| *missing > explained),
    })
}

/// Writes entries in the order of their keys, and reads them again.
fn there_and_back<K: Kind>(mut entries: Vec<(K::Key, K::Value)>)
where
    K::Key: Debug,
{
    entries.sort_by_key(|(key, _)| *key);
    let mut bytes = Vec::new();
    let mut before = None;
    for (key, value) in &entries {
        K::put_entry(&mut bytes, before, key, value);
        K::put_key(&mut bytes, key);
        before = Some(key);
    }
    let mut rest = bytes.as_slice();
    let mut before = None;
    for (key, value) in &entries {
        assert_eq!(K::take_entry(&mut rest, before), Some((*key, *value)));
        assert_eq!(K::take_key(&mut rest), Some(*key));
        before = Some(key);
    }
    assert!(rest.is_empty());
}

/// Reads bytes that say anything.
fn reads_anything<K: Kind>(bytes: &[u8]) {
    let (mut keys, mut sums) = (bytes, bytes);
    while K::take_key(&mut keys).is_some() {}
    let _ = K::take_sum(&mut sums);
    let (mut rest, mut before) = (bytes, None);
    while let Some((key, _)) = K::take_entry(&mut rest, before.as_ref()) {
        before = Some(key);
    }
}

proptest! {
    #[test]
    fn entries_come_back(
        runs in prop::collection::vec((number(), run()), 0..8),
        places in prop::collection::vec((key(), number()), 0..8),
        links in prop::collection::vec(((key(), key()), Just(())), 0..8),
        missing in prop::collection::vec(((number(), key()), any::<bool>()), 0..8),
        waiting in prop::collection::vec((key(), any::<u32>()), 0..8),
        heads in prop::collection::vec((key(), Just(())), 0..8),
        hosts in prop::collection::vec((host(), gaps()), 0..8),
        (events, greatest, waits) in (number(), key(), any::<bool>()),
    ) {
        there_and_back::<Runs>(runs);
        there_and_back::<Places>(places);
        there_and_back::<Dependents>(links);
        there_and_back::<Missing>(missing);
        there_and_back::<Waiting>(waiting);
        there_and_back::<Heads>(heads);
        there_and_back::<Hosts>(hosts);
        let below = Below { events, greatest, waits };
        let mut bytes = Vec::new();
        Runs::put_sum(&mut bytes, &below);
        prop_assert_eq!(Runs::take_sum(&mut bytes.as_slice()), Some(below));
    }

    #[test]
    fn any_bytes_are_entries_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        reads_anything::<Runs>(&bytes);
        reads_anything::<Places>(&bytes);
        reads_anything::<Dependents>(&bytes);
        reads_anything::<Missing>(&bytes);
        reads_anything::<Waiting>(&bytes);
        reads_anything::<Heads>(&bytes);
        reads_anything::<Hosts>(&bytes);
    }

    /// What changes a sum gives what adding up again gives, or gives up.
    #[test]
    fn a_changed_sum_is_the_sum_of_what_changed(
        before in prop::collection::vec((1u64..1_000, 0u32..3, 0u64..1_000, any::<bool>()), 1..8),
        at in any::<prop::sample::Index>(),
        new in prop::option::of((1u64..1_000, 0u32..3, 0u64..1_000, any::<bool>())),
        put in any::<bool>(),
    ) {
        let ranks = Ranks::new(vec![2, 0, 1]);
        let run = |(len, host, first, waits)| Run { host, first, len, waits };
        let mut entries: Vec<(u64, Run)> = (0..).zip(before.into_iter().map(run)).collect();
        let sum = Runs::sum(&entries, &ranks);
        let at = at.index(entries.len());
        let new = new.map(run);
        let old = if put { None } else { Some(entries[at].1) };
        match (put, new) {
            (true, Some(new)) => entries.insert(at, (99, new)),
            (false, Some(new)) => entries[at].1 = new,
            (false, None) => drop(entries.remove(at)),
            (true, None) => {}
        }
        prop_assume!(!entries.is_empty());
        if let Some(changed) = Runs::change(sum, &0, old.as_ref(), new.as_ref(), &ranks) {
            let whole = Runs::sum(&entries, &ranks);

            prop_assert_eq!(changed, whole);
        }
    }
}
