//! What the kept order costs: placing, appending with it and without, reading it beside a plain scan, opening, late causes.
//!
//! `cargo bench --bench ordered`. `CAUSELOG_BENCH_EVENTS` sets how many events there are (default 200,000),
//! `CAUSELOG_BENCH_ROUNDS` how often a scan is timed (default 5); files lie where `CAUSELOG_BENCH_DIR` says, else in the system's temporary
//! directory. `CAUSELOG_BENCH_ONLY` picks parts by name: placing, stores, late.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    missing_docs,
    reason = "a benchmark stops at the first thing that goes wrong"
)]

mod placing;
mod shapes;
mod stores;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

/// Anonymous memory of this process, in MiB.
fn anonymous_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kib: f64 =
        line.and_then(|rest| rest.trim().strip_suffix(" kB")).map_or(0.0, |kib| kib.trim().parse().unwrap());
    kib / 1024.0
}

fn main() {
    let events = number("CAUSELOG_BENCH_EVENTS", 200_000);
    let only = std::env::var("CAUSELOG_BENCH_ONLY").unwrap_or_default();
    let wanted = |part: &str| only.is_empty() || only.split(',').any(|name| name == part);
    if wanted("placing") {
        println!("placing an event, in groups of 100, 64 MiB of cache; the last tenth of the log");
        for (name, shape) in shapes::SHAPES {
            for events in [events / 10, events] {
                let placed = placing::place(shape, events, 64 << 20);
                println!(
                    "{name:12} {events:>10} events  p50 {:>8.3} us  p99 {:>8.3} us  {:>3} % in the middle  {:>5.1} events a run  \
                     {:>5.1} bytes an event  {:>6.0} MiB anonymous",
                    placed.p50.as_secs_f64() * 1e6,
                    placed.p99.as_secs_f64() * 1e6,
                    placed.middle,
                    events as f64 / placed.runs as f64,
                    placed.live_bytes as f64 / events as f64,
                    anonymous_mib(),
                );
            }
        }
    }
    if wanted("late") {
        println!("a late cause with d events that rest on it, in 200,000 events");
        for dependents in [1, 10, 100, 1_000, 10_000, 100_000] {
            let (took, visits) = placing::late(200_000, dependents);
            println!(
                "d {dependents:>7}  {:>10.1} us  {:>8.2} us and {:>6.1} nodes for each",
                took.as_secs_f64() * 1e6,
                took.as_secs_f64() * 1e6 / dependents as f64,
                visits as f64 / dependents as f64
            );
        }
    }
    if wanted("stores") {
        stores::run(events);
    }
}
