//! `blobs.jsonl`: putting, reading and shredding content, in a store whose addresses are SHA-256.
//!
//! Content is bytes here: a text is its UTF-8, and so is given back.

use causelog::{Address, AddressKind, BlobState, Blobs, Json, Options, Ref, Store};
use serde_json::{Value, json};

use crate::harness::{Tally, cases};

#[test]
fn blobs() {
    let mut tally = Tally::new("blobs.jsonl");
    for case in cases("blobs.jsonl") {
        let store = Store::in_memory(Options::new().address_kind(AddressKind::Sha256)).unwrap();
        let blobs = store.blobs();
        // How each content was put decides how it is spelt when it is read.
        let mut spellings: Vec<(String, Value)> = Vec::new();
        let (ops, expected) = (case["ops"].as_array().unwrap(), case["expected"].as_array().unwrap());
        assert_eq!(ops.len(), expected.len());
        for (op, expected) in ops.iter().zip(expected) {
            let ours = run(&blobs, op, &mut spellings);
            tally.compare(op, &ours, expected);
        }
    }
    tally.finish();
}

fn run(blobs: &Blobs, op: &Value, spellings: &mut Vec<(String, Value)>) -> Value {
    let address = || op["hash"].as_str().and_then(|hash| hash.parse::<Address>().ok());
    match op["op"].as_str().unwrap() {
        "put" => {
            let content = content_of(op);
            let hash = blobs.put(&content).unwrap().to_string();
            let spelling = ["text", "bytesHex", "utf16"].iter().find(|name| !op[**name].is_null()).unwrap();
            // What is held stays as it was put first.
            let is_new = !spellings.iter().any(|(known, _)| *known == hash);
            if is_new {
                spellings.push((hash.clone(), json!({ *spelling: op[*spelling] })));
            }
            json!(hash)
        }
        "get" => {
            let held = address().and_then(|address| blobs.get(&address).unwrap());
            held.map_or(Value::Null, |content| spelt(&content, op["hash"].as_str().unwrap(), spellings))
        }
        "has" => json!(address().is_some_and(|address| blobs.has(&address).unwrap())),
        "shred" => json!(address().is_some_and(|address| {
            spellings.retain(|(known, _)| *known != address.to_string());
            blobs.shred(&address).unwrap()
        })),
        "isShredded" => json!(address().is_some_and(|address| blobs.is_shredded(&address).unwrap())),
        "lookup" => {
            let text = op["ref"].to_string();
            // What is no reference leads nowhere.
            let Some(reference) = Ref::read(&Json::parse(&text).unwrap()) else { return Value::Null };
            let held = blobs.lookup(&reference).unwrap();
            held.map_or(Value::Null, |content| {
                json!({ "hash": *reference.hash, "value": spelt(&content, &reference.hash, spellings) })
            })
        }
        "stats" => {
            let stats = blobs.stats().unwrap();
            json!({ "blobs": stats.resident, "shredded": stats.shredded })
        }
        other => panic!("no such operation: {other}"),
    }
}

fn content_of(op: &Value) -> Vec<u8> {
    if let Some(text) = op["text"].as_str() {
        return text.as_bytes().to_vec();
    }
    if let Some(hex) = op["bytesHex"].as_str() {
        return data_encoding::HEXLOWER.decode(hex.as_bytes()).unwrap();
    }
    let units =
        op["utf16"].as_array().unwrap().iter().map(|unit| u16::try_from(unit.as_u64().unwrap()).unwrap());
    String::from_utf16_lossy(&units.collect::<Vec<_>>()).into_bytes()
}

/// Spells content as it was put, once its bytes are those.
fn spelt(content: &[u8], hash: &str, spellings: &[(String, Value)]) -> Value {
    let (_, spelling) = spellings.iter().find(|(known, _)| known == hash).unwrap();
    assert_eq!(content, content_of(spelling));
    spelling.clone()
}

#[test]
fn the_default_address_is_the_one_of_the_vectors() {
    let store = Store::in_memory(Options::new().address_kind(AddressKind::Sha256)).unwrap();
    let address = store.blobs().put(b"a").unwrap();
    assert_eq!(
        address.to_string(),
        "sha256:ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
    );
    assert_eq!(store.blobs().state(&address).unwrap(), BlobState::Resident);
}
