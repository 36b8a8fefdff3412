//! `demo`.

use std::process::Command;

use serde_json::{Value, json};

use crate::bench::{BLOBS, Bench, SAMPLE, Said, files};

#[test]
fn works_twice_and_its_commands_work_as_printed() {
    let bench = Bench::bare();
    let temp = bench.path("temp");
    std::fs::create_dir(&temp).unwrap();
    for _ in 0..2 {
        let said = Said::from(bench.command().arg("demo").env("TMPDIR", &temp).output().unwrap()).ok();
        for needle in ["599 events", "`rm -r ", "verdict: ok", "What to try next", "ext_3f9a1c20#0"] {
            assert!(said.out.contains(needle), "{}", said.out);
        }
        let next: Vec<&str> = said.out.lines().filter(|line| line.contains(" --store ")).collect();
        assert!(next.len() >= 4, "{next:?}");
        #[cfg(unix)]
        for line in next {
            let said = Command::new("sh").args(["-c", line]).current_dir(bench.path(".")).output().unwrap();
            assert!(!Said::from(said).ok().out.is_empty(), "{line}");
        }
    }
    // The store that the environment names is left alone.
    assert!(!bench.store().exists());
    assert_eq!(std::fs::read_dir(&temp).unwrap().count(), 2);
}

#[test]
fn a_store_of_its_own_is_used_again_and_no_other() {
    let bench = Bench::bare();
    let first = bench.run(&["demo", "--store", "my store", "--json"]).ok().json();
    assert_eq!((&first["import"]["stored"], &first["replay"]["ok"]), (&599.into(), &true.into()));
    let second = bench.run(&["demo", "--store", "my store", "--json"]).ok().json();
    assert_eq!(&second["import"]["duplicates"], &serde_json::json!(599));
    // What was forgotten stays forgotten.
    assert_eq!((&second["content"]["held"], &second["content"]["leftOut"]), (&108.into(), &2.into()));
    assert_eq!(
        (&second["replay"], &second["afterForgetting"]),
        (&first["afterForgetting"], &second["replay"])
    );
    assert!(bench.run(&["demo", "--store", "my store"]).ok().out.contains("--store 'my store' "));

    let real = Bench::new();
    real.run_with(&["import", "-"], crate::bench::line("x", "h", 1, &[])).ok();
    real.run(&["demo", "--store", "store"]).exits(1);
    assert_eq!(real.events(), 1);
}

#[test]
fn its_verdict_is_that_of_the_other_implementation_and_it_forgets_for_real() {
    let bench = Bench::bare();
    let demo = bench.run(&["demo", "--store", "demo", "--json"]).ok().json();
    let expected = SAMPLE.replace("run.jsonl", "expected.json");
    let expected: Value = serde_json::from_slice(&std::fs::read(expected).unwrap()).unwrap();
    let replay = &demo["replay"];
    for member in ["ok", "events", "stable", "violations", "order"] {
        assert_eq!(replay[member], expected[member], "{member}");
    }
    let counts = |replay: &Value| {
        let drifted = replay["refs"]["drifted"].as_array().unwrap().len();
        json!({"exact": replay["refs"]["exact"], "unavailable": replay["refs"]["unavailable"], "drifted": drifted})
    };
    assert_eq!(counts(replay), expected["refs"]);
    assert_eq!(counts(replay), json!({"exact": 196, "unavailable": 1, "drifted": 0}));
    assert_eq!(json!(replay["turns"].as_array().unwrap().len()), expected["turns"]);
    assert_eq!(demo["content"]["shreddedBefore"], expected["shredded"]);
    assert_eq!((&demo["content"]["stored"], &demo["content"]["bytes"]), (&json!(110), &json!(22_115)));

    let forgotten = demo["forgotten"].as_array().unwrap();
    assert_eq!(forgotten.len(), 2);
    let mut gone = 0;
    for one in forgotten {
        assert_eq!((&one["stateBefore"], &one["state"]), (&json!("resident"), &json!("shredded")));
        assert_eq!((&one["readableBefore"], &one["readable"]), (&json!(true), &json!(false)));
        assert_eq!(one["filesWithItsText"], json!(0));
        gone += one["references"].as_u64().unwrap();
        let text = std::fs::read(format!("{BLOBS}/{}", one["address"].as_str().unwrap().replace(':', "-")));
        let text = text.unwrap();
        for (path, bytes) in files(&bench.path("demo")) {
            assert!(!bytes.windows(text.len()).any(|window| window == text), "{}", path.display());
        }
    }
    let after = &demo["afterForgetting"];
    assert_eq!(counts(after), json!({"exact": 196 - gone, "unavailable": 1 + gone, "drifted": 0}));
    assert_eq!((&after["ok"], &after["order"]), (&json!(true), &replay["order"]));
    // Exactly those, in the turns as well.
    let is_forgotten = |hash: &Value| forgotten.iter().any(|one| one["address"] == *hash);
    for turn in after["turns"].as_array().unwrap() {
        for shown in turn["shown"].as_array().unwrap() {
            let is_gone = shown["resolution"] == "verified-but-unavailable";
            assert_eq!(is_gone, is_forgotten(&shown["hash"]), "{shown}");
        }
    }
    let again = bench.run(&["replay", "--store", "demo", "--json", "--order"]).ok().json();
    assert_eq!(again, *after);
    assert_eq!(bench.run(&["verify", "--store", "demo"]).ok().code, 0);

    let said = bench.run(&["demo", "--store", "other"]).ok().out;
    assert!(said.lines().count() <= 45, "{said}");
}
