//! Round trips, and what each flipped bit of each part is called.

use proptest::prelude::*;

use super::head::body_bytes_of;
use super::*;
use crate::contract::{Address, AddressKind};

const STORE: [u8; 16] = [7; 16];

fn address(kind: AddressKind, byte: u8) -> Address {
    Address::new(kind, [byte; 32])
}

fn head() -> RecordHead {
    RecordHead {
        kind: RecordKind::Content,
        id: [9; 16],
        slot: 77,
        body_crc: 0x1234_5678,
        content_bytes: 70_000,
        body_bytes: body_bytes_of(70_000, 2).unwrap(),
        durable: 64,
        addresses: vec![address(AddressKind::Blake3, 1), address(AddressKind::Sha256, 2)],
    }
}

#[test]
fn a_head_is_read_as_it_was_written_and_only_at_its_place() {
    let bytes = head().to_bytes(&STORE, 3, 64).unwrap();
    assert_eq!(bytes.len(), 144);
    assert_eq!(RecordHead::from_bytes(&bytes, &STORE, 3, 64), Ok(head()));
    for (store, pack, offset) in [([8; 16], 3, 64), (STORE, 4, 64), (STORE, 3, 72)] {
        assert!(RecordHead::from_bytes(&bytes, &store, pack, offset).is_err());
    }
}

#[test]
fn every_flipped_bit_of_every_part_is_seen() {
    let header = PackHeader { store: STORE, number: 3 };
    let entry = FooterEntry {
        address: address(AddressKind::Sha256, 4),
        alias: true,
        slot: 1,
        id: [1; 16],
        offset: 64,
        content_bytes: 9,
    };
    let entries_crc = FooterTail::crc_of(&entry.to_bytes(), &STORE, 3);
    let tail =
        FooterTail { entries: 1, entries_offset: 640, records: 1, records_end: 640, aliases: 1, entries_crc };
    let (header_bytes, head_bytes) = (header.to_bytes(), head().to_bytes(&STORE, 3, 64).unwrap());
    let (entry_bytes, tail_bytes) = (entry.to_bytes(), tail.to_bytes(&STORE, 3));
    let file = 640 + 72 + 64;
    let read_tail = |bytes: &[u8]| FooterTail::from_bytes(bytes.try_into().unwrap(), &STORE, 3, file);
    assert_eq!(header.check(&header_bytes), Ok(()));
    assert_eq!(FooterEntry::from_bytes(&entry_bytes), Ok(entry));
    assert_eq!(read_tail(&tail_bytes), Ok(tail));
    let flips = |bytes: &[u8], seen: &dyn Fn(&[u8]) -> bool| {
        for bit in 0..bytes.len() * 8 {
            let mut bad = bytes.to_vec();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(seen(&bad), "bit {bit}");
        }
    };
    flips(&header_bytes, &|bad| matches!(header.check(bad.try_into().unwrap()), Err(PackError::Damaged(_))));
    flips(&head_bytes, &|bad| RecordHead::from_bytes(bad, &STORE, 3, 64).is_err());
    flips(&entry_bytes, &|bad| FooterTail::crc_of(bad, &STORE, 3) != entries_crc);
    flips(&tail_bytes, &|bad| read_tail(bad).is_err());
}

#[test]
fn a_newer_pack_is_no_damage() {
    let header = PackHeader { store: STORE, number: 3 };
    let altered = |at: usize, byte: u8| {
        let mut bytes = header.to_bytes();
        bytes[at] = byte;
        let crc = crc32c::crc32c_append(seed(&STORE, &[3]), &bytes[..60]);
        bytes[60..].copy_from_slice(&crc.to_le_bytes());
        header.check(&bytes)
    };
    assert_eq!(altered(8, 2), Err(PackError::Version(2)));
    assert_eq!(altered(16, 1), Err(PackError::Features(1)));
    assert_eq!(altered(12, 1), Ok(()));
}

#[test]
fn lengths_that_lie_are_refused() {
    for (content_bytes, body_bytes) in [(70_000, 70_000), (u64::MAX, u64::MAX), (0, u64::MAX)] {
        let lie = RecordHead { content_bytes, body_bytes, ..head() };
        assert!(RecordHead::from_bytes(&lie.to_bytes(&STORE, 1, 0).unwrap(), &STORE, 1, 0).is_err());
    }
    assert_eq!(body_bytes_of(u64::MAX, 1), None);
    assert_eq!(body_bytes_of(0, 1), Some(16 + 80 + 16));
}

proptest! {
    #[test]
    fn bytes_that_are_anything_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..512), at in 0u64..9) {
        let _ = RecordHead::peek_bytes(&bytes);
        let _ = RecordHead::from_bytes(&bytes, &STORE, 1, at);
        if let Some(entry) = bytes.first_chunk() {
            let _ = FooterEntry::from_bytes(entry);
        }
        if let Some(tail) = bytes.first_chunk() {
            let _ = FooterTail::from_bytes(tail, &STORE, 1, bytes.len() as u64);
            let _ = PackHeader { store: STORE, number: 1 }.check(tail);
        }
    }
}
