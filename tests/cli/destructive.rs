//! `verify`, `repair` and `reindex`.

use std::path::PathBuf;

use crate::bench::{Bench, files};

/// The file of the segment that takes appends.
fn active(bench: &Bench) -> PathBuf {
    let all = files(&bench.store().join("log"));
    let (path, _) =
        all.into_iter().rfind(|(path, _)| path.extension().is_some_and(|ext| ext == "active")).unwrap();
    path
}

#[test]
fn a_good_store_has_nothing_to_repair() {
    let bench = Bench::sample();
    let before = bench.export();
    assert!(bench.run(&["verify"]).ok().out.contains("all is well"));
    for args in [&["repair"][..], &["repair", "--dry-run"], &["repair", "--yes"]] {
        assert_eq!(bench.run(args).ok().out, "nothing to repair\n", "{args:?}");
        assert!(bench.run(&[args, &["--json"]].concat()).ok().json().is_object());
    }
    assert_eq!(bench.export(), before);
}

#[test]
fn nobody_is_asked_where_there_is_no_terminal() {
    let bench = Bench::sample();
    let said = bench.run(&["reindex"]).exits(2);
    assert!(said.err.contains("--yes") && said.err.contains("--dry-run"), "{said:?}");
    assert!(bench.run(&["reindex", "--dry-run"]).ok().out.contains("599 events"));
    assert!(bench.run(&["reindex", "--yes"]).ok().out.contains("599 events"));
    bench.run(&["verify"]).ok();
    assert_eq!(bench.events(), 599);
}

#[test]
fn an_index_that_is_gone_is_built_again() {
    let bench = Bench::sample();
    let before = bench.export();
    std::fs::remove_file(bench.store().join("index.redb")).unwrap();
    bench.run(&["verify"]).ok();
    bench.run(&["reindex", "--yes"]).ok();
    assert_eq!(bench.export(), before);
}

const APPEND: [&str; 7] =
    ["append", "--host", "h", "--type", "turn.started", "--payload", r#"{"turnId":"t"}"#];

/// Damage below the confirmed end: named, exit 4, nothing skipped, and a repair says what is gone.
#[test]
fn damage_exits_4_and_a_repair_keeps_the_rest() {
    let bench = Bench::sample();
    let path = active(&bench);
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.windows(8).position(|window| window == b"\"turnId\"").unwrap();
    bytes[middle] ^= 1;
    std::fs::write(&path, &bytes).unwrap();

    let said = bench.run(&["verify"]).exits(4);
    assert!(said.out.contains("DAMAGED") && said.out.contains("segment 1"), "{said:?}");
    assert!(!bench.run(&["verify", "--json"]).exits(4).json()["findings"].as_array().unwrap().is_empty());

    let plan = bench.run(&["repair", "--dry-run"]).exits(4);
    assert!(plan.out.starts_with("a repair would:") && plan.out.contains("lost:"), "{plan:?}");
    bench.run(&["repair"]).exits(2);
    assert_eq!(std::fs::read(&path).unwrap(), bytes, "damage is kept until a repair");

    let report = bench.run(&["repair", "--yes", "--json"]).exits(4).json();
    let lost = report["eventsLost"].as_u64().unwrap();
    assert!(lost > 0);
    assert_eq!((&report["dryRun"], &report["outcome"]), (&false.into(), &"damaged".into()));
    bench.run(&["verify"]).ok();
    let replayed = bench.run(&["replay", "--json"]);
    assert_eq!(replayed.json()["events"], 599 - lost);
    assert_eq!(replayed.code, i32::from(replayed.json()["ok"] == false));
    assert_eq!(bench.events(), 599 - lost);
    assert!(bench.run(&["stats"]).ok().out.contains("lost to damage"));
    bench.run(&APPEND).ok();
    assert_eq!(bench.run(&["repair"]).ok().out, "nothing to repair\n");
}

/// A tail that no later write confirms: verify and repair say 3, other verbs warn and go on.
#[cfg(unix)]
#[test]
fn a_torn_tail_exits_3() {
    let bench = Bench::sample();
    let before = bench.export();
    let torn = |bench: &Bench| {
        let path = active(bench);
        let end = std::fs::read(&path).unwrap().iter().rposition(|byte| *byte != 0).unwrap();
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        // What a write that was cut off leaves behind the last frame.
        use std::os::unix::fs::FileExt;
        file.write_all_at(&[0xaa; 333], (u64::try_from(end).unwrap() + 8) & !7).unwrap();
    };
    torn(&bench);
    assert!(bench.run(&["verify"]).exits(3).out.contains("torn"));
    assert_eq!(bench.run(&["verify", "--json"]).exits(3).json()["outcome"], "torn");
    for args in [&["log"][..], &["stats"], &["export"]] {
        let said = bench.run(args).ok();
        assert!(said.err.starts_with("warning: torn tail"), "{said:?}");
    }
    let said = bench.run(&["stats", "--json"]).ok();
    assert!(said.err.starts_with("{\"warning\":"), "{said:?}");

    bench.run(&["repair", "--dry-run"]).exits(3);
    bench.run(&["verify"]).exits(3);
    let said = bench.run(&["repair", "--yes"]).exits(3);
    assert!(said.out.starts_with("repaired:") && said.out.contains("kept:"), "{said:?}");
    bench.run(&["verify"]).ok();
    assert_eq!(bench.export(), before);

    torn(&bench);
    let said = bench.run(&APPEND).ok();
    assert!(said.err.starts_with("warning: torn tail"), "{said:?}");
    bench.run(&["verify"]).ok();
    assert_eq!(bench.events(), 600);
}

/// A store that cannot be told from its files takes no writes.
#[test]
fn a_damaged_head_exits_4() {
    let bench = Bench::sample();
    let path = active(&bench);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[20] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let report = bench.run(&["verify", "--json"]).exits(4).json();
    assert_eq!((&report["outcome"], &report["findings"][0]["segment"]), (&"damaged".into(), &1.into()));
    for args in [&["log"][..], &APPEND, &["import", crate::bench::SAMPLE], &["reindex", "--yes"]] {
        let said = bench.run(&[args, &["--json"]].concat()).exits(4);
        assert!(said.err.contains("causelog repair --dry-run"), "{args:?}: {said:?}");
        assert!(said.out.is_empty() && !said.errors().is_empty(), "{args:?}: {said:?}");
    }
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}
