//! What each call answers, on a sound store.

use std::collections::BTreeSet;
use std::io::Read;
use std::sync::Arc;

use causelog::vfs::MemoryVfs;
use causelog::{
    AddressKind, BlobState, Code, ErrorKind, Json, KeyState, Options, PutOptions, PutReport, Ref, Store,
    verify,
};

use super::{AT, blake3_of, content, files, options_on, sha256_of, store_on};
use crate::support::{event, read, small};

const CHUNK: usize = 64 << 10;
const SHARED_MAX: usize = 4 << 20;

#[test]
fn every_size_comes_back_whole_and_in_parts() {
    let vfs = MemoryVfs::new();
    let store = store_on(&vfs);
    let blobs = store.blobs();
    let sizes = [
        0,
        1,
        CHUNK - 1,
        CHUNK,
        CHUNK + 1,
        3 * CHUNK,
        SHARED_MAX,
        SHARED_MAX + 1,
        SHARED_MAX + CHUNK * 17 + 5,
    ];
    let mut held = Vec::new();
    for (seed, size) in sizes.into_iter().enumerate() {
        let bytes = content(seed as u64, size);
        let address = blobs.put(&bytes).unwrap();
        assert_eq!(address, blake3_of(&bytes));
        held.push((address, bytes));
    }
    let check = |store: &Store| {
        let blobs = store.blobs();
        for (address, bytes) in &held {
            assert_eq!(blobs.get(address).unwrap().unwrap(), *bytes);
            assert_eq!(blobs.len_of(address).unwrap(), Some(bytes.len() as u64));
            assert_eq!(blobs.check(address).unwrap(), Some(true));
            let mut written = Vec::new();
            assert_eq!(blobs.get_writer(address, &mut written).unwrap(), Some(bytes.len() as u64));
            assert_eq!(written, *bytes);
            let end = bytes.len() as u64;
            let ends =
                [0, 1, CHUNK as u64 - 1, CHUNK as u64, CHUNK as u64 + 1, end / 2, end.saturating_sub(1), end];
            for from in ends.iter().filter(|from| **from <= end) {
                for to in ends.iter().filter(|to| (*from..=end).contains(*to)) {
                    let part = blobs.get_range(address, *from..*to).unwrap().unwrap();
                    assert_eq!(part, bytes[*from as usize..*to as usize], "{from}..{to} of {end}");
                }
            }
            for (from, to) in [(0, end + 1), (end + 1, end + 1), (end + 1, end), (1, 0)] {
                let error = blobs.get_range(address, from..to).unwrap_err();
                assert_eq!(
                    (error.kind(), error.code()),
                    (ErrorKind::Invalid, Code::Limit),
                    "{from}..{to} of {end}"
                );
            }
        }
    };
    check(&store);
    store.close().unwrap();
    check(&store_on(&vfs));
    let report = verify(AT, &options_on(&vfs), &()).unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    let checked = report.content.unwrap();
    assert_eq!((checked.resident, checked.opened), (held.len() as u64, true));
}

#[test]
fn content_is_stored_once_by_whatever_address() {
    let vfs = MemoryVfs::new();
    let store = store_on(&vfs);
    let blobs = store.blobs();
    let bytes = content(1, 100_000);
    let sha = PutOptions::new().address(AddressKind::Sha256);
    assert_eq!(blobs.put_with(&bytes, &PutOptions::new()).unwrap(), PutReport::Stored(blake3_of(&bytes)));
    let before = blobs.stats().unwrap();
    assert_eq!(blobs.put_with(&bytes, &PutOptions::new()).unwrap(), PutReport::Held(blake3_of(&bytes)));
    assert_eq!(blobs.stats().unwrap(), before);
    assert_eq!(blobs.get(&sha256_of(&bytes)).unwrap(), None);
    assert_eq!(blobs.put_with(&bytes, &sha).unwrap(), PutReport::Held(sha256_of(&bytes)));
    let after = blobs.stats().unwrap();
    assert_eq!((after.resident, after.resident_bytes), (1, 100_000));
    assert!(after.pack_bytes - before.pack_bytes < 1000);
    // The other way round, and streamed.
    let large = content(2, SHARED_MAX + 99);
    assert_eq!(blobs.put_reader(&*large, &sha).unwrap(), PutReport::Stored(sha256_of(&large)));
    assert_eq!(blobs.put_reader(&*large, &PutOptions::new()).unwrap(), PutReport::Held(blake3_of(&large)));
    store.close().unwrap();
    let store = store_on(&vfs);
    for bytes in [&bytes, &large] {
        for address in [blake3_of(bytes), sha256_of(bytes)] {
            assert_eq!(store.blobs().get(&address).unwrap().unwrap(), *bytes);
        }
    }
    assert!(!files(&vfs, "blobs").iter().any(|name| name.ends_with(".part")));
}

