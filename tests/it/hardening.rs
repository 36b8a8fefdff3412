//! What many threads, many names, lying files and curious eyes must not do.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use causelog::vfs::{CountingVfs, MemoryVfs, OpenMode, Vfs};
use causelog::{
    Appended, BatchMode, Durability, Event, HostId, JsonText, NewEvent, Options, RepairMode, Store,
    VerifyOutcome, repair, verify,
};

use crate::support::{active, bulky, event, holds_exactly, overwrite, read, resize, sealed, small};

fn on(vfs: &MemoryVfs) -> Options {
    small().vfs(Arc::new(vfs.clone()))
}

#[test]
fn threads_fill_segments_as_one_thread_does() {
    const EVENTS: u64 = 800;
    // Syncs take a while on a real file system, so that many threads meet a full segment at once.
    let dir = tempfile::tempdir().unwrap();
    let segments = |threads: u64| {
        let path = dir.path().join(threads.to_string());
        let store = Store::create(path, small().segment_bytes_max(128 << 10)).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let store = &store;
                scope.spawn(move || {
                    for seq in 0..EVENTS / threads {
                        store.append(&bulky(&format!("h{thread}"), seq)).unwrap();
                    }
                });
            }
        });
        let stats = store.stats().unwrap();
        assert_eq!(stats.events, EVENTS);
        stats.segments.len()
    };
    let alone = segments(1);
    for threads in [8, 16] {
        let found = segments(threads);
        assert!(
            found <= alone + alone / 8 + 1,
            "{threads} threads: {found} segments where one makes {alone}"
        );
    }
}

#[test]
fn a_late_event_reads_what_names_it_and_no_history() {
    let counting = Arc::new(CountingVfs::new(Arc::new(MemoryVfs::new())));
    let store = Store::create("/s", small().vfs(counting.clone())).unwrap();
    let missing = event("late", 0, &[]);
    store.append(&event("a", 0, &[&missing])).unwrap();
    let mut before = event("b", 0, &[]);
    store.append(&before).unwrap();
    for seq in 1..50 {
        let next = event("b", seq, &[&before]);
        store.append(&next).unwrap();
        before = next;
    }
    let start = counting.counters();
    let late = Event { causes: vec![before.id.clone()], ..missing };
    assert_eq!(store.append(&late).unwrap(), Appended::Stored);
    // What waits for it is read; not the chain that it rests on.
    let reads = counting.counters().since(&start).reads;
    assert!((1..=4).contains(&reads), "{reads} reads");
}

#[test]
fn new_hosts_cost_no_more_where_there_are_many() {
    const BATCH: u64 = 2000;
    let store = Store::in_memory(small().segment_bytes_max(64 << 20).durability(Durability::Os)).unwrap();
    let append = |first: u64, count: u64| -> Duration {
        let events: Vec<Event> =
            (first..first + count).map(|n| event(&format!("host-{n}"), 0, &[])).collect();
        let start = Instant::now();
        assert_eq!(store.append_batch(&events, BatchMode::Each).unwrap().stored() as u64, count);
        start.elapsed()
    };
    let few = append(0, BATCH);
    append(BATCH, 16 * BATCH);
    let many = append(17 * BATCH, BATCH);
    println!("{BATCH} new hosts took {few:?} at first, {many:?} behind {} others", 17 * BATCH);
    assert!(many < few * 20 + Duration::from_millis(100), "{few:?}, then {many:?}");
    assert_eq!(store.cursor().unwrap().len() as u64, 18 * BATCH);
}

/// A killed store whose first segment is sealed, and recorded as that in the second.
fn one_sealed() -> (MemoryVfs, Vec<Event>) {
    let vfs = MemoryVfs::new();
    let store = Store::create("/s", on(&vfs)).unwrap();
    let events: Vec<Event> = (0..30).map(|seq| bulky("a", seq)).collect();
    for event in &events {
        store.append(event).unwrap();
    }
    assert!(vfs.exists(&sealed(1)).unwrap() && vfs.exists(&active(2)).unwrap());
    (vfs.fork(), events)
}

fn damaged(store: &Store) -> Vec<Option<u64>> {
    store.opening().damage.iter().map(|found| found.segment).collect()
}

#[test]
fn a_flipped_version_is_damage_that_a_repair_mends() {
    let (base, events) = one_sealed();
    for path in [sealed(1), active(2)] {
        let vfs = base.fork();
        overwrite(&vfs, &path, 8, &[3]);
        let number = if path == sealed(1) { 1 } else { 2 };
        let store = Store::open("/s", on(&vfs)).unwrap();
        assert!(damaged(&store).contains(&Some(number)), "{:?}", store.opening());
        drop(store);
        repair("/s", &on(&vfs), RepairMode::Apply, &()).unwrap();
        let store = Store::open("/s", on(&vfs)).unwrap();
        assert!(store.opening().damage.is_empty(), "{:?}", store.opening());
        holds_exactly(&store, &events);
    }
}

#[test]
fn names_beyond_the_numbers_of_segments_are_no_segments() {
    let (vfs, events) = one_sealed();
    for name in ["18446744073709551615.sealed", "18446744073709551615.active", "0000000000.sealed"] {
        vfs.open(&Path::new("/s/log").join(name), OpenMode::Create).unwrap();
    }
    let reader = Store::open_read_only("/s", on(&vfs)).unwrap();
    assert!(reader.opening().damage.is_empty(), "{:?}", reader.opening());
    drop(reader);
    let store = Store::open("/s", on(&vfs)).unwrap();
    holds_exactly(&store, &events);
    // The greatest number that one can have is missing all others before it.
    drop(store);
    vfs.open(Path::new("/s/log/18446744073709551614.sealed"), OpenMode::Create).unwrap();
    let reader = Store::open_read_only("/s", on(&vfs)).unwrap();
    assert!(damaged(&reader).contains(&Some(u64::MAX - 1)), "{:?}", reader.opening());
}

