use super::*;
use proptest::prelude::*;

fn trailer(sizes: [u32; 7]) -> (Trailer, u64) {
    let [blocks, arrivals, kinds, ids, unresolved, directory, state] = sizes;
    let directory = directory % (arrivals + 1);
    let bytes = [(blocks % (arrivals + 1)) * 32, arrivals * 4, kinds, ids, unresolved, directory * 32, state];
    let mut end = 4096u64;
    let sections = bytes.map(|bytes| {
        let place = SectionPlace { offset: end, bytes: u64::from(bytes), crc: bytes ^ 0x55 };
        end = (end + u64::from(bytes)).next_multiple_of(8);
        place
    });
    let trailer = Trailer {
        sections,
        frames_start: 192,
        frames_end: 4096,
        events: u64::from(arrivals),
        unresolved: 3,
        segment: 7,
        store: [4; 16],
        root: [9; 32],
    };
    (trailer, end + TRAILER_BYTES as u64)
}

proptest! {
    #[test]
    fn round_trips(sizes in proptest::array::uniform7(0u32..1000)) {
        let (trailer, file_bytes) = trailer(sizes);
        let bytes = trailer.to_bytes();
        let bytes: &[u8; TRAILER_BYTES] = bytes.as_slice().try_into().unwrap();
        prop_assert_eq!(Trailer::from_bytes(bytes, file_bytes), Ok(trailer.clone()));
        for other in [file_bytes - 1, file_bytes + 8] {
            let refused = Trailer::from_bytes(bytes, other);
            prop_assert_eq!(refused, Err(FooterError::Size { found: other, expected: file_bytes }));
        }
    }

    #[test]
    fn every_flipped_bit_shows(sizes in proptest::array::uniform7(0u32..1000), bit: prop::sample::Index) {
        let (trailer, file_bytes) = trailer(sizes);
        let mut bytes = trailer.to_bytes();
        let bit = bit.index(bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        let bytes: &[u8; TRAILER_BYTES] = bytes.as_slice().try_into().unwrap();
        prop_assert!(Trailer::from_bytes(bytes, file_bytes).is_err());
    }

    #[test]
    fn hostile_fields_never_panic(
        at in proptest::collection::vec((0usize..32, any::<u64>()), 1..5), file_bytes: u64,
    ) {
        let (trailer, right) = trailer([2, 8, 4, 8, 8, 1, 8]);
        let mut bytes = trailer.to_bytes();
        for (word, value) in at {
            bytes[word * 8..][..8].copy_from_slice(&value.to_le_bytes());
        }
        let crc = crc32c::crc32c(&bytes[..256]);
        bytes[256..260].copy_from_slice(&crc.to_le_bytes());
        let bytes: &[u8; TRAILER_BYTES] = bytes.as_slice().try_into().unwrap();
        for size in [right, file_bytes] {
            if let Ok(trailer) = Trailer::from_bytes(bytes, size) {
                for section in Section::ALL {
                    let place = trailer.section(section);
                    prop_assert!(place.offset + place.bytes <= size);
                }
            }
        }
    }

    #[test]
    fn entries_round_trip(bytes: [u8; 32]) {
        prop_assert_eq!(HostEntry::from_bytes(&bytes).to_bytes(), bytes);
        prop_assert_eq!(BlockEntry::from_bytes(&bytes).to_bytes(), bytes);
    }
}

#[test]
fn places_are_eighths_of_offsets() {
    assert_eq!(place_of(4096), Some(512));
    assert_eq!(place_of(4097), None);
    assert_eq!(place_of(8 << 32), None);
    assert_eq!(offset_of(u32::MAX), (8 << 32) - 8);
}
