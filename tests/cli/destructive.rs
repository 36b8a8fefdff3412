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

/// Damage below the confirmed end: named, exit 4, nothing skipped, and reading says so.
#[test]
fn damage_exits_4() {
    let bench = Bench::sample();
    let path = active(&bench);
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.windows(8).rposition(|window| window == b"turnId\":").unwrap() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, &bytes).unwrap();

    let said = bench.run(&["verify"]).exits(4);
    assert!(said.out.contains("DAMAGED") && said.out.contains("segment"), "{said:?}");
    assert!(
        bench.run(&["verify", "--json"]).exits(4).json()["findings"]
            .as_array()
            .is_some_and(|all| !all.is_empty())
    );
    let said = bench.run(&[
        "append",
        "--host",
        "h",
        "--type",
        "turn.started",
        "--payload",
        r#"{"turnId":"t"}"#,
        "--json",
    ]);
    let said = said.exits(4);
    assert_eq!(said.errors()[0]["kind"], "read_only", "{said:?}");
    assert_eq!(std::fs::read(&path).unwrap(), bytes, "damage is kept until a repair");

    bench.run(&["repair", "--dry-run"]).exits(4);
    bench.run(&["repair"]).exits(2);
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    bench.run(&["repair", "--yes"]).exits(4);
    bench.run(&["verify"]).ok();
    bench.run(&["append", "--host", "h", "--type", "turn.started", "--payload", r#"{"turnId":"t"}"#]).ok();
}
