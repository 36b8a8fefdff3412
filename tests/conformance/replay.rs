//! `replay.jsonl`: a set of events, and in part the content that it names, to a verdict.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use causelog::{
    Chain, CurrentHashes, Event, NoResolver, Ref, RefKind, ReplayReport, Resolver, Result, TypeRegistry,
    UnknownTypes, Upcasts, read_events, replay_set,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::harness::{Tally, cases};
use crate::invariants::{answer, options};

/// Content that is found by its hash: it is there or gone, and never drifts.
struct Contents(HashMap<String, String>);

impl Contents {
    /// Keeps what a case says was put, without what it says was shredded.
    fn of(blobs: &Value) -> Self {
        let shredded = blobs["shredded"].as_array().expect("a list");
        let contents = blobs["contents"].as_array().expect("a list").iter().enumerate();
        let kept = contents.filter(|(index, _)| !shredded.contains(&json!(index)));
        Self(
            kept.map(|(_, content)| content.as_str().expect("a text").to_owned())
                .map(|c| (hash(&c), c))
                .collect(),
        )
    }
}

impl Resolver for Contents {
    /// Hashes the bytes that are held, and repeats no hash that a reference claims.
    fn held_hash<'a>(&'a self, reference: &'a Ref) -> Result<Option<Cow<'a, str>>> {
        Ok(self.0.get(&*reference.hash).map(|content| Cow::Owned(hash(content))))
    }
}

fn hash(content: &str) -> String {
    format!("sha256:{}", data_encoding::HEXLOWER.encode(&Sha256::digest(content)))
}

/// Sources that are asked for what they hold now.
fn current(blobs: &Value) -> CurrentHashes {
    let sources = blobs["current"].as_object().expect("a map").iter();
    let source = |(name, hash): (&String, &Value)| {
        let (kind, id) = name.split_once(':').expect("a kind and an id");
        let kind = RefKind::from_word(kind).expect("a kind");
        (kind, id.to_owned(), hash.as_str().expect("a hash").to_owned())
    };
    sources.map(source).collect()
}

/// Builds the resolver that a case describes; `None` where it checks no content.
fn resolver(blobs: &Value) -> Option<Box<dyn Resolver>> {
    match blobs["mode"].as_str()? {
        "hash" => Some(Box::new(Contents::of(blobs))),
        "id" => Some(Box::new(current(blobs))),
        other => panic!("mode {other}"),
    }
}

/// Leaves of a report what every implementation reports, and holds what is ours to it.
fn shared(report: &ReplayReport) -> Value {
    let (totals, refs) = (&report.totals, &report.refs);
    assert_eq!(totals.turns, totals.reconstruction.total());
    assert_eq!((totals.turns, totals.drifted), (count(&report.turns), count(&refs.drifted)));
    for turn in &report.turns {
        let of =
            |resolution| count(turn.shown.iter().filter(|shown| shown.resolution.as_str() == resolution));
        assert_eq!(
            (of("exact"), of("verified-but-unavailable"), of("drifted")),
            (turn.exact, turn.unavailable, turn.drifted)
        );
        assert_eq!(turn.reconstructable, turn.reconstruction.as_str() != "no");
    }
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

fn count<T>(list: impl IntoIterator<Item = T>) -> u64 {
    u64::try_from(list.into_iter().count()).expect("few")
}

fn events(case: &Value) -> Result<Vec<Event>> {
    let lines: Vec<String> =
        case["events"].as_array().expect("a list").iter().map(Value::to_string).collect();
    read_events(lines.join("\n").as_bytes(), &Upcasts::new(), &TypeRegistry::v1(), UnknownTypes::Refuse)
}

fn ours(case: &Value, resolver: Option<&dyn Resolver>) -> Value {
    let events = match events(case) {
        Ok(events) => events,
        Err(error) => return crate::harness::refusal(&error),
    };
    let options = options(case).keep_order(true).check_content(resolver.is_some());
    let replayed = replay_set(events.clone(), &options, resolver.unwrap_or(&NoResolver));
    answer(&events, replayed, |report| shared(&report))
}

#[test]
fn replay() {
    let mut tally = Tally::new("replay.jsonl");
    // Of each mode: cases, and references that are exact, unavailable and drifted.
    let mut seen: BTreeMap<String, [u64; 4]> = BTreeMap::new();
    for case in cases("replay.jsonl") {
        let expected = &case["expected"];
        tally.compare(&case, &ours(&case, resolver(&case["blobs"]).as_deref()), expected);
        let [cases, exact, unavailable, drifted] =
            seen.entry(case["blobs"]["mode"].as_str().unwrap_or("null").to_owned()).or_default();
        *cases += 1;
        *exact += expected["refs"]["exact"].as_u64().unwrap_or_default();
        *unavailable += expected["refs"]["unavailable"].as_u64().unwrap_or_default();
        *drifted += expected["refs"]["drifted"].as_array().map_or(0, count);
    }
    // A swap of any two resolutions shows: each of them is expected in the modes that can give it.
    if let Some([hash, id, null]) = seen.into_values().collect::<Vec<_>>().first_chunk() {
        assert!(hash[..3].iter().all(|seen| *seen > 0) && hash[3] == 0, "{hash:?}");
        assert!(id.iter().all(|seen| *seen > 0), "{id:?}");
        assert!(null[0] > 0 && null[1..] == [0, 0, 0], "{null:?}");
    }
    tally.finish();
}

/// Content that is held as it was shown goes before what sources hold now, in whatever order both are asked.
#[test]
fn both_at_once() {
    let mut told_apart = 0;
    for case in cases("replay.jsonl") {
        if case["blobs"]["mode"] != "id" || case["expected"]["refs"].is_null() {
            continue;
        }
        // Each drifted reference as if its content had been kept.
        let sources = current(&case["blobs"]);
        let drifted = case["expected"]["refs"]["drifted"].as_array().expect("a list");
        let kept =
            Kept(drifted.iter().map(|d| d["ref"]["hash"].as_str().expect("a hash").to_owned()).collect());
        let ahead = ours(&case, Some(&Chain::new().with(&kept).with(&sources)));
        assert_eq!(ours(&case, Some(&Chain::new().with(&sources).with(&kept))), ahead);
        assert_eq!(ahead["refs"]["drifted"], json!([]));
        let exact = case["expected"]["refs"]["exact"].as_u64().expect("a count");
        assert!(ahead["refs"]["exact"].as_u64().expect("a count") >= exact + count(drifted));
        told_apart += count(drifted);
        // Nothing kept, and nobody behind: what the sources say.
        let alone = ours(&case, Some(&Chain::new().with(&NoResolver).with(&sources)));
        assert_eq!(alone["refs"], case["expected"]["refs"]);
    }
    assert!(told_apart > 0 || cases("replay.jsonl").is_empty());
}

/// Holds what it was told of, by hash.
struct Kept(Vec<String>);

impl Resolver for Kept {
    fn held_hash<'a>(&'a self, reference: &'a Ref) -> Result<Option<Cow<'a, str>>> {
        Ok(self.0.iter().find(|hash| **hash == *reference.hash).map(|hash| Cow::Borrowed(hash.as_str())))
    }
}
