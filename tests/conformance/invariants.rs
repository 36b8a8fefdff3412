//! `invariants.jsonl`, `invariants_relayed.jsonl`: I1 to I7 on events that were not checked before.

use causelog::order::{OrderError, linearize};
use causelog::{Event, ReplayOptions, Result, Violation, check_invariants, parse_event};
use serde_json::{Value, json};

use crate::harness::{Tally, cases, outcome, tagged};

/// Reads the events of a case, checking the envelope alone.
fn events(case: &Value) -> Result<Vec<Event>> {
    let events = case["events"].as_array().expect("a list");
    events.iter().map(|event| parse_event(event.to_string().as_bytes())).collect()
}

pub(crate) fn options(case: &Value) -> ReplayOptions {
    let budget = case["opts"]["ephemeralBudget"].as_u64();
    budget.into_iter().fold(ReplayOptions::new(), ReplayOptions::ephemeral_budget)
}

/// Spells an answer as the vectors do; a cycle with what it holds up.
pub(crate) fn answer<T>(events: &[Event], result: Result<T>, ok: impl FnOnce(T) -> Value) -> Value {
    let mut answer = outcome(result, ok);
    if answer["error"] == "CYCLE"
        && let Err(OrderError::Cycle(cycle)) = linearize(events)
    {
        answer["stuck"] = cycle.stuck.iter().map(ToString::to_string).collect();
    }
    answer
}

fn list(violations: Vec<Violation>) -> Value {
    let spell = |violation: Violation| {
        let id = violation.event_id.map(|id| id.to_string());
        json!({ "invariant": violation.invariant.name(), "eventId": id })
    };
    violations.into_iter().map(spell).collect()
}

fn ours(case: &Value) -> Value {
    match events(case) {
        Ok(events) => answer(&events, check_invariants(events.clone(), &options(case)), list),
        Err(error) => crate::harness::refusal(&error),
    }
}

#[test]
fn invariants() {
    let mut tally = Tally::new("invariants.jsonl");
    for case in cases("invariants.jsonl") {
        let (ours, expected) = (ours(&case), &case["expected"]);
        // Streams are told apart by the triple itself, not by a text joined with colons.
        if tagged(&case, "peer-bug-colon-host") && ours != *expected {
            let streams = case["events"][0]["payload"].get("streamId").is_some();
            let stated = if streams { json!([{ "invariant": "I5", "eventId": null }]) } else { json!([]) };
            tally.deviate("peer-bug-colon-host", &case, &ours, &stated);
        // Such events do not come this far.
        } else if tagged(&case, "malformed-tiebreak") {
            tally.deviate("malformed-tiebreak", &case, &ours, &json!({ "error": "SHAPE" }));
        // Outside the contract: a store holds an id once.
        } else if tagged(&case, "dup-id") && ours != *expected {
            tally.deviate("dup-id", &case, &ours, &once(&case));
        } else {
            tally.compare(&case, &ours, expected);
        }
    }
    tally.finish();
}

/// What an append makes of an id that comes twice: nothing when the event is the same, else a refusal.
fn once(case: &Value) -> Value {
    let mut events: Vec<Value> = Vec::new();
    for event in case["events"].as_array().expect("a list") {
        match events.iter().find(|held| held["id"] == event["id"]) {
            Some(held) if held == event => {}
            Some(_) => return json!({ "error": "ID" }),
            None => events.push(event.clone()),
        }
    }
    ours(&json!({ "events": events, "opts": case["opts"] }))
}

#[test]
fn invariants_relayed() {
    let mut tally = Tally::new("invariants_relayed.jsonl");
    for case in cases("invariants_relayed.jsonl") {
        let ours = ours(&case);
        if case["readmeExempt"] == true {
            tally.deviate("relayed", &case, &ours, &json!([]));
        } else {
            tally.compare(&case, &ours, &case["expected"]);
        }
    }
    tally.finish();
}
