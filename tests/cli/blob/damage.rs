//! Content that is damaged on disk.

use super::{damage_the_last, get, noise, pack, put};
use crate::bench::{Bench, files};

/// Damage that reading finds: that content alone is lost, and no event.
#[test]
fn content_that_does_not_open_exits_4() {
    let bench = Bench::sample();
    let (good, bad) = (put(&bench, noise(100_000, 1)), put(&bench, noise(100_000, 2)));
    damage_the_last(&bench);

    assert!(get(&bench, &[&good]) == noise(100_000, 1));
    let file = bench.path("out");
    for more in [&[][..], &["--output", file.to_str().unwrap()]] {
        let mut command = bench.command();
        let output = command.args(["blob", "get", &bad]).args(more).output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(4), "{err}");
        assert!(err.contains(".active") && err.contains("the events are whole"), "{err}");
    }
    assert!(!file.exists());
    bench.run(&["log"]).ok();
    bench.run(&["replay"]).ok();
}

/// Damage that opening finds: verbs about events warn, and those about content exit 4.
#[test]
fn a_missing_pack_is_told_by_every_verb() {
    let bench = Bench::sample();
    let (big, small) = (put(&bench, noise(5 << 20, 3)), put(&bench, "small"));
    std::fs::remove_file(pack(&bench, ".pack")).unwrap();
    for args in [&["log"][..], &["export"], &["replay"], &["stats"]] {
        let said = bench.run(args).ok();
        assert!(said.err.contains("damage of content") && said.err.contains("events are whole"), "{said:?}");
    }
    let said =
        bench.run(&["append", "--host", "h", "--type", "turn.started", "--payload", r#"{"turnId":"t"}"#]);
    assert!(said.ok().err.contains("damage of content"));
    assert_eq!(bench.run(&["blob", "get", &small]).exits(4).out, "small");
    for args in
        [&["blob", "list"][..], &["blob", "state", &small], &["blob", "state", &big], &["blob", "get", &big]]
    {
        let said = bench.run(args).exits(4);
        assert!(!said.err.contains("absent"), "{said:?}");
    }
}

/// What is not found in a damaged store may be what was lost of it: nothing calls it absent.
#[test]
fn nothing_is_called_absent_in_a_damaged_store() {
    let bench = Bench::new();
    let (big, small) = (put(&bench, noise(5 << 20, 3)), put(&bench, "small"));
    std::fs::remove_file(pack(&bench, ".pack")).unwrap();
    let never = format!("blake3:{}", "0".repeat(64));
    for address in [&big, &never] {
        for args in [
            &["blob", "get", address][..],
            &["blob", "state", address],
            &["blob", "pin", address],
            &["blob", "evict", address, "--yes"],
            &["shred", address],
            &["shred", address, "--dry-run"],
        ] {
            let said = bench.run(args).exits(4);
            let both = format!("{}{}", said.out, said.err);
            assert!(both.contains("not in what is left of the store"), "{args:?}: {said:?}");
            assert!(!both.contains("absent") && !both.contains("nothing to"), "{args:?}: {said:?}");
            let error = bench.run(&[args, &["--json"]].concat()).exits(4).error();
            assert_eq!(error["kind"], "corrupt", "{args:?}");
        }
        // It is marked, so that it stays unread should its pack be put back; the second time that is the answer.
        let said = bench.run(&["shred", address, "--yes"]).exits(4);
        assert!(
            said.err.contains("not in what is left of the store") && said.err.contains("marked"),
            "{said:?}"
        );
        bench.run(&["shred", address, "--yes"]).ok();
        assert!(bench.run(&["blob", "state", address]).exits(4).out.contains("shredded"));
    }
    // What is there goes all the same.
    let never = format!("blake3:{}", "1".repeat(64));
    let said = bench.run(&["shred", &never, &small, "--yes", "--json"]).exits(4);
    assert_eq!(
        (said.json()["address"].as_str(), &said.json()["taken"]),
        (Some(small.as_str()), &true.into())
    );
}

#[test]
fn a_repair_names_the_content_that_is_lost_and_a_put_restores_it() {
    let bench = Bench::sample();
    let (good, bad) = (put(&bench, noise(100_000, 1)), put(&bench, noise(100_000, 2)));
    bench.run(&["verify"]).ok();
    damage_the_last(&bench);
    let found = bench.run(&["verify"]).exits(4);
    assert!(found.out.starts_with("DAMAGED") && found.out.contains("causelog repair"), "{found:?}");

    let before = files(&bench.store());
    let planned = bench.run(&["repair", "--dry-run"]).exits(4);
    let lost = format!("lost: content {bad}");
    assert!(planned.out.contains(&lost) && !planned.out.contains(&good), "{planned:?}");
    let json = bench.run(&["repair", "--dry-run", "--json"]).exits(4).json();
    assert_eq!(json["contentLost"], serde_json::json!([bad]));
    assert_eq!((&json["outcome"], &json["eventsLost"]), (&"damaged".into(), &0.into()));
    assert_eq!(before, files(&bench.store()), "a plan changes nothing");

    let done = bench.run(&["repair", "--yes"]).exits(4);
    assert!(done.out.starts_with("repaired:") && done.out.contains(&lost), "{done:?}");
    assert!(done.out.contains("kept: "), "{done:?}");
    assert!(bench.run(&["verify"]).ok().out.starts_with("all is well"));
    assert_eq!(bench.run(&["repair"]).ok().out, "nothing to repair\n");
    assert!(get(&bench, &[&good]) == noise(100_000, 1));
    bench.run(&["blob", "get", &bad]).exits(1);
    assert_eq!(put(&bench, noise(100_000, 2)), bad);
    assert!(get(&bench, &[&bad]) == noise(100_000, 2));
    bench.run(&["verify"]).ok();
}
