//! Look-ups over many segments give what the segments' own tables give, whatever happens to tier files.

use std::path::PathBuf;
use std::sync::Arc;

use proptest::prelude::*;

use super::fixture::{Fixture, STORE, fingerprint, plain};
use crate::contract::{ErrorKind, EventId};
use crate::io::OpenMode;
use crate::log::ids::{IdTables, TierFiles};
use crate::log::sealed::SealedSegment;
use crate::log::tiers::Tier;

const DIR: &str = "/store/ids";

fn tables(fixture: &Fixture, segments: &[Arc<SealedSegment>], files: TierFiles) -> IdTables {
    IdTables::open(&fixture.vfs, DIR.as_ref(), STORE, segments.to_vec(), files).unwrap()
}

/// Adds a tier, and removes the files that it replaces.
fn with_tier(tables: &IdTables, tier: Arc<Tier>) -> IdTables {
    let (next, useless) = tables.with_tier(tier);
    for path in useless {
        tables.vfs.remove(&path).unwrap();
    }
    next
}

fn merge_all(mut tables: IdTables) -> IdTables {
    while let Some(plan) = tables.plan_merge() {
        tables = with_tier(&tables, plan.merge().unwrap());
    }
    tables
}

/// Segments whose ids come from few, so that several segments hold the same one.
fn segments(fixture: &Fixture, ids: &[Vec<u8>]) -> Vec<Arc<SealedSegment>> {
    let seal = |(ids, number): (&Vec<u8>, u64)| {
        let events: Vec<_> =
            ids.iter().zip(0u64..).map(|(id, seq)| plain(0, seq, &format!("id {id}"))).collect();
        fixture.sealed(number, &events)
    };
    ids.iter().zip(1u64..).map(seal).collect()
}

/// Asks for every id that can be there and compares with the segments themselves.
fn assert_right(tables: &IdTables) {
    for id in 0..=u8::MAX {
        let print = fingerprint(EventId::new(&format!("id {id}")).unwrap().as_ref());
        let found: Vec<(u64, u64)> = tables.candidates(print).collect::<Result<_, _>>().unwrap();
        let expected: Vec<(u64, u64)> = tables
            .segments
            .iter()
            .rev()
            .flat_map(|segment| {
                segment.candidates(print).unwrap().rev().map(|offset| (segment.number(), offset))
            })
            .collect();
        assert_eq!(found, expected, "id {id}");
    }
}

fn files(fixture: &Fixture) -> Vec<String> {
    fixture.vfs.list(DIR.as_ref()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn merged_tables_answer_as_the_segments_do(
        ids in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..6), 1..80),
        merge_at in proptest::collection::vec(any::<bool>(), 80),
    ) {
        let fixture = Fixture::new();
        let all = segments(&fixture, &ids);
        let mut current = tables(&fixture, &[], TierFiles::Tidy);
        for (segment, merge) in all.iter().zip(merge_at) {
            current = current.with_segment(segment.clone());
            if merge && let Some(plan) = current.plan_merge() {
                current = with_tier(&current, plan.merge().unwrap());
            }
        }
        assert_right(&current);
        let reopened = tables(&fixture, &all, TierFiles::Keep);
        prop_assert_eq!(reopened.tiers().count(), current.tiers().count());
        assert_right(&reopened);
        let merged = merge_all(reopened);
        prop_assert!(merged.tables.len() <= 7 * 3);
        prop_assert_eq!(files(&fixture).len(), merged.tiers().count());
        assert_right(&merged);
    }
}

/// Eight segments merged into one tier file of about 1 KiB.
fn merged() -> (Fixture, Vec<Arc<SealedSegment>>, PathBuf) {
    let fixture = Fixture::new();
    let ids: Vec<Vec<u8>> = (0..8u8).map(|n| vec![n, n + 1, 100]).collect();
    let all = segments(&fixture, &ids);
    let merged = merge_all(tables(&fixture, &all, TierFiles::Tidy));
    assert_eq!((merged.tables.len(), merged.tiers().count()), (1, 1));
    let path = merged.tiers().next().unwrap().path().to_path_buf();
    (fixture, all, path)
}

#[test]
fn a_damaged_tier_file_changes_no_answer_and_is_made_anew() {
    let (fixture, all, path) = merged();
    let sound = fixture.read(&path);
    for bit in 0..sound.len() * 8 {
        let mut bytes = sound.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        fixture.write(&path, &bytes);
        let current = tables(&fixture, &all, TierFiles::Keep);
        for id in [bit % 9, 100, 200] {
            let print = fingerprint(EventId::new(&format!("id {id}")).unwrap().as_ref());
            let found: Vec<_> = current.candidates(print).collect::<Result<_, _>>().unwrap();
            let plain = tables(&fixture, &all, TierFiles::Keep);
            let expected: Vec<_> = plain
                .segments
                .iter()
                .rev()
                .flat_map(|s| s.candidates(print).unwrap().rev().map(|offset| (s.number(), offset)))
                .collect();
            assert_eq!(found, expected, "bit {bit}, id {id}");
        }
        if bit % 61 == 0 {
            assert_right(&current);
            assert_eq!(merge_all(current).tiers().count(), 1);
            assert_eq!(fixture.read(&path), sound, "bit {bit}");
        }
    }
}

