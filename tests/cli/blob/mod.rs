//! Content: `blob` and `shred`.

mod damage;
mod import;
mod keys;
mod put;
mod removal;

use std::path::{Path, PathBuf};

use crate::bench::{Bench, Said, files};

/// Bytes that are no text, and repeat nowhere in a file by accident.
fn noise(bytes: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    std::iter::repeat_with(&mut next).flatten().take(bytes).collect()
}

/// Puts content through standard input and returns its address.
#[track_caller]
fn put(bench: &Bench, content: impl AsRef<[u8]>) -> String {
    bench.run_with(&["blob", "put", "-"], content).ok().out.trim().to_owned()
}

/// Gets content, which need not be text.
#[track_caller]
fn get(bench: &Bench, args: &[&str]) -> Vec<u8> {
    let output = bench.command().args(["blob", "get"]).args(args).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// The one file of packs whose name ends so.
fn pack(bench: &Bench, ending: &str) -> PathBuf {
    let all = files(&bench.store().join("blobs"));
    let mut found =
        all.into_iter().map(|(path, _)| path).filter(|path| path.to_str().unwrap().ends_with(ending));
    let path = found.next().unwrap();
    assert_eq!(found.next(), None);
    path
}

/// Flips a bit in the content that was put last, of at least 100,000 bytes.
fn damage_the_last(bench: &Bench) {
    let path = pack(bench, ".active");
    let mut bytes = std::fs::read(&path).unwrap();
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    bytes[end - 50_000] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
}

/// How content is, as `blob state --json` tells it: state, bytes, whether it was ever shredded.
#[track_caller]
fn state(bench: &Bench, address: &str) -> (String, Option<u64>, bool) {
    let said = bench.run(&["blob", "state", address, "--json"]);
    let json = said.json();
    let state = json["state"].as_str().unwrap().to_owned();
    assert_eq!(said.code, i32::from(state != "resident"), "{said:?}");
    assert_eq!(json["address"], address);
    (state, json["bytes"].as_u64(), json["shredded"].as_bool().unwrap())
}

/// The name by which `blob import` knows content.
fn sha256_name(content: &[u8]) -> String {
    use sha2::Digest;
    format!("sha256-{}", data_encoding::HEXLOWER.encode(&sha2::Sha256::digest(content)))
}

/// Runs a command with the key of the store in another place.
fn run_with_key(bench: &Bench, key: &Path, args: &[&str]) -> Said {
    Said::from(bench.command().env("CAUSELOG_KEY_FILE", key).args(args).output().unwrap())
}

/// Members of an object, by name.
fn members(value: &serde_json::Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}
