//! A store beside other processes: one writer, readers that follow it, readers on a medium that cannot be written.
//!
//! Locks belong to open files, so a second handle in this process stands for one in another.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use causelog::vfs::{CountingVfs, LockMode, MemoryVfs, RealVfs, Vfs};
use causelog::{Cursor, Durability, ErrorKind, Event, EventFields, Options, Store, VerifyOutcome, verify};

use crate::support::{active, bulky, event, hashes, holds_exactly, overwrite, read, sealed, small};

#[test]
fn a_second_writer_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    let store = Store::create(&path, small()).unwrap();
    store.append(&event("a", 0, &[])).unwrap();
    for _ in 0..3 {
        assert_eq!(Store::open(&path, small()).unwrap_err().kind(), ErrorKind::Locked);
        assert_eq!(Store::open_or_create(&path, small()).unwrap_err().kind(), ErrorKind::Locked);
        assert_eq!(Store::create(&path, small()).unwrap_err().kind(), ErrorKind::Locked);
    }
    let reader = Store::open_read_only(&path, small()).unwrap();
    assert_eq!(reader.append(&event("a", 1, &[])).unwrap_err().kind(), ErrorKind::ReadOnly);
    store.append(&event("a", 1, &[])).unwrap();
    store.close().unwrap();
    let store = Store::open(&path, small()).unwrap();
    assert_eq!(reader.stats().unwrap().events, store.stats().unwrap().events);
    // A repair runs beside nobody.
    assert!(RealVfs.try_lock(&path.join("reader.lock"), LockMode::Exclusive, false).unwrap().is_none());
}

#[test]
fn a_wait_without_end_is_a_wait() {
    let vfs = MemoryVfs::new();
    let options = || small().lock_wait(Duration::MAX).vfs(Arc::new(vfs.clone()));
    let store = Store::create("/s", options()).unwrap();
    let options = options();
    let waits = std::thread::spawn(move || Store::open("/s", options).map(drop));
    std::thread::sleep(Duration::from_millis(50));
    assert!(!waits.is_finished());
    store.close().unwrap();
    waits.join().unwrap().unwrap();
}

#[test]
fn damage_under_an_open_reader_is_not_hidden() {
    let vfs = MemoryVfs::new();
    let options = || small().vfs(Arc::new(vfs.clone()));
    let store = Store::create("/s", options()).unwrap();
    for seq in 0..100 {
        store.append(&bulky("a", seq)).unwrap();
    }
    let reader = Store::open_read_only("/s", options()).unwrap();
    let before = reader.snapshot().unwrap();
    vfs.remove(&sealed(2)).unwrap();
    store.append(&bulky("a", 100)).unwrap();
    for _ in 0..2 {
        let error = reader.snapshot().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.message().contains("segment 2"), "{error}");
    }
    assert_eq!(before.len(), 100, "what was taken before stays");
    let damaged = Store::open_read_only("/s", options()).unwrap();
    assert!(!damaged.opening().damage.is_empty());
    assert!(damaged.snapshot().unwrap().len() < 100, "one that was opened on the damage shows what is left");
}

#[test]
fn a_mark_that_is_damaged_hides_nothing_but_the_last_group() {
    let vfs = MemoryVfs::new();
    let options = || small().vfs(Arc::new(vfs.clone()));
    let store = Store::create("/s", options()).unwrap();
    let mark = Path::new("/s/mark");
    let count = || {
        assert_eq!(verify("/s", &options(), &()).unwrap().outcome(), VerifyOutcome::Fine);
        Store::open_read_only("/s", options()).unwrap().stats().unwrap().events
    };
    // Within the first segment, and with others before it.
    for seq in 0..60 {
        store.append(&bulky("a", seq)).unwrap();
        let whole = read(&vfs, mark);
        assert_eq!(count(), seq + 1);
        for (offset, bytes) in [(0, 52), (512, 52), (0, 564)] {
            overwrite(&vfs, mark, offset, &vec![0xA5; bytes]);
            assert!(count() >= seq, "after event {seq}, with bytes {offset} to {bytes} of the mark");
            overwrite(&vfs, mark, 0, &whole);
        }
    }
    vfs.remove(mark).unwrap();
    assert!(count() >= 59, "without the mark");
}

#[test]
fn a_reader_sees_what_is_synced_and_no_more() {
    let vfs = MemoryVfs::new();
    let options = || small().durability(Durability::Os).vfs(Arc::new(vfs.clone()));
    let store = Store::create("/s", options()).unwrap();
    let reader = Store::open_read_only("/s", options()).unwrap();
    let events: Vec<Event> = (0..10).map(|seq| event("a", seq, &[])).collect();
    for event in &events {
        store.append(event).unwrap();
        assert!(store.has(&event.id).unwrap());
    }
    assert_eq!(reader.stats().unwrap().events, 0);
    assert_eq!(
        store.since(&Cursor::default()).unwrap().count(),
        0,
        "nothing that a power cut can take leaves"
    );
    store.sync().unwrap();
    holds_exactly(&reader, &events);
    assert_eq!(store.since(&Cursor::default()).unwrap().count(), 10);
    store.append(&event("a", 10, &[])).unwrap();
    let late = Store::open_read_only("/s", options()).unwrap();
    holds_exactly(&late, &events);
    assert_eq!(late.opening().torn, None, "what a writer writes is no tear");
}

