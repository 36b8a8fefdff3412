//! `append`.

use crate::bench::{Bench, files};

const STARTED: [&str; 4] = ["append", "--host", "laptop", "--type"];

#[test]
fn says_where_the_event_stands() {
    let bench = Bench::new();
    let append = |payload: &str, more: &[&str]| {
        bench.run(&[&STARTED[..], &["turn.started", "--payload", payload], more].concat())
    };
    let said = append(r#"{"turnId": "t1"}"#, &[]).ok();
    let (place, id) = said.out.trim_end().split_once(' ').unwrap();
    assert_eq!(place, "laptop#0");
    let object = append(r#"{"turnId":"t2"}"#, &["--json", "--cause", id, "--cause", "elsewhere"]).ok().json();
    let members: Vec<&String> = object.as_object().unwrap().keys().collect();
    assert_eq!(members, ["host", "id", "seq"]);
    assert_eq!((&object["host"], &object["seq"]), (&"laptop".into(), &1.into()));

    let event = bench.run(&["get", object["id"].as_str().unwrap(), "--json"]).ok().json();
    assert_eq!(event["causes"], serde_json::json!([id, "elsewhere"]));
    assert_eq!(event["payload"], serde_json::json!({"turnId": "t2"}));
    // The payload is kept as it came, but for the white space between tokens.
    assert!(bench.run(&["get", id, "--json"]).ok().out.contains(r#""payload":{"turnId":"t1"}"#));
}

#[test]
fn reads_the_payload_from_standard_input() {
    let bench = Bench::new();
    let text = format!("{{\"turnId\":\"{}\"}}\n", "x".repeat(200_000));
    let args = [&STARTED[..], &["turn.started", "--payload", "-", "--json"]].concat();
    let id = bench.run_with(&args, &text).ok().json()["id"].as_str().unwrap().to_owned();
    assert!(bench.run(&["get", &id, "--json"]).ok().out.contains(text.trim()));
    bench.run_with(&args, b"\xff").exits(1);
    bench.run_with(&args, "x".repeat((16 << 20) + 1)).exits(1);
}

#[test]
fn refuses_what_the_contract_refuses() {
    let bench = Bench::new();
    let before = bench.export();
    for (kind, payload, code) in [
        ("turn.started", "{", "JSON"),
        ("turn.started", r#"{"a":1} {"b":2}"#, "JSON"),
        ("turn.started", r#"{"a":1,"a":2}"#, "JSON"),
        ("turn.started", r#"{"a":"\ud800"}"#, "JSON"),
        ("turn.started", r#"{"a":1e400}"#, "JSON"),
        ("turn.started", r#"{"other":"t"}"#, "PAYLOAD"),
        ("turn.started", "7", "SHAPE"),
        ("nobody.knows", "{}", "TYPE"),
    ] {
        let said = bench.run(&[&STARTED[..], &[kind, "--payload", payload, "--json"]].concat()).exits(1);
        assert_eq!(said.error()["code"], code, "{kind} {payload}");
        assert_eq!(said.out, "");
    }
    assert_eq!(bench.export(), before);
    let empty = bench.run(&["append", "--host", "", "--type", "turn.started", "--payload", "{}", "--json"]);
    assert_eq!(empty.exits(1).error()["code"], "SHAPE");
}

#[test]
fn takes_unknown_types_where_that_is_asked_for() {
    let bench = Bench::new();
    let args = [&STARTED[..], &["nobody.knows", "--payload", "{}"]].concat();
    bench.run(&args).exits(1);
    bench.run(&[&args[..], &["--accept-unknown-types"]].concat()).ok();
    // What is held is read, ordered, exported and replayed, known or not.
    assert!(bench.export().contains("nobody.knows"));
    assert!(bench.run(&["log"]).ok().out.contains("nobody.knows"));
    bench.run(&["replay"]).ok();
}

/// No error repeats what a user typed into a payload.
#[test]
fn errors_keep_payloads_to_themselves() {
    let bench = Bench::new();
    for payload in
        [r#"{"turnId":"sesame"#, r#"{"sesame":1,"sesame":2}"#, r#"{"turnId":["sesame"]}"#, "sesame"]
    {
        for json in [&[][..], &["--json"]] {
            let said =
                bench.run(&[&STARTED[..], &["turn.started", "--payload", payload], json].concat()).exits(1);
            assert!(!said.err.contains("sesame"), "{said:?}");
        }
    }
    // Nor does the store's directory, where nothing was stored.
    let holds = |bytes: &[u8]| bytes.windows(6).any(|window| window == b"sesame");
    assert!(files(&bench.store()).iter().all(|(_, bytes)| !holds(bytes)));
}

#[test]
fn causes_are_named_by_place_where_they_are_held() {
    let bench = Bench::new();
    let append = |more: &[&str]| {
        bench.run(
            &[&STARTED[..], &["turn.started", "--payload", r#"{"turnId":"t"}"#, "--json"], more].concat(),
        )
    };
    let first = append(&[]).ok().json()["id"].clone();
    let second = append(&["--cause", "laptop#0", "--cause", "phone#3"]).ok().json();
    let event = bench.run(&["get", second["id"].as_str().unwrap(), "--json"]).ok().json();
    // Nobody knows a host `phone` here: that text can only be an id.
    assert_eq!(event["causes"], serde_json::json!([first, "phone#3"]));
    assert_eq!(append(&["--cause", "laptop#7"]).exits(1).error()["kind"], "not_found");
    assert_eq!(bench.events(), 2);
}

#[test]
fn names_may_start_with_a_hyphen() {
    let bench = Bench::new();
    let args = ["append", "--host", "-x", "--type", "turn.started", "--payload", r#"{"turnId":"t"}"#];
    bench.run(&args).ok();
    assert!(bench.run(&["range", "-x"]).ok().out.starts_with("-x#0"));
}

/// An event that is durable is reported as such, whatever fails behind it.
#[test]
fn a_close_that_fails_takes_nothing_back() {
    let bench = Bench::new();
    let checkpoint = bench.store().join("log/0000000001.checkpoint");
    let _ = std::fs::remove_file(&checkpoint);
    // A directory in its place: no checkpoint can take that name.
    std::fs::create_dir(&checkpoint).unwrap();
    let args = [&STARTED[..], &["turn.started", "--payload", r#"{"turnId":"t"}"#]].concat();
    let said = bench.run(&args).ok();
    assert!(said.out.starts_with("laptop#0 "), "{said:?}");
    assert!(said.err.starts_with("warning: the event is stored"), "{said:?}");
    assert_eq!(bench.events(), 1);
}
