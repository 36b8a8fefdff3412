//! The order of a million events from scratch, on shapes that strain different parts of it.
//!
//! `cargo bench --bench order`; the figure to watch is the time an element takes.

use causelog::order::Graph;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};

const EVENTS: u32 = 1_000_000;
const HOSTS: u32 = 8;

/// The causes of each event by its number.
type Causes = fn(u32) -> Vec<u32>;

/// Causes of event `number`: one host's chain.
fn chain(number: u32) -> Vec<u32> {
    number.checked_sub(1).into_iter().collect()
}

/// Every event follows the first; all of them are ready at once.
fn star(number: u32) -> Vec<u32> {
    if number == 0 { Vec::new() } else { vec![0] }
}

/// Eight chained hosts whose events name another host's event, one in five, as they run side by side.
fn wide(number: u32) -> Vec<u32> {
    let length = EVENTS / HOSTS;
    let (host, seq) = (number / length, number % length);
    let mut causes: Vec<u32> = (seq > 0).then(|| number - 1).into_iter().collect();
    // A fixed mixing of the number instead of randomness: each run measures the same graph.
    let draw = number.wrapping_mul(0x9E37_79B1) >> 8;
    if draw.is_multiple_of(5) && seq > 0 {
        causes.push((host + 1 + draw / 5 % (HOSTS - 1)) % HOSTS * length + seq - 1);
    }
    causes
}

/// Each event follows one anywhere before it.
fn scattered(number: u32) -> Vec<u32> {
    let draw = number.wrapping_mul(0x9E37_79B1);
    if number == 0 { Vec::new() } else { vec![draw % number] }
}

fn graph(causes: Causes) -> Graph {
    let mut graph = Graph::with_capacity(EVENTS as usize);
    for number in 0..EVENTS {
        assert_eq!(graph.push(causes(number)), Ok(number));
    }
    graph
}

fn linearize(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("linearize");
    group.sample_size(10).throughput(Throughput::Elements(u64::from(EVENTS)));
    let shapes: [(&str, Causes); 4] =
        [("chain", chain), ("star", star), ("wide", wide), ("scattered", scattered)];
    for (name, causes) in shapes {
        let graph = graph(causes);
        group.bench_function(name, |bencher| {
            bencher.iter_batched(|| graph.clone(), Graph::linearize, BatchSize::LargeInput);
        });
    }
    group.finish();
}

criterion_group!(benches, linearize);
criterion_main!(benches);
