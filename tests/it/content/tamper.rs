//! Files that somebody altered: named as damage, and never read as something else.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use causelog::vfs::{MemoryVfs, OpenMode, Vfs};
use causelog::{BlobState, ErrorKind, Options, PutOptions, PutReport, Store, VerifyOutcome, verify};

use super::{AT, blake3_of, content, options_on, store_on};
use crate::support::{env_number, event, overwrite, read, resize};

const HEAD: usize = 64 + 40;

fn pack(number: u64, form: &str) -> PathBuf {
    PathBuf::from(format!("/s/blobs/{number:010}.{form}"))
}

/// A store of two blobs in the active pack, closed; the blobs are of one size.
fn two(size: usize) -> (MemoryVfs, [Vec<u8>; 2]) {
    let vfs = MemoryVfs::new();
    let store = store_on(&vfs);
    let all = [content(1, size), content(2, size)];
    for bytes in &all {
        store.blobs().put(bytes).unwrap();
    }
    store.append(&event("a", 1, &[])).unwrap();
    store.close().unwrap();
    (vfs, all)
}

/// A store of so many blobs that the first pack is sealed, closed.
fn many(count: u64) -> (MemoryVfs, Vec<Vec<u8>>) {
    let vfs = MemoryVfs::new();
    let store = store_on(&vfs);
    let all: Vec<_> = (0..count).map(|seed| content(seed, 5000)).collect();
    for bytes in &all {
        store.blobs().put(bytes).unwrap();
    }
    store.append(&event("a", 1, &[])).unwrap();
    store.close().unwrap();
    (vfs, all)
}

/// Checks that no blob reads as anything but itself, and that `verify` names damage in this file.
fn is_damage(vfs: &MemoryVfs, all: &[Vec<u8>], file: &Path, what: &str) {
    let report = verify(AT, &options_on(vfs), &()).unwrap();
    assert_eq!(report.outcome(), VerifyOutcome::Damaged, "{what}");
    assert!(
        report.findings.iter().any(|found| found.path.as_deref() == Some(file)),
        "{what}: {:?}",
        report.findings
    );
    let store = Store::open(AT, options_on(vfs)).unwrap();
    for bytes in all {
        match store.blobs().get(&blake3_of(bytes)) {
            Ok(held) => assert!(held.is_none() || held.as_ref() == Some(bytes), "{what}"),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Corrupt, "{what}: {error:?}"),
        }
    }
    assert_eq!(store.ordered().unwrap().count(), 1, "{what}: events do not depend on content");
    store.append(&event("a", 2, &[])).unwrap();
}

#[test]
fn chunks_that_were_swapped() {
    let (vfs, all) = two(3 * (64 << 10));
    let file = pack(1, "pack");
    let bytes = read(&vfs, &file);
    let sealed = (64 << 10) + 16;
    let first = 64 + HEAD;
    let (one, other) = (first..first + sealed, first + sealed..first + 2 * sealed);
    overwrite(&vfs, &file, one.start, &bytes[other.clone()]);
    overwrite(&vfs, &file, other.start, &bytes[one]);
    is_damage(&vfs, &all, &file, "swapped chunks");
    let store = store_on(&vfs);
    assert_eq!(store.blobs().get(&blake3_of(&all[0])).unwrap_err().kind(), ErrorKind::Corrupt);
    assert_eq!(store.blobs().get(&blake3_of(&all[1])).unwrap().as_ref(), Some(&all[1]));
    // Putting it again makes it whole, and the store with it; also for a process that did not find the damage before.
    store.close().unwrap();
    let store = store_on(&vfs);
    let again = PutOptions::new().recheck(true);
    assert!(matches!(store.blobs().put_with(&all[0], &again).unwrap(), PutReport::Stored(_)));
    assert!(matches!(store.blobs().put_with(&all[0], &again).unwrap(), PutReport::Held(_)));
    assert_eq!(store.blobs().get(&blake3_of(&all[0])).unwrap().as_ref(), Some(&all[0]));
    store.close().unwrap();
    let report = verify(AT, &options_on(&vfs), &()).unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
}

