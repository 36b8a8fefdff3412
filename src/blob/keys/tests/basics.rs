//! What the keys of a sound store answer.

use std::path::Path;

use super::fixture::{Fixture, STORE, data_key, paths, record, shredded, unwrapped};
use crate::blob::keys::{Access, End, Holding, KeyPaths, Keys, SlotState, Unwrapped};
use crate::contract::{AddressKind, Code, ErrorKind};
use crate::io::{CountingVfs, MemoryVfs, Vfs};
use std::sync::Arc;

const LIVE: SlotState = SlotState::Live { pinned: false };

#[test]
fn keys_come_back_after_reopening() {
    let fixture = Fixture::new();
    assert!(Keys::exists(&fixture.vfs, &paths()).unwrap());
    let keys = fixture.open();
    assert_eq!((keys.default_kind(), keys.holding().unwrap()), (AddressKind::Sha256, Holding::Held));
    let ada = keys.subject_or_create(Some("Ada")).unwrap();
    assert_eq!((keys.subject(None).unwrap(), ada), (Some(1), 2));
    assert_eq!(keys.subject_or_create(Some("Ada")).unwrap(), ada);
    assert_eq!(keys.subject(Some("Bea")).unwrap(), None);
    assert_eq!(keys.allocate(record(1), 1, &data_key(11)).unwrap(), 0);
    assert_eq!(keys.allocate(record(2), ada, &data_key(12)).unwrap(), 1);
    keys.sync().unwrap();
    for keys in [keys, fixture.open(), fixture.reader()] {
        assert_eq!((unwrapped(&keys, 0, 1), unwrapped(&keys, 1, 2)), (Some(11), Some(12)));
        assert_eq!((keys.slots(), keys.state(1, record(2)).unwrap()), (2, LIVE));
        assert_eq!(keys.state(1, record(1)).unwrap(), SlotState::Foreign, "another record's slot");
        assert_eq!(keys.state(2, record(1)).unwrap(), SlotState::Foreign, "a free slot");
        assert_eq!(unwrapped(&keys, u32::MAX, 1), None);
        assert!(keys.is_held_by(1, record(2), ada).unwrap() && !keys.is_held_by(1, record(2), 1).unwrap());
        assert_eq!(keys.subject(Some("Ada")).unwrap(), Some(ada));
        assert_eq!(keys.subject_name(ada).unwrap().as_deref().map(String::as_str), Some("Ada"));
        assert!(keys.subject_name(1).unwrap().is_none());
    }
}

#[test]
fn one_content_of_two_subjects_ends_for_both() {
    let fixture = Fixture::new();
    let keys = fixture.open();
    let [ada, bea] = ["Ada", "Bea"].map(|name| keys.subject_or_create(Some(name)).unwrap());
    let slot = keys.allocate(record(1), 1, &data_key(11)).unwrap();
    keys.set_pinned(slot, record(1), true).unwrap();
    keys.allocate(record(2), 1, &data_key(12)).unwrap();
    for subject in [ada, bea] {
        keys.add_wrap(slot, record(1), subject, &data_key(11)).unwrap();
        assert!(keys.is_held_by(slot, record(1), subject).unwrap());
    }
    assert_eq!(keys.slots(), 4);
    keys.sync().unwrap();
    let wrapped: Vec<Vec<u8>> = [0usize, 2, 3]
        .map(|number| fixture.read(&paths().slots())[4096 + number * 128..][40..80].to_vec())
        .to_vec();
    keys.end(slot, record(1), End::Evicted).unwrap();
    keys.sync().unwrap();
    assert_eq!(keys.state(slot, record(1)).unwrap(), SlotState::Evicted);
    keys.end(slot, record(1), End::Shredded).unwrap();
    keys.end(slot, record(1), End::Evicted).unwrap();
    keys.sync().unwrap();
    for keys in [keys, fixture.open(), fixture.reader()] {
        assert_eq!(keys.state(slot, record(1)).unwrap(), SlotState::Shredded);
        assert!(matches!(keys.unwrap(slot, record(1)).unwrap(), Unwrapped::Dead(SlotState::Shredded)));
        assert_eq!(unwrapped(&keys, 1, 2), Some(12), "the neighbour lives");
    }
    let refused = fixture.open().add_wrap(slot, record(1), ada, &data_key(11)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NotFound);
    for (path, bytes) in fixture.all_files() {
        for key in &wrapped {
            assert!(!bytes.windows(40).any(|window| window == key), "a wrapped key is left in {path:?}");
        }
    }
}

