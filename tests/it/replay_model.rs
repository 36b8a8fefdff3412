//! Replay of a stream against a plain model that holds the whole set.

use std::collections::{BTreeMap, BTreeSet};

use causelog::order::linearize;
use causelog::{
    Event, EventFields, EventId, HostId, JsonText, NoResolver, ReplayOptions, ReplayReport, Seq, parse_event,
    replay, replay_set,
};
use proptest::prelude::*;
use serde_json::{Value, json};

const BUDGET: usize = 1;

/// Answers I1 to I7 from the set at hand, looking wherever a rule points.
fn model(ordered: &[Value]) -> Vec<(&'static str, Value)> {
    let of = |kind: &'static str| ordered.iter().filter(move |event| event["type"] == kind);
    let mut found = Vec::new();
    let mut add = |invariant, event: &Value| found.push((invariant, event["id"].clone()));
    for event in ordered.iter().filter(|event| event["type"].as_str().unwrap().starts_with("assistant.")) {
        let payload = event["payload"].as_object().unwrap();
        let holds = |(name, value): (&String, &Value)| {
            name != "model" && value.as_str().is_some_and(|text| text.encode_utf16().count() > 200)
        };
        if !is_reference(&event["payload"]["ref"]) || payload.iter().any(holds) {
            add("I7", event);
        }
    }
    for event in of("context.assembled") {
        if !event["payload"]["resident"].as_array().is_none_or(|resident| resident.iter().all(is_reference)) {
            add("I1", event);
        }
    }
    for event in of("turn.ended") {
        let payload = &event["payload"];
        let relayed =
            event["host"] == "gateway" && payload["relayed"] == true && payload["surface"] == "phone:p";
        let assembled =
            of("context.assembled").any(|other| other["payload"].get("turnId") == payload.get("turnId"));
        if payload["stepped"] != false && !relayed && !assembled {
            add("I1", event);
        }
    }
    for event in of("capability.invoked") {
        let egress = &event["payload"]["egress"];
        let named =
            of("privacy.egress").any(|other| other["causes"].as_array().unwrap().contains(&event["id"]));
        if is_truthy(egress) && *egress != "none" && !named {
            add("I2", event);
        }
    }
    for event in of("capability.invoked") {
        if event["payload"]["effects"] != "pure" && !is_truthy(&event["payload"]["idempotencyKey"]) {
            add("I3", event);
        }
    }
    for event in of("capability.revoked") {
        let causes = event["causes"].as_array().unwrap();
        if !of("capability.activated").any(|other| causes.contains(&other["id"])) {
            add("I4", event);
        }
    }
    let mut streams: BTreeMap<(String, String, String), usize> = BTreeMap::new();
    for event in ordered {
        let stream = &event["payload"]["streamId"];
        if is_truthy(stream) {
            let text = stream.as_str().map_or_else(|| stream.to_string(), str::to_owned);
            *streams.entry((event["host"].to_string(), event["type"].to_string(), text)).or_default() += 1;
        }
    }
    found.extend(streams.into_values().filter(|count| *count > BUDGET).map(|_| ("I5", Value::Null)));
    found
}

fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(truth) => *truth,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        _ => true,
    }
}

fn is_reference(value: &Value) -> bool {
    let text = |name: &str| value[name].as_str().filter(|text| !text.is_empty());
    text("kind") == Some("note") && text("id").is_some() && text("hash").is_some()
}

fn values(values: &[Value]) -> impl Strategy<Value = Value> + use<> {
    prop::sample::select(values.to_vec())
}