#[test]
fn a_cut_tier_file_is_ignored_by_readers_and_removed_by_writers() {
    let (fixture, all, path) = merged();
    let sound = fixture.read(&path);
    for length in 0..sound.len() {
        fixture.write(&path, &sound[..length]);
        assert_eq!(tables(&fixture, &all, TierFiles::Keep).tiers().count(), 0, "{length} bytes");
    }
    assert_right(&tables(&fixture, &all, TierFiles::Keep));
    assert_eq!(files(&fixture).len(), 1);
    assert_eq!(tables(&fixture, &all, TierFiles::Tidy).tables.len(), 8);
    assert_eq!(files(&fixture), Vec::<String>::new());
    let again = merge_all(tables(&fixture, &all, TierFiles::Tidy));
    assert_right(&again);
    assert_eq!(fixture.read(&path), sound);
}

#[test]
fn a_tier_file_that_vanishes_or_shrinks_while_it_is_open_changes_no_answer() {
    let (fixture, all, path) = merged();
    let sound = fixture.read(&path);
    let before = tables(&fixture, &all, TierFiles::Keep);
    fixture.vfs.remove(&path).unwrap();
    assert_right(&before);
    fixture.write(&path, &sound[..sound.len() - 8]);
    assert_right(&before);
    assert!(before.plan_merge().is_some());
}

#[test]
fn a_tier_file_of_other_segments_is_not_believed() {
    let (fixture, mut all, path) = merged();
    // The third segment was repaired: same number, other events.
    all[2] = fixture.sealed(3, &[plain(0, 0, "id 200")]);
    let current = tables(&fixture, &all, TierFiles::Keep);
    assert_eq!(current.tiers().count(), 0);
    assert_right(&current);
    // A segment that was missing came back.
    let mut fewer = all.clone();
    let back = fewer.remove(4);
    let extra = fixture.sealed(9, &[plain(0, 0, "id 7")]);
    fewer.push(extra);
    let nine = merge_all(tables(&fixture, &fewer, TierFiles::Tidy));
    assert_eq!(nine.tiers().count(), 1);
    let whole = nine.with_segment(back);
    assert_eq!(whole.tiers().count(), 0);
    assert_right(&whole);
    // Another store's file.
    let other = IdTables::open(&fixture.vfs, DIR.as_ref(), [9; 16], all.clone(), TierFiles::Keep).unwrap();
    assert_eq!(other.tiers().count(), 0);
    assert!(fixture.vfs.exists(path.parent().unwrap()).unwrap());
}

#[test]
fn an_evicted_segment_is_no_place_to_look() {
    let (fixture, all, _) = merged();
    let current = tables(&fixture, &all[3..], TierFiles::Tidy);
    assert_eq!(current.tiers().count(), 1);
    assert_right(&current);
}

#[test]
fn of_overlapping_files_the_larger_wins() {
    let fixture = Fixture::new();
    let ids: Vec<Vec<u8>> = (0..64u8).map(|n| vec![n, n / 2]).collect();
    let all = segments(&fixture, &ids);
    let mut current = tables(&fixture, &all[..63], TierFiles::Tidy);
    current = merge_all(current);
    assert_eq!(current.tiers().count(), 7);
    let small: Vec<(PathBuf, Vec<u8>)> =
        current.tiers().map(|tier| (tier.path().to_path_buf(), fixture.read(tier.path()))).collect();
    let merged = merge_all(current.with_segment(all[63].clone()));
    assert_eq!(merged.tables.len(), 1);
    assert_eq!(files(&fixture).len(), 1);
    // Readers of the older tables find their files gone, and ask the segments.
    assert_right(&current);
    // A crash came between the rename and the removal; another left a file unfinished.
    for (path, bytes) in &small {
        fixture.write(path, bytes);
    }
    let unfinished = PathBuf::from(DIR).join("1-0000000001-0000000008.ids.tmp");
    fixture.vfs.open(&unfinished, OpenMode::Create).unwrap().write_at(&[7; 100], 0).unwrap();
    let foreign = PathBuf::from(DIR).join("notes.txt");
    fixture.vfs.open(&foreign, OpenMode::Create).unwrap();
    assert_right(&tables(&fixture, &all, TierFiles::Keep));
    assert_eq!(files(&fixture).len(), 10);
    let tidied = tables(&fixture, &all, TierFiles::Tidy);
    assert_eq!(tidied.tables.len(), 1);
    assert_eq!(files(&fixture), ["2-0000000001-0000000064.ids", "notes.txt"]);
    assert_right(&tidied);
}

#[test]
fn damage_in_a_segment_is_told_not_hidden() {
    let (fixture, mut all, path) = merged();
    fixture.vfs.remove(&path).unwrap();
    let mut bytes = fixture.read(all[5].path());
    let ids = all[5].trailer().section(crate::codec::Section::Ids);
    bytes[ids.offset as usize + 30] ^= 1;
    fixture.write(all[5].path(), &bytes);
    all[5] = fixture.open(all[5].path()).unwrap();
    let current = tables(&fixture, &all, TierFiles::Tidy);
    let print = fingerprint(EventId::new("id 5").unwrap().as_ref());
    let errors: Vec<_> = current.candidates(print).filter_map(Result::err).collect();
    assert_eq!(errors.len(), 1);
    assert_eq!((errors[0].kind(), errors[0].place().segment), (ErrorKind::Corrupt, Some(6)));
    let refused = current.plan_merge().unwrap().merge().unwrap_err();
    assert_eq!((refused.kind(), refused.place().segment), (ErrorKind::Corrupt, Some(6)));
    assert_eq!(files(&fixture), Vec::<String>::new());
}
