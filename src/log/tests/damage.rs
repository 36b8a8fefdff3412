//! Damage is found and named, and never a panic or a wrong answer about memory.

use proptest::prelude::*;

use super::fixture::{Fixture, Plain, ask_everything, events};
use crate::codec::{Section, TRAILER_BYTES, Trailer};
use crate::contract::{ErrorKind, EventId};

/// A small segment of three hosts with unresolved causes, sealed; about 4 KiB.
fn small() -> (Fixture, std::path::PathBuf, Vec<Plain>) {
    let events: Vec<Plain> = (0..9u64)
        .map(|n| Plain {
            host: (n % 3) as u32,
            seq: n,
            id: EventId::new(&format!("id {n}")).unwrap(),
            kind: (n % 2) as u32,
            causes: vec![(EventId::new(&format!("cause {}", n % 2)).unwrap(), n % 4 == 0)],
            payload: "{\"n\":1}".to_owned(),
        })
        .collect();
    let fixture = Fixture::new();
    let path = fixture.seal(3, &events).path;
    (fixture, path, events)
}

#[test]
fn every_flipped_bit_is_found() {
    let (fixture, path, events) = small();
    let sound = fixture.read(&path);
    for bit in 0..sound.len() * 8 {
        let mut bytes = sound.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        fixture.write(&path, &bytes);
        match fixture.open(&path) {
            Err(error) => {
                assert_ne!(error.kind(), ErrorKind::Io, "bit {bit}: {error}");
                assert_eq!(error.place().path.as_deref(), Some(&*path), "bit {bit}: {error}");
            }
            Ok(segment) => {
                if bit % 7 == 0 {
                    ask_everything(&segment, &events);
                }
                let findings = segment.verify(&mut |_| {}).unwrap();
                assert!(!findings.is_empty(), "bit {bit}");
                for finding in findings {
                    assert_eq!(finding.kind(), ErrorKind::Corrupt);
                    assert_eq!(finding.place().segment, Some(3), "bit {bit}: {finding}");
                    assert_eq!(finding.place().path.as_deref(), Some(&*path), "bit {bit}: {finding}");
                }
            }
        }
    }
}

#[test]
fn every_cut_is_found_at_open() {
    let (fixture, path, _) = small();
    let sound = fixture.read(&path);
    for length in (0..sound.len()).step_by(64).chain(sound.len() - 8..sound.len()) {
        fixture.write(&path, &sound[..length]);
        assert_eq!(fixture.open(&path).unwrap_err().kind(), ErrorKind::Corrupt, "{length} bytes");
    }
    let mut longer = sound.clone();
    longer.extend_from_slice(&[0; 64]);
    fixture.write(&path, &longer);
    assert_eq!(fixture.open(&path).unwrap_err().kind(), ErrorKind::Corrupt);
}

#[test]
fn a_file_that_shrinks_after_open_is_never_mapped() {
    let (fixture, path, events) = small();
    let sound = fixture.read(&path);
    let segment = fixture.open(&path).unwrap();
    fixture.write(&path, &sound[..sound.len() - 64]);
    assert_eq!(segment.record_at(192).unwrap_err().kind(), ErrorKind::Corrupt);
    ask_everything(&segment, &events);
    // A whole file of another history is none of ours either.
    let other = Fixture::new();
    let path_of_other = other.seal(3, &events[..8]).path;
    fixture.write(&path, &other.read(&path_of_other));
    assert_eq!(segment.record_at(192).unwrap_err().kind(), ErrorKind::Corrupt);
    fixture.write(&path, &sound);
    assert_eq!(segment.verify(&mut |_| {}).unwrap().len(), 0);
}

#[test]
fn a_missing_file_is_no_damage() {
    let (fixture, path, _) = small();
    let segment = fixture.open(&path).unwrap();
    fixture.vfs.remove(&path).unwrap();
    assert_eq!(segment.record_at(192).unwrap_err().kind(), ErrorKind::Io);
    assert_eq!(segment.verify(&mut |_| {}).unwrap_err().kind(), ErrorKind::Io);
    assert_eq!(fixture.open(&path).unwrap_err().kind(), ErrorKind::Io);
}

