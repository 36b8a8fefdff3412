//! `gen`.

use crate::bench::{Bench, counts};

#[test]
fn logs_are_the_same_for_the_same_options() {
    let bench = Bench::bare();
    let log = |args: &[&str]| bench.run(&[&["gen", "--events", "500"], args].concat()).ok().out;
    assert_eq!(log(&[]), log(&["--hosts", "8", "--seed", "1", "--shape", "chain"]));
    assert_eq!(log(&["--cross", "0.2"]), log(&[]));
    assert_eq!(log(&[]).lines().count(), 500);
    for other in [["--seed", "2"], ["--hosts", "3"], ["--shape", "hard"], ["--cross", "0.9"]] {
        assert_ne!(log(&other), log(&[]), "{other:?}");
    }
    assert_eq!(bench.run(&["gen", "--events", "0"]).ok().out, "");
}

#[test]
fn every_shape_goes_in_comes_out_and_replays() {
    for shape in ["chain", "star", "wide", "runs", "hard"] {
        // An odd number, so that turns are cut anywhere.
        let options = ["--events", "1237", "--hosts", "7", "--seed", "5", "--shape", shape];
        let bench = Bench::new();
        let log = bench.run(&[&["gen"], &options[..]].concat()).ok().out;
        for mode in [&["--stream"][..], &[]] {
            let bench = Bench::new();
            let report = bench.run_with(&[&["import", "-", "--json"], mode].concat(), &log).ok().json();
            assert_eq!(counts(&report), [1237, 1237, 0, 0], "{shape}");
            let of_store = bench.run(&["replay", "--json"]).ok().json();
            assert_eq!(of_store["ok"], true, "{shape}: {}", of_store["violations"]);
            assert_eq!(of_store["totals"]["missingCauses"], 0);
            let of_file = bench.run_with(&["replay", "--from", "-", "--json"], &log).ok().json();
            assert_eq!(of_store, of_file, "{shape}");
        }
    }
}

/// However short a log is cut, it replays clean.
#[test]
fn logs_of_every_length_replay() {
    let bench = Bench::bare();
    for events in (0..60).map(|n: u32| n.to_string()) {
        let log = bench.run(&["gen", "--events", &events, "--hosts", "2", "--seed", "11"]).ok().out;
        bench.run_with(&["replay", "--from", "-"], log).ok();
    }
}
