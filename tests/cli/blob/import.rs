//! `blob import`.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use super::{damage_the_last, get, members, noise, pack, put, sha256_name, state};
use crate::bench::{Bench, Said};

const COUNTS: [&str; 7] = ["files", "stored", "held", "leftOut", "damaged", "skipped", "bytes"];

/// Writes a directory of files that are named by their addresses.
fn dir_of(bench: &Bench, contents: &[Vec<u8>]) -> PathBuf {
    let dir = bench.path("dir");
    std::fs::create_dir_all(&dir).unwrap();
    for content in contents {
        std::fs::write(dir.join(sha256_name(content)), content).unwrap();
    }
    dir
}

#[track_caller]
fn counts(said: &Said) -> [u64; 7] {
    COUNTS.map(|name| said.json()[name].as_u64().unwrap())
}

fn import(bench: &Bench, more: &[&str]) -> Said {
    bench.run(&[&["blob", "import", "dir", "--json"], more].concat())
}

fn address_of(content: &[u8]) -> String {
    sha256_name(content).replacen('-', ":", 1)
}

#[test]
fn twice_is_the_same_as_once() {
    let bench = Bench::new();
    let contents: Vec<Vec<u8>> =
        [0, 1, 70_000, 5 << 20].iter().map(|bytes| noise(*bytes, *bytes as u64)).collect();
    let bytes = contents.iter().map(|content| content.len() as u64).sum::<u64>();
    dir_of(&bench, &contents);
    let predicted = import(&bench, &["--dry-run"]).ok();
    assert_eq!(counts(&predicted), [4, 4, 0, 0, 0, 0, bytes]);
    assert_eq!(state(&bench, &address_of(&contents[1])).0, "absent");
    let said = import(&bench, &[]).ok();
    assert_eq!(counts(&said), counts(&predicted));
    assert_eq!(
        members(&said.json()),
        ["bytes", "damaged", "dryRun", "files", "held", "leftOut", "skipped", "stored"]
    );
    for more in [&[][..], &["--dry-run"], &["--subject", "somebody"]] {
        assert_eq!(counts(&import(&bench, more).ok()), [4, 0, 4, 0, 0, 0, 0], "{more:?}");
    }
    for content in &contents {
        assert!(get(&bench, &[&address_of(content)]) == *content);
        assert!(get(&bench, &[&format!("blake3:{}", blake3::hash(content))]) == *content);
    }
    let said = bench.run(&["blob", "import", "dir"]).ok();
    assert_eq!(
        said.out,
        "stored 0 of 4 files, 0 bytes; 4 held, 0 left out as shredded, 0 damaged, 0 skipped\n"
    );
    assert_eq!(bench.run(&["blob", "import", "dir", "-q"]).ok().out, "");
}

/// What is resident is not read again: nobody notices that its file cannot be read.
#[test]
fn what_is_held_is_not_read() {
    let bench = Bench::new();
    let content = b"held".to_vec();
    let dir = dir_of(&bench, std::slice::from_ref(&content));
    import(&bench, &[]).ok();
    std::fs::write(dir.join(sha256_name(&content)), "anything else").unwrap();
    assert_eq!(counts(&import(&bench, &[]).ok()), [1, 0, 1, 0, 0, 0, 0]);
    // For a subject it is.
    assert_eq!(counts(&import(&bench, &["--subject", "x"]).exits(4))[4], 1);
}

