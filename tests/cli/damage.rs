//! Damaged stores: every verb that reads gives what is left, says so, and exits 4.

use std::path::{Path, PathBuf};

use causelog::{BatchMode, Event, Options, Store, TypeRegistry, UnknownTypes, read_event};

use crate::bench::{Bench, SAMPLE, Said, files};

/// A store of several segments as a kill leaves it: nothing was closed, and the newest segment takes appends.
fn killed() -> Bench {
    let bench = Bench::bare();
    let whole = bench.path("whole");
    let options = Options::new().segment_bytes_max(64 << 10).background(false);
    let store = Store::create(&whole, options).unwrap();
    let text = std::fs::read_to_string(SAMPLE).unwrap();
    let registry = TypeRegistry::v1();
    let read = |line: &str| read_event(line.as_bytes(), &registry, UnknownTypes::Refuse).unwrap();
    let events: Vec<Event> = text.lines().map(read).collect();
    for batch in events.chunks(10) {
        store.append_batch(batch, BatchMode::StopAtFirst).unwrap().into_result().unwrap();
    }
    copy(&whole, &bench.store());
    bench
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// The segments of a form, by rising number.
fn segments(bench: &Bench, form: &str) -> Vec<PathBuf> {
    let all = files(&bench.store().join("log"));
    all.into_iter()
        .map(|(path, _)| path)
        .filter(|path| path.extension().is_some_and(|ext| ext == form))
        .collect()
}

/// Turns a bit of a payload in the middle of a file.
fn flip(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    let from = bytes.iter().rposition(|byte| *byte != 0).unwrap() / 2;
    let at = from + bytes[from..].windows(8).position(|window| window == b"\"turnId\"").unwrap();
    bytes[at] ^= 1;
    std::fs::write(path, bytes).unwrap();
}

fn flipped() -> Bench {
    let bench = killed();
    flip(segments(&bench, "active").last().unwrap());
    bench
}

fn without_the_first() -> Bench {
    let bench = killed();
    let sealed = segments(&bench, "sealed");
    assert!(sealed.len() > 1, "{sealed:?}");
    std::fs::remove_file(&sealed[0]).unwrap();
    bench
}

#[track_caller]
fn names_the_way_on(said: &Said) {
    assert!(
        said.err.contains("causelog verify") && said.err.contains("causelog repair --dry-run"),
        "{said:#?}"
    );
}

#[test]
fn what_is_left_is_read_and_the_exit_says_4() {
    for bench in [flipped(), without_the_first()] {
        let before = files(&bench.store());
        let left = bench.run(&["export", "--json"]).exits(4).json_lines();
        assert!(!left.is_empty() && left.len() < 599, "{} are left", left.len());
        let id = left[0]["id"].as_str().unwrap();
        let host = left[0]["host"].as_str().unwrap();
        for args in [
            &["export"][..],
            &["export", "-"],
            &["export", "--order"],
            &["log"],
            &["log", "--last", "3"],
            &["range", host],
            &["since", "{}"],
            &["cursor"],
            &["stats"],
            &["get", id],
            &["ancestry", id],
            &["import", SAMPLE, "--dry-run"],
            &["replay"],
        ] {
            let said = bench.run(args).exits(4);
            assert!(!said.out.is_empty(), "{args:?}: {said:#?}");
            names_the_way_on(&said);
            let said = bench.run(&[args, &["--json"]].concat()).exits(4);
            assert!(!said.json_lines().is_empty(), "{args:?}: {said:#?}");
            // What is lost cannot be told from what never was: an import may be told that it comes too late.
            assert!(said.errors().is_empty() || args[0] == "import", "{said:#?}");
            names_the_way_on(&said);
        }
        assert_eq!(bench.run(&["verify"]).exits(4).code, bench.run(&["repair", "--dry-run"]).code);
        assert_eq!(files(&bench.store()), before, "reading changes nothing");
    }
}

/// Nobody can say of an event that it is not held, where a part of what was held cannot be read.
#[test]
fn nothing_is_called_absent() {
    for bench in [flipped(), without_the_first()] {
        for args in [["get", "absent"], ["ancestry", "absent"], ["get", "nobody#7"]] {
            let said = bench.run(&[&args[..], &["--json"]].concat()).exits(4);
            assert_eq!(said.error()["kind"], "corrupt");
            names_the_way_on(&bench.run(&args).exits(4));
        }
    }
}

#[test]
fn a_part_of_a_run_has_no_verdict() {
    for bench in [flipped(), without_the_first()] {
        let said = bench.run(&["replay"]).exits(4);
        assert!(said.out.starts_with("verdict: none, the store is damaged"), "{said:#?}");
        assert_eq!(bench.run(&["replay", "--json"]).exits(4).json()["ok"], false);
    }
}

/// A file that is there is complete: also where the damage is met on the way.
#[test]
fn no_file_is_made_of_what_is_left() {
    let met_on_the_way = killed();
    flip(&segments(&met_on_the_way, "sealed")[0]);
    for bench in [flipped(), without_the_first(), met_on_the_way] {
        let old = bench.file("old.jsonl", "old");
        for file in ["new.jsonl", &old] {
            let said = bench.run(&["export", file]).exits(4);
            assert_eq!(said.out, "");
            names_the_way_on(&said);
        }
        assert_eq!(std::fs::read_to_string(&old).unwrap(), "old");
        assert!(!bench.path("new.jsonl").exists());
    }
}

/// What is derived may be all that tells how far the log went.
#[test]
fn reindex_leaves_a_damaged_store_alone() {
    // Behind a checkpoint opening does not look.
    let unseen = Bench::sample();
    flip(&segments(&unseen, "active")[0]);
    unseen.run(&["stats"]).ok();
    for bench in [flipped(), without_the_first(), unseen] {
        let before = files(&bench.store());
        names_the_way_on(&bench.run(&["reindex", "--dry-run"]).exits(4));
        names_the_way_on(&bench.run(&["reindex", "--yes", "--json"]).exits(4));
        for (path, bytes) in before {
            // Opening for writing and closing brings what is derived up to date; the log stays as it is.
            let now = std::fs::read(&path).unwrap();
            let is_segment = path.extension().is_some_and(|form| form == "active" || form == "sealed");
            assert!(now == bytes || !is_segment, "{}", path.display());
        }
    }
}

/// Confirmed bytes that the file does not reach are a tear for both, and named.
#[test]
fn a_log_that_is_cut_short_is_torn_for_verify_and_repair() {
    let bench = killed();
    let active = segments(&bench, "active").pop().unwrap();
    let bytes = std::fs::read(&active).unwrap();
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap() - 2000;
    std::fs::write(&active, &bytes[..end]).unwrap();
    for args in [&["verify"][..], &["repair", "--dry-run"]] {
        let said = bench.run(args).exits(3);
        assert!(said.out.contains("missing"), "{said:#?}");
        assert_eq!(bench.run(&[args, &["--json"]].concat()).exits(3).json()["outcome"], "torn");
    }
    assert!(bench.run(&["log"]).ok().err.contains("missing"));
    let lost = bench.run(&["repair", "--yes", "--json"]).exits(3).json()["eventsLost"].as_u64().unwrap();
    assert!(lost > 0);
    let said = bench.run(&["verify"]).ok();
    assert!(said.out.contains("lost to damage"), "{said:#?}");
}

/// `causelog verify | head -1` of a damaged store is no good store.
#[test]
fn a_reader_that_leaves_changes_no_verdict() {
    let damaged = flipped();
    let failing = Bench::new();
    let unbound = crate::bench::line("x", "h", 1, &[]).replace("turn.started", "capability.invoked").replace(
        r#"{"turnId":"t"}"#,
        r#"{"capability":"c","actor":{"kind":"model","id":"m"},"scope":{"kind":"tab","id":"1"},"effects":"idempotent"}"#,
    );
    failing.run_with(&["import", "-"], &unbound).ok();
    for (bench, args, code) in [
        (&damaged, &["verify"][..], 4),
        (&damaged, &["repair", "--dry-run"], 4),
        (&damaged, &["log"], 4),
        (&damaged, &["export"], 4),
        (&damaged, &["replay", "--json", "--order"], 4),
        (&failing, &["replay"], 1),
        (&failing, &["replay", "--json"], 1),
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = bench.command().args(args).stdout(writer).output();
        Said::from(output.unwrap()).exits(code);
    }
    // A line that cannot go in.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let file = std::fs::File::open(failing.file("bad", "{\n")).unwrap();
    let output = failing.command().args(["import", "-"]).stdin(file).stdout(writer).output().unwrap();
    Said::from(output).exits(1);
}

#[test]
fn after_a_repair_the_losses_are_told() {
    let bench = flipped();
    let lost = bench.run(&["repair", "--yes", "--json"]).exits(4).json()["eventsLost"].as_u64().unwrap();
    assert!(lost > 0);
    let said = bench.run(&["replay"]).ok();
    assert!(said.err.contains(&format!("lost to damage, and repaired around: {lost} event")), "{said:#?}");
    assert!(bench.run(&["verify"]).ok().out.contains("lost to damage"));
    assert_eq!(bench.run(&["verify", "--json"]).ok().json()["lost"], lost);
}
