//! `refs.jsonl`: making, recognising and resolving references.

use causelog::{Chain, CurrentHashes, Json, NoResolver, Ref, Resolution, Resolver, is_ref};
use serde_json::{Map, Value, json};

use crate::harness::{Tally, cases};

#[test]
fn refs() {
    let mut tally = Tally::new("refs.jsonl");
    for case in cases("refs.jsonl") {
        let ours = match case["fn"].as_str() {
            Some("makeRef") => make(&case["arg"]),
            Some("isRef") => {
                Value::Bool(is_ref(&Json::parse(&case["arg"].to_string()).expect("strict JSON")))
            }
            Some("resolveRef") => resolve(&case["ref"], &case["lookupReturns"]),
            other => panic!("no such function: {other:?}"),
        };
        tally.compare(&case, &ours, &case["expected"]);
    }
    tally.finish();
}

/// The vectors name the class of a script error where we have a code of our own.
fn make(value: &Value) -> Value {
    let text = value.to_string();
    match Ref::make(&Json::parse(&text).expect("strict JSON")) {
        Ok(made) => json!({ "ok": spelt(&made) }),
        Err(error) => {
            assert_eq!(error.code().as_str(), "REF");
            json!({ "error": "TypeError" })
        }
    }
}

fn spelt(reference: &Ref) -> Value {
    let mut members = Map::new();
    members.insert("kind".into(), reference.kind.as_str().into());
    members.insert("id".into(), (&*reference.id).into());
    members.insert("hash".into(), (&*reference.hash).into());
    if let Some(range) = reference.range {
        members.insert("range".into(), json!({ "from": range.from, "to": range.to }));
    }
    if reference.stored {
        members.insert("stored".into(), true.into());
    }
    Value::Object(members)
}

/// The peer's look-up answers with an object of hash and value, or with nothing. Ours answers with a
/// hash, which is text; the value stays with the caller. A look-up without a hash found other content.
fn resolve(reference: &Value, found: &Value) -> Value {
    let reference =
        Ref::read(&Json::parse(&reference.to_string()).expect("strict JSON")).expect("a reference");
    let actual = found.as_object().map(|found| found.get("hash").and_then(Value::as_str).unwrap_or_default());
    let resolution = reference.resolve(actual);
    assert_eq!(through_resolvers(&reference, actual), resolution);
    let mut answer = Map::new();
    answer.insert("resolution".into(), resolution.as_str().into());
    let carried = match resolution.as_str() {
        "exact" => found.get("value").map(|value| ("value", value)),
        "drifted" => found.get("hash").map(|hash| ("actualHash", hash)),
        _ => None,
    };
    answer.extend(carried.map(|(name, value)| (name.to_owned(), value.clone())));
    Value::Object(answer)
}

/// Resolves as a replay does, where the look-up is a source.
fn through_resolvers(reference: &Ref, actual: Option<&str>) -> Resolution {
    let source = actual.map(|hash| (reference.kind, reference.id.clone(), hash));
    let sources = CurrentHashes::from_iter(source);
    let held = sources.held_hash(reference).expect("nothing to fail");
    let chain = Chain::new().with(&NoResolver).with(&sources);
    assert_eq!(chain.held_hash(reference).expect("nothing to fail"), held);
    reference.resolve(held.as_deref())
}
