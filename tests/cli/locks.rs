//! Several processes at one store: case C045.

use std::process::{Child, Stdio};

use crate::bench::{Bench, Said};

const PROCESSES: usize = 16;
const ROUNDS: usize = 3;

/// Starts as many appends at once as there are processes, one event of 200 KB each.
fn at_once(bench: &Bench, round: usize, wait: &[&str]) -> Vec<Said> {
    let payload = |n: usize| format!(r#"{{"turnId":"{round}-{n}","text":"{}"}}"#, "x".repeat(200_000));
    let start = |n: usize| {
        let file = std::fs::File::open(bench.file(&format!("payload-{n}"), payload(n))).unwrap();
        let host = format!("host-{n}");
        let append = ["append", "--json", "--host", &host, "--type", "turn.started", "--payload", "-"];
        let mut command = bench.command();
        command.args(append).args(wait).stdin(file).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let children: Vec<Child> = (0..PROCESSES).map(start).collect();
    children.into_iter().map(|child| Said::from(child.wait_with_output().unwrap())).collect()
}

fn check(bench: &Bench, appended: usize) {
    bench.run(&["verify"]).ok();
    bench.run(&["replay"]).ok();
    let events = bench.run(&["export"]).ok().json_lines();
    assert_eq!(events.len(), appended);
    for event in events {
        assert_eq!(event["payload"]["text"].as_str().unwrap().len(), 200_000);
    }
}

#[test]
fn who_waits_gets_in() {
    let bench = Bench::new();
    for round in 0..ROUNDS {
        for said in at_once(&bench, round, &["--wait", "600"]) {
            assert_eq!(said.ok().json()["seq"], round);
        }
    }
    check(&bench, PROCESSES * ROUNDS);
}

#[test]
fn who_does_not_wait_exits_6_and_wrote_nothing() {
    let bench = Bench::new();
    let mut appended = 0;
    for round in 0..ROUNDS {
        for said in at_once(&bench, round, &[]) {
            if said.code == 0 {
                appended += 1;
            } else {
                let said = said.exits(6);
                assert_eq!((said.error()["kind"].as_str(), said.out.as_str()), (Some("locked"), ""));
            }
        }
    }
    assert!(appended >= ROUNDS, "somebody gets in each time");
    check(&bench, appended);
}

/// A writer that is at work keeps other writers out, and readers not.
#[test]
fn readers_go_on_beside_a_writer() {
    let bench = Bench::sample();
    let mut writer = bench
        .command()
        .args(["import", "-", "--stream", "--wait", "600"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The lock is taken at some moment from now on.
    let locked =
        || bench.run(&["append", "--host", "h", "--type", "turn.started", "--payload", r#"{"turnId":"t"}"#]);
    while locked().code == 0 {}
    for args in [&["import", "x"][..], &["repair", "--yes"], &["reindex", "--yes"]] {
        let said = bench.run(&[args, &["--json"]].concat()).exits(6);
        assert_eq!(said.error()["kind"], "locked", "{args:?}");
        bench.run(&[args, &["--wait", "0.05"]].concat()).exits(6);
    }
    for args in [&["log"][..], &["export"], &["stats"], &["verify"], &["replay"], &["cursor"]] {
        bench.run(args).ok();
    }
    drop(writer.stdin.take());
    Said::from(writer.wait_with_output().unwrap()).ok();
    locked().ok();
}
