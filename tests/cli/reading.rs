//! `get`, `log`, `range`, `cursor`, `since`, `ancestry`, `stats`.

use serde_json::json;

use crate::bench::{Bench, Said, chain, line};

/// Two hosts, three events each; `b-2` names `a-1`.
fn two_hosts() -> Bench {
    let bench = Bench::new();
    let mut lines = [chain("a", 3), chain("b", 3)].concat();
    lines[5] = line("b-2", "b", 2, &["b-1", "a-1", "nobody"]);
    bench.run_with(&["import", "-"], lines.join("\n")).ok();
    bench
}

fn ids(bench: &Bench, args: &[&str]) -> Vec<String> {
    ids_of(&bench.run(&[args, &["--json"]].concat()).ok())
}

fn ids_of(said: &Said) -> Vec<String> {
    said.json_lines().iter().map(|event| event["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn get_answers_or_says_no() {
    let bench = two_hosts();
    let said = bench.run(&["get", "b-2"]).ok();
    for needle in [
        "b#2  turn.started",
        "id       b-2",
        "1970-01-01T00:00:00.000Z",
        "cause    a-1",
        r#"payload  {"turnId":"t"}"#,
    ] {
        assert!(said.out.contains(needle), "{}", said.out);
    }
    assert_eq!(
        bench.run(&["get", "b-2", "--json"]).ok().out.trim_end(),
        line("b-2", "b", 2, &["b-1", "a-1", "nobody"])
    );
    let said = bench.run(&["get", "absent", "--json"]).exits(1);
    assert_eq!((said.error()["kind"].as_str(), said.out.as_str()), (Some("not_found"), ""));
    bench.run(&["get", "absent"]).exits(1);
    assert_eq!(bench.run(&["get", "", "--json"]).exits(1).error()["code"], "SHAPE");
}

/// Every name of an event that a listing shows is one that verbs take.
#[test]
fn events_are_named_by_id_or_by_place() {
    let bench = Bench::sample();
    let (mut places, mut ids) = (0, 0);
    for args in [&["log", "--last", "20"][..], &["range", "daemon", "--limit", "20"]] {
        for shown in bench.run(args).ok().out.lines() {
            let mut words = shown.split_whitespace().filter(|word| *word != "<-");
            let (place, id) = (words.next().unwrap(), words.nth(2).unwrap());
            let whole = bench.run(&["get", place, "--json"]).ok().out;
            assert_eq!(bench.run(&["get", id, "--json"]).ok().out, whole);
            assert_eq!(ids_of(&bench.run(&["ancestry", place, "--json"]).ok())[0], id);
            ids += 1;
            for cause in words {
                let cause = bench.run(&["get", cause, "--json"]).ok().json();
                assert!(whole.contains(cause["id"].as_str().unwrap()));
                places += 1;
            }
        }
    }
    assert!(places > 20 && ids == 40, "{places} causes, {ids} ids");
    for absent in ["daemon#99999", "nobody#0", "daemon#+1", "daemon#", "#1"] {
        bench.run(&["get", absent]).exits(1);
    }
    // An id that looks like a place goes first.
    let odd = Bench::new();
    let lines = [line("h#1", "h", 0, &[]), line("second", "h", 1, &[])];
    odd.run_with(&["import", "-"], lines.join("\n")).ok();
    assert_eq!(ids_of(&odd.run(&["get", "h#1", "--json"]).ok()), ["h#1"]);
    assert_eq!(ids_of(&odd.run(&["get", "h#0", "--json"]).ok()), ["h#1"]);
}

#[test]
fn log_shows_the_order_without_payloads() {
    let bench = two_hosts();
    let said = bench.run(&["log"]).ok();
    assert_eq!(said.out.lines().count(), 6);
    assert!(!said.out.contains("turnId"));
    assert!(said.out.lines().last().unwrap().ends_with("b-2 <- b#1 a#1 nobody"), "{}", said.out);
    assert!(
        bench.run(&["log", "--payload"]).ok().out.lines().all(|line| line.ends_with(r#"{"turnId":"t"}"#))
    );

    assert_eq!(ids(&bench, &["log"]), ["a-0", "a-1", "a-2", "b-0", "b-1", "b-2"]);
    assert_eq!(ids(&bench, &["log", "--limit", "2"]), ["a-0", "a-1"]);
    assert_eq!(ids(&bench, &["log", "--last", "2"]), ["b-1", "b-2"]);
    assert_eq!(ids(&bench, &["log", "--last", "0"]), [""; 0]);
    bench.run(&["log", "--last", "2", "--limit", "2"]).exits(2);
    let object = bench.run(&["log", "--limit", "1", "--json"]).ok().json();
    assert_eq!(
        object,
        json!({"host": "a", "seq": 0, "id": "a-0", "type": "turn.started", "at": 0, "causes": []})
    );
}

/// What events hold cannot drive the terminal of who looks at them.
#[test]
fn text_for_people_is_plain() {
    let bench = Bench::new();
    let evil = line("i\\u001b[2J", "h\\u0007\\n", 1, &["c\\u202e"]).replace("\"t\"", "\"\u{9b}31m\\u001b\"");
    bench.run_with(&["import", "-"], evil).ok();
    let id = "i\u{1b}[2J";
    for args in
        [&["log", "--payload"][..], &["get", id], &["stats"], &["cursor"], &["ancestry", id], &["replay"]]
    {
        let said = bench.run(args).ok();
        let bad = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!said.out.contains(bad), "{:?}", said.out);
    }
    let said = bench.run(&["get", "\u{1b}[2J"]).exits(1);
    assert!(!said.err.contains('\u{1b}'), "{said:?}");
}

#[test]
fn range_cuts_a_host_by_seq() {
    let bench = two_hosts();
    assert_eq!(ids(&bench, &["range", "a"]), ["a-0", "a-1", "a-2"]);
    assert_eq!(ids(&bench, &["range", "a", "--from", "1"]), ["a-1", "a-2"]);
    assert_eq!(ids(&bench, &["range", "a", "--to", "1"]), ["a-0", "a-1"]);
    assert_eq!(ids(&bench, &["range", "a", "--from", "1", "--to", "1", "--limit", "9"]), ["a-1"]);
    assert_eq!(ids(&bench, &["range", "a", "--from", "2", "--to", "1"]), [""; 0]);
    assert_eq!(ids(&bench, &["range", "absent"]), [""; 0]);
    // With --json they are the events themselves.
    let whole = bench.run(&["range", "a", "--json"]).ok().out;
    assert_eq!(whole, chain("a", 3).join("\n") + "\n");
    assert!(!bench.run(&["range", "a"]).ok().out.contains("turnId"));
}

#[test]
fn cursor_and_since_fit_together() {
    let bench = two_hosts();
    let seen = bench.run(&["cursor", "--json"]).ok();
    assert_eq!(seen.json(), json!({"a": {"seq": 2, "id": "a-2"}, "b": {"seq": 2, "id": "b-2"}}));
    assert!(bench.run(&["cursor"]).ok().out.contains("a-2"));
    let file = bench.file("seen.json", &seen.out);
    assert_eq!(ids(&bench, &["since", &file]), [""; 0]);
    bench.run_with(&["import", "-"], line("c-0", "c", 0, &[]) + "\n" + &line("a-3", "a", 3, &[])).ok();
    assert_eq!(ids(&bench, &["since", &file]), ["a-3", "c-0"]);
    assert_eq!(ids(&bench, &["since", seen.out.trim()]), ["a-3", "c-0"]);
    let piped = bench.run_with(&["since", "-", "--json"], &seen.out).ok();
    assert_eq!(piped.json_lines().len(), 2);
    assert_eq!(ids(&bench, &["since", r#"{"a": 3, "b": 0}"#]), ["b-1", "b-2", "c-0"]);
    assert_eq!(ids(&bench, &["since", "{}", "--limit", "1"]), ["a-0"]);

    // What one store has beyond another is what the other one imports.
    let replica = Bench::new();
    let all = bench.run(&["since", replica.run(&["cursor", "--json"]).ok().out.trim(), "--json"]).ok().out;
    replica.run_with(&["import", "-", "--stream"], all).ok();
    assert_eq!(replica.export(), bench.export());
}

#[test]
fn a_cursor_of_another_history_is_refused() {
    let bench = two_hosts();
    let said = bench.run(&["since", r#"{"a": {"seq": 1, "id": "other"}}"#, "--json"]).exits(1);
    assert_eq!(said.error()["code"], "CURSOR");
}

#[test]
fn ancestry_goes_back_cause_by_cause() {
    let bench = two_hosts();
    assert_eq!(ids(&bench, &["ancestry", "b-2"]), ["b-2", "b-1", "b-0", "a-1", "a-0"]);
    assert_eq!(ids(&bench, &["ancestry", "b-2", "--limit", "2"]), ["b-2", "b-1"]);
    assert_eq!(bench.run(&["ancestry", "nobody", "--json"]).exits(1).error()["kind"], "not_found");
}

#[test]
fn stats_count() {
    let bench = Bench::sample();
    let stats = bench.run(&["stats", "--json"]).ok().json();
    assert_eq!((&stats["events"], stats["hosts"].as_array().unwrap().len()), (&599.into(), 3));
    let said = bench.run(&["stats"]).ok();
    for needle in ["599 events of 3 hosts", "daemon", "assistant.message", "segment"] {
        assert!(said.out.contains(needle), "{}", said.out);
    }
    Bench::new().run(&["stats"]).ok();
}
