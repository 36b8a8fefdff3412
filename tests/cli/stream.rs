//! `import --stream`: lines go in as they come.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Stdio};

use crate::bench::{Bench, SAMPLE, Said, chain, counts, line};

#[test]
fn takes_the_lines_in_their_order() {
    let bench = Bench::new();
    // The sample's lines are by host and seq, so causes come late; a store takes that.
    let said = bench.run(&["import", SAMPLE, "--stream", "--json"]).ok();
    assert_eq!(counts(&said.json()), [599, 599, 0, 0]);
    assert_eq!(bench.export(), Bench::sample().export());
    bench.run(&["replay"]).ok();
}

#[test]
fn a_seq_that_goes_back_is_named() {
    let bench = Bench::new();
    let file =
        [line("a", "h", 1, &[]), line("b", "h", 3, &[]), line("c", "h", 2, &[]), line("d", "h", 4, &[])]
            .join("\n");
    let said = bench.run_with(&["import", "-", "--stream", "--json"], &file).exits(1);
    assert_eq!((&said.error()["code"], &said.error()["line"]), (&"SEQ".into(), &3.into()));
    // What stood before it is stored, nothing behind it.
    assert_eq!((counts(&said.json()), bench.events()), ([3, 2, 0, 1], 2));
    let said = bench.run_with(&["import", "-", "--stream", "--lenient", "--json"], &file).exits(1);
    assert_eq!((&said.error()["line"], counts(&said.json())), (&3.into(), [4, 1, 2, 1]));
    // Sorted, the same file is fine.
    let sorted = Bench::new();
    assert_eq!(counts(&sorted.run_with(&["import", "-", "--json"], &file).ok().json()), [4, 4, 0, 0]);
}

#[test]
fn a_cycle_is_refused_where_it_closes() {
    let bench = Bench::new();
    let file = [line("a", "a", 1, &["b"]), line("b", "b", 1, &["a"]), line("c", "c", 1, &[])].join("\n");
    let said = bench.run_with(&["import", "-", "--stream", "--json"], &file).exits(1);
    assert_eq!(
        (&said.error()["code"], &said.error()["line"], bench.events()),
        (&"CYCLE".into(), &2.into(), 1)
    );
}

#[test]
fn many_batches_go_in() {
    let bench = Bench::new();
    let file = bench.file("run.jsonl", chain("h", 5000).join("\n"));
    assert_eq!(counts(&bench.run(&["import", &file, "--stream", "--json"]).ok().json()), [5000, 5000, 0, 0]);
    assert_eq!(bench.events(), 5000);
}

/// Starts an import of lines that the test writes.
fn streaming(bench: &Bench, how: &str) -> Child {
    let mut command = bench.command();
    command.args(["import", "-", "--stream", how]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// A bad line is reported while the input stays open, and once.
#[test]
fn a_bad_line_is_told_when_it_is_read() {
    let bench = Bench::new();
    let mut child = streaming(&bench, "--lenient");
    let mut stdin = child.stdin.take().unwrap();
    let mut err = BufReader::new(child.stderr.take().unwrap());
    for n in 1..=25 {
        // What is no event, and what the store refuses.
        let bad = if n % 2 == 0 { line("x", "h", n, &[]) } else { "{".to_owned() };
        let before = if n == 2 { line("x", "h", 0, &[]) + "\n" } else { String::new() };
        stdin.write_all(format!("{before}{bad}\n").as_bytes()).unwrap();
        if n <= 20 {
            let mut told = String::new();
            err.read_line(&mut told).unwrap();
            assert!(told.starts_with("error[") && told.contains("line "), "{told}");
        }
    }
    drop(stdin);
    let mut rest = String::new();
    err.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "warning: 5 more lines cannot go in\n");
    let said = Said::from(child.wait_with_output().unwrap()).exits(1);
    assert_eq!(said.out, "stored 1 events of 26 lines, 0 duplicates, 25 refused\n");
}

/// Nothing waits for a batch to fill: what was written to the pipe is stored while it stays open.
#[test]
fn what_was_read_is_stored_before_the_next_read() {
    let bench = Bench::new();
    let mut child = streaming(&bench, "--json");
    let mut stdin = child.stdin.take().unwrap();
    for (n, text) in (1..).zip(chain("h", 3)) {
        stdin.write_all(text.as_bytes()).unwrap();
        stdin.write_all(b"\n").unwrap();
        // A reader beside the writer sees the event as soon as it is synced. No time is asserted: this
        // loop ends, or the test hangs.
        while bench.events() < n {
            std::thread::yield_now();
        }
    }
    drop(stdin);
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut report = String::new();
    out.read_line(&mut report).unwrap();
    assert_eq!(counts(&serde_json::from_str(&report).unwrap()), [3, 3, 0, 0]);
    Said::from(child.wait_with_output().unwrap()).ok();
}
