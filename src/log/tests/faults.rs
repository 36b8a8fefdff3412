//! Every call that sealing, merging and reading make can fail, and power can go at any of them.

use std::sync::Arc;

use super::fixture::{Fixture, Plain, STORE, ask_everything, plain, with_source};
use crate::contract::ErrorKind;
use crate::io::{Calls, Failure, Fault, FaultyVfs, MemoryVfs, Vfs};
use crate::log::ids::{IdTables, TierFiles};
use crate::log::seal::seal;
use crate::log::sealed::SealedSegment;

fn some_events() -> Vec<Plain> {
    (0..40).map(|n| plain((n % 3) as u32, n, &format!("id {n}"))).collect()
}

fn list(vfs: &dyn Vfs, dir: &std::path::Path) -> Vec<String> {
    vfs.list(dir).unwrap()
}

#[test]
fn each_call_of_sealing_can_fail() {
    let events = some_events();
    for failure in [Failure::MEDIUM, Failure::NO_SPACE] {
        for nth in 1.. {
            let faulty = FaultyVfs::new(Arc::new(MemoryVfs::new()));
            let fixture = Fixture::on(Arc::new(faulty.clone()));
            faulty.arm(Fault::nth(Calls::Any, nth, failure));
            let sealed = with_source(1, &events, |source| seal(&fixture.vfs, &fixture.dir, source));
            let failed = faulty.failed() > 0;
            faulty.disarm();
            match sealed {
                Ok(_) => assert!(!failed, "call {nth} failed in silence"),
                Err(error) => assert_eq!(error.kind(), ErrorKind::Io, "call {nth}: {error}"),
            }
            for name in list(&*fixture.vfs, &fixture.dir).iter().filter(|name| name.ends_with("sealed")) {
                let segment = fixture.open(&fixture.dir.join(name)).unwrap();
                assert_eq!(segment.verify(&mut |_| {}).unwrap().len(), 0, "call {nth}");
            }
            // The next try finds nothing in its way.
            assert_eq!(fixture.sealed(1, &events).events(), 40);
            if !failed {
                assert!(nth > 7, "only {nth} calls");
                break;
            }
        }
    }
}

#[test]
fn a_full_disk_leaves_nothing_behind() {
    let events = some_events();
    let faulty = FaultyVfs::new(Arc::new(MemoryVfs::new()));
    let fixture = Fixture::on(Arc::new(faulty.clone()));
    for space in [0, 1, 512, 4096] {
        faulty.limit_space(Some(space));
        let refused = with_source(1, &events, |source| seal(&fixture.vfs, &fixture.dir, source)).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Io);
        assert_eq!(list(&*fixture.vfs, &fixture.dir), Vec::<String>::new());
    }
    faulty.limit_space(None);
    fixture.seal(1, &events);
}

#[test]
fn a_power_cut_leaves_no_sealed_file_or_a_whole_one() {
    let events = some_events();
    let mut whole = 0;
    for nth in 1..12 {
        let faulty = FaultyVfs::recording(Arc::new(MemoryVfs::new()));
        let fixture = Fixture::on(Arc::new(faulty.clone()));
        fixture.vfs.sync_dir("/store".as_ref()).unwrap();
        fixture.vfs.sync_dir("/".as_ref()).unwrap();
        faulty.arm(Fault::nth(Calls::Any, nth, Failure::MEDIUM).for_good());
        let sealed = with_source(1, &events, |source| seal(&fixture.vfs, &fixture.dir, source));
        for seed in 0..24 {
            let image: Arc<dyn Vfs> = Arc::new(faulty.crash(seed).unwrap());
            let names = list(&*image, &fixture.dir);
            let found = names.iter().any(|name| name == "0000000001.sealed");
            assert!(found || sealed.is_err(), "call {nth}, seed {seed}: the name is gone");
            let after = Fixture::on(image);
            if found {
                let segment = after.open(&after.dir.join("0000000001.sealed")).unwrap();
                assert_eq!(segment.verify(&mut |_| {}).unwrap().len(), 0, "call {nth}, seed {seed}");
                whole += 1;
            }
            assert_eq!(after.sealed(1, &events).events(), 40);
        }
    }
    assert!(whole > 24, "{whole} images with a sealed file");
}

#[test]
fn calls_that_fail_while_reading_are_no_damage() {
    let events = some_events();
    let memory: Arc<dyn Vfs> = Arc::new(MemoryVfs::new());
    let path = Fixture::on(memory.clone()).seal(1, &events).path;
    for nth in 1.. {
        let faulty = FaultyVfs::new(memory.clone());
        let fixture = Fixture::on(Arc::new(faulty.clone()));
        faulty.arm(Fault::nth(Calls::Any, nth, Failure::Os(24)).for_good());
        let segment = match fixture.open(&path) {
            Ok(segment) => segment,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Io);
                continue;
            }
        };
        match segment.arrival(3) {
            Err(error) => assert_eq!(error.kind(), ErrorKind::Io),
            Ok(offset) => assert!(segment.record_at(offset.unwrap()).is_ok()),
        }
        if let Err(error) = segment.verify(&mut |_| {}) {
            assert_eq!(error.kind(), ErrorKind::Io);
        }
        // What failed once is tried again.
        faulty.disarm();
        assert_eq!(segment.verify(&mut |_| {}).unwrap().len(), 0);
        assert_eq!(ask_everything(&segment, &events), 5);
        if faulty.failed() == 0 {
            break;
        }
    }
}

#[test]
fn each_call_of_merging_can_fail_and_power_can_go() {
    let memory: Arc<dyn Vfs> = Arc::new(MemoryVfs::new());
    let fixture = Fixture::on(memory.clone());
    let sealed: Vec<_> = (1..=8u64)
        .map(|number| fixture.seal(number, &[plain(0, number, &format!("id {number}"))]).path)
        .collect();
    for nth in 1.. {
        for name in list(&*memory, "/store/ids".as_ref()) {
            memory.remove(&std::path::Path::new("/store/ids").join(name)).unwrap();
        }
        let faulty = FaultyVfs::recording(memory.clone());
        let vfs: Arc<dyn Vfs> = Arc::new(faulty.clone());
        let open = |vfs: &Arc<dyn Vfs>| {
            let segments =
                sealed.iter().map(|path| Arc::new(SealedSegment::open(vfs, path, &fixture.budget).unwrap()));
            IdTables::open(vfs, "/store/ids".as_ref(), STORE, segments.collect(), TierFiles::Tidy).unwrap()
        };
        let tables = open(&vfs);
        let plan = tables.plan_merge().unwrap();
        faulty.arm(Fault::nth(Calls::Any, nth, Failure::MEDIUM).for_good());
        let merged = plan.merge();
        assert_eq!(merged.is_ok(), faulty.failed() == 0, "call {nth}");
        for seed in 0..8 {
            let image: Arc<dyn Vfs> = Arc::new(faulty.crash(seed).unwrap());
            let tables = open(&image);
            for number in 1..=8u64 {
                let id = crate::contract::EventId::new(&format!("id {number}")).unwrap();
                let found: Vec<_> = tables
                    .candidates(super::fixture::fingerprint(id.as_ref()))
                    .collect::<Result<_, _>>()
                    .unwrap();
                assert_eq!(found.iter().map(|(segment, _)| *segment).collect::<Vec<_>>(), [number]);
            }
        }
        if merged.is_ok() {
            assert!(nth > 20, "only {nth} calls");
            break;
        }
    }
}