#[test]
fn content_that_is_not_what_its_address_says_is_damage() {
    let store = store_on(&MemoryVfs::new());
    let blobs = store.blobs();
    for size in [10, SHARED_MAX + 10] {
        let expected = PutOptions::new().expect(sha256_of(b"something else"));
        let bytes = content(3, size);
        for error in [
            blobs.put_with(&bytes, &expected).unwrap_err(),
            blobs.put_reader(&*bytes, &expected).unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::Corrupt);
        }
        assert_eq!(blobs.state(&sha256_of(&bytes)).unwrap(), BlobState::Absent);
        assert_eq!(blobs.state(&blake3_of(&bytes)).unwrap(), BlobState::Absent);
    }
    assert_eq!(blobs.stats().unwrap().resident, 0);
}

#[test]
fn what_was_shredded_stays_shredded_by_every_address_until_it_is_put_again() {
    let vfs = MemoryVfs::new();
    let store = store_on(&vfs);
    let blobs = store.blobs();
    let bytes = content(4, 1000);
    let (blake3, sha256) = (blake3_of(&bytes), sha256_of(&bytes));
    assert!(!blobs.shred(&blake3).unwrap());
    assert!(!blobs.is_shredded(&blake3).unwrap());
    blobs.put(&bytes).unwrap();
    blobs.put_with(&bytes, &PutOptions::new().address(AddressKind::Sha256)).unwrap();
    assert!(blobs.shred(&sha256).unwrap());
    assert!(!blobs.shred(&blake3).unwrap());
    let check = |store: &Store| {
        for address in [blake3, sha256] {
            assert_eq!(store.blobs().state(&address).unwrap(), BlobState::Shredded);
            assert_eq!(store.blobs().get(&address).unwrap(), None);
            assert!(store.blobs().is_shredded(&address).unwrap());
        }
    };
    check(&store);
    drop((blobs, store));
    let store = store_on(&vfs);
    check(&store);
    let blobs = store.blobs();
    // An import does not bring it back; putting it on purpose does, and the history stays.
    let import = PutOptions::new().keep_shredded(true);
    assert_eq!(blobs.put_with(&bytes, &import).unwrap(), PutReport::LeftOut(blake3));
    check(&store);
    assert_eq!(blobs.put_with(&bytes, &PutOptions::new()).unwrap(), PutReport::Stored(blake3));
    assert_eq!(blobs.get(&blake3).unwrap().unwrap(), bytes);
    assert!(blobs.is_shredded(&blake3).unwrap());
    assert_eq!(blobs.put_with(&bytes, &import).unwrap(), PutReport::Held(blake3));
    assert!(blobs.shred(&blake3).unwrap());
    check(&store);
}

