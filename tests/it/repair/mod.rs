//! Repairing damaged stores: everything that checks stays, everything else is named, and the store is sound again.

mod crash;
mod damage;
mod image;
mod missing;
mod positions;
mod tail;

use std::path::Path;
use std::sync::Arc;

use causelog::vfs::{MemoryVfs, Vfs};
use causelog::{
    Appended, BatchMode, Event, EventFields, Options, RepairMode, RepairReport, Store, VerifyOutcome, repair,
    verify,
};

use crate::support::{event, small};
use image::{HOSTS, Image, copy};

fn files(vfs: &MemoryVfs) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for dir in ["/s", "/s/log", "/s/ids", "/s/kept"].map(Path::new) {
        for name in vfs.list(dir).unwrap() {
            let path = dir.join(name);
            all.push((path.display().to_string(), image::read(vfs, &path)));
        }
    }
    all
}

/// Repairs, having seen that a dry run says the same and writes nothing.
fn repaired(image: &Image) -> RepairReport {
    let before = files(&image.vfs);
    let plan = repair("/s", &image.options(), RepairMode::DryRun, &()).unwrap();
    assert!(files(&image.vfs) == before, "a dry run changes nothing");
    let report = repair("/s", &image.options(), RepairMode::Apply, &()).unwrap();
    assert_eq!(format!("{plan:?}"), format!("{report:?}"));
    for path in &report.kept {
        assert!(image.vfs.exists(path).unwrap(), "{}", path.display());
    }
    report
}

/// The store is sound, holds exactly these events, remembers how many it lost, and takes appends.
fn check(vfs: &MemoryVfs, events: &[Event], lost: u64) {
    let options = || small().vfs(Arc::new(vfs.clone()));
    let again = repair("/s", &options(), RepairMode::DryRun, &()).unwrap();
    assert_eq!((again.outcome(), again.actions), (VerifyOutcome::Fine, vec![]), "{:?}", again.findings);
    let verified = verify("/s", &options(), &()).unwrap();
    assert_eq!(verified.outcome(), VerifyOutcome::Fine, "{:?}", verified.findings);
    assert_eq!(verified.events, events.len() as u64);
    let reader = Store::open_read_only("/s", options()).unwrap();
    holds(&reader, events, lost);
    drop(reader);

    let mut events = events.to_vec();
    let store = open(options());
    for event in &events {
        assert_eq!(store.append(event).unwrap(), Appended::Duplicate);
    }
    // Enough to fill the segment, so that what there is gets sealed.
    let before = events.len();
    for (n, host) in (0..120).flat_map(|n| HOSTS.map(|host| (n, host))) {
        let causes: Vec<&Event> = events.iter().rev().take(2).collect();
        let next = event(host, 1_000_000 + n, &causes);
        events.push(next);
    }
    assert_eq!(store.append_batch(&events[before..], BatchMode::StopAtFirst).unwrap().stored(), 360);
    holds(&store, &events, lost);
    store.close().unwrap();
    let verified = verify("/s", &options(), &()).unwrap();
    assert_eq!(verified.outcome(), VerifyOutcome::Fine, "{:?}", verified.findings);
    let store = open(options());
    holds(&store, &events, lost);
}

fn open(options: Options) -> Store {
    let store = Store::open("/s", options).unwrap();
    let report = store.opening();
    assert!(report.damage.is_empty() && report.torn.is_none() && report.read_only.is_none(), "{report:?}");
    store
}

fn holds(store: &Store, events: &[Event], lost: u64) {
    let mut expected: Vec<&Event> = events.iter().collect();
    expected.sort_by_key(|event| (event.host(), event.seq()));
    let held: Vec<Event> = store.events().unwrap().map(|event| event.unwrap().to_event().unwrap()).collect();
    assert_eq!(held.len(), expected.len());
    assert!(held.iter().eq(expected.iter().copied()));
    let ordered: Vec<String> =
        store.ordered().unwrap().map(|event| event.unwrap().id().to_string()).collect();
    let order = causelog::order::linearize(events).unwrap();
    assert!(order.into_iter().map(|at| events[at].id.to_string()).eq(ordered));
    let stats = store.stats().unwrap();
    assert_eq!((stats.events, stats.lost), (events.len() as u64, lost));
    assert_eq!(store.opening().lost, lost);
}

/// Ranges of the events that a report says are lost.
fn lost(report: &RepairReport) -> Vec<(&str, u64, u64)> {
    report.lost.iter().map(|lost| (lost.host.as_str(), lost.first, lost.last)).collect()
}

/// Each lost event is named by a range, and no range takes in one that is held.
fn names_what_is_lost(report: &RepairReport, all: &[Event], left: &[Event]) {
    for event in all {
        let named = report
            .lost
            .iter()
            .any(|lost| lost.host == event.host() && (lost.first..=lost.last).contains(&event.seq().get()));
        let held = left.iter().any(|left| left.id == event.id);
        assert_eq!(named, !held, "{}", event.id);
    }
}

#[test]
fn a_sound_store_needs_no_repair() {
    for image in [Image::sealed(), Image::rolled(), Image::single(20)] {
        let before = copy(&image.vfs);
        let report = repaired(&image);
        assert_eq!(report.outcome(), VerifyOutcome::Fine);
        assert_eq!((report.actions, report.kept, report.events_lost), (vec![], vec![], 0));
        assert!(files(&image.vfs) == files(&before));
        check(&image.vfs, &image.events, 0);
    }
}

#[test]
fn a_repair_runs_alone() {
    let image = Image::single(5);
    let store = Store::open("/s", image.options()).unwrap();
    for mode in [RepairMode::DryRun, RepairMode::Apply] {
        let refused = repair("/s", &image.options(), mode, &()).unwrap_err();
        assert_eq!(refused.kind(), causelog::ErrorKind::Locked);
    }
    drop(store);
    let reader = Store::open_read_only("/s", image.options()).unwrap();
    let refused = repair("/s", &image.options(), RepairMode::Apply, &()).unwrap_err();
    assert_eq!(refused.kind(), causelog::ErrorKind::Locked);
    drop(reader);
    let absent = repair("/nowhere", &image.options(), RepairMode::Apply, &()).unwrap_err();
    assert_eq!(absent.kind(), causelog::ErrorKind::NotFound);
}
