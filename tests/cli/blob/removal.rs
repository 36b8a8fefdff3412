//! `blob evict`, `shred`, pins.

use super::{get, members, put, sha256_name, state};
use crate::bench::{Bench, files};

#[test]
fn nothing_goes_unasked() {
    let bench = Bench::new();
    let address = put(&bench, "content");
    let before = files(&bench.store().join("keys"));
    for verb in [&["blob", "evict"][..], &["shred"]] {
        let said = bench.run(&[verb, &[&address]].concat()).exits(2);
        assert!(said.err.contains("--yes") && said.err.contains("--dry-run"), "{said:?}");
        let said = bench.run(&[verb, &[&address, "--dry-run"]].concat()).ok();
        assert!(said.out.starts_with("would ") && said.out.ends_with(", 7 bytes\n"), "{said:?}");
        let json = bench.run(&[verb, &[&address, "--dry-run", "--json"]].concat()).ok().json();
        assert_eq!(members(&json), ["address", "bytes", "dryRun", "state", "taken"]);
        assert_eq!((&json["dryRun"], &json["taken"]), (&true.into(), &true.into()));
    }
    assert_eq!(before, files(&bench.store().join("keys")));
    assert_eq!(get(&bench, &[&address]), b"content");
}

#[test]
fn shredding_is_for_good_and_the_same_twice() {
    let bench = Bench::new();
    let address = put(&bench, "to forget");
    let by_sha = bench.run_with(&["blob", "put", "-", "--address", "sha256"], "to forget").ok().out;
    let by_sha = by_sha.trim();
    let other = put(&bench, "to keep");
    let said = bench.run(&["shred", &address, "--yes"]).ok();
    assert_eq!(said.out, format!("shredded {address}, 9 bytes\n"));
    let said = bench.run(&["shred", &address, "--yes", "--json"]).ok().json();
    assert_eq!((&said["taken"], &said["state"]), (&false.into(), &"shredded".into()));
    // By every address, in either spelling.
    for address in [&address, by_sha] {
        assert_eq!(state(&bench, address), ("shredded".to_owned(), None, true));
        let error = bench.run(&["blob", "get", address, "--json"]).exits(1).error();
        assert_eq!(error["kind"], "shredded");
    }
    bench.run(&["blob", "evict", &address, "--yes"]).exits(1);
    bench.run(&["blob", "pin", &address]).exits(1);
    assert_eq!(get(&bench, &[&other]), b"to keep");

    // No import brings it back; a put does, and says so.
    let dir = bench.path("dir");
    std::fs::create_dir(&dir).unwrap();
    std::fs::write(dir.join(sha256_name(b"to forget")), "to forget").unwrap();
    std::fs::write(dir.join(address.replacen(':', "-", 1)), "to forget").unwrap();
    for args in [&["blob", "import", "dir", "--dry-run"][..], &["blob", "import", "dir"]] {
        let report = bench.run(&[args, &["--json"]].concat()).ok().json();
        assert_eq!((&report["stored"], &report["leftOut"]), (&0.into(), &2.into()));
    }
    assert_eq!(state(&bench, &address).0, "shredded");
    let said = bench.run_with(&["blob", "put", "-"], "to forget").ok();
    assert!(said.err.contains("was shredded before"), "{said:?}");
    assert_eq!(state(&bench, &address), ("resident".to_owned(), Some(9), true));
    assert!(bench.run(&["blob", "state", &address]).ok().out.contains("shredded before"));
    assert_eq!(get(&bench, &[&address]), b"to forget");
    // Held by now: nothing new is to be said.
    assert_eq!(bench.run_with(&["blob", "put", "-"], "to forget").ok().err, "");
}

#[test]
fn what_was_never_here_cannot_be_taken_away() {
    let bench = Bench::new();
    let (held, absent) = (put(&bench, "held"), format!("blake3:{}", "0".repeat(64)));
    for verb in [&["blob", "evict"][..], &["shred"]] {
        // Without anything to take away, nobody is asked.
        let said = bench.run(&[verb, &[&absent]].concat()).exits(1);
        assert!(said.out.contains("absent"), "{said:?}");
        let lines = bench.run(&[verb, &[&absent, &held, "--yes", "--json"]].concat()).exits(1).json_lines();
        assert_eq!((&lines[0]["taken"], &lines[1]["taken"]), (&false.into(), &true.into()));
    }
    assert_eq!(state(&bench, &absent), ("absent".to_owned(), None, false));
}

#[test]
fn what_was_evicted_comes_back_by_a_put() {
    let bench = Bench::new();
    let address = put(&bench, "to drop");
    assert_eq!(bench.run(&["blob", "pin", &address]).ok().out, format!("pinned {address}\n"));
    for _ in 0..2 {
        bench.run(&["blob", "evict", &address, "--yes"]).ok();
        assert_eq!(state(&bench, &address), ("evicted".to_owned(), None, false));
    }
    let said = bench.run(&["blob", "get", &address]).exits(1);
    assert!(said.err.contains("evicted"), "{said:?}");
    let said = bench.run_with(&["blob", "put", "-", "--json"], "to drop").ok();
    assert_eq!((&said.json()["state"], said.err.as_str()), (&"stored".into(), ""));
    assert_eq!(get(&bench, &[&address]), b"to drop");
    // Evicted content can still be shredded, so that it never comes back by an import.
    bench.run(&["blob", "evict", &address, "--yes"]).ok();
    bench.run(&["shred", &address, "--yes"]).ok();
    assert_eq!(state(&bench, &address).0, "shredded");
}

#[test]
fn pins_need_content() {
    let bench = Bench::new();
    let (held, absent) = (put(&bench, "held"), format!("blake3:{}", "0".repeat(64)));
    for (verb, pinned) in [("pin", true), ("unpin", false)] {
        let lines = bench.run(&["blob", verb, &absent, &held, "--json"]).exits(1).json_lines();
        assert!(lines.iter().all(|line| members(line) == ["address", "pinned", "state"]));
        assert_eq!((&lines[0]["state"], &lines[1]["pinned"]), (&"absent".into(), &pinned.into()));
        bench.run(&["blob", verb, &held]).ok();
    }
}