/// Damage that nobody has met yet is found where that is asked for, and the directory makes it whole.
#[test]
fn what_is_held_is_checked_where_that_is_asked_for() {
    let bench = Bench::new();
    let mut contents = [noise(100_000, 1), noise(100_000, 2)];
    // The last one that goes in is the one that is damaged.
    contents.sort_by_key(|content| sha256_name(content));
    let bad = address_of(&contents[1]);
    let dir = dir_of(&bench, &contents);
    import(&bench, &[]).ok();
    for more in [&["--recheck"][..], &["--recheck", "--subject", "somebody"]] {
        damage_the_last(&bench);
        assert_eq!(counts(&import(&bench, &[]).ok()), [2, 0, 2, 0, 0, 0, 0]);
        bench.run(&["blob", "get", &bad]).exits(4);
        let mended = [2, 1, 1, 0, 0, 0, 100_000];
        assert_eq!(counts(&import(&bench, &["--recheck", "--dry-run"]).ok()), mended);
        assert_eq!(counts(&import(&bench, more).ok()), mended, "{more:?}");
        assert_eq!(counts(&import(&bench, more).ok()), [2, 0, 2, 0, 0, 0, 0]);
        for content in &contents {
            assert!(get(&bench, &[&address_of(content)]) == *content);
        }
    }
    // What is whole is opened in the store; its file need not be read.
    std::fs::write(dir.join(sha256_name(&contents[1])), "anything else").unwrap();
    assert_eq!(counts(&import(&bench, &["--recheck"]).ok()), [2, 0, 2, 0, 0, 0, 0]);
}

#[test]
fn an_import_into_a_damaged_store_says_what_makes_it_whole() {
    let bench = Bench::new();
    let contents = [noise(5 << 20, 1), b"small".to_vec()];
    dir_of(&bench, &contents);
    import(&bench, &[]).ok();
    let hint = "--recheck makes whole";
    assert!(!import(&bench, &[]).ok().err.contains(hint));
    std::fs::remove_file(pack(&bench, ".pack")).unwrap();
    assert!(import(&bench, &["--dry-run"]).exits(4).err.contains(hint));
    assert!(!import(&bench, &["--dry-run", "--recheck"]).exits(4).err.contains(hint));
    let said = import(&bench, &[]).ok();
    assert!(said.err.contains(hint), "{said:?}");
    assert_eq!(counts(&said), [2, 1, 1, 0, 0, 0, 5 << 20]);
    assert!(
        bench.command().args(["blob", "get", &address_of(&contents[0])]).output().unwrap().stdout
            == contents[0]
    );
}

#[test]
fn one_content_under_every_name_is_stored_once() {
    let bench = Bench::new();
    let dir = dir_of(&bench, &[]);
    let (sha, blake) = (sha256_name(b"abc"), format!("blake3-{}", blake3::hash(b"abc")));
    for name in [sha.clone(), sha.replacen('-', ":", 1), blake.clone(), blake.replacen('-', ":", 1)] {
        std::fs::write(dir.join(name), "abc").unwrap();
    }
    let predicted = counts(&import(&bench, &["--dry-run"]).ok());
    assert_eq!(predicted, [4, 1, 3, 0, 0, 0, 3]);
    assert_eq!(counts(&import(&bench, &[]).ok()), predicted);
    assert_eq!(get(&bench, &[&sha]), b"abc");
}

