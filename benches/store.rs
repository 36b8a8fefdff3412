//! A store's figures: appending, importing, opening, reading, putting in order, replaying.
//!
//! `CAUSELOG_BENCH_EVENTS` sets the size of the store that is opened and read (default 100,000; the tables in
//! `docs/benchmarks.md` say theirs). With 1,000,000 all of it takes some minutes: imports stay at 100,000, each of whose
//! samples makes a store of its own. Files lie in the system's temporary directory, or where `CAUSELOG_BENCH_DIR` says:
//! put it on the disk that is to be measured.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a benchmark stops at the first thing that goes wrong"
)]

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use causelog::{
    BatchMode, Durability, Event, EventFields, EventId, HostId, JsonText, NoResolver, Options, ReplayOptions,
    Seq, Store, TypeRegistry, UnknownTypes, read_event, replay, write_event,
};
use criterion::{BatchSize, Criterion, SamplingMode, Throughput, criterion_group, criterion_main};

const HOSTS: u64 = 8;

fn events_max() -> u64 {
    std::env::var("CAUSELOG_BENCH_EVENTS").ok().and_then(|text| text.parse().ok()).unwrap_or(100_000)
}

fn dir() -> tempfile::TempDir {
    let base = std::env::var_os("CAUSELOG_BENCH_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    tempfile::Builder::new().prefix("causelog-bench").tempdir_in(base).expect("a directory")
}

/// A deterministic 128-bit id (`SplitMix64` twice).
fn id(n: u64) -> EventId {
    let mix = |mut z: u64| {
        z = z.wrapping_add(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    };
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&mix(n).to_be_bytes());
    bytes[8..].copy_from_slice(&mix(!n).to_be_bytes());
    EventId::from_uuid_bytes(bytes)
}

/// Event `n` of a log of eight hosts in turn: about 430 bytes of JSON, each names its host's previous one, and every fifth
/// another host's too.
fn event(n: u64) -> Event {
    let payload = format!(
        r#"{{"turnId":"t_{n}","capability":"page.actions","actor":{{"kind":"model","id":"mid-2"}},"scope":{{"kind":"tab","id":"tab_0"}},"effects":"idempotent","idempotencyKey":"k_{n:08x}","egress":"none","args":{{"action":"read","n":{n}}}}}"#
    );
    let own = n.checked_sub(HOSTS);
    let other = n.is_multiple_of(5).then(|| n.checked_sub(3)).flatten();
    let host = HostId::new(&format!("host-{}", n % HOSTS)).unwrap();
    Event::new(
        id(n),
        host,
        Seq::new(n / HOSTS).unwrap(),
        "capability.invoked",
        JsonText::parse(&payload).unwrap(),
    )
    .with_causes(own.into_iter().chain(other).map(id))
    .with_at(1_790_000_000_000.0 + n as f64)
}

fn line(n: u64) -> Vec<u8> {
    let mut out = Vec::new();
    write_event(&event(n), &mut out);
    out
}

fn fill(path: &Path, events: u64) -> Store {
    // Without a thread of its own, so that the store is at rest between calls and can be copied.
    let options = Options::new().durability(Durability::Os).background(false);
    let store = Store::open_or_create(path, options).unwrap();
    for start in (0..events).step_by(1000) {
        let batch: Vec<Event> = (start..events.min(start + 1000)).map(event).collect();
        store.append_batch(&batch, BatchMode::StopAtFirst).unwrap().into_result().unwrap();
    }
    store
}

/// Copies a store's files as they are: what a kill at this moment leaves.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn append(c: &mut Criterion) {
    let dir = dir();
    let mut group = c.benchmark_group("append_durable");
    group.measurement_time(Duration::from_secs(5)).sample_size(20);
    for size in [1u64, 100, 1000] {
        let store = Store::open_or_create(dir.path().join(size.to_string()), Options::new()).unwrap();
        let mut next = 0;
        group.throughput(Throughput::Elements(size));
        group.bench_function(format!("batch_{size}"), |b| {
            b.iter_batched(
                || {
                    let batch: Vec<Event> = (next..next + size).map(event).collect();
                    next += size;
                    batch
                },
                |batch| store.append_batch(&batch, BatchMode::StopAtFirst).unwrap(),
                BatchSize::PerIteration,
            );
        });
    }
    let store = Store::open_or_create(dir.path().join("threads"), Options::new()).unwrap();
    let next = AtomicU64::new(0);
    group.throughput(Throughput::Elements(1));
    group.bench_function("8_threads", |b| {
        b.iter_custom(|iterations| {
            let each = iterations.div_ceil(HOSTS);
            let base = next.fetch_add(each, Ordering::Relaxed);
            let work: Vec<Vec<Event>> =
                (0..HOSTS).map(|host| (base..base + each).map(|n| own_chain(host, n)).collect()).collect();
            let start = Instant::now();
            std::thread::scope(|scope| {
                for events in &work {
                    let store = &store;
                    scope.spawn(move || {
                        for event in events {
                            store.append(event).unwrap();
                        }
                    });
                }
            });
            start.elapsed()
        });
    });
    group.finish();
}