#[test]
fn pins_stay() {
    let fixture = Fixture::new();
    let keys = fixture.open();
    let slot = keys.allocate(record(1), 1, &data_key(1)).unwrap();
    for pinned in [true, false, true] {
        keys.set_pinned(slot, record(1), pinned).unwrap();
        assert_eq!(fixture.reader().state(slot, record(1)).unwrap(), SlotState::Live { pinned });
    }
    keys.set_pinned(slot, record(2), false).unwrap();
    assert_eq!(unwrapped(&keys, slot, 1), Some(1));
}

#[test]
fn without_the_master_key_all_but_keys_is_told() {
    let fixture = Fixture::new();
    let keys = fixture.open();
    let ada = keys.subject_or_create(Some("Ada")).unwrap();
    let slot = keys.allocate(record(1), ada, &data_key(1)).unwrap();
    keys.sync().unwrap();
    drop(keys);
    let master = fixture.read(&paths().master());
    let other = Fixture::new();
    other.vfs.remove(&paths().master()).unwrap();
    let another = Fixture {
        fill: Arc::new(|bytes: &mut [u8]| {
            bytes.fill(1);
            Ok(())
        }),
        ..other.clone()
    };
    another.vfs.remove(&paths().subjects()).unwrap();
    another.create().unwrap();
    let wrong = another.read(&paths().master());
    let garbage = vec![7; 1024];
    let empty = vec![0; 1024];
    for (bytes, holding) in [
        (None, Holding::Missing),
        (Some(&empty), Holding::Missing),
        (Some(&wrong), Holding::Wrong),
        (Some(&garbage), Holding::Wrong),
        (Some(&master), Holding::Held),
    ] {
        match bytes {
            None => fixture.vfs.remove(&paths().master()).unwrap(),
            Some(bytes) => {
                if !fixture.vfs.exists(&paths().master()).unwrap() {
                    fixture.vfs.open(&paths().master(), crate::io::OpenMode::Create).unwrap();
                }
                fixture.write(&paths().master(), 0, bytes);
            }
        }
        for keys in [fixture.open(), fixture.reader()] {
            assert_eq!(keys.holding().unwrap(), holding);
            assert_eq!(keys.state(slot, record(1)).unwrap(), LIVE);
            assert!(keys.is_held_by(slot, record(1), ada).unwrap());
            assert_eq!(keys.subject(None).unwrap(), Some(1));
            keys.verify(&mut Err).unwrap();
            if holding == Holding::Held {
                assert_eq!(unwrapped(&keys, slot, 1), Some(1));
                continue;
            }
            let refused = [
                keys.unwrap(slot, record(1)).unwrap_err(),
                keys.subject(Some("Ada")).unwrap_err(),
                keys.subject_or_create(Some("Bea")).unwrap_err(),
                keys.allocate(record(2), 1, &data_key(2)).unwrap_err(),
                keys.require().unwrap_err(),
            ];
            for error in refused {
                assert_eq!(error.kind(), ErrorKind::NoKey);
                assert_eq!(error.place().path.as_deref(), Some(Path::new("/s/keys/master")));
            }
        }
    }
    // Ending needs no key.
    fixture.vfs.remove(&paths().master()).unwrap();
    let keys = fixture.open();
    keys.end(slot, record(1), End::Shredded).unwrap();
    keys.sync().unwrap();
    assert_eq!(unwrapped(&keys, slot, 1), None);
}

#[test]
fn the_master_key_can_be_kept_elsewhere() {
    let vfs: Arc<dyn Vfs> = Arc::new(MemoryVfs::new());
    vfs.create_dir_all(Path::new("/elsewhere")).unwrap();
    let paths = KeyPaths::new("/s/keys", Some("/elsewhere/key".into()));
    let fixture = Fixture::on(vfs);
    Keys::create(&fixture.vfs, &paths, &STORE, AddressKind::Blake3, &fixture.fill).unwrap();
    assert_eq!(fixture.vfs.list(Path::new("/s/keys")).unwrap(), ["erasures", "slots", "subjects"]);
    let keys = Keys::open(&fixture.vfs, &paths, &STORE, Access::Write, &fixture.fill).unwrap();
    assert_eq!(keys.holding().unwrap(), Holding::Held);
    assert_eq!(fixture.open().holding().unwrap(), Holding::Missing);
}

