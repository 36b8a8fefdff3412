//! Whole stores: appending with the order and without it, opening, reading.

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use causelog::{
    BatchMode, Durability, Event, EventFields, EventId, HostId, JsonText, NoResolver, Options, ReplayOptions,
    Seq, Store,
};

use super::shapes::{HOSTS, Maker, SHAPES, Shape};
use super::{anonymous_mib, number};

fn options() -> Options {
    Options::new().durability(Durability::Os)
}

fn id(number: u64) -> EventId {
    // Spread as random ids are, and the same each time.
    let (high, low) =
        (number.wrapping_mul(0x9E37_79B9_7F4A_7C15), number.wrapping_mul(0xD6E8_FEB8_6659_FD93) | 1);
    EventId::from_uuid_bytes((u128::from(high) << 64 | u128::from(low)).to_be_bytes())
}

struct Events {
    maker: Maker,
    number: u64,
    hosts: Vec<HostId>,
    payload: JsonText,
}

impl Events {
    fn new(shape: Shape) -> Self {
        let payload = format!(r#"{{"turnId":"t","note":"{}"}}"#, "x".repeat(230));
        Self {
            maker: Maker::new(shape),
            number: 0,
            hosts: (0..HOSTS).map(|host| HostId::new(&format!("host-{host}")).unwrap()).collect(),
            payload: JsonText::parse(&payload).unwrap(),
        }
    }
}

impl Iterator for Events {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        let made = self.maker.next()?;
        let host = self.hosts[made.host as usize].clone();
        let event = Event::new(
            id(self.number),
            host,
            Seq::new(made.seq).unwrap(),
            "turn.started",
            self.payload.clone(),
        );
        self.number += 1;
        Some(event.with_causes(made.causes.into_iter().map(id)))
    }
}

fn dir() -> tempfile::TempDir {
    let base =
        std::env::var_os("CAUSELOG_BENCH_DIR").map_or_else(std::env::temp_dir, std::path::PathBuf::from);
    tempfile::Builder::new().prefix("causelog-bench").tempdir_in(base).unwrap()
}

fn append(store: &Store, events: &[Event]) -> Duration {
    let start = Instant::now();
    let report = store.append_batch(events, BatchMode::StopAtFirst).unwrap();
    assert_eq!(report.outcomes.len(), events.len());
    start.elapsed()
}

fn per_event(took: Duration, events: u64) -> f64 {
    took.as_secs_f64() * 1e9 / events as f64
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Reads events to their end, and something of each.
fn count(events: impl Iterator<Item = causelog::Result<causelog::StoredEvent>>) -> u64 {
    let mut count = 0;
    for event in events {
        black_box(event.unwrap().seq());
        count += 1;
    }
    count
}

pub fn run(events: u64) {
    let rounds = number("CAUSELOG_BENCH_ROUNDS", 5);
    for (name, shape) in SHAPES {
        let dir = dir();
        let (with, without) = (dir.path().join("with"), dir.path().join("without"));
        fill(name, shape, events, &with, &without);
        let start = Instant::now();
        let store = Store::open(&with, options()).unwrap();
        let opened = start.elapsed();
        let start = Instant::now();
        let mut ordered = store.ordered().unwrap();
        black_box(ordered.next().unwrap().unwrap());
        let first = start.elapsed();
        drop(ordered);
        println!(
            "{name:12} open {:.1} ms, first event of the order {:.2} ms behind it",
            opened.as_secs_f64() * 1e3,
            first.as_secs_f64() * 1e3
        );
        let (mut scans, mut orders, mut replays) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rounds {
            let timed = |work: &mut dyn FnMut() -> u64| {
                let start = Instant::now();
                assert_eq!(work(), events);
                start.elapsed()
            };
            scans.push(timed(&mut || count(store.events().unwrap())));
            orders.push(timed(&mut || count(store.ordered().unwrap())));
            replays.push(timed(&mut || {
                causelog::replay(store.ordered().unwrap(), &ReplayOptions::new(), &NoResolver).unwrap().events
            }));
        }
        let (scan, order, replay) = (median(scans), median(orders), median(replays));
        println!(
            "{name:12} scan {:.0} ns, order {:.0} ns ({:.2}x), replay {:.0} ns an event ({:.0} events/s); {:.0} MiB anonymous",
            per_event(scan, events),
            per_event(order, events),
            order.as_secs_f64() / scan.as_secs_f64(),
            per_event(replay, events),
            events as f64 / replay.as_secs_f64(),
            anonymous_mib(),
        );
        store.close().unwrap();
    }
}

/// Appends the same events to two stores in turn, one with the order kept and one without.
fn fill(name: &str, shape: Shape, events: u64, with: &Path, without: &Path) {
    let kept = Store::create(with, options()).unwrap();
    let plain = Store::create(without, options().without_order()).unwrap();
    let mut source = Events::new(shape);
    let (mut kept_took, mut plain_took) = (Duration::ZERO, Duration::ZERO);
    let mut left = events;
    while left > 0 {
        let batch: Vec<Event> = source.by_ref().take(usize::try_from(left.min(1_000)).unwrap()).collect();
        left -= batch.len() as u64;
        kept_took += append(&kept, &batch);
        plain_took += append(&plain, &batch);
    }
    println!(
        "{name:12} {events} events in batches of 1,000: {:.0} ns an event with the order, {:.0} without: {:.2}x; {:.0} MiB anonymous",
        per_event(kept_took, events),
        per_event(plain_took, events),
        plain_took.as_secs_f64() / kept_took.as_secs_f64(),
        anonymous_mib(),
    );
    plain.close().unwrap();
    std::fs::remove_dir_all(without).unwrap();
    kept.close().unwrap();
}
