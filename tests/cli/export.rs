//! `export`, and that an import of it changes nothing.

use crate::bench::{Bench, SAMPLE, counts};

#[test]
fn an_export_is_a_fixpoint() {
    let bench = Bench::sample();
    let export = bench.file("export.jsonl", bench.export());
    for mode in [&[][..], &["--stream"], &["--lenient"], &["--dry-run"]] {
        let again = bench.run(&[&["import", &export, "--json"], mode].concat()).ok().json();
        assert_eq!(counts(&again), [599, 0, 599, 0]);
        let fresh = Bench::new();
        let said = fresh.run(&[&["import", &export, "--json"], mode].concat()).ok().json();
        assert_eq!(counts(&said), [599, 599, 0, 0]);
        if mode != ["--dry-run"] {
            assert_eq!(fresh.export().as_bytes(), std::fs::read(&export).unwrap());
        }
    }
    assert_eq!(bench.export().as_bytes(), std::fs::read(&export).unwrap());
}

#[test]
fn lines_stand_by_host_and_seq_or_in_the_order() {
    let bench = Bench::sample();
    let by_host: Vec<(String, u64)> = bench
        .run(&["export"])
        .ok()
        .json_lines()
        .iter()
        .map(|event| (event["host"].as_str().unwrap().to_owned(), event["seq"].as_u64().unwrap()))
        .collect();
    assert!(by_host.is_sorted());
    let ids = |args: &[&str]| -> Vec<String> {
        bench
            .run(args)
            .ok()
            .json_lines()
            .iter()
            .map(|event| event["id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids(&["export", "--order"]), ids(&["log", "--json"]));
    // The order imports as well as any other.
    let fresh = Bench::new();
    fresh.run_with(&["import", "-"], bench.run(&["export", "--order"]).out).ok();
    assert_eq!(fresh.export(), bench.export());
}

#[test]
fn members_stand_in_the_contracts_order_and_unknown_ones_last() {
    let bench = Bench::new();
    let mixed =
        r#" { "more" : [ 1.0 , "x y" ] , "type":"turn.started","seq":1, "payload" : { "turnId" : "t" },
        "id":"x","at":1.50,"v":1,"causes":[ ],"host":"h", "again":{} }"#
            .replace('\n', " ");
    bench.run_with(&["import", "-"], mixed).ok();
    assert_eq!(
        bench.export(),
        r#"{"v":1,"id":"x","host":"h","seq":1,"causes":[],"at":1.5,"type":"turn.started","payload":{"turnId":"t"},"more":[1.0,"x y"],"again":{}}"#
            .to_owned()
            + "\n"
    );
}

#[test]
fn a_file_takes_its_name_when_it_is_complete() {
    let bench = Bench::sample();
    let said = bench.run(&["export", "out.jsonl", "--json"]).ok();
    assert_eq!(said.json(), serde_json::json!({"file": "out.jsonl", "events": 599}));
    assert_eq!(std::fs::read_to_string(bench.path("out.jsonl")).unwrap(), bench.export());
    // Over an old file, whose content is gone only then.
    std::fs::write(bench.path("out.jsonl"), "old").unwrap();
    bench.run(&["export", "out.jsonl", "--order"]).ok();
    assert_eq!(
        std::fs::read_to_string(bench.path("out.jsonl")).unwrap(),
        bench.run(&["export", "--order"]).out
    );
    assert_eq!(bench.run(&["export", "-"]).ok().out, bench.export());
    bench.run(&["export", "absent/out.jsonl"]).exits(5);
    // No temporary file stays.
    let names: Vec<_> =
        std::fs::read_dir(bench.path(".")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

#[cfg(unix)]
#[test]
fn devices_are_written_to_and_links_are_followed() {
    use std::os::unix::fs::FileTypeExt;
    let bench = Bench::sample();
    bench.run(&["export", "/dev/null"]).ok();
    assert!(std::fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    std::fs::write(bench.path("real.jsonl"), "").unwrap();
    std::os::unix::fs::symlink("real.jsonl", bench.path("link.jsonl")).unwrap();
    bench.run(&["export", "link.jsonl"]).ok();
    assert!(std::fs::symlink_metadata(bench.path("link.jsonl")).unwrap().is_symlink());
    assert_eq!(std::fs::read_to_string(bench.path("real.jsonl")).unwrap(), bench.export());
    // A link that leads to no file yet makes one.
    std::fs::create_dir(bench.path("dir")).unwrap();
    std::os::unix::fs::symlink("dir/new.jsonl", bench.path("dangling.jsonl")).unwrap();
    bench.run(&["export", "dangling.jsonl"]).ok();
    assert!(std::fs::symlink_metadata(bench.path("dangling.jsonl")).unwrap().is_symlink());
    assert_eq!(std::fs::read_to_string(bench.path("dir/new.jsonl")).unwrap(), bench.export());
    std::os::unix::fs::symlink("loop.jsonl", bench.path("loop.jsonl")).unwrap();
    bench.run(&["export", "loop.jsonl"]).exits(5);
}

#[cfg(unix)]
#[test]
fn a_new_file_is_its_owners_and_an_old_one_keeps_its_mode() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::sample();
    let mode = |name: &str| std::fs::metadata(bench.path(name)).unwrap().permissions().mode() & 0o777;
    bench.run(&["export", "new.jsonl"]).ok();
    let old = bench.file("old.jsonl", "old");
    std::fs::set_permissions(&old, std::fs::Permissions::from_mode(0o664)).unwrap();
    bench.run(&["export", &old]).ok();
    assert_eq!((mode("new.jsonl"), mode("old.jsonl")), (0o600, 0o664));
}

/// Standard output by its file's name gets data alone.
#[cfg(target_os = "linux")]
#[test]
fn talk_is_kept_out_of_data() {
    let bench = Bench::sample();
    for json in [&[][..], &["--json"]] {
        let said = bench.run(&[&["export", "/dev/stdout"], json].concat()).ok();
        assert_eq!(said.out, bench.export());
    }
}

/// Hosts stand in the order of UTF-16 code units: an astral name before U+E000.
#[test]
fn hosts_stand_in_utf16_order() {
    let bench = Bench::new();
    let hosts = ["z", "ä", "\u{10000}", "\u{e000}", "\u{ffff}"];
    let text: Vec<String> =
        hosts.iter().rev().map(|host| crate::bench::line(&format!("id-{host}"), host, 1, &[])).collect();
    bench.run_with(&["import", "-"], text.join("\n")).ok();
    let found: Vec<serde_json::Value> = bench.run(&["export"]).ok().json_lines();
    assert_eq!(found.iter().map(|event| event["host"].as_str().unwrap()).collect::<Vec<_>>(), hosts);
}

/// Every line of the sample comes out byte for byte as another implementation wrote it.
#[test]
fn lines_come_out_as_they_went_in() {
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&Bench::sample().export()), sorted(&std::fs::read_to_string(SAMPLE).unwrap()));
}

#[test]
fn no_file_is_put_among_the_stores_own() {
    let bench = Bench::sample();
    let before = bench.export();
    let segment = bench.store().join("log").join("0000000001.active");
    for target in [segment, bench.store().join("copy.jsonl")] {
        let said = bench.run(&["export", target.to_str().unwrap()]).exits(2);
        assert!(said.err.contains("among the store's own files"), "{}", said.err);
    }
    assert!(!bench.store().join("copy.jsonl").exists());
    assert_eq!(bench.export(), before);
}