#[test]
fn readers_follow_a_writer_through_rolls_and_seals() {
    const EVENTS: u64 = 2500;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    let options = || small().background(true).idle_after(Duration::from_millis(2));
    let store = Store::create(&path, options()).unwrap();
    let (acked, done) = (AtomicU64::new(0), AtomicBool::new(false));
    let views = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for fresh in [true, false] {
            let (path, acked, done, views) = (&path, &acked, &done, &views);
            scope.spawn(move || {
                let kept = Store::open_read_only(path, options()).unwrap();
                let mut last = 0;
                while !done.load(Ordering::SeqCst) {
                    let least = acked.load(Ordering::SeqCst);
                    let opened = fresh.then(|| Store::open_read_only(path, options()).unwrap());
                    let reader = opened.as_ref().unwrap_or(&kept);
                    assert!(reader.opening().damage.is_empty(), "{:?}", reader.opening().damage);
                    assert_eq!(reader.opening().torn, None);
                    let snapshot = reader.snapshot().unwrap();
                    let seqs: Vec<u64> = snapshot.events().map(|event| event.unwrap().seq().get()).collect();
                    let count = seqs.len() as u64;
                    assert!(seqs.iter().copied().eq(0..count));
                    assert!(
                        count >= least && count >= last,
                        "{count} seen, {least} acknowledged, {last} seen before"
                    );
                    assert_eq!(snapshot.ordered().unwrap().count() as u64, count);
                    last = count;
                    views.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        // However it ends, the readers must.
        struct Stop<'a>(&'a AtomicBool);
        impl Drop for Stop<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::SeqCst);
            }
        }
        let _stop = Stop(&done);
        for seq in 0..EVENTS {
            store.append(&bulky("a", seq)).unwrap();
            acked.store(seq + 1, Ordering::SeqCst);
        }
    });
    let reader = Store::open_read_only(&path, options()).unwrap();
    assert_eq!(reader.stats().unwrap().events, EVENTS);
    println!(
        "{} views of {EVENTS} events in {} segments",
        views.into_inner(),
        reader.stats().unwrap().segments.len()
    );
}

#[test]
fn a_copy_without_lock_files_is_read_and_nothing_is_written() {
    let vfs = MemoryVfs::new();
    let options = || small().vfs(Arc::new(vfs.clone()));
    let store = Store::create("/s", options()).unwrap();
    let events: Vec<Event> = (0..60).map(|seq| bulky("a", seq)).collect();
    for event in &events {
        store.append(event).unwrap();
    }
    let killed = vfs.fork();
    store.close().unwrap();
    for copy in [killed, vfs.fork()] {
        for lock in ["writer.lock", "reader.lock"] {
            copy.remove(&Path::new("/s").join(lock)).unwrap();
        }
        // Needs neither the index nor the tables beside the segments.
        copy.remove(Path::new("/s/index.redb")).unwrap();
        let before = hashes(&copy);
        let counting = Arc::new(CountingVfs::new(Arc::new(copy.clone())));
        let reader = Store::open_read_only("/s", Options::new().vfs(counting.clone())).unwrap();
        holds_exactly(&reader, &events);
        assert_eq!(hashes(&copy), before);
        let counters = counting.counters();
        assert_eq!((counters.writes, counters.resizes, counters.name_changes, counters.syncs), (0, 0, 0, 0));
    }
}

#[test]
fn c047_a_segment_that_is_removed_stays_readable_for_who_reads_it() {
    let vfs = MemoryVfs::new();
    let options = || small().vfs(Arc::new(vfs.clone()));
    let store = Store::create("/s", options()).unwrap();
    let events: Vec<Event> = (0..100).map(|seq| bulky("a", seq)).collect();
    for event in &events {
        store.append(event).unwrap();
    }
    let reader = Store::open_read_only("/s", options()).unwrap();
    let snapshot = reader.snapshot().unwrap();
    let mut streaming = snapshot.events();
    let first: Vec<_> = streaming.by_ref().take(70).map(Result::unwrap).collect();
    // What the writer seals next takes the active form's name away.
    for seq in 100..140 {
        store.append(&bulky("a", seq)).unwrap();
    }
    assert!(!vfs.exists(&active(5)).unwrap() && vfs.exists(&sealed(5)).unwrap());
    vfs.remove(&sealed(1)).unwrap();
    let rest: Vec<_> = streaming.map(Result::unwrap).collect();
    assert_eq!(first.len() + rest.len(), 100);
    assert!(snapshot.events().map(|event| event.unwrap().to_event().unwrap()).eq(events));
}

#[test]
fn a_capped_store_keeps_what_a_snapshot_holds() {
    let store = Store::in_memory(Options::new().events_max(80).durability(Durability::Os)).unwrap();
    let fill =
        |from: u64| (from..from + 80).for_each(|seq| drop(store.append(&event("a", seq, &[])).unwrap()));
    fill(0);
    let (snapshot, events) = (store.snapshot().unwrap(), store.snapshot().unwrap().len());
    fill(80);
    assert_eq!(snapshot.events().map(Result::unwrap).count() as u64, events);
    assert_eq!(snapshot.ordered().unwrap().map(Result::unwrap).count() as u64, events);
}
