//! Repairing content: what still opens is kept, what is lost is named, and putting that again restores it.

use std::path::PathBuf;

use causelog::vfs::{Calls, Failure, Fault, FaultyVfs, MemoryVfs, Vfs};
use causelog::{BlobState, Options, RepairMode, RepairReport, Store, VerifyOutcome, repair, verify};
use std::sync::Arc;

use super::{AT, blake3_of, content, options_on, store_on};
use crate::support::{event, overwrite, read, resize, small};

fn pack(number: u64, form: &str) -> PathBuf {
    PathBuf::from(format!("/s/blobs/{number:010}.{form}"))
}

/// A store of one sealed pack, an active one and one of its own; closed.
fn three() -> (MemoryVfs, Vec<Vec<u8>>) {
    let vfs = MemoryVfs::new();
    let store = store_on(&vfs);
    let mut all: Vec<_> = (0..18).map(|seed| content(seed, 5000)).collect();
    all.push(content(99, (4 << 20) + 1));
    for bytes in &all {
        store.blobs().put(bytes).unwrap();
    }
    store.append(&event("a", 1, &[])).unwrap();
    store.close().unwrap();
    for (number, form) in [(1, "pack"), (2, "active"), (3, "pack")] {
        assert!(vfs.exists(&pack(number, form)).unwrap());
    }
    (vfs, all)
}

/// Repairs, checks that all is well then, and returns the report and what is lost.
fn mend(vfs: &MemoryVfs, all: &[Vec<u8>], what: &str) -> (RepairReport, Vec<usize>) {
    let before: Vec<_> = vfs.paths();
    let plan = repair(AT, &options_on(vfs), RepairMode::DryRun, &()).unwrap();
    assert_eq!(vfs.paths(), before, "{what}: a plan changes nothing");
    let report = repair(AT, &options_on(vfs), RepairMode::Apply, &()).unwrap();
    assert_eq!((&plan.actions, &plan.content_lost), (&report.actions, &report.content_lost), "{what}");
    assert_eq!(report.outcome(), VerifyOutcome::Damaged, "{what}");
    let verified = verify(AT, &options_on(vfs), &()).unwrap();
    assert!(verified.findings.is_empty(), "{what}: {:?}", verified.findings);
    let again = repair(AT, &options_on(vfs), RepairMode::Apply, &()).unwrap();
    assert!(again.actions.is_empty() && again.findings.is_empty(), "{what}: {again:?}");
    let store = store_on(vfs);
    assert!(store.opening().content_damage.is_empty());
    let mut lost = Vec::new();
    for (number, bytes) in all.iter().enumerate() {
        match store.blobs().get(&blake3_of(bytes)).unwrap() {
            Some(held) => assert_eq!(held, *bytes, "{what}"),
            None => lost.push(number),
        }
    }
    for number in &lost {
        store.blobs().put(&all[*number]).unwrap();
        assert_eq!(
            store.blobs().get(&blake3_of(&all[*number])).unwrap().as_ref(),
            Some(&all[*number]),
            "{what}"
        );
    }
    assert_eq!(store.ordered().unwrap().count(), 1, "{what}");
    store.append(&event("a", 2, &[])).unwrap();
    store.close().unwrap();
    let verified = verify(AT, &options_on(vfs), &()).unwrap();
    assert!(verified.findings.is_empty(), "{what}: {:?}", verified.findings);
    (report, lost)
}

#[test]
fn a_damaged_body_costs_that_blob() {
    for (number, form, blob) in [(1, "pack", 0), (3, "pack", 18)] {
        let (vfs, all) = three();
        let file = pack(number, form);
        let byte = read(&vfs, &file)[300];
        overwrite(&vfs, &file, 300, &[byte ^ 1]);
        let (report, lost) = mend(&vfs, &all, "a body");
        assert_eq!(lost, [blob]);
        assert_eq!(report.content_lost, [blake3_of(&all[blob]).to_string()]);
        assert_eq!(report.kept.len(), 1);
        assert!(vfs.exists(&report.kept[0]).unwrap());
    }
}

