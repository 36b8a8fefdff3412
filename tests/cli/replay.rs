//! `replay`, of a store and of a file.

use crate::bench::{Bench, SAMPLE, line};

#[test]
fn the_sample_is_clean() {
    let bench = Bench::sample();
    let of_store = bench.run(&["replay", "--json"]).ok().json();
    assert_eq!(
        (&of_store["ok"], &of_store["events"], &of_store["stable"]),
        (&true.into(), &599.into(), &true.into())
    );
    assert!(bench.run(&["replay"]).ok().out.starts_with("verdict: ok"));

    let nowhere = Bench::bare();
    assert_eq!(nowhere.run(&["replay", "--from", SAMPLE, "--json"]).ok().json(), of_store);
    let mut lines: Vec<String> =
        std::fs::read_to_string(SAMPLE).unwrap().lines().map(str::to_owned).collect();
    lines.reverse();
    lines.push(lines[7].clone());
    let piped = nowhere.run_with(&["replay", "--from", "-", "--json"], lines.join("\n")).ok().json();
    assert_eq!(piped, of_store);
    assert!(!nowhere.store().exists());
}

#[test]
fn the_order_is_listed_where_it_is_asked_for() {
    let bench = Bench::sample();
    let listed = bench.run(&["replay", "--json", "--order"]).ok().json();
    let log = bench.run(&["log", "--json"]).ok().json_lines();
    let ids: Vec<serde_json::Value> = log.iter().map(|event| event["id"].clone()).collect();
    assert_eq!(listed["order"], serde_json::Value::Array(ids));
    bench.run(&["replay", "--order"]).exits(2);
}

#[test]
fn a_run_that_fails_exits_1_with_its_report() {
    let bench = Bench::new();
    // An invocation that is not pure and carries no idempotency key.
    let text = line("x", "h", 1, &[]).replace("turn.started", "capability.invoked").replace(
        r#"{"turnId":"t"}"#,
        r#"{"capability":"c","actor":{"kind":"model","id":"m"},"scope":{"kind":"tab","id":"1"},"effects":"idempotent"}"#,
    );
    let file = bench.file("run.jsonl", &text);
    bench.run(&["import", &file]).ok();
    for args in [&["replay"][..], &["replay", "--from", &file]] {
        let said = bench.run(args).exits(1);
        assert!(said.out.starts_with("verdict: FAILED") && said.out.contains("I3"), "{said:?}");
        let report = bench.run(&[args, &["--json"]].concat()).exits(1).json();
        assert_eq!((&report["ok"], &report["violations"][0]["invariant"]), (&false.into(), &"I3".into()));
    }
}

#[test]
fn files_with_bad_lines_are_not_replayed() {
    let bench = Bench::bare();
    for (text, code, at) in [
        ("{\n".to_owned(), "JSON", 1),
        (line("a", "a", 1, &["b"]) + "\n" + &line("b", "b", 1, &["a"]), "CYCLE", 2),
        (line("a", "a", 1, &[]) + "\n" + &line("a", "a", 2, &[]), "ID", 2),
        (line("a", "a", 1, &[]) + "\n" + &line("b", "a", 1, &[]), "SEQ", 2),
    ] {
        let said = bench.run_with(&["replay", "--from", "-", "--json"], text).exits(1);
        assert_eq!(
            (&said.error()["code"], &said.error()["line"], said.out.as_str()),
            (&code.into(), &at.into(), "")
        );
    }
    // Types may be newer than this program, and causes may be elsewhere.
    let unknown = line("a", "a", 1, &["elsewhere"]).replace("turn.started", "nobody.knows");
    bench.run_with(&["replay", "--from", "-"], unknown).ok();
}