#[test]
fn damage_in_several_places_is_named_in_one_go() {
    let fixture = Fixture::new();
    let events: Vec<Plain> = (0..400u64)
        .map(|n| Plain {
            host: (n % 3) as u32,
            seq: n,
            id: EventId::new(&format!("id {n}")).unwrap(),
            kind: 0,
            causes: Vec::new(),
            payload: "x".repeat(400),
        })
        .collect();
    let segment = fixture.sealed(1, &events);
    let mut offsets: Vec<u64> = [5u32, 200, 399].map(|n| segment.arrival(n).unwrap().unwrap()).into();
    offsets.sort_unstable();
    let mut bytes = fixture.read(segment.path());
    for offset in &offsets {
        bytes[*offset as usize + 50] ^= 1;
    }
    let kinds = segment.trailer().section(Section::Kinds).offset;
    bytes[kinds as usize] ^= 1;
    fixture.write(segment.path(), &bytes);
    let segment = fixture.open(segment.path()).unwrap();
    let mut steps = Vec::new();
    let findings = segment.verify(&mut |bytes| steps.push(bytes)).unwrap();
    let found: Vec<u64> = findings.iter().filter_map(|finding| finding.place().offset).collect();
    assert_eq!(found[..2], [0, kinds]);
    assert_eq!(found[2..], offsets);
    assert!(steps.is_sorted());
    // What is whole can be read.
    let whole = segment.arrivals().unwrap().filter(|offset| segment.record_at(*offset).is_ok()).count();
    assert_eq!(whole, 397);
}

/// Recomputes every checksum a reader could check, so that only what the bytes say is wrong.
fn fix_checksums(bytes: &mut [u8]) {
    let Some(start) = bytes.len().checked_sub(TRAILER_BYTES) else { return };
    for section in 0..7 {
        let at = start + section * 24;
        let word = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        let (offset, length) = (word(bytes, at) as usize, word(bytes, at + 8) as usize);
        let range = offset..offset.saturating_add(length);
        if let Some(section_bytes) = bytes.get(range) {
            let crc = crc32c::crc32c(section_bytes);
            bytes[at + 16..at + 20].copy_from_slice(&crc.to_le_bytes());
        }
    }
    let root = *blake3::hash(&bytes[..start]).as_bytes();
    bytes[start + 224..start + 256].copy_from_slice(&root);
    let crc = crc32c::crc32c(&bytes[start..start + 256]);
    bytes[start + 256..start + 260].copy_from_slice(&crc.to_le_bytes());
}

fn trailer_of(bytes: &[u8]) -> Trailer {
    Trailer::from_bytes(bytes.last_chunk().unwrap(), bytes.len() as u64).unwrap()
}

#[test]
fn every_section_is_compared_with_the_frames() {
    let (fixture, path, events) = small();
    let sound = fixture.read(&path);
    let trailer = trailer_of(&sound);
    for section in Section::ALL {
        let place = trailer.section(section);
        for at in place.offset..place.offset + place.bytes {
            let mut bytes = sound.clone();
            bytes[at as usize] ^= 1;
            fix_checksums(&mut bytes);
            fixture.write(&path, &bytes);
            if let Ok(segment) = fixture.open(&path) {
                ask_everything(&segment, &events);
                // The state holds what no frame can confirm, such as names.
                let known = section == Section::State || !segment.verify(&mut |_| {}).unwrap().is_empty();
                assert!(known, "{section:?} at {at}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn hostile_files_with_right_checksums_never_panic(
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6), behind_frames: bool,
    ) {
        let (fixture, path, events) = small();
        let mut bytes = fixture.read(&path);
        let end = if behind_frames { trailer_of(&bytes).frames_end as usize } else { 0 };
        for (at, value) in edits {
            let at = end + at.index(bytes.len() - end);
            bytes[at] = value;
        }
        fix_checksums(&mut bytes);
        fixture.write(&path, &bytes);
        if let Ok(segment) = fixture.open(&path) {
            ask_everything(&segment, &events);
            let _ = segment.verify(&mut |_| {});
        }
    }

    #[test]
    fn hostile_trailers_never_panic(words in proptest::collection::vec((0usize..26, any::<u64>(), any::<bool>()), 1..4)) {
        let (fixture, path, events) = small();
        let mut bytes = fixture.read(&path);
        let start = bytes.len() - TRAILER_BYTES;
        for (word, value, small) in words {
            let value = if small { value % 5000 / 8 * 8 } else { value };
            bytes[start + word * 8..][..8].copy_from_slice(&value.to_le_bytes());
        }
        fix_checksums(&mut bytes);
        fixture.write(&path, &bytes);
        if let Ok(segment) = fixture.open(&path) {
            ask_everything(&segment, &events);
            let _ = segment.verify(&mut |_| {});
        }
    }

    #[test]
    fn random_flips_of_random_segments_are_found(events in events(12), bits in proptest::collection::vec(any::<prop::sample::Index>(), 1..3)) {
        let fixture = Fixture::new();
        let path = fixture.seal(3, &events).path;
        let mut bytes = fixture.read(&path);
        let flipped: std::collections::BTreeSet<usize> = bits.iter().map(|bit| bit.index(bytes.len() * 8)).collect();
        for bit in flipped {
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        fixture.write(&path, &bytes);
        let found = fixture.open(&path).map_or(true, |segment| {
            ask_everything(&segment, &events);
            !segment.verify(&mut |_| {}).unwrap().is_empty()
        });
        prop_assert!(found);
    }
}
