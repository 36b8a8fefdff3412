//! Bytes that nobody wrote: noticed or harmless, and never another key.

use super::fixture::STORE;
use super::fixture::{Fixture, address, data_key, paths, record, shredded, unwrapped};
use crate::blob::keys::{Access, End, Holding, SlotState, Unwrapped};
use crate::codec::{KEY_HEAD_BYTES, Slot, SlotMark};
use crate::contract::{Error, ErrorKind};

fn findings(fixture: &Fixture) -> Vec<Error> {
    let mut found = Vec::new();
    fixture
        .reader()
        .verify(&mut |error| {
            found.push(error);
            Ok(())
        })
        .unwrap();
    found
}

/// Two records of two subjects, and an erasure.
fn sample() -> Fixture {
    let fixture = Fixture::new();
    let keys = fixture.open();
    let ada = keys.subject_or_create(Some("Ada")).unwrap();
    keys.allocate(record(1), 1, &data_key(11)).unwrap();
    keys.add_wrap(0, record(1), ada, &data_key(11)).unwrap();
    keys.sync().unwrap();
    fixture.ledger().append(&[shredded(5), shredded(6)]).unwrap();
    fixture
}

#[test]
fn a_flipped_byte_of_subjects_is_found_and_gives_no_other_key() {
    let fixture = sample();
    assert!(findings(&fixture).is_empty());
    let whole = fixture.read(&paths().subjects());
    assert_eq!(whole.len(), 4 * 1024);
    for at in 0..whole.len() {
        fixture.write(&paths().subjects(), at, &[whole[at] ^ 0x41]);
        match fixture.try_open(Access::Read) {
            // Without a whole head there is nothing to go by.
            Err(error) => {
                assert_eq!((error.kind(), at < 512), (ErrorKind::Corrupt, true), "byte {at}: {error}");
                assert!(error.place().path.is_some() && error.place().offset.is_some());
            }
            Ok(keys) => {
                assert!(!findings(&fixture).is_empty(), "byte {at} is not found");
                match keys.unwrap(0, record(1)) {
                    Ok(Unwrapped::Key(key)) => assert_eq!(key.bytes(), &[11; 32], "byte {at}"),
                    Ok(dead) => panic!("byte {at}: {dead:?}"),
                    Err(error) => assert_eq!(error.kind(), ErrorKind::Corrupt, "byte {at}"),
                }
            }
        }
        fixture.write(&paths().subjects(), at, &whole[at..=at]);
    }
}

#[test]
fn a_flipped_byte_of_the_master_key_is_a_wrong_key() {
    let fixture = sample();
    let whole = fixture.read(&paths().master());
    for at in 0..whole.len() {
        fixture.write(&paths().master(), at, &[whole[at] ^ 0x41]);
        let expected = if at < 512 { Holding::Wrong } else { Holding::Held };
        assert_eq!(fixture.reader().holding().unwrap(), expected, "byte {at}");
        fixture.write(&paths().master(), at, &whole[at..=at]);
    }
}

#[test]
fn a_flipped_byte_of_a_slot_is_found_and_ends_with_its_record() {
    let fixture = sample();
    let whole = fixture.read(&paths().slots());
    let bytes = (0..512).chain(KEY_HEAD_BYTES..KEY_HEAD_BYTES + 256);
    for at in bytes {
        fixture.write(&paths().slots(), at, &[whole[at] ^ 0x41]);
        let Ok(keys) = fixture.try_open(Access::Write) else {
            assert!(at < 512, "byte {at}");
            fixture.write(&paths().slots(), at, &whole[at..=at]);
            continue;
        };
        assert_eq!(findings(&fixture).len(), 1, "byte {at}");
        match keys.unwrap(0, record(1)) {
            Ok(Unwrapped::Key(key)) => assert!(at >= KEY_HEAD_BYTES + 128 && key.bytes() == &[11; 32]),
            Ok(dead) => panic!("byte {at}: {dead:?}"),
            Err(error) => assert_eq!(error.place().offset, Some(KEY_HEAD_BYTES as u64), "byte {at}"),
        }
        // Shredding reaches both wraps, though the way from one to the other is damaged.
        keys.end(0, record(1), End::Shredded).unwrap();
        assert_eq!(keys.state(0, record(1)).unwrap(), SlotState::Shredded);
        let left = fixture.read(&paths().slots());
        for slot in [0, 1] {
            let wrapped = KEY_HEAD_BYTES + slot * 128 + 40;
            assert_eq!(left[wrapped..wrapped + 40], [0; 40], "byte {at}, slot {slot}");
        }
        fixture.write(&paths().slots(), 0, &whole);
    }
}

#[test]
fn hostile_files_cost_neither_time_nor_memory() {
    let fixture = sample();
    let file = |path: &std::path::Path| fixture.vfs.open(path, crate::io::OpenMode::Write).unwrap();
    // Chains cannot come back: a link that does not lead on is damage though it checks.
    let back = Slot {
        mark: SlotMark::Live,
        pinned: false,
        record: record(1),
        subject: 9,
        next: Some(0),
        wrapped: [1; 40],
    };
    fixture.write(&paths().slots(), KEY_HEAD_BYTES + 128, &back.to_bytes(&STORE, 1));
    let keys = fixture.open();
    assert!(keys.is_held_by(0, record(1), 7).is_err());
    assert_eq!(findings(&fixture).len(), 1);
    // A subject that there is none of.
    let stray = Slot { next: None, ..back };
    fixture.write(&paths().slots(), KEY_HEAD_BYTES + 128, &stray.to_bytes(&STORE, 1));
    assert_eq!(findings(&fixture).len(), 1);
    keys.end(0, record(1), End::Shredded).unwrap();
    assert_eq!(unwrapped(&keys, 0, 1), None);
    // Zeros without end behind the subjects, the slots and the ledger.
    for path in [paths().subjects(), paths().slots(), paths().erasures()] {
        file(&path).set_size(64 << 20).unwrap();
    }
    let keys = fixture.open();
    assert!(keys.slots() >= 2);
    assert_eq!(keys.allocate(record(3), 1, &data_key(3)).unwrap() + 1, keys.slots());
    assert!(fixture.ledger().is_shredded(&address(5)));
}
