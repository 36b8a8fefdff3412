//! How much memory the order and a replay take, whatever the number of events: measured over whole stores, by an allocator
//! that counts.
//!
//! One test, so that nothing else allocates meanwhile.

#![allow(
    unsafe_code,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "an allocator cannot do without; helpers of tests, which clippy's settings for tests do not reach"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use causelog::{
    BatchMode, Durability, Event, EventId, HostId, JsonText, NoResolver, Options, ReplayOptions, Seq, Store,
    StoreReplay,
};

/// Counts what is held, and the most that was.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: each call is passed on as it came. `realloc` is the default, made of these two.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(held, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Runs `work` and returns by how much it raised what is held, at its peak.
fn peak(work: impl FnOnce()) -> usize {
    let before = HELD.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    work();
    MOST.load(Ordering::Relaxed) - before
}

const EVENTS: usize = 100_000;
/// Small enough that most are sealed, while the last one is not.
const SEGMENT_BYTES: u64 = 8 << 20;
/// What the order's index may take.
const CACHE_BYTES: usize = 1 << 20;
/// What a host may take.
const HOST_BYTES: usize = 256;
/// What a replay takes beside the order: above all the places of the newest events.
const REPLAY_BYTES: usize = 3 << 20;
/// Read-ahead and buffers, whatever the number of events and hosts.
const FIXED_BYTES: usize = 512 << 10;

/// Numbers that a seed repeats.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// A history in arrival order.
struct Shape {
    name: &'static str,
    hosts: usize,
    causes: usize,
    /// Each `seq` lies so far above the one before, at the most.
    gap: u64,
    /// Every event takes a host at random, and not the next one in turn.
    mixed: bool,
}

const SHAPES: [Shape; 4] = [
    Shape { name: "every third", hosts: 4, causes: 1, gap: 3, mixed: false },
    Shape { name: "wide gaps, three causes", hosts: 3, causes: 3, gap: 1 << 36, mixed: true },
    Shape { name: "a thousand hosts", hosts: 1_000, causes: 2, gap: 2, mixed: true },
    Shape { name: "many hosts", hosts: 25_000, causes: 1, gap: 1, mixed: false },
];

fn id(number: usize) -> EventId {
    EventId::from_uuid_bytes((0x0190_0000_0000_7000_8000_0000_0000_0000_u128 + number as u128).to_be_bytes())
}

fn fill(store: &Store, shape: &Shape) {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let hosts: Vec<HostId> =
        (0..shape.hosts).map(|host| HostId::new(&format!("host-{host:05}")).unwrap()).collect();
    let mut next = vec![0u64; shape.hosts];
    let payload = JsonText::parse(r#"{"turnId":"t"}"#).unwrap();
    let mut batch = Vec::new();
    for number in 0..EVENTS {
        let turn = if shape.mixed { random.below(shape.hosts as u64) } else { (number % shape.hosts) as u64 };
        let turn = usize::try_from(turn).unwrap();
        let seq = next[turn];
        // The same step throughout, or steps of any length.
        let step = if shape.mixed { 1 + random.below(shape.gap) } else { shape.gap };
        next[turn] = seq + step;
        let mut event = Event::new(
            id(number),
            hosts[turn].clone(),
            Seq::new(seq).unwrap(),
            "turn.started",
            payload.clone(),
        );
        let near = number.min(4_000);
        let mut causes: Vec<usize> = number.checked_sub(1).into_iter().collect();
        causes.extend(
            (1..shape.causes)
                .filter(|_| near > 1)
                .map(|_| number - 1 - usize::try_from(random.below(near as u64)).unwrap()),
        );
        causes.sort_unstable();
        causes.dedup();
        event.causes = causes.into_iter().map(id).collect();
        batch.push(event);
        if batch.len() == 5_000 || number + 1 == EVENTS {
            store.append_batch(&batch, BatchMode::StopAtFirst).unwrap();
            batch.clear();
        }
    }
}

/// Returns what the order, a replay and a thousand snapshots take of a store whose segments have either form.
fn measure(dir: &Path, shape: &Shape) -> [usize; 3] {
    let options = Options::new()
        .background(false)
        .durability(Durability::Os)
        .segment_bytes_max(SEGMENT_BYTES)
        .order_cache_bytes(CACHE_BYTES);
    let store = Store::create(dir, options).unwrap();
    fill(&store, shape);
    // What readers keep for good, such as which records were checked, is the store's own.
    assert_eq!(store.events().unwrap().map(Result::unwrap).count(), EVENTS);
    let ordered = peak(|| assert_eq!(store.ordered().unwrap().map(Result::unwrap).count(), EVENTS));
    let snapshot = store.snapshot().unwrap();
    let replayed = peak(|| {
        let mut replay = StoreReplay::new(&snapshot, &ReplayOptions::new(), &NoResolver).unwrap();
        replay.run().unwrap();
        let report = replay.finish().unwrap();
        assert!(report.stable && report.events == EVENTS as u64, "{report}");
    });
    let snapshots = peak(|| {
        let many: Vec<_> = (0..1_000).map(|_| store.snapshot().unwrap()).collect();
        assert_eq!(many.iter().map(causelog::Snapshot::len).min(), Some(EVENTS as u64));
    });
    store.close().unwrap();
    [ordered, replayed, snapshots]
}

#[test]
fn the_order_a_replay_and_snapshots_take_memory_that_does_not_grow_with_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let mut beyond = Vec::new();
    for (number, shape) in SHAPES.iter().enumerate() {
        let [ordered, replayed, snapshots] = measure(&dir.path().join(number.to_string()), shape);
        let most = CACHE_BYTES + shape.hosts * HOST_BYTES + FIXED_BYTES;
        let line = format!(
            "{}: {} and {} KiB, of {} and {} allowed; 1,000 snapshots {} KiB",
            shape.name,
            ordered >> 10,
            replayed >> 10,
            most >> 10,
            (most + REPLAY_BYTES) >> 10,
            snapshots >> 10
        );
        println!("{line}");
        if ordered > most || replayed > most + REPLAY_BYTES || snapshots > 1 << 20 {
            beyond.push(line);
        }
    }
    assert!(beyond.is_empty(), "{}", beyond.join("\n"));
}
