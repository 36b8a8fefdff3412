//! Replay to a verdict on one core: the bundled sample, repeated under fresh identities until it is long.
//!
//! `cargo bench --bench replay`; the figure to watch is the number of events a second.

#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "a bench stops at what it did not expect")]

use std::fmt;
use std::path::Path;

use causelog::order::linearize;
use causelog::{
    Event, EventId, IdRef, NoResolver, Replay, ReplayOptions, ReplayReport, Seq, TypeRegistry, UnknownTypes,
    Upcasts, read_events,
};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

/// Copies of the sample; each holds 599 events.
const COPIES: u64 = 400;

/// Returns a long run in its order.
fn run() -> Vec<Event> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/sample/run.jsonl");
    let sample = std::fs::read(path).expect("the sample is there");
    let sample = read_events(sample.as_slice(), &Upcasts::new(), &TypeRegistry::v1(), UnknownTypes::Refuse)
        .expect("the sample is well formed");
    let span = sample.iter().map(|event| event.seq.get()).max().unwrap_or_default() + 1;
    let mut events = Vec::new();
    for copy in 0..COPIES {
        for event in &sample {
            let mut event = event.clone();
            event.id = fresh(event.id.as_ref(), copy);
            event.seq = Seq::new(event.seq.get() + copy * span).expect("a small number");
            event.causes = event.causes.iter().map(|cause| fresh(cause.as_ref(), copy)).collect();
            events.push(event);
        }
    }
    let order = linearize(&events).expect("no cycle");
    order.into_iter().map(|index| events[index].clone()).collect()
}

/// Gives a copy its own identifiers.
fn fresh(id: IdRef<'_>, copy: u64) -> EventId {
    let Some(mut bytes) = id.uuid_bytes() else { return id.to_owned() };
    for (byte, mask) in bytes.iter_mut().zip(copy.to_le_bytes()) {
        *byte ^= mask;
    }
    EventId::from_uuid_bytes(bytes)
}

struct Checks {
    content: bool,
}

impl fmt::Display for Checks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.content { "with references" } else { "without references" })
    }
}

fn verdict(events: &[Event], options: &ReplayOptions) -> ReplayReport {
    let mut replay = Replay::new(options, &NoResolver);
    for event in events {
        replay.push(event).expect("nothing to fail");
    }
    replay.finish().expect("nothing to fail")
}

fn bench(c: &mut Criterion) {
    let events = run();
    let mut group = c.benchmark_group("replay");
    group.throughput(Throughput::Elements(u64::try_from(events.len()).expect("a small number")));
    group.sample_size(20);
    for checks in [Checks { content: false }, Checks { content: true }] {
        let options = ReplayOptions::new().check_content(checks.content);
        assert!(verdict(&events, &options).ok);
        group.bench_function(BenchmarkId::from_parameter(&checks), |b| b.iter(|| verdict(&events, &options)));
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
