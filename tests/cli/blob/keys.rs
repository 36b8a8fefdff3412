//! The master key: elsewhere, missing, wrong.

use super::{put, run_with_key, state};
use crate::bench::{Bench, SAMPLE, Said, files};

const EVENTS: [&[&str]; 9] = [
    &["log"],
    &["export", "--order"],
    &["verify"],
    &["replay"],
    &["stats"],
    &["cursor"],
    &["import", SAMPLE],
    &["append", "--host", "h", "--type", "turn.started", "--payload", r#"{"turnId":"t"}"#],
    &["reindex", "--yes"],
];

/// What `verify` says of one piece of content that it cannot open, to people and to programs.
#[track_caller]
fn assert_checked_without_a_key(told: &Said, json: &Said) {
    assert!(told.out.starts_with("all is well") && told.out.contains("  1 blob in 1 pack, "), "{told:?}");
    assert!(told.out.contains("compared with its checksums: the master key"), "{told:?}");
    let content = &json.json()["content"];
    assert_eq!((&content["resident"], &content["opened"]), (&1.into(), &false.into()));
}

#[test]
fn without_its_key_a_store_still_has_its_events() {
    let bench = Bench::sample();
    let address = put(&bench, "content");
    let key = bench.store().join("keys").join("master");
    let aside = bench.path("aside");
    std::fs::rename(&key, &aside).unwrap();
    for args in EVENTS {
        assert_eq!(bench.run(args).ok().err, "", "{args:?}");
    }
    assert_checked_without_a_key(&bench.run(&["verify"]).ok(), &bench.run(&["verify", "--json"]).ok());
    assert!(run_with_key(&bench, &aside, &["verify"]).ok().out.contains("opened and hashed again"));
    // What needs no key: states, lists, and forgetting.
    assert_eq!(state(&bench, &address), ("resident".to_owned(), Some(7), false));
    assert_eq!(bench.run(&["blob", "list"]).ok().out.lines().count(), 1);
    for args in [
        &["blob", "get", &address][..],
        &["blob", "get", &address, "--range", "0..1"],
        &["blob", "put", SAMPLE],
    ] {
        let error = bench.run(&[args, &["--json"]].concat()).exits(5).error();
        assert_eq!(error["kind"], "no_key", "{args:?}");
        let message = error["message"].as_str().unwrap();
        assert!(
            message.contains("the master key is not here") && message.contains("keys/master"),
            "{message}"
        );
    }
    let dir = bench.path("dir");
    std::fs::create_dir(&dir).unwrap();
    std::fs::write(dir.join(super::sha256_name(b"new")), "new").unwrap();
    assert_eq!(bench.run(&["blob", "import", "dir", "--json"]).exits(5).json()["stored"], 0);
    assert!(!key.exists(), "no other key takes its place");

    assert_eq!(run_with_key(&bench, &aside, &["blob", "get", &address]).ok().out, "content");
    let aside = aside.to_str().unwrap();
    assert_eq!(bench.run(&["blob", "get", &address, "--key-file", aside]).ok().out, "content");
    bench.run(&["shred", &address, "--yes"]).ok();
    assert_eq!(state(&bench, &address).0, "shredded");
}

#[test]
fn the_key_of_another_store_opens_nothing() {
    let (bench, other) = (Bench::sample(), Bench::new());
    let address = put(&bench, "content");
    let wrong = other.store().join("keys").join("master");
    let before = files(&other.store());
    for args in [&["blob", "get", &address][..], &["blob", "put", SAMPLE]] {
        let said = run_with_key(&bench, &wrong, args).exits(5);
        assert!(said.err.contains("not the store's master key"), "{said:?}");
    }
    for args in EVENTS {
        run_with_key(&bench, &wrong, args).ok();
    }
    assert_eq!(run_with_key(&bench, &wrong, &["blob", "state", &address]).ok().out.lines().count(), 1);
    let verify = |more: &[&str]| run_with_key(&bench, &wrong, &[&["verify"], more].concat()).ok();
    assert_checked_without_a_key(&verify(&[]), &verify(&["--json"]));
    assert_eq!(before, files(&other.store()));
    assert_eq!(bench.run(&["blob", "get", &address]).ok().out, "content");
}

#[test]
fn a_key_can_be_made_elsewhere() {
    let bench = Bench::bare();
    let key = bench.path("key");
    let name = key.to_str().unwrap();
    bench.run(&["init", "--key-file", "no-such-directory/key"]).exits(5);
    assert!(!bench.store().exists(), "a store without a key");
    bench.run(&["init", "--key-file", name]).ok();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert!(!bench.store().join("keys").join("master").exists());
    bench.run(&["blob", "put", SAMPLE]).exits(5);
    let address = run_with_key(&bench, &key, &["blob", "put", SAMPLE]).ok().out;
    let said = bench.run(&["--key-file", name, "blob", "get", address.trim()]).ok();
    assert_eq!(said.out, std::fs::read_to_string(SAMPLE).unwrap());

    // One key is one store's: no other store is made on it, and it stays as it is.
    let before = std::fs::read(&key).unwrap();
    let error = bench.run(&["init", "--store", "second", "--key-file", name, "--json"]).exits(1).error();
    assert!(error["message"].as_str().unwrap().contains("a master key of its own"), "{error}");
    assert!(!bench.path("second").exists());
    // Nor does a demo take the key that the environment names.
    run_with_key(&bench, &key, &["demo", "--store", "demo"]).ok();
    assert!(bench.path("demo").join("keys").join("master").exists());
    assert_eq!(std::fs::read(&key).unwrap(), before);
}
