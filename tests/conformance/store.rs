//! `store*.jsonl`: histories of operations on one store.
//!
//! Each history runs in memory. The peer lists `all` and `byType` in the order of its keys, by id; ours are put into
//! that order before they are compared. Its `range` without a host lists by `(seq, id)`; a store here ranges over one
//! host, so the harness builds that list from all events.

use std::cmp::Ordering;

use causelog::{
    BatchMode, Cursor, ErrorKind, Event, EventFields, EventId, Events, HostId, Options, Result, Store,
    StoredEvent, TypeRegistry, UnknownTypes, cmp_utf16, parse_event, read_event,
};
use serde_json::{Value, json};

use crate::harness::{Tally, cases, refusal, tagged};

const EQUIVOCATION: &str = "same id, other content";
const CYCLE: &str = "cycle refused at append";
const PROTO_HOST: &str = "peer-bug-proto-host";

fn run(file: &str) {
    let mut tally = Tally::new(file);
    for case in cases(file) {
        let options = Options::new().background(false).segment_bytes_max(1);
        let store = Store::in_memory(options).unwrap();
        let mut cyclic = false;
        for (op, expected) in case["ops"].as_array().unwrap().iter().zip(case["expected"].as_array().unwrap())
        {
            let (ours, equivocated) = answer(&store, op);
            let shown = json!({ "case": case["name"], "op": op });
            cyclic |= ours == json!({ "error": "CYCLE" });
            if equivocated {
                tally.deviate(EQUIVOCATION, &shown, &ours, &json!({ "error": "ID" }));
            } else if cyclic && ours != *expected {
                tally.deviate(CYCLE, &shown, &ours, &without_cycle(&case, op));
            } else if tagged(&case, PROTO_HOST) && ours != *expected {
                tally.deviate(PROTO_HOST, &shown, &ours, &with_proto_host(&case, op));
            } else {
                tally.compare(&shown, &ours, expected);
            }
        }
    }
    tally.finish();
}

/// Our answers in the two histories that end in a cycle: the event that closes it is refused and not held.
fn without_cycle(case: &Value, op: &Value) -> Value {
    let held = if case["name"] == "self-cause" { json!([]) } else { json!(["dxa"]) };
    match op["op"].as_str().unwrap() {
        "append" => json!({ "error": "CYCLE" }),
        "ancestry" if op["id"] == "dxb" => json!([]),
        _ => held,
    }
}

/// Our answers where the peer loses a host whose name its objects inherit.
fn with_proto_host(case: &Value, op: &Value) -> Value {
    let host = case["ops"][0]["event"]["host"].as_str().unwrap();
    match op["op"].as_str().unwrap() {
        "cursor" => json!({ host: 1 }),
        _ => json!(["dx1", "dx2"]),
    }
}

/// Runs an operation; says as well whether an id was offered with other content.
fn answer(store: &Store, op: &Value) -> (Value, bool) {
    let id = || EventId::new(op["id"].as_str().unwrap()).unwrap();
    let plain = |ours: Value| (ours, false);
    match op["op"].as_str().unwrap() {
        "append" => {
            let appended = read(&op["event"]).and_then(|event| store.append(&event));
            let equivocated = matches!(&appended, Err(e) if is_equivocation(e));
            let ours = appended.map_or_else(
                |e| refusal(&e),
                |appended| json!({ "appended": appended == causelog::Appended::Stored }),
            );
            (ours, equivocated)
        }
        "appendAll" => plain(append_all(store, op["events"].as_array().unwrap())),
        "get" => plain(store.get(&id()).unwrap().map_or(Value::Null, |event| full(&event))),
        "has" => plain(json!(store.has(&id()).unwrap())),
        "all" => plain(by_id(store.events().unwrap())),
        "byType" => plain(by_id(store.by_type(op["type"].as_str().unwrap()).unwrap())),
        "range" => plain(range(store, &op["arg"])),
        "since" => {
            let cursor: Cursor = serde_json::from_value(op["cursor"].clone()).unwrap();
            plain(ids(store.since(&cursor).unwrap()))
        }
        "ancestry" => plain(ids(store.ancestry(&id()).unwrap())),
        "ordered" => plain(ids(store.ordered().unwrap())),
        "cursor" => {
            let cursor = store.cursor().unwrap();
            plain(cursor.iter().map(|(host, at)| (host.to_string(), json!(at.seq.get()))).collect())
        }
        "stats" => plain(json!({ "events": store.stats().unwrap().events })),
        other => panic!("unknown operation {other}"),
    }
}

fn is_equivocation(error: &causelog::Error) -> bool {
    error.kind() == ErrorKind::Equivocation && error.code() == causelog::Code::Id
}

fn read(event: &Value) -> Result<Event> {
    read_event(event.to_string().as_bytes(), &TypeRegistry::v1(), UnknownTypes::Refuse)
}

/// The peer passes over a known id whatever its content; ours stops there, so the harness goes on behind it.
fn append_all(store: &Store, events: &[Value]) -> Value {
    let mut appended = 0;
    let mut batch = Vec::new();
    let mut refused = None;
    for event in events {
        match read(event) {
            Ok(event) => batch.push(event),
            Err(error) => {
                refused = Some(error);
                break;
            }
        }
    }
    let mut rest = &batch[..];
    while !rest.is_empty() {
        let report = store.append_batch(rest, BatchMode::StopAtFirst).unwrap();
        appended += report.stored();
        let taken = report.outcomes.len();
        match report.into_result() {
            Err(error) if !is_equivocation(&error) => return refusal(&error),
            _ => rest = &rest[taken..],
        }
    }
    refused.map_or_else(|| json!({ "appended": appended, "total": events.len() }), |error| refusal(&error))
}

fn full(event: &StoredEvent) -> Value {
    let mut line = Vec::new();
    causelog::write_event(event, &mut line);
    assert!(parse_event(&line).is_ok());
    serde_json::from_slice(&line).unwrap()
}

fn list(events: Events) -> Vec<StoredEvent> {
    events.map(|event| event.unwrap()).collect()
}

fn ids(events: Events) -> Value {
    list(events).iter().map(|event| event.id().to_string()).collect()
}

fn by_id(events: Events) -> Value {
    let mut ids: Vec<String> = list(events).iter().map(|event| event.id().to_string()).collect();
    ids.sort_by(|a, b| -> Ordering { cmp_utf16(a, b) });
    json!(ids)
}

fn range(store: &Store, arg: &Value) -> Value {
    let from = arg["fromSeq"].as_u64().unwrap_or(0);
    let to = arg["toSeq"].as_u64().unwrap_or(u64::MAX);
    // An empty host asks for all of them, as a missing one does.
    match arg["host"].as_str().filter(|host| !host.is_empty()) {
        Some(host) => ids(store.range(&HostId::new(host).unwrap(), from..=to).unwrap()),
        None => {
            let within = |event: &StoredEvent| (from..=to).contains(&event.seq().get());
            let mut all: Vec<_> = list(store.events().unwrap()).into_iter().filter(within).collect();
            all.sort_by_key(|event| (event.seq(), event.id().to_owned()));
            all.iter().map(|event| event.id().to_string()).collect()
        }
    }
}

#[test]
fn store() {
    run("store.jsonl");
}

#[test]
fn store_utf16() {
    run("store_utf16.jsonl");
}
