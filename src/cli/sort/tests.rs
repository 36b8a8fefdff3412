use proptest::prelude::*;

use super::sorter::Key;
use super::*;

/// Sorts with a budget so small that a few records make a run.
fn sort(records: &[(Key, Vec<u8>)], budget_bytes: usize, rank: impl Fn(u64) -> u64) -> Vec<(Key, Vec<u8>)> {
    let dir = tempfile::tempdir().unwrap();
    let mut sorter = Sorter::new(dir.path(), budget_bytes);
    for (key, value) in records {
        if sorter.is_full() {
            sorter.spill(&rank).unwrap();
        }
        sorter.push(*key, |out| out.extend_from_slice(value)).unwrap();
    }
    let sorted = sorter.finish(&rank).unwrap();
    assert_eq!(sorted.len(), u64::try_from(records.len()).unwrap());
    // Nothing with a name stays behind, or is there in the first place.
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    read(sorted.records())
}

fn read(mut records: Records) -> Vec<(Key, Vec<u8>)> {
    let mut all = Vec::new();
    while let Some(record) = records.header().unwrap() {
        all.push((record.key, records.value().unwrap().to_vec()));
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// The external sort gives what a sort in memory gives, whatever fits into memory.
    #[test]
    fn equals_a_sort_in_memory(
        records in proptest::collection::vec(
            ((0_u64..6, 0_u64..40), proptest::collection::vec(any::<u8>(), 0..60)), 0..1500),
        budget_bytes in prop_oneof![Just(1_usize), 40_usize..4000, Just(1 << 20)],
    ) {
        let turned = |first: u64| 5 - first;
        let mut records: Vec<(Key, Vec<u8>)> =
            (0_u64..).zip(records).map(|(n, ((a, b), value))| ([a, b, n], value)).collect();
        let found = sort(&records, budget_bytes, turned);
        records.sort_by_key(|([a, b, n], _)| (5 - a, *b, *n));
        prop_assert_eq!(found, records);
    }
}

#[test]
fn sorted_input_is_not_merged_and_many_runs_are() {
    let rising: Vec<(Key, Vec<u8>)> = (0..3000).map(|n| ([n / 7, n, 0], vec![0; 3])).collect();
    assert_eq!(sort(&rising, 1, |first| first), rising);
    let falling: Vec<(Key, Vec<u8>)> = rising.iter().rev().cloned().collect();
    // 3,000 runs of one record: two passes.
    assert_eq!(sort(&falling, 1, |first| first), rising);
    assert_eq!(sort(&[], 1, |first| first), vec![]);
}

#[test]
fn hosts_that_turn_up_late_change_no_run() {
    let dir = tempfile::tempdir().unwrap();
    let mut sorter = Sorter::new(dir.path(), 1);
    // Host number 1 ranks behind number 0 at first; then number 2 comes between them.
    sorter.push([1, 0, 0], |_| {}).unwrap();
    sorter.push([0, 0, 1], |_| {}).unwrap();
    sorter.spill(|first| first).unwrap();
    sorter.push([2, 0, 2], |_| {}).unwrap();
    let rank = |first: u64| [0, 2, 1].into_iter().nth(usize::try_from(first).unwrap()).unwrap();
    let keys: Vec<Key> =
        read(sorter.finish(rank).unwrap().records()).into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, [[0, 0, 1], [2, 0, 2], [1, 0, 0]]);
}

#[test]
fn a_part_is_read_from_its_place_and_values_can_be_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    let mut sorter = Sorter::new(dir.path(), 1 << 20);
    for n in 0..100_u64 {
        let len = if n == 40 { 1 << 20 } else { 10 };
        sorter.push([0, n, 0], |out| out.resize(out.len() + len, u8::try_from(n).unwrap())).unwrap();
    }
    let sorted = sorter.finish(|first| first).unwrap();
    let mut all = sorted.records();
    let mut places = Vec::new();
    while let Some(record) = all.header().unwrap() {
        places.push(record.position);
    }
    for window_bytes in [1, 64, 1 << 12] {
        let mut part = sorted.part(places[39], places[42], window_bytes);
        let keys: Vec<(u64, usize)> = read_some(&mut part);
        assert_eq!(keys, [(39, 10), (40, 1 << 20), (41, 10)]);
    }
    let mut part = sorted.part(places[40], places[43], 64);
    assert_eq!(part.header().unwrap().unwrap().key, [0, 40, 0]);
    part.release();
    assert_eq!(part.header().unwrap().unwrap().key, [0, 41, 0]);
    part.release();
    assert_eq!(part.value().unwrap(), [41; 10]);
    assert_eq!(part.value().unwrap(), [0_u8; 0]);
    assert_eq!(part.header().unwrap().unwrap().key, [0, 42, 0]);
    assert_eq!(part.header().unwrap(), None);
    assert_eq!(part.header().unwrap(), None);
}

fn read_some(part: &mut Records) -> Vec<(u64, usize)> {
    let mut found = Vec::new();
    while let Some(record) = part.header().unwrap() {
        found.push((record.key[1], part.value().unwrap().len()));
    }
    found
}