#[test]
fn what_was_evicted_comes_back_when_it_is_put_again() {
    let vfs = MemoryVfs::new();
    let store = store_on(&vfs);
    let blobs = store.blobs();
    let (small, large) = (content(5, 1000), content(6, SHARED_MAX + 1));
    for bytes in [&small, &large] {
        let address = blobs.put(bytes).unwrap();
        assert!(blobs.evict(&address).unwrap());
        assert!(!blobs.evict(&address).unwrap());
        assert_eq!(blobs.state(&address).unwrap(), BlobState::Evicted);
        assert_eq!(blobs.get(&address).unwrap(), None);
        assert!(!blobs.is_shredded(&address).unwrap());
    }
    // A pack of its own goes as a whole, and leaves its name.
    assert!(files(&vfs, "blobs").iter().any(|name| name.ends_with(".gone")));
    assert!(blobs.stats().unwrap().pack_bytes < 10_000);
    drop((blobs, store));
    let store = store_on(&vfs);
    let blobs = store.blobs();
    for bytes in [&small, &large] {
        assert_eq!(blobs.state(&blake3_of(bytes)).unwrap(), BlobState::Evicted);
        assert_eq!(blobs.put_with(bytes, &PutOptions::new()).unwrap(), PutReport::Stored(blake3_of(bytes)));
        assert_eq!(blobs.get(&blake3_of(bytes)).unwrap().unwrap(), *bytes);
    }
    // What was evicted can still be shredded: it must not come back by an import.
    blobs.evict(&blake3_of(&small)).unwrap();
    assert!(blobs.shred(&blake3_of(&small)).unwrap());
    assert_eq!(blobs.state(&blake3_of(&small)).unwrap(), BlobState::Shredded);
    let report = verify(AT, &options_on(&vfs), &()).unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
}

#[test]
fn content_of_two_subjects_is_stored_once() {
    let vfs = MemoryVfs::new();
    let store = store_on(&vfs);
    let blobs = store.blobs();
    let bytes = content(7, 5000);
    let of = |name: &str| PutOptions::new().subject(name);
    assert!(matches!(blobs.put_with(&bytes, &of("ada lovelace")).unwrap(), PutReport::Stored(_)));
    assert!(matches!(blobs.put_with(&bytes, &of("grace hopper")).unwrap(), PutReport::Held(_)));
    assert!(matches!(blobs.put_with(&bytes, &of("grace hopper")).unwrap(), PutReport::Held(_)));
    assert_eq!(blobs.stats().unwrap().resident, 1);
    for name in ["", &"x".repeat(255)] {
        assert_eq!(blobs.put_with(&bytes, &of(name)).unwrap_err().kind(), ErrorKind::Invalid);
    }
    assert!(blobs.shred(&blake3_of(&bytes)).unwrap());
    assert_eq!(blobs.get(&blake3_of(&bytes)).unwrap(), None);
    drop((blobs, store));
    assert_eq!(store_on(&vfs).blobs().get(&blake3_of(&bytes)).unwrap(), None);
    for path in vfs.paths() {
        let bytes = read(&vfs, &path);
        for name in ["ada lovelace", "grace hopper"] {
            assert!(!bytes.windows(name.len()).any(|window| window == name.as_bytes()), "{}", path.display());
        }
    }
}

#[test]
fn no_plaintext_reaches_the_files() {
    let vfs = MemoryVfs::new();
    let store = store_on(&vfs);
    let blobs = store.blobs();
    let marker: String = (0..64).map(|n| char::from(b'a' + (n * 7 % 26) as u8)).collect();
    for size in [64, 1000, CHUNK + 64, SHARED_MAX + 64] {
        let mut bytes = content(size as u64, size);
        bytes[size - 64..].copy_from_slice(marker.as_bytes());
        blobs.put(&bytes).unwrap();
        blobs.put_reader(&*[&bytes[..], b"streamed"].concat(), &PutOptions::new()).unwrap();
    }
    let find = |what: &str| {
        for path in vfs.paths() {
            let bytes = read(&vfs, &path);
            for part in marker.as_bytes().windows(16) {
                let hit = bytes.windows(16).any(|window| window == part);
                assert!(!hit, "{what}: {}", path.display());
            }
        }
    };
    find("after put");
    store.append(&event("a", 1, &[])).unwrap();
    find("after an event");
    drop(blobs);
    store.close().unwrap();
    find("after close");
}