#[test]
fn a_damaged_head_footer_or_end_costs_no_more_than_it_has_to() {
    let (base, all) = three();
    let length = read(&base, &pack(1, "pack")).len();
    for (form, number, at, most) in [
        ("pack", 1, 70, 1),
        ("pack", 1, 10, 0),
        ("pack", 1, length - 3, 0),
        ("pack", 1, length - 200, 0),
        ("active", 2, 70, 1),
    ] {
        let vfs = base.fork();
        let file = pack(number, form);
        let byte = read(&vfs, &file)[at];
        overwrite(&vfs, &file, at, &[byte ^ 0x10]);
        let (_, lost) = mend(&vfs, &all, &format!("{form} {number}, byte {at}"));
        assert!(lost.len() <= most, "{form} {number}, byte {at}: {lost:?}");
    }
}

#[test]
fn packs_that_are_gone_or_cut_are_given_up() {
    let (base, all) = three();
    for (number, form) in [(1, "pack"), (2, "active"), (3, "pack")] {
        let vfs = base.fork();
        vfs.remove(&pack(number, form)).unwrap();
        mend(&vfs, &all, &format!("pack {number} removed"));
        for keep in [0, 64, 100, 6000] {
            let vfs = base.fork();
            resize(&vfs, &pack(number, form), keep);
            mend(&vfs, &all, &format!("pack {number} cut to {keep}"));
        }
    }
}

#[test]
fn a_lost_slot_costs_its_blob() {
    let (vfs, all) = three();
    overwrite(&vfs, std::path::Path::new("/s/keys/slots"), 4096 + 128 * 3, &[0; 128]);
    let (_, lost) = mend(&vfs, &all, "a slot of zeros");
    assert_eq!(lost, [3]);
    let (vfs, all) = three();
    overwrite(&vfs, std::path::Path::new("/s/keys/slots"), 4096 + 128 * 3 + 50, &[0xFF; 3]);
    let (_, lost) = mend(&vfs, &all, "a damaged slot");
    assert_eq!(lost, [3]);
}

#[test]
fn what_was_shredded_or_evicted_stays_so_through_a_repair() {
    let (vfs, all) = three();
    let store = store_on(&vfs);
    store.blobs().shred(&blake3_of(&all[1])).unwrap();
    store.blobs().evict(&blake3_of(&all[2])).unwrap();
    store.close().unwrap();
    let byte = read(&vfs, &pack(1, "pack"))[300];
    overwrite(&vfs, &pack(1, "pack"), 300, &[byte ^ 1]);
    repair(AT, &options_on(&vfs), RepairMode::Apply, &()).unwrap();
    let store = store_on(&vfs);
    let state = |number: usize| store.blobs().state(&blake3_of(&all[number])).unwrap();
    assert_eq!(
        (state(1), state(2), state(3)),
        (BlobState::Shredded, BlobState::Evicted, BlobState::Resident)
    );
}

#[test]
fn a_repair_that_fails_can_be_run_again() {
    let (base, all) = three();
    let byte = read(&base, &pack(1, "pack"))[300];
    overwrite(&base, &pack(1, "pack"), 300, &[byte ^ 1]);
    base.remove(&pack(3, "pack")).unwrap();
    let options = |vfs: Arc<dyn Vfs>| -> Options { small().pack_bytes_max(64 << 10).vfs(vfs) };
    for nth in 1.. {
        let vfs = base.fork();
        let faulty = FaultyVfs::new(Arc::new(vfs.clone()));
        faulty.arm(Fault::nth(Calls::Changing, nth, Failure::MEDIUM).for_good());
        let done = repair(AT, &options(Arc::new(faulty.clone())), RepairMode::Apply, &());
        let failed = faulty.failed() > 0;
        faulty.disarm();
        assert_eq!(done.is_err(), failed, "call {nth}");
        if !failed {
            break;
        }
        let lost: Vec<_> = (1..18).collect();
        repair(AT, &options(Arc::new(vfs.clone())), RepairMode::Apply, &()).unwrap();
        let report = verify(AT, &options(Arc::new(vfs.clone())), &()).unwrap();
        assert!(report.findings.is_empty(), "call {nth}: {:?}", report.findings);
        let store = Store::open(AT, options(Arc::new(vfs.clone()))).unwrap();
        for number in lost {
            let held = store.blobs().get(&blake3_of(&all[number])).unwrap();
            assert_eq!(held.as_ref(), Some(&all[number]), "call {nth}");
        }
    }
}