#[test]
fn records_that_were_swapped_with_their_checksums_made_right() {
    let (vfs, all) = two(1000);
    let file = pack(1, "active");
    let bytes = read(&vfs, &file);
    let body = HEAD..HEAD + 1000 + 16 + 80 + 16;
    let second = 64 + (HEAD + 1112usize).next_multiple_of(8);
    assert_eq!(&bytes[second..second + 4], b"CLRB");
    // The bodies change places, and each head says that its body is right.
    let bodies = [64, second].map(|at| bytes[at + body.start..at + body.end].to_vec());
    let store_id: [u8; 16] = bytes[20..36].try_into().unwrap();
    for (at, body_bytes) in [(64, &bodies[1]), (second, &bodies[0])] {
        let mut head = bytes[at..at + HEAD].to_vec();
        head[36..40].copy_from_slice(&crc32c::crc32c(body_bytes).to_le_bytes());
        let seed =
            [&store_id[..], &1u64.to_le_bytes(), &(at as u64).to_le_bytes(), &head[..4], &head[8..]].concat();
        head[4..8].copy_from_slice(&crc32c::crc32c(&seed).to_le_bytes());
        overwrite(&vfs, &file, at, &head);
        overwrite(&vfs, &file, at + HEAD, body_bytes);
    }
    is_damage(&vfs, &all, &file, "swapped records");
    let store = store_on(&vfs);
    for bytes in &all {
        assert_eq!(store.blobs().get(&blake3_of(bytes)).unwrap_err().kind(), ErrorKind::Corrupt);
    }
}

#[test]
fn every_flipped_byte_of_an_active_pack_is_seen() {
    let (base, all) = two(300);
    let file = pack(1, "active");
    let length = read(&base, &file).len();
    let step = usize::try_from(env_number("CAUSELOG_FLIP_STEP", 3)).unwrap();
    for at in (0..length).step_by(step) {
        let vfs = base.fork();
        let byte = read(&vfs, &file)[at];
        overwrite(&vfs, &file, at, &[byte ^ (1 << (at % 8))]);
        is_damage(&vfs, &all, &file, &format!("byte {at}"));
    }
}

#[test]
fn every_flipped_byte_of_a_sealed_pack_is_seen() {
    let (base, all) = many(14);
    let file = pack(1, "pack");
    let length = read(&base, &file).len();
    for at in (0..length).step_by(997).chain(0..250).chain(length - 200..length) {
        let vfs = base.fork();
        let byte = read(&vfs, &file)[at];
        overwrite(&vfs, &file, at, &[byte ^ (1 << (at % 8))]);
        let what = format!("byte {at} of {length}");
        is_damage(&vfs, &all, &file, &what);
        // Damage of the footer or of the pack's head loses nothing.
        let records_end = 64 + 12 * (HEAD + 5000 + 16 + 96usize).next_multiple_of(8);
        if at < 64 || at >= records_end {
            let store = store_on(&vfs);
            for bytes in &all {
                assert_eq!(store.blobs().get(&blake3_of(bytes)).unwrap().as_ref(), Some(bytes), "{what}");
            }
        }
    }
}

#[test]
fn a_footer_that_lies_with_its_checksums_made_right() {
    let (base, all) = many(14);
    let file = pack(1, "pack");
    let bytes = read(&base, &file);
    let store_id: [u8; 16] = bytes[20..36].try_into().unwrap();
    let tail = bytes.len() - 64;
    let entries = u64::from_le_bytes(bytes[tail + 16..tail + 24].try_into().unwrap()) as usize;
    // Each entry leads to the record of the next one.
    let offset_of = |entry: usize| bytes[entries + entry * 72 + 56..entries + entry * 72 + 64].to_vec();
    let count = (tail - entries) / 72;
    let mut lying = bytes.clone();
    for entry in 0..count {
        let at = entries + entry * 72 + 56;
        lying[at..at + 8].copy_from_slice(&offset_of((entry + 1) % count));
    }
    let seeded = |bytes: &[u8]| crc32c::crc32c(&[&store_id[..], &1u64.to_le_bytes(), bytes].concat());
    let crc = seeded(&lying[entries..tail]);
    lying[tail + 56..tail + 60].copy_from_slice(&crc.to_le_bytes());
    let crc = seeded(&lying[tail..tail + 60]);
    lying[tail + 60..].copy_from_slice(&crc.to_le_bytes());
    overwrite(&base, &file, 0, &lying);
    is_damage(&base, &all, &file, "a footer that lies");
}