#[test]
fn many_threads_put_and_read() {
    let vfs = MemoryVfs::new();
    let store = store_on(&vfs);
    std::thread::scope(|scope| {
        for thread in 0..8u64 {
            let store = &store;
            scope.spawn(move || {
                let blobs = store.blobs();
                for n in 0..50 {
                    // Half of it is everybody's.
                    let seed = if n % 2 == 0 { n } else { thread * 1000 + n };
                    let bytes = content(seed, 3000 + n as usize);
                    let address = blobs.put(&bytes).unwrap();
                    assert_eq!(blobs.get(&address).unwrap().unwrap(), bytes);
                }
            });
        }
    });
    let resident = store.blobs().stats().unwrap().resident;
    assert_eq!(resident, 25 + 8 * 25);
    store.close().unwrap();
    let report = verify(AT, &options_on(&vfs), &()).unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    assert_eq!(report.content.unwrap().resident, resident);
}

#[test]
fn a_reader_beside_the_writer_sees_what_is_synced_and_what_was_shredded() {
    let vfs = MemoryVfs::new();
    let store = store_on(&vfs);
    let (blobs, bytes) = (store.blobs(), content(8, 70_000));
    let reader = Store::open_read_only(AT, options_on(&vfs)).unwrap();
    let address = blobs.put(&bytes).unwrap();
    assert_eq!(reader.blobs().put(&bytes).unwrap_err().kind(), ErrorKind::ReadOnly);
    blobs.sync().unwrap();
    assert_eq!(reader.blobs().get(&address).unwrap().unwrap(), bytes);
    // Packs that are sealed meanwhile, and one of its own.
    let more: Vec<_> =
        (100..140).map(|seed| content(seed, 5000)).chain([content(9, SHARED_MAX + 5)]).collect();
    for bytes in &more {
        blobs.put(bytes).unwrap();
    }
    store.append(&event("a", 1, &[])).unwrap();
    for bytes in &more {
        assert_eq!(reader.blobs().get(&blake3_of(bytes)).unwrap().unwrap(), *bytes);
    }
    assert!(blobs.shred(&address).unwrap());
    assert_eq!(reader.blobs().state(&address).unwrap(), BlobState::Shredded);
    assert_eq!(reader.blobs().get(&address).unwrap(), None);
}

#[test]
fn a_reading_is_ended_by_a_shred() {
    let store = store_on(&MemoryVfs::new());
    let blobs = store.blobs();
    let bytes = content(10, SHARED_MAX + (3 << 20));
    let address = blobs.put(&bytes).unwrap();
    struct Shredding<'b>(&'b causelog::Blobs, causelog::Address, usize);
    impl std::io::Write for Shredding<'_> {
        fn write(&mut self, piece: &[u8]) -> std::io::Result<usize> {
            if self.2 == 0 {
                self.0.shred(&self.1).unwrap();
            }
            self.2 += piece.len();
            Ok(piece.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut writer = Shredding(&blobs, address, 0);
    let error = blobs.get_writer(&address, &mut writer).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Shredded);
    assert!(writer.2 <= 1 << 20, "{} bytes came after it was shredded", writer.2);
}

#[test]
fn without_its_key_a_store_lists_orders_and_says_what_is_unavailable() {
    let vfs = MemoryVfs::new();
    let store = store_on(&vfs);
    let bytes = content(11, 1000);
    let address = store.blobs().put(&bytes).unwrap();
    store.append(&event("a", 1, &[])).unwrap();
    assert_eq!(store.blobs().key_state().unwrap(), KeyState::Held);
    store.close().unwrap();
    let elsewhere = || options_on(&vfs).key_file("/elsewhere");
    let other = MemoryVfs::new();
    let wrong = Store::create(AT, options_on(&other)).unwrap();
    drop(wrong);
    for missing in [true, false] {
        if !missing {
            let key = read(&other, std::path::Path::new("/s/keys/master"));
            let file = causelog::vfs::Vfs::open(
                &vfs,
                std::path::Path::new("/elsewhere"),
                causelog::vfs::OpenMode::Create,
            );
            file.unwrap().write_at(&key, 0).unwrap();
        }
        let store = Store::open(AT, elsewhere()).unwrap();
        let blobs = store.blobs();
        assert!(store.opening().content_damage.is_empty());
        assert_eq!(blobs.key_state().unwrap(), if missing { KeyState::Missing } else { KeyState::Wrong });
        assert_eq!(store.ordered().unwrap().count(), 1 + if missing { 0 } else { 1 });
        assert_eq!(blobs.state(&address).unwrap(), BlobState::Resident);
        assert_eq!(blobs.get(&address).unwrap_err().kind(), ErrorKind::NoKey);
        assert_eq!(blobs.check(&address).unwrap(), Some(false));
        assert_eq!(blobs.put(b"new").unwrap_err().kind(), ErrorKind::NoKey);
        assert_eq!(blobs.put(&bytes).unwrap(), address, "what is held is held");
        store.append(&event("a", 2, &[])).unwrap();
        store.close().unwrap();
        let report = verify(AT, &elsewhere(), &()).unwrap();
        assert!(report.findings.is_empty(), "{:?}", report.findings);
        assert!(!report.content.unwrap().opened);
    }
    assert_eq!(store_on(&vfs).blobs().get(&address).unwrap().unwrap(), bytes);
}

