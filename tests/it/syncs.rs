//! What appending, opening and checkpoints cost, in calls.

use std::path::Path;
use std::sync::Arc;

use causelog::vfs::{CountingVfs, MemoryVfs, RealVfs};
use causelog::{BatchMode, Durability, Event, JsonText, Options, Store};

use crate::support::{event, read, small};

#[test]
fn threads_share_syncs_on_a_real_file_system() {
    const THREADS: u64 = 8;
    const EVENTS: u64 = 1000;
    let dir = tempfile::tempdir().unwrap();
    let vfs = Arc::new(CountingVfs::new(Arc::new(RealVfs)));
    let store = Store::create(dir.path().join("s"), Options::new().vfs(vfs.clone())).unwrap();
    let before = vfs.counters();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let store = &store;
            scope.spawn(move || {
                for seq in 0..EVENTS {
                    store.append(&event(&format!("h{thread}"), seq, &[])).unwrap();
                }
            });
        }
    });
    let syncs = vfs.counters().since(&before).syncs;
    println!("{} durable appends of {THREADS} threads: {syncs} syncs", THREADS * EVENTS);
    assert!(syncs <= THREADS * EVENTS / 2, "{syncs} syncs");
    assert_eq!(store.stats().unwrap().events, THREADS * EVENTS);
}

#[test]
fn opening_reads_a_hundredth_at_most_and_no_event() {
    let full = std::env::var_os("CAUSELOG_FULL").is_some();
    let (count, segment_bytes) = if full { (1_000_000, 64 << 20) } else { (200_000, (64 << 20) / 5) };
    let memory = MemoryVfs::new();
    let vfs = Arc::new(CountingVfs::new(Arc::new(memory.clone())));
    let options = || small().segment_bytes_max(segment_bytes).durability(Durability::Os).vfs(vfs.clone());
    let store = Store::create("/s", options()).unwrap();
    let note = "n".repeat(250);
    let payload = JsonText::parse(&format!(r#"{{"turnId":"t","note":"{note}"}}"#)).unwrap();
    let mut batch: Vec<Event> = Vec::new();
    for n in 0..count {
        let causes: Vec<&Event> = batch.iter().rev().take(usize::try_from(n % 3).unwrap()).collect();
        let next = Event { payload: payload.clone(), ..event(&format!("h{}", n % 5), n, &causes) };
        batch.push(next);
        if batch.len() == 1000 {
            assert_eq!(store.append_batch(&batch, BatchMode::Each).unwrap().stored(), 1000);
            batch.clear();
        }
    }
    store.close().unwrap();
    let total = memory.total_bytes();
    for read_only in [false, true] {
        let before = vfs.counters();
        let store =
            if read_only { Store::open_read_only("/s", options()) } else { Store::open("/s", options()) }
                .unwrap();
        let cost = vfs.counters().since(&before);
        println!(
            "opening {count} events in {total} bytes, read-only {read_only}: {} bytes in {} reads, {} bytes in {} maps",
            cost.read_bytes, cost.reads, cost.mapped_bytes, cost.maps
        );
        assert_eq!(store.opening().frames_read, 0);
        assert!((cost.read_bytes + cost.mapped_bytes) * 100 < total, "{cost:?} of {total} bytes");
        assert_eq!(store.stats().unwrap().events, count);
        if read_only {
            assert_eq!((cost.writes, cost.resizes, cost.name_changes, cost.syncs), (0, 0, 0, 0));
        }
    }
}

#[test]
fn the_index_is_written_at_checkpoints_alone() {
    let vfs = MemoryVfs::new();
    let options = small().segment_bytes_max(256 << 10).durability(Durability::Os).vfs(Arc::new(vfs.clone()));
    let store = Store::create("/s", options).unwrap();
    let index = || blake3::hash(&read(&vfs, Path::new("/s/index.redb")));
    let before = index();
    for n in 0..10_000 {
        store.append(&event("a", n, &[])).unwrap();
    }
    assert!(store.stats().unwrap().segments.len() > 3);
    assert_eq!(index(), before);
    store.checkpoint().unwrap();
    assert_ne!(index(), before);
}