#[test]
fn creating_again_changes_nothing_and_overwrites_no_key() {
    let fixture = Fixture::new();
    let files = fixture.all_files();
    fixture.create().unwrap();
    assert_eq!(fixture.all_files(), files);
    // A master key that is something else is left alone.
    let other = Fixture::on(Arc::new(MemoryVfs::new()));
    other.vfs.create_dir_all(Path::new("/s/keys")).unwrap();
    other.vfs.open(&paths().master(), crate::io::OpenMode::Create).unwrap();
    other.write(&paths().master(), 0, b"somebody's own file");
    assert_eq!(other.create().unwrap_err().kind(), ErrorKind::Corrupt);
    assert_eq!(other.read(&paths().master()), b"somebody's own file");
    // And so are data keys whose subjects are gone.
    fixture.open().allocate(record(1), 1, &data_key(1)).unwrap();
    fixture.vfs.remove(&paths().subjects()).unwrap();
    assert_eq!(fixture.create().unwrap_err().kind(), ErrorKind::Corrupt);
    assert!(!Keys::exists(&fixture.vfs, &paths()).unwrap());
}

#[test]
fn who_reads_sees_at_once_what_is_written_and_what_is_gone() {
    let fixture = Fixture::new();
    let (writer, reader) = (fixture.open(), fixture.reader());
    let ledger = fixture.try_ledger(Access::Read).unwrap();
    let ada = writer.subject_or_create(Some("Ada")).unwrap();
    let slot = writer.allocate(record(1), ada, &data_key(1)).unwrap();
    assert_eq!(reader.subject(Some("Ada")).unwrap(), Some(ada));
    assert_eq!(unwrapped(&reader, slot, 1), Some(1));
    writer.end(slot, record(1), End::Shredded).unwrap();
    assert_eq!(unwrapped(&reader, slot, 1), None);
    fixture.ledger().append(&[shredded(1)]).unwrap();
    assert!(!ledger.is_shredded(&shredded(1).address));
    ledger.refresh().unwrap();
    assert!(ledger.is_shredded(&shredded(1).address));
    let refused = [
        reader.allocate(record(2), 1, &data_key(2)).unwrap_err(),
        reader
            .end(slot, record(1), End::Shredded)
            .map(|()| reader.set_pinned(slot, record(1), true))
            .unwrap()
            .map_or_else(|e| e, |()| reader.subject_or_create(Some("Bea")).unwrap_err()),
        ledger.append(&[shredded(2)]).unwrap_err(),
    ];
    assert!(refused.iter().all(|error| error.kind() == ErrorKind::ReadOnly), "{refused:?}");
}

#[test]
fn names_are_checked_and_shown_nowhere() {
    let fixture = Fixture::new();
    let keys = fixture.open();
    for name in ["", &"x".repeat(255)] {
        assert_eq!(keys.subject_or_create(Some(name)).unwrap_err().code(), Code::Limit);
    }
    let name = "Ada Lovelace of London";
    let subject = keys.subject_or_create(Some(name)).unwrap();
    keys.subject_or_create(Some(&"ü".repeat(127))).unwrap();
    let slot = keys.allocate(record(1), subject, &data_key(0xC7)).unwrap();
    let ledger = fixture.ledger();
    ledger.append(&[shredded(1)]).unwrap();
    let unwrapped = keys.unwrap(slot, record(1)).unwrap();
    let shown = format!("{keys:?} {ledger:?} {:?} {unwrapped:?} {:?}", ledger.entries(), paths());
    assert!(!shown.contains("Ada") && !shown.contains("199"), "{shown}");
    for (path, bytes) in fixture.all_files() {
        assert!(!bytes.windows(3).any(|window| window == b"Ada"), "a name is in {path:?}");
        assert!(!bytes.windows(32).any(|window| window == [0xC7; 32]), "a key is in {path:?}");
    }
}

#[test]
fn a_sync_with_nothing_to_sync_costs_nothing() {
    let counting = CountingVfs::new(Fixture::new().vfs);
    let fixture = Fixture::on(Arc::new(counting.clone()));
    let keys = fixture.open();
    let syncs = || counting.counters().syncs;
    keys.sync().unwrap();
    let before = syncs();
    keys.sync().unwrap();
    assert_eq!(syncs(), before);
    keys.allocate(record(1), 1, &data_key(1)).unwrap();
    keys.sync().unwrap();
    keys.sync().unwrap();
    assert_eq!(syncs(), before + 1);
    // A process that was killed may have left writes unsynced.
    let keys = fixture.open();
    let before = syncs();
    keys.sync().unwrap();
    assert_eq!(syncs(), before + 1);
}