#[test]
fn shredding_needs_no_key() {
    let vfs = MemoryVfs::new();
    let address = store_on(&vfs).blobs().put(b"to be forgotten").unwrap();
    let store = Store::open(AT, options_on(&vfs).key_file("/elsewhere")).unwrap();
    assert!(store.blobs().shred(&address).unwrap());
    drop(store);
    assert_eq!(store_on(&vfs).blobs().get(&address).unwrap(), None);
}

#[test]
fn a_lookup_answers_for_references() {
    let store = Store::in_memory(Options::new().address_kind(AddressKind::Sha256)).unwrap();
    let blobs = store.blobs();
    let bytes = b"shown";
    let address = blobs.put(bytes).unwrap();
    let reference = |hash: &str| {
        Ref::read(&Json::parse(&format!(r#"{{"kind":"note","id":"n","hash":"{hash}"}}"#)).unwrap()).unwrap()
    };
    assert_eq!(blobs.lookup(&reference(&address.to_string())).unwrap().unwrap(), bytes);
    assert_eq!(blobs.lookup(&reference("sha256:00")).unwrap(), None);
    assert_eq!(blobs.lookup(&reference("rev-7")).unwrap(), None);
}

#[test]
fn tiny_blobs_by_the_thousand_roll_packs_and_are_all_found() {
    let count = crate::support::env_number("CAUSELOG_TINY_BLOBS", 3000);
    let vfs = MemoryVfs::new();
    let store = Store::create(AT, options_on(&vfs)).unwrap();
    let blobs = store.blobs();
    let mut addresses = BTreeSet::new();
    for n in 0..count {
        addresses.insert(blobs.put(&n.to_le_bytes()).unwrap());
    }
    drop(blobs);
    drop(store);
    let store = Store::open(AT, small().vfs(Arc::new(vfs.clone()))).unwrap();
    let mut seen = BTreeSet::new();
    store
        .blobs()
        .for_each(|address, bytes| {
            assert_eq!(bytes, 8);
            seen.insert(address);
            Ok(())
        })
        .unwrap();
    assert_eq!(seen, addresses);
    for n in (0..count).step_by(97) {
        let bytes = n.to_le_bytes();
        assert_eq!(store.blobs().get(&blake3_of(&bytes)).unwrap().unwrap(), bytes);
    }
    assert!(store.blobs().stats().unwrap().packs > 5);
}

#[test]
fn a_reader_that_fails_leaves_nothing() {
    struct Failing(u64);
    impl Read for Failing {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            if self.0 == 0 {
                return Err(std::io::Error::other("the line dropped"));
            }
            let count = buffer.len().min(usize::try_from(self.0).unwrap());
            self.0 -= count as u64;
            Ok(count)
        }
    }
    let vfs = MemoryVfs::new();
    let store = store_on(&vfs);
    for bytes in [10, (SHARED_MAX + (2 << 20)) as u64] {
        let error = store.blobs().put_reader(Failing(bytes), &PutOptions::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
    }
    assert_eq!(store.blobs().stats().unwrap().resident, 0);
    assert!(files(&vfs, "blobs").iter().all(|name| !name.ends_with(".part")));
}
