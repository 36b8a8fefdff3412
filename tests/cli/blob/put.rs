//! Putting and getting.

use std::process::Stdio;

use super::{get, members, noise, put, state};
use crate::bench::{Bench, Said, files};

#[test]
fn what_was_put_comes_back() {
    let bench = Bench::new();
    let chunk = 65_536;
    for (seed, bytes) in [0, 1, chunk - 1, chunk, chunk + 1, 300_000].into_iter().enumerate() {
        let content = noise(bytes, seed as u64);
        let address = put(&bench, &content);
        assert!(address.starts_with("blake3:"), "{address}");
        assert_eq!(address, format!("blake3:{}", blake3::hash(&content)));
        assert!(get(&bench, &[&address]) == content, "{bytes} bytes");
        assert!(get(&bench, &[&address.replacen(':', "-", 1)]) == content, "{bytes} bytes");
        assert_eq!(state(&bench, &address), ("resident".to_owned(), Some(bytes as u64), false));
    }
}

#[test]
fn files_are_put_one_line_each() {
    let bench = Bench::new();
    let (a, b) = (bench.file("a", "one"), bench.file("b", "two"));
    let said = bench.run(&["blob", "put", &a, &b, &a, "--json"]).ok();
    let lines = said.json_lines();
    let states: Vec<_> = lines.iter().map(|line| line["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["stored", "stored", "held"]);
    for (line, file) in lines.iter().zip([&a, &b, &a]) {
        assert_eq!(members(line), ["address", "file", "state"]);
        assert_eq!(line["file"], **file);
    }
    assert_eq!(lines[0]["address"], lines[2]["address"]);
    assert_eq!((lines.len(), said.err.as_str()), (3, ""));
    // What came before a file that is not there is stored, and told.
    let c = bench.file("c", "three");
    let said = bench.run(&["blob", "put", &c, "absent", &a]).exits(5);
    assert_eq!(said.out.lines().count(), 1);
    assert!(said.err.contains("absent"), "{said:?}");
    assert_eq!(state(&bench, said.out.trim()).0, "resident");
}

#[test]
fn content_has_an_address_by_either_algorithm() {
    let bench = Bench::new();
    let by_sha = bench.run_with(&["blob", "put", "-", "--address", "sha256"], "abc").ok().out;
    assert_eq!(by_sha, "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n");
    let by_blake = put(&bench, "abc");
    assert_eq!(get(&bench, &[by_sha.trim()]), b"abc");
    assert_eq!(get(&bench, &[&by_blake]), b"abc");
    assert_eq!(bench.run(&["blob", "list"]).ok().out, format!("{by_blake}  3\n"));

    let bench = Bench::bare();
    bench.run(&["init", "--address", "sha256"]).ok();
    assert_eq!(put(&bench, "abc"), by_sha.trim());
    assert_eq!(bench.run(&["blob", "state", &by_blake, "--json"]).exits(1).json()["state"], "absent");
}

#[test]
fn a_range_is_a_part_and_never_more() {
    let bench = Bench::new();
    let content = noise(200_000, 1);
    let address = put(&bench, &content);
    for (range, expected) in [
        ("0..0", 0..0),
        ("..10", 0..10),
        ("65530..65540", 65_530..65_540),
        ("199999..", 199_999..200_000),
        ("200000..", 200_000..200_000),
        ("..", 0..200_000),
    ] {
        assert!(get(&bench, &[&address, "--range", range]) == content[expected], "{range}");
    }
    for range in ["0..200001", "200001..", "200001..200001"] {
        let said = bench.run(&["blob", "get", &address, "--range", range, "--json"]).exits(1);
        assert_eq!((&said.error()["code"], said.out.as_str()), (&"LIMIT".into(), ""), "{range}");
    }
    let empty = put(&bench, "");
    assert_eq!(get(&bench, &[&empty, "--range", "0..0"]), b"");
    bench.run(&["blob", "get", &empty, "--range", "0..1"]).exits(1);
}

/// More than one write, one chunk, and one shared pack take.
#[test]
fn a_stream_of_20_mib_comes_back() {
    let bench = Bench::new();
    let content = noise(20 << 20, 7);
    let address = put(&bench, &content);
    assert_eq!(put(&bench, &content), address);
    assert!(get(&bench, &[&address]) == content);
    assert!(get(&bench, &[&address, "--range", "20971519.."]) == content[20_971_519..]);
    let names = files(&bench.store().join("blobs"));
    assert!(names.iter().all(|(path, _)| path.extension().is_none_or(|ext| ext != "part")));
    let bytes: usize = names.iter().map(|(_, bytes)| bytes.len()).sum();
    assert!(bytes < 22 << 20, "stored twice: {bytes}");

    let file = bench.path("out");
    let said = bench.run(&["blob", "get", &address, "--output", file.to_str().unwrap(), "--json"]).ok();
    assert_eq!(members(&said.json()), ["address", "bytes", "file"]);
    assert_eq!(said.json()["bytes"], 20 << 20);
    assert!(std::fs::read(&file).unwrap() == content);
}

#[test]
fn a_file_appears_when_it_is_whole() {
    let bench = Bench::new();
    let address = put(&bench, "words");
    let file = bench.file("out", "old");
    let absent = format!("blake3:{}", "0".repeat(64));
    bench.run(&["blob", "get", &absent, "--output", &file]).exits(1);
    bench.run(&["blob", "get", &address, "--range", "0..9", "--output", &file]).exits(1);
    assert_eq!(std::fs::read(&file).unwrap(), b"old");
    assert_eq!(
        bench.run(&["blob", "get", &address, "--output", &file]).ok().out,
        format!("wrote 5 bytes to {file}\n")
    );
    assert_eq!(std::fs::read(&file).unwrap(), b"words");
    let inside = bench.store().join("blobs").join("x");
    bench.run(&["blob", "get", &address, "--output", inside.to_str().unwrap()]).exits(2);
    let left: Vec<_> =
        std::fs::read_dir(bench.path(".")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
    assert_eq!(bench.run(&["blob", "get", &address, "--output", "-"]).ok().out, "words");
}

#[test]
fn nothing_of_content_stands_on_disk_in_the_clear() {
    let bench = Bench::new();
    let (marker, subject) = ("MARKER-of-plaintext-7d3f", "subject-name-91ab");
    put(&bench, marker.repeat(10));
    bench.run_with(&["blob", "put", "-", "--subject", subject, "--pin"], marker.repeat(400_000)).ok();
    let all = files(&bench.store());
    assert!(all.iter().map(|(_, bytes)| bytes.len()).sum::<usize>() > 9 << 20);
    for (path, bytes) in all {
        for word in [marker, subject] {
            let found = bytes.windows(word.len()).any(|window| window == word.as_bytes());
            assert!(!found, "{word} in {}", path.display());
        }
    }
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let bench = Bench::new();
    let address = put(&bench, noise(3 << 20, 2));
    let mut command = bench.command();
    command.args(["blob", "get", &address]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let said = Said::from(child.wait_with_output().unwrap());
    assert_eq!((said.code, said.err.as_str()), (0, ""));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_one() {
    let bench = Bench::new();
    let address = put(&bench, noise(3 << 20, 2));
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = bench.command().args(["blob", "get", &address]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(5), "{output:?}");
    assert!(String::from_utf8(output.stderr).unwrap().contains("the output cannot be written"));
}

#[test]
fn content_is_listed_up_to_a_limit() {
    let bench = Bench::new();
    assert_eq!(bench.run(&["blob", "list"]).ok().out, "");
    let mut all: Vec<String> = (0..5).map(|n| put(&bench, format!("content {n}"))).collect();
    let lines = bench.run(&["blob", "list", "--json"]).ok().json_lines();
    let mut listed: Vec<_> = lines.iter().map(|line| line["address"].as_str().unwrap().to_owned()).collect();
    assert!(lines.iter().all(|line| members(line) == ["address", "bytes"] && line["bytes"] == 9));
    all.sort();
    listed.sort();
    assert_eq!(all, listed);
    for limit in [0, 1, 4, 5, 6] {
        let said = bench.run(&["blob", "list", "--limit", &limit.to_string()]).ok();
        assert_eq!((said.out.lines().count(), said.err.as_str()), (limit.min(5), ""));
    }
}

#[test]
fn state_answers_for_each_and_for_all() {
    let bench = Bench::new();
    let (a, b) = (put(&bench, "a"), put(&bench, "b"));
    let absent = format!("sha256:{}", "0".repeat(64));
    let said = bench.run(&["blob", "state", &a, &b]).ok();
    assert_eq!(said.out, format!("{a}  resident, 1 byte\n{b}  resident, 1 byte\n"));
    let said = bench.run(&["blob", "state", &a, &absent, "--json"]).exits(1);
    assert_eq!(said.err, "");
    let lines = said.json_lines();
    assert!(lines.iter().all(|line| members(line) == ["address", "bytes", "shredded", "state"]));
    assert_eq!((&lines[1]["state"], &lines[1]["bytes"]), (&"absent".into(), &().into()));
    let said = bench.run(&["blob", "get", &absent]).exits(1);
    assert!(said.err.contains("absent"), "{said:?}");
}

/// A writer that is at work keeps other writers out, and readers not.
#[test]
fn reading_goes_on_beside_a_writer() {
    let bench = Bench::new();
    let first = put(&bench, "first");
    let store = causelog::Store::open(bench.store(), causelog::Options::new()).unwrap();
    let second = store.blobs().put(b"second").unwrap().to_string();
    store.blobs().sync().unwrap();
    for (address, content) in [(&first, "first"), (&second, "second")] {
        assert_eq!(get(&bench, &[address]), content.as_bytes());
    }
    assert_eq!(bench.run(&["blob", "list"]).ok().out.lines().count(), 2);
    store.blobs().shred(&first.parse().unwrap()).unwrap();
    assert_eq!(state(&bench, &first).0, "shredded");
    bench.run(&["blob", "get", &first]).exits(1);
    for args in [
        &["blob", "put", "-"][..],
        &["blob", "import", "."],
        &["blob", "pin", &second],
        &["blob", "evict", &second, "--yes"],
        &["shred", &second, "--yes"],
    ] {
        let said = bench.run(&[args, &["--json"]].concat()).exits(6);
        assert_eq!(said.error()["kind"], "locked", "{args:?}");
    }
    store.close().unwrap();
    bench.run(&["shred", &second, "--yes"]).ok();
}
