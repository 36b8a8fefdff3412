//! The erasure ledger.

use super::fixture::{Fixture, address, entry, paths, shredded};
use crate::blob::keys::Access;
use crate::codec::{ENTRY_BYTES, Entry, EntryKind, KEY_HEAD_BYTES};
use crate::contract::ErrorKind;

fn at(ordinal: usize) -> usize {
    KEY_HEAD_BYTES + ordinal * ENTRY_BYTES
}

#[test]
fn tombstones_stay_and_revivals_lift_the_block() {
    let fixture = Fixture::new();
    let ledger = fixture.ledger();
    let for_one = Entry { subject: [1; 32], ..shredded(4) };
    ledger.append(&[shredded(1), shredded(2), for_one]).unwrap();
    ledger.append(&[entry(EntryKind::Revived, 1), entry(EntryKind::Revived, 3)]).unwrap();
    ledger.append(&[]).unwrap();
    for ledger in [ledger, fixture.ledger(), fixture.try_ledger(Access::Read).unwrap()] {
        let told = |n| (ledger.is_shredded(&address(n)), ledger.blocks(&address(n)));
        assert_eq!([1, 2, 3, 4].map(told), [(true, false), (true, true), (false, false), (false, false)]);
        assert_eq!(ledger.shredded(), 2);
        let entries: Vec<Entry> = ledger.entries().map(Result::unwrap).collect();
        assert_eq!(entries.len(), 5);
        assert_eq!((entries[0], entries[2], entries[4].kind), (shredded(1), for_one, EntryKind::Revived));
    }
    fixture.ledger().append(&[shredded(1)]).unwrap();
    assert!(fixture.ledger().blocks(&address(1)), "shredded anew");
}

#[test]
fn more_than_the_reserve_holds_is_taken() {
    let fixture = Fixture::new();
    let ledger = fixture.ledger();
    let many: Vec<Entry> = (0..1500u32).map(|n| Entry { slot: n, ..shredded((n % 250) as u8) }).collect();
    ledger.append(&many).unwrap();
    ledger.append(&many[..3]).unwrap();
    let ledger = fixture.ledger();
    assert_eq!(ledger.entries().count(), 1503);
    assert!(ledger.entries().zip(&many).all(|(read, entry)| read.unwrap() == *entry));
    assert!(fixture.read(&paths().erasures()).len() >= at(1503) + (32 << 10));
}

#[test]
fn each_flipped_byte_is_damage_or_takes_back_the_last_append() {
    let fixture = Fixture::new();
    let ledger = fixture.ledger();
    ledger.append(&[shredded(1)]).unwrap();
    ledger.append(&[shredded(2), shredded(3)]).unwrap();
    let whole = fixture.read(&paths().erasures());
    for byte in (0..512).chain(at(0)..at(3)) {
        fixture.write(&paths().erasures(), byte, &[whole[byte] ^ 0x41]);
        match fixture.try_ledger(Access::Read) {
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Corrupt, "byte {byte}: {error}");
                assert!(byte < at(1), "byte {byte}: {error}");
                assert!(error.place().offset.is_some());
                assert_eq!(fixture.try_ledger(Access::Write).unwrap_err().kind(), ErrorKind::Corrupt);
            }
            // The last append is there whole or not at all.
            Ok(ledger) => {
                assert!(byte >= at(1), "byte {byte}");
                assert_eq!(ledger.shredded(), 1, "byte {byte}");
                // Who reads changes nothing.
                assert_ne!(fixture.read(&paths().erasures()), whole);
                let ledger = fixture.ledger();
                assert_eq!(fixture.read(&paths().erasures())[at(1)..at(3)], [0; 256]);
                ledger.append(&[shredded(9)]).unwrap();
                assert!(fixture.ledger().is_shredded(&address(9)));
            }
        }
        fixture.write(&paths().erasures(), 0, &whole);
    }
}

#[test]
fn a_hole_in_front_of_another_append_is_damage() {
    let fixture = Fixture::new();
    let ledger = fixture.ledger();
    for n in 0..9 {
        ledger.append(&[shredded(n)]).unwrap();
    }
    // A whole sector of zeros: it looks like free space.
    fixture.write(&paths().erasures(), at(4), &[0; 512]);
    for access in [Access::Read, Access::Write] {
        let error = fixture.try_ledger(access).unwrap_err();
        assert_eq!((error.kind(), error.place().offset), (ErrorKind::Corrupt, Some(at(4) as u64)));
    }
}

#[test]
fn entries_of_another_place_are_damage() {
    let fixture = Fixture::new();
    fixture.ledger().append(&[shredded(1)]).unwrap();
    fixture.ledger().append(&[shredded(2)]).unwrap();
    let bytes = fixture.read(&paths().erasures());
    fixture.write(&paths().erasures(), at(2), &bytes[at(0)..at(1)]);
    // A copy of an entry is none, so it is taken for the rest of an append.
    assert_eq!(fixture.ledger().shredded(), 2);
    fixture.write(&paths().erasures(), at(0), &bytes[at(1)..at(2)]);
    assert_eq!(fixture.try_ledger(Access::Read).unwrap_err().kind(), ErrorKind::Corrupt);
}
