//! `store*.jsonl`: histories of operations on one store.
//!
//! Each history runs three times: on a store in memory; on one that seals a segment every few events, so that answers
//! come out of sealed segments; and on one that is closed and opened again before whatever is asked of it. The peer lists `all`
//! and `byType` in the order of its keys, by id; ours are put into that order before they are compared. Its `range`
//! without a host lists by `(seq, id)`; a store here ranges over one host, so the harness builds that list from all
//! events.

use std::cmp::Ordering;
use std::sync::Arc;

use causelog::vfs::MemoryVfs;
use causelog::{
    BatchMode, Cursor, ErrorKind, Event, EventFields, EventId, Events, HostId, Options, Result, SegmentForm,
    Store, StoredEvent, TypeRegistry, UnknownTypes, cmp_utf16, parse_event, read_event,
};
use serde_json::{Value, json};

use crate::harness::{Tally, cases, refusal, tagged};

const EQUIVOCATION: &str = "same id, other content";
const CYCLE: &str = "cycle refused at append";
const PROTO_HOST: &str = "peer-bug-proto-host";

/// What a history runs on.
#[derive(Clone, Copy)]
enum Setting {
    Memory,
    Sealing,
    Reopening,
}

/// The store of a history, and how to get another handle to it.
struct Run {
    store: Store,
    reopen: Option<Arc<MemoryVfs>>,
}

impl Run {
    fn new(setting: Setting, case: &Value) -> Self {
        let options = Options::new().background(false);
        match setting {
            Setting::Memory => Self { store: Store::in_memory(options).unwrap(), reopen: None },
            // A cap is divided into eight segments; this one is never reached.
            Setting::Sealing => {
                let options = options.events_max(8 * offered(case).div_ceil(6).max(1));
                Self { store: Store::in_memory(options).unwrap(), reopen: None }
            }
            Setting::Reopening => {
                let vfs = Arc::new(MemoryVfs::new());
                let store = Store::create("/s", options.vfs(vfs.clone())).unwrap();
                Self { store, reopen: Some(vfs) }
            }
        }
    }

    /// Returns the store for an operation; what is asked of a store that reopens is asked behind a reopening.
    fn next(&mut self, op: &Value) -> &Store {
        if let Some(vfs) = self.reopen.as_ref().filter(|_| op["op"] != "append") {
            self.store.clone().close().unwrap();
            self.store = Store::open("/s", Options::new().background(false).vfs(vfs.clone())).unwrap();
            assert!(self.store.opening().damage.is_empty());
        }
        &self.store
    }
}

/// Counts the events that a history offers.
fn offered(case: &Value) -> u64 {
    let count =
        |op: &Value| op["events"].as_array().map_or(u64::from(op["op"] == "append"), |all| all.len() as u64);
    case["ops"].as_array().unwrap().iter().map(count).sum()
}

fn run(file: &str) {
    for (setting, name) in
        [(Setting::Memory, ""), (Setting::Sealing, ", sealed"), (Setting::Reopening, ", reopened")]
    {
        let mut sealed = 0;
        let mut tally = Tally::new(&format!("{file}{name}"));
        for case in cases(file) {
            let mut run = Run::new(setting, &case);
            history(&mut run, &case, &mut tally);
            let segments = run.store.stats().unwrap().segments;
            sealed += segments.iter().filter(|segment| segment.form == SegmentForm::Sealed).count();
        }
        tally.finish();
        assert_eq!(sealed > 0, matches!(setting, Setting::Sealing), "{sealed} segments are sealed");
    }
}

fn history(run: &mut Run, case: &Value, tally: &mut Tally) {
    let mut cyclic = false;
    for (op, expected) in case["ops"].as_array().unwrap().iter().zip(case["expected"].as_array().unwrap()) {
        let (ours, equivocations) = answer(run.next(op), op);
        let shown = json!({ "case": case["name"], "op": op });
        cyclic |= ours == json!({ "error": "CYCLE" });
        let appended = op["op"] == "append";
        for refused in &equivocations {
            tally.deviate(EQUIVOCATION, &shown, refused, &json!({ "error": "ID" }));
        }
        if appended && !equivocations.is_empty() {
            continue;
        }
        if cyclic && ours != *expected {
            tally.deviate(CYCLE, &shown, &ours, &without_cycle(case, op));
        } else if tagged(case, PROTO_HOST) && ours != *expected {
            tally.deviate(PROTO_HOST, &shown, &ours, &with_proto_host(case, op));
        } else {
            tally.compare(&shown, &ours, expected);
        }
    }
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

/// Runs an operation; gives as well how each event was refused whose id was offered with other content.
fn answer(store: &Store, op: &Value) -> (Value, Vec<Value>) {
    let id = || EventId::new(op["id"].as_str().unwrap()).unwrap();
    let plain = |ours: Value| (ours, Vec::new());
    match op["op"].as_str().unwrap() {
        "append" => match read(&op["event"]).and_then(|event| store.append(&event)) {
            Ok(appended) => plain(json!({ "appended": appended == causelog::Appended::Stored })),
            Err(error) if is_equivocation(&error) => (refusal(&error), vec![refusal(&error)]),
            Err(error) => plain(refusal(&error)),
        },
        "appendAll" => append_all(store, op["events"].as_array().unwrap()),
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

/// The peer passes over a known id whatever its content. Ours stops there with a refusal, which is one of the answers;
/// the harness then goes on behind it.
fn append_all(store: &Store, events: &[Value]) -> (Value, Vec<Value>) {
    let (mut appended, mut equivocations) = (0, Vec::new());
    let mut batch = Vec::new();
    let mut unread = None;
    for event in events {
        match read(event) {
            Ok(event) => batch.push(event),
            Err(error) => {
                unread = Some(error);
                break;
            }
        }
    }
    let mut rest = &batch[..];
    while !rest.is_empty() {
        let report = store.append_batch(rest, BatchMode::StopAtFirst).unwrap();
        appended += report.stored();
        rest = &rest[report.outcomes.len()..];
        match report.into_result() {
            Err(error) if is_equivocation(&error) => {
                equivocations.push(refusal(&error));
            }
            Err(error) => return (refusal(&error), equivocations),
            Ok(()) => {}
        }
    }
    let ours = unread
        .map_or_else(|| json!({ "appended": appended, "total": events.len() }), |error| refusal(&error));
    (ours, equivocations)
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

fn ids(events: impl Into<Events>) -> Value {
    list(events.into()).iter().map(|event| event.id().to_string()).collect()
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