#[test]
fn damage_is_named_and_the_others_go_on() {
    let bench = Bench::new();
    let contents: Vec<Vec<u8>> = (0..6).map(|n| noise(1000, n + 1)).collect();
    let dir = dir_of(&bench, &contents);
    let big = noise(5 << 20, 99);
    let damaged = [
        (sha256_name(&contents[0]), contents[1].clone()),
        (sha256_name(&contents[2]), contents[2][..999].to_vec()),
        (sha256_name(&contents[3]), Vec::new()),
        // Past what is held in memory: it is found out when all of it was read.
        (sha256_name(&big), big[1..].to_vec()),
    ];
    for (name, content) in &damaged {
        std::fs::write(dir.join(name), content).unwrap();
    }
    let predicted = import(&bench, &["--dry-run"]).exits(4);
    let said = import(&bench, &[]).exits(4);
    assert_eq!(counts(&said), [7, 3, 0, 0, 4, 0, 3000]);
    for said in [&predicted, &said] {
        assert_eq!(counts(said)[4], 4);
        let errors = said.errors();
        assert_eq!(errors.len(), 4);
        for (name, _) in &damaged {
            assert!(
                errors
                    .iter()
                    .any(|e| e["kind"] == "corrupt" && e["message"].as_str().unwrap().contains(name))
            );
        }
        assert!(!said.err.contains("causelog verify"), "the store is not damaged: {said:?}");
    }
    for (name, content) in &damaged {
        assert_eq!(state(&bench, &name.replacen('-', ":", 1)).0, "absent");
        // Nor is what the file really holds, unless another file has it.
        let really = state(&bench, &address_of(content)).0;
        assert_eq!(really, if *content == contents[1] { "resident" } else { "absent" });
    }
    bench.run(&["verify"]).ok();
    let left = std::fs::read_dir(bench.store().join("blobs")).unwrap();
    assert!(left.into_iter().all(|entry| entry.unwrap().path().extension().is_none_or(|ext| ext != "part")));
    // Put right, the same import finishes.
    dir_of(&bench, &contents);
    std::fs::write(dir.join(sha256_name(&big)), &big).unwrap();
    assert_eq!(counts(&import(&bench, &[]).ok())[..5], [7, 4, 3, 0, 0]);
}

#[test]
fn other_files_are_skipped_and_told() {
    let bench = Bench::new();
    let dir = dir_of(&bench, &[b"one".to_vec()]);
    for name in ["notes.txt", "sha256-12", "md5-00"] {
        std::fs::write(dir.join(name), "x").unwrap();
    }
    std::fs::create_dir(dir.join(sha256_name(b"a directory"))).unwrap();
    let said = bench.run(&["blob", "import", "dir"]).ok();
    assert!(said.err.contains("skipped: 3 files not named by an address, 1 directory ("), "{said:?}");
    assert!(said.out.ends_with(", 4 skipped\n"), "{said:?}");
    assert_eq!(counts(&import(&bench, &[]).ok()), [1, 0, 1, 0, 0, 4, 0]);
}

/// A process that is killed leaves what it stored, and the same import finishes.
#[cfg(unix)]
#[test]
fn an_import_that_is_killed_is_finished_by_the_next() {
    let bench = Bench::new();
    let contents: Vec<Vec<u8>> = (0..3000).map(|n| noise(8 << 10, n + 1)).collect();
    dir_of(&bench, &contents);
    let mut command = bench.command();
    command.args(["blob", "import", "dir"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let stored = || {
        let packs = std::fs::read_dir(bench.store().join("blobs")).unwrap();
        packs.map(|entry| entry.unwrap().metadata().map_or(0, |metadata| metadata.len())).sum::<u64>()
    };
    while stored() < 1 << 20 && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    // By SIGKILL.
    child.kill().unwrap();
    child.wait().unwrap();
    let said = import(&bench, &[]).ok();
    let [files, stored, held, left_out, damaged, ..] = counts(&said);
    assert_eq!((files, stored + held, left_out, damaged), (3000, 3000, 0, 0));
    assert!(held >= 100, "only {held} were kept of more than a MiB");
    let listed = bench.run(&["blob", "list"]).ok().out;
    assert_eq!(listed.lines().count(), 3000);
    for content in contents.iter().step_by(100) {
        assert!(get(&bench, &[&address_of(content)]) == *content);
    }
}

#[test]
fn an_import_and_a_put_agree() {
    let bench = Bench::new();
    let address = put(&bench, "same");
    dir_of(&bench, &[b"same".to_vec()]);
    // Held by another address: the new one is added, and nothing is stored twice.
    for more in [&["--dry-run"][..], &[]] {
        assert_eq!(counts(&import(&bench, more).ok()), [1, 0, 1, 0, 0, 0, 0]);
    }
    assert_eq!(get(&bench, &[&address_of(b"same")]), b"same");
    assert_eq!(bench.run(&["blob", "list"]).ok().out, format!("{address}  4\n"));
}
