//! `replay.jsonl`: a set of events, and in part the content that it names, to a verdict.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use causelog::{
    Event, NoResolver, Ref, ReplayReport, Resolver, Result, TypeRegistry, UnknownTypes, Upcasts, read_events,
    replay_set,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::harness::{Tally, cases};
use crate::invariants::{answer, options};

/// Content that is found by its hash: it is there or gone, and never drifts.
struct ByHash(BTreeSet<String>);

impl Resolver for ByHash {
    fn held_hash<'a>(&'a self, reference: &'a Ref) -> Result<Option<Cow<'a, str>>> {
        Ok(self.0.contains(&*reference.hash).then_some(Cow::Borrowed(&*reference.hash)))
    }
}

/// Sources that are asked for what they hold now.
struct ById(BTreeMap<String, String>);

impl Resolver for ById {
    fn held_hash<'a>(&'a self, reference: &'a Ref) -> Result<Option<Cow<'a, str>>> {
        let source = format!("{}:{}", reference.kind, reference.id);
        Ok(self.0.get(&source).map(|hash| Cow::Borrowed(hash.as_str())))
    }
}

/// Builds the resolver that a case describes; `None` where it checks no content.
fn resolver(blobs: &Value) -> Option<Box<dyn Resolver>> {
    match blobs["mode"].as_str()? {
        "hash" => {
            let shredded = blobs["shredded"].as_array().expect("a list");
            let contents = blobs["contents"].as_array().expect("a list").iter().enumerate();
            let kept = contents.filter(|(index, _)| !shredded.contains(&json!(index)));
            let hash = |content: &Value| {
                let digest = Sha256::digest(content.as_str().expect("a text"));
                format!("sha256:{}", data_encoding::HEXLOWER.encode(&digest))
            };
            Some(Box::new(ByHash(kept.map(|(_, content)| hash(content)).collect())))
        }
        "id" => Some(Box::new(ById(serde_json::from_value(blobs["current"].clone()).expect("a map")))),
        other => panic!("mode {other}"),
    }
}

/// Leaves of a report what every implementation reports.
fn shared(report: &ReplayReport) -> Value {
    let mut report = serde_json::to_value(report).expect("a report is JSON");
    report.as_object_mut().expect("an object").remove("totals");
    let only = |list: &mut Value, names: &[&str]| {
        for entry in list.as_array_mut().expect("a list") {
            entry.as_object_mut().expect("an object").retain(|name, _| names.contains(&name.as_str()));
        }
    };
    only(&mut report["violations"], &["invariant", "eventId"]);
    only(&mut report["turns"], &["turnId", "budget", "used", "parts", "reconstructable"]);
    report
}

fn events(case: &Value) -> Result<Vec<Event>> {
    let lines: Vec<String> =
        case["events"].as_array().expect("a list").iter().map(Value::to_string).collect();
    read_events(lines.join("\n").as_bytes(), &Upcasts::new(), &TypeRegistry::v1(), UnknownTypes::Refuse)
}

fn ours(case: &Value) -> Value {
    let events = match events(case) {
        Ok(events) => events,
        Err(error) => return crate::harness::refusal(&error),
    };
    let resolver = resolver(&case["blobs"]);
    let options = options(case).keep_order(true).check_content(resolver.is_some());
    let replayed = replay_set(events.clone(), &options, resolver.as_deref().unwrap_or(&NoResolver));
    answer(&events, replayed, |report| shared(&report))
}

#[test]
fn replay() {
    let mut tally = Tally::new("replay.jsonl");
    for case in cases("replay.jsonl") {
        tally.compare(&case, &ours(&case), &case["expected"]);
    }
    tally.finish();
}
