//! `log --graph` and `dependents`: what followed from what.

use crate::bench::{Bench, Said, line};

/// A run of two hosts: a fork, a join, a cause that nobody has.
fn run() -> Bench {
    let bench = Bench::new();
    let lines = [
        line("a-0", "a", 0, &[]),
        line("a-1", "a", 1, &["a-0"]),
        line("b-0", "b", 0, &["a-0"]),
        line("a-2", "a", 2, &["a-1", "b-0", "late"]),
        line("b-1", "b", 1, &["nobody"]),
    ];
    bench.run_with(&["import", "-"], lines.join("\n")).ok();
    bench
}

/// The picture alone: rows up to the name of the event.
fn picture(said: &Said) -> Vec<String> {
    let cut = |row: &str| row.split(" a#").next().unwrap().split(" b#").next().unwrap().to_owned();
    said.out.lines().map(cut).collect()
}

fn ids(said: &Said) -> Vec<String> {
    said.json_lines().iter().map(|event| event["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_causes_are_drawn() {
    let bench = run();
    let said = bench.run(&["log", "--graph"]).ok();
    assert_eq!(picture(&said), ["o", r"|\", "| *", "* |", "|/", "*", "o"], "{}", said.out);
    assert!(said.out.contains("<- a#1 b#0 late"), "{}", said.out);
    // A line that goes on leads to what the limit left out.
    assert_eq!(picture(&bench.run(&["log", "--graph", "--limit", "3"]).ok()), ["o", r"|\", "| *", "* |"]);
    let said = bench.run(&["log", "--graph", "--last", "3"]).ok();
    assert_eq!(picture(&said), ["o", "*", "o"], "{}", said.out);
    assert_eq!(said.out.matches("[no line from 1 cause]").count(), 2, "{}", said.out);
    let payload = bench.run(&["log", "--graph", "--payload", "--limit", "1"]).ok();
    assert!(payload.out.ends_with("  {\"turnId\":\"t\"}\n"), "{}", payload.out);
}

#[test]
fn a_picture_has_no_json() {
    let said = run().run(&["log", "--graph", "--json"]).exits(2);
    assert!(said.error()["message"].as_str().unwrap().contains("--graph draws for people"), "{said:?}");
    assert_eq!(said.out, "");
}

#[test]
fn pictures_stay_narrow() {
    let bench = Bench::sample();
    let hard = Bench::new();
    let log = hard.run(&["gen", "--shape", "hard", "--events", "2000", "--seed", "3"]).ok().out;
    hard.run_with(&["import", "-"], log).ok();
    for (bench, events) in [(&bench, 599), (&hard, 2000)] {
        let said = bench.run(&["log", "--graph"]).ok();
        assert!(said.out.is_ascii());
        let nodes = |row: &&str| row.trim_start_matches(['|', ' ']).starts_with(['*', 'o']);
        let count = said.out.lines().filter(|row| nodes(row)).count();
        assert_eq!(count, events);
        let rows = said.out.lines().filter(|row| !nodes(row));
        let wide = rows.map(str::len).max().unwrap_or(0);
        // Some lines cross, and none stands further out than the last column has it.
        assert!((10..=2 * 25).contains(&wide), "{wide} characters wide");
        let drawn = bench.run(&["log"]).ok().out;
        assert_eq!(drawn.lines().count(), events, "without --graph nothing changed");
    }
}

#[test]
fn dependents_are_those_that_name_it() {
    let bench = run();
    let of = |event: &str| ids(&bench.run(&["dependents", event, "--json"]).ok());
    assert_eq!(of("a-0"), ["a-1", "b-0"]);
    assert_eq!(of("a#1"), ["a-2"]);
    assert_eq!(of("late"), ["a-2"]);
    assert_eq!(of("nobody"), ["b-1"]);
    assert_eq!(of("a-2"), [""; 0]);
    assert_eq!(ids(&bench.run(&["dependents", "a-0", "--limit", "1", "--json"]).ok()), ["a-1"]);
    for absent in ["absent", "a#7"] {
        let said = bench.run(&["dependents", absent, "--json"]).exits(1);
        assert_eq!((said.error()["kind"].as_str(), said.out.as_str()), (Some("not_found"), ""));
    }
    // Now it comes, late.
    let late = line("late", "c", 0, &[]);
    bench.run_with(&["import", "-"], late).ok();
    assert_eq!(of("late"), ["a-2"]);
    assert_eq!(of("c#0"), ["a-2"]);
    let said = bench.run(&["dependents", "a-0"]).ok();
    assert!(said.out.starts_with("a#1 ") && said.out.contains("<- a#0"), "{}", said.out);
}
