#![expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "test data is small")]

use super::*;
use proptest::prelude::*;

fn entry(fingerprint: u64, first: u32, second: u32) -> TableEntry {
    TableEntry { fingerprint: Fingerprint(fingerprint), columns: [first, second] }
}

/// Few distinct values, so that equal fingerprints and neighbours are common.
fn fingerprints() -> impl Strategy<Value = u64> {
    prop_oneof![any::<u64>(), 0u64..8, (u64::MAX - 8)..=u64::MAX, Just(1 << 63)]
}

fn find(layout: &TableLayout, bytes: &[u8], fingerprint: u64) -> Vec<TableEntry> {
    let fingerprint = Fingerprint(fingerprint);
    let partition = layout.partition(bytes, layout.partition_of(fingerprint)).unwrap();
    assert!(partition.filter_checks() && partition.entries_check());
    let found = partition.find(layout, fingerprint);
    assert!(found.is_empty() || partition.may_contain(fingerprint));
    found.map(|index| partition.entry(index).unwrap()).collect()
}

proptest! {
    #[test]
    fn finds_what_was_written(
        entries in proptest::collection::btree_set((fingerprints(), any::<u32>(), any::<u32>()), 0..200),
        others in proptest::collection::vec(fingerprints(), 8), columns in 1usize..=2,
    ) {
        let mut entries: Vec<_> = entries.into_iter()
            .map(|(print, a, b)| entry(print, a, if columns == 2 { b } else { 0 })).collect();
        entries.dedup();
        let bytes = write_table(&entries, columns).unwrap();
        let layout = TableLayout::read(&bytes).unwrap();
        prop_assert_eq!(layout.entries(), entries.len() as u64);
        prop_assert_eq!(layout.columns(), columns);
        let asked = entries.iter().map(|entry| entry.fingerprint.0).chain(others);
        for print in asked {
            let expected: Vec<_> = entries.iter().copied().filter(|entry| entry.fingerprint.0 == print).collect();
            prop_assert_eq!(find(&layout, &bytes, print), expected);
        }
    }

    #[test]
    fn every_flipped_bit_shows(
        entries in proptest::collection::btree_set((any::<u64>(), any::<u32>()), 0..40), bit: prop::sample::Index,
    ) {
        let entries: Vec<_> = entries.into_iter().map(|(print, a)| entry(print, a, 0)).collect();
        let mut bytes = write_table(&entries, 1).unwrap();
        let bit = bit.index(bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        let shows = TableLayout::read(&bytes).map_or(true, |layout| {
            (0..layout.partitions()).any(|number| {
                let partition = layout.partition(&bytes, number).unwrap();
                !partition.filter_checks() || !partition.entries_check()
            })
        });
        prop_assert!(shows);
    }

    #[test]
    fn hostile_bytes_with_right_checksums_never_panic(
        entries in proptest::collection::btree_set((any::<u64>(), any::<u32>()), 0..40),
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        from_end: bool, asked in proptest::collection::vec(fingerprints(), 4),
    ) {
        let entries: Vec<_> = entries.into_iter().map(|(print, a)| entry(print, a, 0)).collect();
        let mut bytes = write_table(&entries, 1).unwrap();
        let window = bytes.len().min(TABLE_FOOT_BYTES + DESCRIPTOR_BYTES);
        for (at, value) in edits {
            let at = if from_end { bytes.len() - 1 - at.index(window) } else { at.index(bytes.len()) };
            bytes[at] = value;
        }
        fix_checksums(&mut bytes);
        if let Ok(layout) = TableLayout::read(&bytes) {
            for print in asked.into_iter().map(Fingerprint) {
                if let Some(partition) = layout.partition(&bytes, layout.partition_of(print)) {
                    let _ = (partition.may_contain(print), partition.filter_checks(), partition.entries_check());
                    for index in partition.find(&layout, print) {
                        let _ = partition.entry(index);
                    }
                }
            }
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = TableLayout::read(&bytes);
    }
}

fn fix_checksums(bytes: &mut [u8]) {
    let foot = bytes.len() - TABLE_FOOT_BYTES;
    let bits = u32::from_le_bytes(bytes[foot..foot + 4].try_into().unwrap());
    if let Some(start) =
        1usize.checked_shl(bits).and_then(|n| foot.checked_sub(n.checked_mul(DESCRIPTOR_BYTES)?))
    {
        let crc = crc32c::crc32c(&bytes[start..foot]);
        bytes[foot + 24..foot + 28].copy_from_slice(&crc.to_le_bytes());
    }
    let crc = crc32c::crc32c(&bytes[foot..foot + 28]);
    bytes[foot + 28..].copy_from_slice(&crc.to_le_bytes());
}

#[test]
fn many_partitions() {
    let entries: Vec<_> = (0..300_000u64).map(|i| entry(i * (u64::MAX / 300_000), i as u32, 7)).collect();
    let bytes = write_table(&entries, 2).unwrap();
    let layout = TableLayout::read(&bytes).unwrap();
    assert_eq!(layout.partitions(), 8);
    for entry in entries.iter().step_by(997) {
        assert_eq!(find(&layout, &bytes, entry.fingerprint.0), [*entry]);
        assert_eq!(find(&layout, &bytes, entry.fingerprint.0 + 1), []);
    }
    let per_entry = bytes.len() as f64 / 300_000.0;
    assert!(per_entry < 17.4, "{per_entry} bytes an entry");
}

#[test]
fn refuses_entries_out_of_order_or_count() {
    assert!(write_table(&[entry(2, 0, 0), entry(1, 0, 0)], 1).is_err());
    assert!(write_table(&[entry(1, 0, 0), entry(1, 0, 0)], 1).is_err());
    let mut out = Vec::new();
    let mut writer = TableWriter::new(2, 1);
    writer.push(entry(1, 0, 0), &mut out).unwrap();
    assert!(writer.finish(&mut out).is_err());
}