#[test]
fn packs_that_were_cut_or_removed() {
    let (base, all) = many(20);
    for form in ["pack", "active"] {
        let file = if form == "pack" { pack(1, form) } else { pack(2, form) };
        let length = read(&base, &file).len();
        for keep in [0, 1, 63, 64, 100, 5000, length / 2, length - 64, length - 8, length - 1] {
            let vfs = base.fork();
            resize(&vfs, &file, keep);
            is_damage(&vfs, &all, &file, &format!("{form} cut to {keep} of {length}"));
        }
        let vfs = base.fork();
        vfs.remove(&file).unwrap();
        let missing = if form == "pack" { file } else { pack(2, "pack") };
        is_damage(&vfs, &all, &missing, &format!("{form} removed"));
    }
    // The newest pack is one of its own.
    let store = store_on(&base);
    store.blobs().put(&content(99, (4 << 20) + 1)).unwrap();
    store.append(&event("a", 2, &[])).unwrap();
    store.close().unwrap();
    let file = pack(3, "pack");
    let cut = base.fork();
    resize(&cut, &file, 1 << 20);
    let store = Store::open(AT, options_on(&cut)).unwrap();
    assert!(!store.opening().content_damage.is_empty());
    drop(store);
    base.remove(&file).unwrap();
    let store = Store::open(AT, options_on(&base)).unwrap();
    assert_eq!(store.opening().content_damage[0].path.as_deref(), Some(&*file));
}

#[test]
fn a_pack_of_another_store_is_not_taken_for_ours() {
    let (vfs, all) = two(1000);
    let (other, _) = two(1000);
    let file = pack(1, "active");
    let bytes = read(&other, &file);
    overwrite(&vfs, &file, 0, &bytes);
    is_damage(&vfs, &all, &file, "another store's pack");
}

#[test]
fn a_slot_that_was_lost_is_damage_and_no_eviction() {
    let (vfs, all) = two(1000);
    let file = Path::new("/s/keys/slots");
    overwrite(&vfs, file, 4096, &[0; 128]);
    is_damage(&vfs, &all, &pack(1, "active"), "a lost slot");
    let store = store_on(&vfs);
    assert_eq!(store.blobs().state(&blake3_of(&all[0])).unwrap_err().kind(), ErrorKind::Corrupt);
    assert_eq!(store.blobs().state(&blake3_of(&all[1])).unwrap(), BlobState::Resident);
}

#[test]
fn damaged_or_missing_key_files_leave_the_events() {
    let (base, all) = two(1000);
    for file in ["master", "subjects", "slots", "erasures"] {
        let path = PathBuf::from(format!("/s/keys/{file}"));
        for remove in [true, false] {
            let vfs = base.fork();
            if remove {
                vfs.remove(&path).unwrap();
            } else {
                overwrite(&vfs, &path, 0, &[0xAA; 512]);
                overwrite(&vfs, &path, 512, &[0xAA; 512]);
            }
            let what = format!("{file}, removed {remove}");
            let store = Store::open(AT, options_on(&vfs)).unwrap_or_else(|error| panic!("{what}: {error:?}"));
            assert_eq!(store.ordered().unwrap().count(), 1, "{what}");
            store.append(&event("a", 2, &[])).unwrap();
            let get = store.blobs().get(&blake3_of(&all[0])).unwrap_err();
            // What is no master key of this store cannot be told from another store's.
            let is_gone = file == "master";
            let expected = if is_gone { ErrorKind::NoKey } else { ErrorKind::Corrupt };
            assert_eq!(get.kind(), expected, "{what}: {get:?}");
            assert_eq!(store.opening().content_damage.is_empty(), is_gone, "{what}");
            store.close().unwrap();
            let report = verify(AT, &options_on(&vfs), &()).unwrap();
            assert_eq!(report.findings.is_empty(), is_gone, "{what}: {:?}", report.findings);
        }
    }
    // All of them gone beside packs: nothing is made anew over content that needs them.
    let vfs = base.fork();
    for file in ["master", "subjects", "slots", "erasures"] {
        vfs.remove(Path::new(&format!("/s/keys/{file}"))).unwrap();
    }
    let store = Store::open(AT, options_on(&vfs)).unwrap();
    assert_eq!(store.blobs().put(b"new").unwrap_err().kind(), ErrorKind::Corrupt);
    assert!(vfs.open(Path::new("/s/keys/master"), OpenMode::Read).is_err());
}

#[test]
fn bytes_of_a_put_under_way_are_cut_and_told() {
    let (vfs, all) = two(1000);
    let file = pack(1, "active");
    let length = read(&vfs, &file).len();
    overwrite(&vfs, &file, length, &[0x5A; 777]);
    let store = Store::open(AT, Options::clone(&options_on(&vfs)).vfs(Arc::new(vfs.clone()))).unwrap();
    let torn = store.opening().torn_content.clone().unwrap();
    assert_eq!((torn.offset, torn.bytes), (length as u64, 777));
    for bytes in &all {
        assert_eq!(store.blobs().get(&blake3_of(bytes)).unwrap().as_ref(), Some(bytes));
    }
    drop(store);
    assert!(store_on(&vfs).opening().torn_content.is_none());
}