/// Event `n` of one host alone.
fn own_chain(host: u64, n: u64) -> Event {
    let mut event = event(n * HOSTS + host);
    event.causes.truncate(1);
    event
}

fn import(c: &mut Criterion) {
    let events = events_max().min(100_000);
    let lines: Vec<Vec<u8>> = (0..events).map(line).collect();
    let registry = TypeRegistry::v1();
    let mut group = c.benchmark_group("import");
    group.sample_size(10).throughput(Throughput::Elements(events));
    group.bench_function("parse_and_append", |b| {
        b.iter_custom(|iterations| {
            let mut took = Duration::ZERO;
            for _ in 0..iterations {
                let dir = dir();
                let store =
                    Store::create(dir.path().join("s"), Options::new().durability(Durability::Os)).unwrap();
                let start = Instant::now();
                for chunk in lines.chunks(1000) {
                    let batch: Vec<Event> = chunk
                        .iter()
                        .map(|line| read_event(line, &registry, UnknownTypes::Refuse).unwrap())
                        .collect();
                    store.append_batch(&batch, BatchMode::StopAtFirst).unwrap().into_result().unwrap();
                }
                store.sync().unwrap();
                took += start.elapsed();
            }
            took
        });
    });
    group.bench_function("parse_alone", |b| {
        b.iter(|| {
            lines
                .iter()
                .map(|line| read_event(line, &registry, UnknownTypes::Refuse).unwrap().causes.len())
                .sum::<usize>()
        });
    });
    group.finish();
}

fn open(c: &mut Criterion) {
    let dir = dir();
    let [clean, killed, again] = ["clean", "killed", "again"].map(|name| dir.path().join(name));
    let store = fill(&clean, events_max());
    store.sync().unwrap();
    copy(&clean, &killed);
    store.close().unwrap();
    let json: u64 = (0..events_max()).map(|n| line(n).len() as u64 + 1).sum();
    let stats = Store::open_read_only(&clean, Options::new()).unwrap().stats().unwrap();
    println!(
        "bytes on disk per event: {:.1}, of compact JSON: {:.1}",
        stats.bytes_on_disk as f64 / events_max() as f64,
        json as f64 / events_max() as f64
    );
    let mut group = c.benchmark_group("open");
    group.sample_size(10).warm_up_time(Duration::from_secs(1)).sampling_mode(SamplingMode::Flat);
    group.bench_function("read_only_after_close", |b| {
        b.iter(|| Store::open_read_only(&clean, Options::new()).unwrap().snapshot().unwrap().len());
    });
    group.bench_function("write_after_close", |b| {
        b.iter_custom(|iterations| {
            let mut took = Duration::ZERO;
            for _ in 0..iterations {
                let start = Instant::now();
                let store = Store::open(&clean, Options::new().background(false)).unwrap();
                took += start.elapsed();
                drop(store);
            }
            took
        });
    });
    group.bench_function("read_only_after_kill", |b| {
        b.iter(|| Store::open_read_only(&killed, Options::new()).unwrap().snapshot().unwrap().len());
    });
    // What opening for writing finds it puts right: each sample has a store of its own.
    group.bench_function("write_after_kill", |b| {
        b.iter_custom(|iterations| {
            let mut took = Duration::ZERO;
            for _ in 0..iterations {
                copy(&killed, &again);
                let start = Instant::now();
                let store = Store::open(&again, Options::new().background(false)).unwrap();
                took += start.elapsed();
                drop(store);
                std::fs::remove_dir_all(&again).unwrap();
            }
            took
        });
    });
    group.finish();
}

fn read(c: &mut Criterion) {
    let dir = dir();
    let path = dir.path().join("s");
    let events = events_max();
    fill(&path, events).close().unwrap();
    let store = Store::open_read_only(&path, Options::new()).unwrap();
    let snapshot = store.snapshot().unwrap();
    let mut group = c.benchmark_group("read");
    group.sample_size(10);
    group.throughput(Throughput::Elements(1));
    let mut n = 0u64;
    group.bench_function("get_by_id", |b| {
        b.iter(|| {
            n = (n + 7_919) % events;
            snapshot.get(black_box(&id(n))).unwrap().unwrap().seq()
        });
    });
    group.throughput(Throughput::Elements(events));
    group.bench_function("scan_by_host_and_seq", |b| {
        b.iter(|| snapshot.events().map(|event| event.unwrap().payload().len()).sum::<usize>());
    });
    group.bench_function("ordered", |b| {
        b.iter(|| snapshot.ordered().unwrap().map(|event| event.unwrap().payload().len()).sum::<usize>());
    });
    group.bench_function("replay", |b| {
        b.iter(|| replay(snapshot.ordered().unwrap(), &ReplayOptions::new(), &NoResolver).unwrap().events);
    });
    group.finish();
}

criterion_group!(benches, append, import, open, read);
criterion_main!(benches);
