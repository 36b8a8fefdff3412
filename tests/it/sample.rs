//! The bundled sample, replayed without its content.

use std::path::{Path, PathBuf};

use causelog::{
    Event, NoResolver, Options, ReplayOptions, Store, TypeRegistry, UnknownTypes, Upcasts, read_events,
    replay, replay_set,
};
use serde_json::Value;

fn sample(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/sample").join(file)
}

fn events() -> Vec<Event> {
    let run = std::fs::read(sample("run.jsonl")).unwrap();
    read_events(run.as_slice(), &Upcasts::new(), &TypeRegistry::v1(), UnknownTypes::Refuse).unwrap()
}

#[test]
fn the_sample_replays_to_its_verdict() {
    let expected: Value = serde_json::from_slice(&std::fs::read(sample("expected.json")).unwrap()).unwrap();
    let report = replay_set(events(), &ReplayOptions::new().keep_order(true), &NoResolver).unwrap();
    assert!(report.ok && report.stable && report.violations.is_empty(), "{report}");
    assert_eq!((report.events, report.turns.len(), report.totals.turns), (599, 43, 43));
    // Without content every reference is unavailable, and passes.
    assert_eq!((report.refs.exact, report.refs.unavailable, report.refs.drifted.len()), (0, 197, 0));
    assert!(report.turns.iter().all(|turn| turn.reconstructable && turn.exact == 0));
    let json = serde_json::to_value(&report).unwrap();
    for member in ["ok", "events", "stable", "violations", "order"] {
        assert_eq!(json[member], expected[member], "{member}");
    }
    assert_eq!(
        report.to_string(),
        "verdict: ok
  599 events of 3 hosts, in their one order, proved
  197 references: 0 exact, 197 unavailable, 0 drifted
  43 contexts of turns: 0 can be read again in full, 43 in part, 0 not
  every invariant holds
"
    );
}

#[test]
fn a_store_replays_to_the_same_verdict() {
    let mut events = events();
    let options = ReplayOptions::new().keep_order(true);
    let verdict = |report: causelog::ReplayReport| serde_json::to_value(report).unwrap();
    let from_file = verdict(replay_set(events.clone(), &options, &NoResolver).unwrap());
    let store = Store::in_memory(Options::new()).unwrap();
    events.sort_by(|a, b| (&a.host, a.seq).cmp(&(&b.host, b.seq)));
    for event in &events {
        store.append(event).unwrap();
    }
    let report = replay(store.ordered().unwrap(), &options, &NoResolver).unwrap();
    assert_eq!(verdict(report), from_file);
    // The order of hosts and ordinals is another sequence, and known for one.
    let report = replay(store.events().unwrap(), &options, &NoResolver).unwrap();
    assert!(!report.stable && !report.ok);
}

#[test]
fn a_report_names_what_is_wrong() {
    let mut events = events();
    // An egress that nobody recorded, and a revocation whose activation is not held.
    let lost = |event: &Event| matches!(&*event.kind, "privacy.egress" | "capability.activated");
    events.retain(|event| !lost(event));
    let report = replay_set(events, &ReplayOptions::new().listed_max(3), &NoResolver).unwrap();
    assert!(!report.ok && report.stable);
    assert_eq!(
        report.totals.by_invariant.iter().map(|(invariant, _)| invariant.name()).collect::<Vec<_>>(),
        ["I2", "I4"]
    );
    assert_eq!((report.violations.len(), report.turns.len(), report.totals.turns), (6, 3, 43));
    let text = report.to_string();
    assert!(text.starts_with("verdict: FAILED\n") && text.contains("I4 violated, 53 times"), "{text}");
    assert!(text.contains("    and 50 more\n    hint: "), "{text}");
}