#[test]
fn a_sealed_segment_has_the_root_that_the_log_recorded() {
    let (vfs, _) = one_sealed();
    let mut bytes = read(&vfs, &sealed(1));
    let trailer = bytes.len() - 272;
    bytes[trailer + 224] ^= 1;
    let crc = crc32c::crc32c(&bytes[trailer..trailer + 256]);
    bytes[trailer + 256..trailer + 260].copy_from_slice(&crc.to_le_bytes());
    overwrite(&vfs, &sealed(1), 0, &bytes);
    let store = Store::open("/s", on(&vfs)).unwrap();
    assert_eq!(damaged(&store), [Some(1)], "{:?}", store.opening());
    assert!(store.opening().damage[0].what.contains("recorded"), "{:?}", store.opening());
}

/// Offsets of the parts of a checkpoint: its causes that are not held, its state, its checksum.
fn parts_of(checkpoint: &[u8]) -> [usize; 3] {
    let field =
        |at: usize| usize::try_from(u64::from_le_bytes(checkpoint[at..at + 8].try_into().unwrap())).unwrap();
    let dangling = 72 + field(48);
    let state = dangling + 12 * field(56);
    [dangling, state, state + field(64)]
}

#[test]
fn a_checkpoint_that_says_more_than_the_frames_is_found() {
    let path = Path::new("/s/log/0000000001.checkpoint");
    let vfs = MemoryVfs::new();
    let store = Store::create("/s", on(&vfs)).unwrap();
    let missing = event("b", 7, &[]);
    for seq in 0..5 {
        store.append(&event("a", seq, &[&missing])).unwrap();
    }
    store.checkpoint().unwrap();
    let vfs = vfs.fork();
    let good = read(&vfs, path);
    let [dangling, state, crc] = parts_of(&good);
    assert_eq!(state - dangling, 5 * 12);
    let count = |bytes: &mut Vec<u8>, at: usize, add: u64| {
        let held = u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        bytes[at..at + 8].copy_from_slice(&(held + add).to_le_bytes());
    };
    let outcome = |change: &dyn Fn(&mut Vec<u8>)| {
        let (vfs, mut bytes) = (vfs.fork(), good[..crc].to_vec());
        change(&mut bytes);
        bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
        resize(&vfs, path, 0);
        overwrite(&vfs, path, 0, &bytes);
        let report = verify("/s", &on(&vfs), &()).unwrap();
        (report.outcome(), report.findings.iter().any(|found| found.what.contains("checkpoint")))
    };
    assert_eq!(outcome(&|_| {}), (VerifyOutcome::Fine, false));
    let another_cause = |bytes: &mut Vec<u8>| {
        count(bytes, 56, 1);
        bytes.splice(state..state, [1, 2, 3, 4, 5, 6, 7, 8, 4, 0, 0, 0]);
    };
    assert_eq!(outcome(&another_cause), (VerifyOutcome::Damaged, true));
    // The root of the state is its last 56 bytes; at 40, whether an event came late.
    let late_causes = |bytes: &mut Vec<u8>| bytes[crc - 16] ^= 1;
    assert_eq!(outcome(&late_causes), (VerifyOutcome::Damaged, true));
    // A sixth event without bytes, which the state counts.
    let another_event = |bytes: &mut Vec<u8>| {
        count(bytes, crc - 56 + 32, 1);
        count(bytes, 40, 1);
        count(bytes, 48, 13);
        bytes.splice(dangling..dangling, [0, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8]);
    };
    assert_eq!(outcome(&another_event), (VerifyOutcome::Damaged, true));
}

#[test]
fn what_is_printed_holds_no_payload_and_no_secret() {
    let memory = MemoryVfs::new();
    let options = || on(&memory).durability(Durability::Os);
    let store = Store::create("/s", options()).unwrap();
    let mut appender = store.appender(HostId::new("h").unwrap()).unwrap();
    let payload = || JsonText::parse(r#"{"turnId":"t","note":"Zq7marker"}"#).unwrap();
    let stored = appender.append(NewEvent::new("turn.started", payload())).unwrap();
    let snapshot = store.snapshot().unwrap();
    let reader = Store::open_read_only("/s", options()).unwrap();
    let file = memory.open(&active(1), OpenMode::Read).unwrap();
    let head = read(&memory, &active(1));
    let secret = format!("{:?}", &head[96..112]).replace(' ', "");
    let one = snapshot.get(&stored.id).unwrap().unwrap();
    let shown = [
        format!("{store:#?}"),
        format!("{reader:#?} {:#?}", reader.snapshot().unwrap()),
        format!("{snapshot:#?}"),
        format!("{appender:#?}"),
        format!("{one:#?} {:#?}", one.to_event().unwrap()),
        format!("{:#?} {:#?}", snapshot.events(), snapshot.ordered().unwrap()),
        format!("{:#?}", NewEvent::new("turn.started", payload())),
        format!("{memory:#?} {file:#?} {:#?}", file.map().unwrap()),
    ];
    for shown in shown {
        let plain: String = shown.split_whitespace().collect();
        for hidden in ["Zq7", "90,113,55", secret.trim_matches(['[', ']'])] {
            assert!(!plain.contains(hidden), "{hidden} in {shown}");
        }
    }
}
