//! `replay`, of a store and of a file.

use causelog::{AddressKind, Options, PutOptions, Store};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::bench::{BLOBS, Bench, SAMPLE, copy_blobs, files, line};

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

/// What the other implementation said of the sample.
fn expected() -> serde_json::Value {
    let path = SAMPLE.replace("run.jsonl", "expected.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn the_sample_with_its_content_gets_the_verdict_of_the_other_implementation() {
    let bench = Bench::sample();
    let expected = expected();
    let blobs = bench.path("blobs");
    copy_blobs(&blobs);
    // What was shredded is not in the directory; were it, it would have to go.
    for shredded in expected["shredded"].as_array().unwrap() {
        assert!(!blobs.join(shredded.as_str().unwrap().replace(':', "-")).exists());
    }
    let from_file =
        bench.run(&["replay", "--from", SAMPLE, "--blobs", "blobs", "--json", "--order"]).ok().json();
    for member in ["ok", "events", "stable", "violations", "order"] {
        assert_eq!(from_file[member], expected[member], "{member}");
    }
    let refs = &from_file["refs"];
    let counts = json!({
        "exact": refs["exact"],
        "unavailable": refs["unavailable"],
        "drifted": refs["drifted"].as_array().unwrap().len(),
    });
    assert_eq!(counts, expected["refs"]);
    assert_eq!(json!(from_file["turns"].as_array().unwrap().len()), expected["turns"]);
    assert_eq!(from_file["totals"]["turns"], expected["turns"]);
    // The one that is gone is an answer, and no turn was shown it.
    assert_eq!(from_file["totals"]["reconstruction"], json!({"full": 43, "partly": 0, "no": 0}));

    let of_store = bench.run(&["replay", "--blobs", BLOBS, "--json", "--order"]).ok().json();
    assert_eq!(of_store, from_file);

    let told = bench.run(&["replay", "--from", SAMPLE, "--blobs", BLOBS]).ok().out;
    assert_eq!(
        told,
        "verdict: ok
  599 events of 3 hosts, in their one order, proved
  197 references: 196 exact, 1 unavailable, 0 drifted
  43 contexts of turns: 43 can be read again in full, 0 in part, 0 not
  every invariant holds
"
    );
}

#[test]
fn without_content_the_verdict_says_so() {
    let bench = Bench::bare();
    let hint = "no content was given";
    let told = bench.run(&["replay", "--from", SAMPLE]).ok().out;
    assert!(told.contains(hint) && told.contains("--blobs DIR"), "{told}");
    std::fs::create_dir(bench.path("empty")).unwrap();
    let told = bench.run(&["replay", "--from", SAMPLE, "--blobs", "empty"]).ok().out;
    assert!(!told.contains(hint) && told.contains("0 exact, 197 unavailable, 0 drifted"), "{told}");
    // Nothing was named, so nothing is missing.
    let told = bench.run_with(&["replay", "--from", "-"], line("x", "h", 1, &[])).ok().out;
    assert!(!told.contains(hint), "{told}");
}

/// Two turns: one was shown two notes and a page, the other what its payload says.
fn shown(resident: &str) -> String {
    let context = |id: &str, seq: u64, turn: &str, resident: &str| {
        format!(
            r#"{{"v":1,"id":"{id}","host":"h","seq":{seq},"causes":[],"at":1,"type":"context.assembled","payload":{{"turnId":"{turn}","budget":8000,"used":12.50,"parts":{{}},"resident":{resident},"reachableCount":0}}}}"#
        )
    };
    let notes = json!([
        {"kind": "note", "id": "a", "hash": address("text of a")},
        {"kind": "note", "id": "b", "hash": address("text of b")},
        {"kind": "page", "id": "https://c", "hash": address("text of c"), "range": {"from": 1, "to": 2}},
    ]);
    format!("{}\n{}\n", context("e1", 1, "t1", &notes.to_string()), context("e2", 2, "t\\u001b2", resident))
}

fn address(content: &str) -> String {
    format!("sha256:{}", data_encoding::HEXLOWER.encode(&Sha256::digest(content)))
}

fn put(bench: &Bench, content: &str) {
    let name = address(content).replace(':', "-");
    std::fs::create_dir_all(bench.path("blobs")).unwrap();
    std::fs::write(bench.path("blobs").join(name), content).unwrap();
}

#[test]
fn drift_fails_the_run_unless_the_content_is_still_held() {
    let bench = Bench::bare();
    let run = bench.file("run.jsonl", shown("[]"));
    let (a, b) = (address("text of a"), address("new text of b"));
    let map = bench.file("now.json", json!({"note:a": a, "note:b": b, "note:elsewhere": "h"}).to_string());

    let said = bench.run(&["replay", "--from", &run, "--current", &map]).exits(1);
    assert!(said.out.starts_with("verdict: FAILED\n"), "{said:?}");
    assert!(said.out.contains("3 references: 1 exact, 1 unavailable, 1 drifted"), "{said:?}");
    assert!(said.out.contains("e1 names content that is ") && !said.out.contains("no content was given"));
    let report = bench.run(&["replay", "--from", &run, "--current", &map, "--json"]).exits(1).json();
    assert_eq!(report["refs"]["drifted"][0]["actualHash"], json!(b));
    assert_eq!(
        report["turns"][0],
        json!({
            "eventId": "e1", "turnId": "t1", "budget": 8000, "used": 12.5, "parts": {},
            "reconstructable": false, "reconstruction": "no", "exact": 1, "unavailable": 1, "drifted": 1,
            "shown": [
                {"kind": "note", "id": "a", "hash": a, "resolution": "exact"},
                {"kind": "note", "id": "b", "hash": address("text of b"), "resolution": "drifted", "actualHash": b},
                {"kind": "page", "id": "https://c", "hash": address("text of c"), "resolution": "verified-but-unavailable"},
            ],
        })
    );
    assert_eq!(report["totals"]["reconstruction"], json!({"full": 1, "partly": 0, "no": 1}));
    assert!(
        bench.run_with(&["replay", "--from", &run, "--current", "-"], std::fs::read(&map).unwrap()).code == 1
    );

    // With the text that was shown, nothing has drifted, whatever the note says now.
    put(&bench, "text of b");
    for order in [["--blobs", "blobs", "--current", &map], ["--current", &map, "--blobs", "blobs"]] {
        let args = [&["replay", "--from", &run, "--json"][..], &order].concat();
        let report = bench.run(&args).ok().json();
        assert_eq!(report["refs"], json!({"exact": 2, "unavailable": 1, "drifted": []}));
        assert_eq!(
            (&report["turns"][0]["reconstruction"], &report["turns"][0]["reconstructable"]),
            (&json!("partly"), &json!(true))
        );
    }
    put(&bench, "text of c");
    let report =
        bench.run(&["replay", "--from", &run, "--blobs", "blobs", "--current", &map, "--json"]).ok().json();
    assert_eq!(report["turns"][0]["reconstruction"], "full");

    // A store is asked the same way.
    let store = Bench::new();
    store.run(&["import", &run]).ok();
    store.run(&["replay"]).ok();
    store.run(&["replay", "--current", &map]).exits(1);
}

#[test]
fn turns_are_shown_one_by_one() {
    let bench = Bench::bare();
    put(&bench, "text of a");
    let odd = r#"[{"kind":"note","id":"a","hash":"x\u001b[2J"},"inline"]"#;
    let run = bench.file("run.jsonl", shown(odd));
    let map = bench.file("now.json", json!({"note:b": "sha256:other\u{1b}[2J"}).to_string());
    let args = ["replay", "--from", &run, "--blobs", "blobs", "--current", &map, "--turns"];
    let told = bench.run(&args).exits(1).out;
    let (verdict, turns) = told.split_once("\n\n").unwrap();
    assert!(verdict.starts_with("verdict: FAILED\n") && verdict.contains("I1 violated, 1 time"), "{told}");
    assert!(!told.contains('\u{1b}'), "{told:?}");
    let expected = format!(
        "turn \"t1\"  e1
  budget 8000, used 12.50
  cannot be read again: 1 exact, 1 unavailable, 1 drifted
    note:a  {}  exact
    note:b  {}  drifted, sha256:other\\u{{1b}}[2J now
    page:https://c  {}  unavailable

turn \"t\\u001b2\"  e2
  budget 8000, used 12.50
  can be read again in part: 0 exact, 1 unavailable, 0 drifted
    note:a  x\\u{{1b}}[2J  unavailable
",
        address("text of a"),
        address("text of b"),
        address("text of c")
    );
    assert_eq!(turns, expected);
}

#[test]
fn what_is_listed_is_bounded_and_what_is_counted_is_not() {
    let bench = Bench::bare();
    let residents: Vec<serde_json::Value> =
        (0..250).map(|n| json!({"kind": "note", "id": format!("n{n}"), "hash": "h"})).collect();
    let run = bench.file("run.jsonl", shown(&json!(residents).to_string()));
    let report = bench.run(&["replay", "--from", &run, "--json"]).ok().json();
    let turn = &report["turns"][1];
    assert_eq!((&turn["unavailable"], turn["shown"].as_array().unwrap().len()), (&json!(250), 100));
    let told = bench.run(&["replay", "--from", &run, "--turns"]).ok().out;
    assert!(told.ends_with("    note:n99  h  unavailable\n    and 150 more\n"), "{told}");
}

#[test]
fn damaged_content_is_damage() {
    let bench = Bench::sample();
    let blobs = bench.path("blobs");
    copy_blobs(&blobs);
    let name = "sha256-016698dde1a088bf4ec9b3e301f995ffef4d0563453efbe954089907294bdcd7";
    let (path, whole) = (blobs.join(name), std::fs::read(blobs.join(name)).unwrap());
    for bytes in [&whole[1..], b"", &[&whole[..], b"\n"].concat()] {
        std::fs::write(&path, bytes).unwrap();
        for args in [&["replay", "--blobs", "blobs"][..], &["replay", "--blobs", "blobs/", "--from", SAMPLE]]
        {
            let said = bench.run(args).exits(4);
            assert_eq!(said.out, "");
            assert!(said.err.contains("its bytes hash to sha256:") && said.err.contains(name), "{said:?}");
            // No store is damaged.
            assert!(!said.err.contains("causelog verify"), "{said:?}");
            let error = bench.run(&[args, &["--json"]].concat()).exits(4).error();
            assert_eq!((&error["code"], &error["kind"]), (&json!("STORE"), &json!("corrupt")));
        }
    }
    std::fs::remove_file(&path).unwrap();
    let report = bench.run(&["replay", "--blobs", "blobs", "--json"]).ok().json();
    assert!(report["refs"]["unavailable"].as_u64().unwrap() > 1);

    // Something that is there and cannot be read is neither.
    std::fs::create_dir(&path).unwrap();
    let said = bench.run(&["replay", "--blobs", "blobs"]).exits(5);
    assert!(said.err.contains(name), "{said:?}");
    bench.run(&["replay", "--blobs", "nowhere"]).exits(5);
    bench.run(&["replay", "--blobs", SAMPLE]).exits(5);
}

#[cfg(unix)]
#[test]
fn a_pipe_among_blobs_holds_up_nobody() {
    let bench = Bench::bare();
    put(&bench, "text of a");
    let name = address("text of b").replace(':', "-");
    let made = std::process::Command::new("mkfifo").arg(bench.path("blobs").join(name)).status().unwrap();
    assert!(made.success());
    let run = bench.file("run.jsonl", shown("[]"));
    bench.run(&["replay", "--from", &run, "--blobs", "blobs"]).exits(5);
}

#[test]
fn a_map_that_is_none_is_a_wrong_command_line() {
    let bench = Bench::bare();
    for (text, needle) in [
        ("", "line 1, column 1"),
        ("[]", "begins with no"),
        ("{\"note:a\":\n\"h\",}", "line 2, column 5"),
        ("{\"note:a\":\"h\",\"note:a\":\"h\"}", "repeated"),
        ("{\"notes:a\":\"h\"}", "no kind of source is called \"notes\""),
        ("{\"note\":\"h\"}", "by its kind, a colon and its id"),
        ("{\"note:a\":7}", "is a hash"),
        ("{\"note:a\":\"h\"} {}", "line 1, column 16"),
    ] {
        let map = bench.file("map.json", text);
        let said = bench.run(&["replay", "--from", SAMPLE, "--current", &map]).exits(2);
        assert!(
            said.err.contains(needle) && said.err.contains("map.json") && said.out.is_empty(),
            "{said:?}"
        );
        let error = bench.run(&["replay", "--from", SAMPLE, "--current", &map, "--json"]).exits(2).error();
        assert_eq!((&error["code"], &error["kind"]), (&json!("USAGE"), &json!("usage")));
    }
    let map = bench.file("map.json", " ".repeat((16 << 20) + 1));
    let said = bench.run(&["replay", "--from", SAMPLE, "--current", &map]).exits(2);
    assert!(said.err.contains("at most 16777216 bytes"), "{said:?}");
    bench.run(&["replay", "--from", SAMPLE, "--current", "nowhere.json"]).exits(5);
    bench.run_with(&["replay", "--from", "-", "--current", "-"], "{}").exits(2);
}

/// A store with the two turns of [`shown`], and the content of both notes.
fn with_content() -> (Bench, [causelog::Address; 2]) {
    let bench = Bench::new();
    let run = bench.file("run.jsonl", shown("[]"));
    bench.run(&["import", &run]).ok();
    let store = Store::open(bench.store(), Options::new()).unwrap();
    let how = PutOptions::new().address(AddressKind::Sha256);
    let put = |text: &str| store.blobs().put_with(text.as_bytes(), &how).unwrap().address();
    let addresses = [put("text of a"), put("text of b")];
    store.close().unwrap();
    (bench, addresses)
}

fn counts(bench: &Bench, args: &[&str], exit: i32) -> serde_json::Value {
    let report = bench.run(&[&["replay", "--json"], args].concat()).exits(exit).json();
    let drifted = report["refs"]["drifted"].as_array().unwrap().len();
    json!([report["refs"]["exact"], report["refs"]["unavailable"], drifted])
}

#[test]
fn the_content_of_a_store_is_looked_into_first() {
    let (bench, [a, b]) = with_content();
    assert_eq!(counts(&bench, &[], 0), json!([2, 1, 0]));
    let told = bench.run(&["replay"]).ok().out;
    assert!(told.contains("2 exact, 1 unavailable, 0 drifted") && !told.contains("no content"), "{told}");
    put(&bench, "text of c");
    assert_eq!(counts(&bench, &["--blobs", "blobs"], 0), json!([3, 0, 0]));
    // The note has changed since; what was shown is still held.
    let map = bench.file("now.json", json!({"note:b": address("new text of b")}).to_string());
    assert_eq!(counts(&bench, &["--current", &map], 0), json!([2, 1, 0]));

    let store = Store::open(bench.store(), Options::new()).unwrap();
    assert!(store.blobs().shred(&a).unwrap() && store.blobs().evict(&b).unwrap());
    store.close().unwrap();
    assert_eq!(counts(&bench, &[], 0), json!([0, 3, 0]));
    let told = bench.run(&["replay"]).ok();
    assert!(!told.out.contains("no content was given") && told.err.is_empty(), "{told:?}");
    assert_eq!(counts(&bench, &["--current", &map], 1), json!([0, 2, 1]));
    put(&bench, "text of b");
    assert_eq!(counts(&bench, &["--blobs", "blobs", "--current", &map], 0), json!([2, 1, 0]));
    // A file is replayed without the store.
    let run = bench.path("run.jsonl");
    let told = bench.run(&["replay", "--from", run.to_str().unwrap()]).ok().out;
    assert!(told.contains("no content was given"), "{told}");
}

#[test]
fn content_under_a_key_that_is_not_here_is_unavailable() {
    let (bench, _) = with_content();
    let key = bench.store().join("keys/master");
    let right = std::fs::read(&key).unwrap();
    let says = "content is under a key that is not here: 2 references count as unavailable";
    let check = |what: &str| {
        let said = bench.run(&["replay"]).ok();
        assert!(
            said.out.contains("0 exact, 3 unavailable, 0 drifted") && said.err.contains(says),
            "{what}: {said:?}"
        );
        assert!(!said.out.contains("no content was given"), "{what}: {said:?}");
        assert_eq!(counts(&bench, &[], 0), json!([0, 3, 0]), "{what}");
    };
    std::fs::remove_file(&key).unwrap();
    check("missing");
    // With one of them in a directory, one reference is left that the key is missing for.
    put(&bench, "text of a");
    let said = bench.run(&["replay", "--blobs", "blobs"]).ok();
    assert!(said.err.contains("not here: 1 reference counts as unavailable"), "{said:?}");

    // Another store's key in the place of this one's, and what is no key at all: neither is damage.
    let other = Bench::new();
    let theirs = Store::open(other.store(), Options::new()).unwrap();
    theirs.blobs().put(b"x").unwrap();
    theirs.close().unwrap();
    std::fs::copy(other.store().join("keys/master"), &key).unwrap();
    check("of another store");
    std::fs::write(&key, [7; 4096]).unwrap();
    check("no key");

    std::fs::write(&key, right).unwrap();
    assert_eq!(counts(&bench, &[], 0), json!([2, 1, 0]));
}

#[test]
fn one_damaged_piece_of_a_store_is_damage_and_no_verdict() {
    let (bench, [a, b]) = with_content();
    let packs = files(&bench.store().join("blobs"));
    let (pack, bytes) = packs.iter().max_by_key(|(_, bytes)| bytes.len()).unwrap();
    // The first record's body: behind the header, and a head with two addresses.
    let mut changed = bytes.clone();
    changed[64 + 64 + 2 * 40] ^= 1;
    std::fs::write(pack, changed).unwrap();
    put(&bench, "text of a");
    for args in [&["replay"][..], &["replay", "--json"], &["replay", "--blobs", "blobs"]] {
        let said = bench.run(args).exits(4);
        let name = pack.file_name().unwrap().to_str().unwrap();
        assert!(said.out.is_empty() && said.err.contains(name), "{said:?}");
        assert!(said.err.contains(&a.to_string()) && !said.err.contains(&b.to_string()), "{said:?}");
    }
    std::fs::write(pack, bytes).unwrap();
    bench.run(&["replay"]).ok();
}

#[test]
fn a_replay_goes_on_where_the_last_one_ended() {
    let bench = Bench::sample();
    let whole = bench.run(&["replay", "--json"]).ok().json();
    let resume = |args: &[&str], from: u64| {
        let mut report =
            bench.run(&[&["replay", "--json", "--resume", "run.point"], args].concat()).ok().json();
        assert_eq!(report["resumedFrom"], from, "{args:?}");
        report.as_object_mut().unwrap().remove("resumedFrom");
        report
    };
    assert_eq!(resume(&[], 0), whole);
    assert_eq!(resume(&[], 599), whole);
    let told = bench.run(&["replay", "--resume", "run.point"]).ok();
    assert!(told.out.contains("599 events of them replayed before"), "{told:?}");

    // More events, behind all others; then one that belongs before them.
    bench.run_with(&["import", "-"], line("y", "zzz", 1, &[])).ok();
    assert_eq!(resume(&[], 599), bench.run(&["replay", "--json"]).ok().json());
    bench.run_with(&["import", "-"], line("x", "!", 1, &[])).ok();
    let told = bench.run(&["replay", "--resume", "run.point"]).ok();
    assert!(told.err.contains("from the start: the order changed from position 0 on"), "{told:?}");
    assert_eq!(resume(&[], 601), bench.run(&["replay", "--json"]).ok().json());
    resume(&["--ephemeral-budget", "300"], 0);
    resume(&[], 0);
}

#[test]
fn what_is_no_point_is_a_wrong_command_line_and_stays() {
    let bench = Bench::sample();
    bench.run(&["replay", "--resume", "run.point"]).ok();
    let whole = std::fs::read(bench.path("run.point")).unwrap();
    let mut damaged = whole.clone();
    damaged[100] ^= 1;
    for bytes in [&damaged[..], &whole[..50], b"", b"some notes of mine"] {
        std::fs::write(bench.path("run.point"), bytes).unwrap();
        let said = bench.run(&["replay", "--resume", "run.point"]).exits(2);
        assert!(said.out.is_empty() && said.err.contains("run.point"), "{said:?}");
        assert_eq!(std::fs::read(bench.path("run.point")).unwrap(), bytes);
    }
    let mut newer = whole.clone();
    newer[16] = 9;
    std::fs::write(bench.path("run.point"), newer).unwrap();
    bench.run(&["replay", "--resume", "run.point"]).exits(5);
    for args in [&["--order", "--json"][..], &["--from", SAMPLE], &["--blobs", BLOBS]] {
        bench.run(&[&["replay", "--resume", "other.point"], args].concat()).exits(2);
    }
    let inside = bench.store().join("run.point");
    for file in ["-", "/dev/stdout", inside.to_str().unwrap()] {
        bench.run(&["replay", "--resume", file]).exits(2);
    }
    bench.run(&["replay", "--resume", "nowhere/run.point"]).exits(5);
}