/// A payload whose members are each absent half the time.
fn payload(members: &[(&'static str, &[Value])]) -> impl Strategy<Value = Value> + use<> {
    let members: Vec<_> = members
        .iter()
        .map(|(name, values_)| {
            prop::option::of(values(values_)).prop_map({
                let name = *name;
                move |value| value.map(|value| (name.to_owned(), value))
            })
        })
        .collect();
    members.prop_map(|members| Value::Object(members.into_iter().flatten().collect()))
}

fn typed_payload() -> impl Strategy<Value = (&'static str, Value)> {
    let good = json!({"kind": "note", "id": "a", "hash": "h", "x": [{"id": 1}, "]}"]});
    let bad = json!({"kind": "note", "id": "", "hash": "h"});
    let turns = [json!("t1"), json!("t2"), json!("\u{e9}\"\\"), json!(1), json!(null)];
    let streams = [json!("s"), json!(7), json!("7"), json!(""), json!(false), json!("\\u")];
    let texts = [
        json!("y".repeat(200)),
        json!("y".repeat(201)),
        json!("\u{1f600}".repeat(101)),
        json!("\n".repeat(150)),
    ];
    let ended: Vec<(&str, &[Value])> = vec![
        ("turnId", &turns),
        ("stepped", &[Value::Bool(false), Value::Bool(true)]),
        ("relayed", &[Value::Bool(true)]),
    ];
    let ended = (payload(&ended), any::<bool>()).prop_map(|(mut payload, phone)| {
        payload["surface"] = json!(if phone { "phone:p" } else { "chat" });
        payload
    });
    let residents = [json!([]), json!([good]), json!([good, bad]), json!([good, "x", good]), json!({})];
    let invoked: Vec<(&str, Vec<Value>)> = vec![
        ("effects", vec![json!("pure"), json!("idempotent")]),
        ("idempotencyKey", vec![json!("k"), json!(""), json!(0)]),
        ("egress", vec![json!("none"), json!("redacted"), json!(true), json!(-0.0)]),
    ];
    let invoked: Vec<_> = invoked.iter().map(|(name, values)| (*name, values.as_slice())).collect();
    prop_oneof![
        ended.prop_map(|payload| ("turn.ended", payload)),
        payload(&[("turnId", &turns), ("resident", &residents)])
            .prop_map(|payload| ("context.assembled", payload)),
        payload(&invoked).prop_map(|payload| ("capability.invoked", payload)),
        Just(("privacy.egress", json!({}))),
        Just(("capability.activated", json!({}))),
        Just(("capability.revoked", json!({}))),
        payload(&[("ref", &[good.clone(), bad]), ("text", &texts), ("model", &texts)])
            .prop_map(|payload| ("assistant.message", payload)),
        payload(&[("streamId", &streams)]).prop_map(|payload| ("data.updated", payload)),
        payload(&[("streamId", &streams)]).prop_map(|payload| ("automation.suppressed", payload)),
    ]
}

/// Sets of events with causes to any of them, to themselves and to events that are not held.
fn set() -> impl Strategy<Value = Vec<Event>> {
    let hosts = prop::sample::select(vec!["gateway", "a", "\u{fffd}", "\u{1f600}"]);
    let causes = prop::collection::vec((any::<bool>(), 0..14_usize), 0..3);
    prop::collection::vec((hosts, typed_payload(), causes), 0..12)
        .prop_map(|drawn| drawn.into_iter().enumerate().map(|(index, drawn)| event(index, drawn)).collect())
}

/// Host, type and payload, and causes as whether they may come later and their number.
type Drawn = (&'static str, (&'static str, Value), Vec<(bool, usize)>);

fn event(index: usize, (host, (kind, payload), causes): Drawn) -> Event {
    let id = |number: usize| EventId::new(&format!("e{number}")).unwrap();
    let seq = Seq::new(u64::try_from(index).unwrap()).unwrap();
    let payload = JsonText::parse(&payload.to_string()).unwrap();
    let mut event = Event::new(id(index), HostId::new(host).unwrap(), seq, kind, payload);
    // Mostly earlier ones, so that most sets have an order.
    event.causes = causes
        .into_iter()
        .map(|(later, cause)| if later && cause != 0 { cause } else { cause % (index + 1) })
        .filter(|cause| *cause != index || index % 5 == 4)
        .map(id)
        .collect();
    event
}

fn options() -> ReplayOptions {
    ReplayOptions::new().ephemeral_budget(u64::try_from(BUDGET).unwrap()).keep_order(true)
}

fn in_order(events: &[Event]) -> Option<Vec<Event>> {
    Some(linearize(events).ok()?.into_iter().map(|index| events[index].clone()).collect())
}

fn stream(events: &[Event]) -> ReplayReport {
    replay(events.iter().cloned().map(Ok), &options(), &NoResolver).unwrap()
}

fn plain(event: &Event) -> Value {
    json!({
        "id": event.id.to_string(), "host": event.host.as_str(), "type": &*event.kind,
        "causes": event.causes().map(|cause| cause.to_string()).collect::<Vec<_>>(),
        "payload": serde_json::from_str::<Value>(event.payload.as_str()).unwrap(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn a_stream_is_judged_as_the_whole_set(events in set()) {
        let Some(ordered) = in_order(&events) else {
            prop_assert_eq!(replay_set(events, &options(), &NoResolver).unwrap_err().code(), causelog::Code::Cycle);
            return Ok(());
        };
        let report = stream(&ordered);
        let ours: Vec<(&str, Value)> = report
            .violations
            .iter()
            .map(|violation| {
                let id = violation.event_id.as_ref().map_or(Value::Null, |id| json!(id.to_string()));
                (violation.invariant.name(), id)
            })
            .collect();
        prop_assert_eq!(ours, model(&ordered.iter().map(plain).collect::<Vec<_>>()));
        prop_assert!(report.stable);
    }

    #[test]
    fn what_is_found_does_not_depend_on_what_memory_holds(
        events in prop::collection::vec(set(), 1..8).prop_map(|sets| sets.concat()),
        state_max in 0..5_usize,
        listed_max in 0..5_usize,
    ) {
        // Events of all sets under ids of their own, so that there are enough of them.
        let rename = |(index, event): (usize, &Event)| Event {
            id: EventId::new(&format!("f{index}")).unwrap(),
            seq: Seq::new(index as u64).unwrap(),
            causes: (0..index).rev().filter(|cause| (cause * 7 + index) % 5 == 0).take(2)
                .map(|cause| EventId::new(&format!("f{cause}")).unwrap()).collect(),
            ..event.clone()
        };
        let events: Vec<Event> = events.iter().enumerate().map(rename).collect();
        let vfs = std::sync::Arc::new(causelog::vfs::MemoryVfs::new());
        let dir = std::path::Path::new("/scratch");
        causelog::vfs::Vfs::create_dir_all(&*vfs, dir).unwrap();
        let report = |options: ReplayOptions| {
            serde_json::to_value(replay_set(events.clone(), &options.listed_max(listed_max), &NoResolver).unwrap())
        };
        let spilled = report(options().state_max(state_max).scratch_dir(vfs.clone(), dir)).unwrap();
        prop_assert_eq!(spilled, report(options()).unwrap());
        prop_assert!(causelog::vfs::Vfs::list(&*vfs, dir).unwrap().is_empty());
    }

    #[test]
    fn the_verdict_depends_on_the_set_alone(
        (events, shuffled) in set().prop_flat_map(|events| (Just(events.clone()), Just(events).prop_shuffle())),
    ) {
        // Repeats change nothing either.
        let twice = [shuffled.clone(), shuffled].concat();
        let report = |events| replay_set(events, &options(), &NoResolver)
            .map(|report| serde_json::to_value(&report).unwrap())
            .map_err(|error| error.code());
        prop_assert_eq!(report(events), report(twice));
    }

    #[test]
    fn every_other_sequence_is_caught(
        (events, order) in set().prop_flat_map(|events| {
            let order: Vec<usize> = (0..events.len()).collect();
            (Just(events), Just(order).prop_shuffle())
        }),
    ) {
        let Some(ordered) = in_order(&events) else { return Ok(()) };
        let shuffled: Vec<Event> = order.into_iter().map(|index| events[index].clone()).collect();
        let report = stream(&shuffled);
        prop_assert_eq!(report.stable, shuffled == ordered);
        prop_assert!(report.stable || !report.ok);
        for at in 1..ordered.len() {
            let mut swapped = ordered.clone();
            swapped.swap(at - 1, at);
            let report = stream(&swapped);
            prop_assert!(!report.stable && !report.ok, "swap at {}", at);
        }
    }
}

#[test]
fn sets_cover_every_invariant() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let (mut seen, mut cyclic) = (BTreeSet::new(), 0);
    for _ in 0..500 {
        let events = set().new_tree(&mut runner).unwrap().current();
        match in_order(&events) {
            Some(ordered) => {
                seen.extend(stream(&ordered).violations.iter().map(|violation| violation.invariant.name()));
            }
            None => cyclic += 1,
        }
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), ["I1", "I2", "I3", "I4", "I5", "I7"]);
    assert!((50..450).contains(&cyclic), "{cyclic} of 500 sets have a cycle");
}

#[test]
fn a_bad_line_is_named() {
    let good = r#"{"v":1,"id":"a","host":"h","seq":0,"causes":[],"at":1,"type":"turn.started","payload":{"turnId":"t"}}"#;
    assert!(parse_event(good.as_bytes()).is_ok());
    let text = format!("\u{feff}{good}\r\n\n{}\n", good.replace("turn.started", "turn.paused"));
    let read = |unknown| {
        causelog::read_events(
            text.as_bytes(),
            &causelog::Upcasts::new(),
            &causelog::TypeRegistry::v1(),
            unknown,
        )
    };
    let error = read(causelog::UnknownTypes::Refuse).unwrap_err();
    assert_eq!((error.code(), error.place().line), (causelog::Code::Type, Some(3)));
    let events = read(causelog::UnknownTypes::Accept).unwrap();
    let error = replay_set(events, &options(), &NoResolver).unwrap_err();
    assert_eq!(error.kind(), causelog::ErrorKind::Equivocation);
}
