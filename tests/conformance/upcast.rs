//! `upcast.jsonl`: parse, then upcast.

use causelog::{TypeRegistry, UnknownTypes, Upcasts, parse_event, upcast_event};
use serde_json::json;

use crate::harness::{Tally, cases, outcome, tagged};
use crate::validate::REFUSED_TEXTS;

#[test]
fn upcast() {
    let (registry, upcasts) = (TypeRegistry::v1(), Upcasts::new());
    let mut tally = Tally::new("upcast.jsonl");
    for case in cases("upcast.jsonl") {
        let line = case["json"].as_str().expect("a text").as_bytes();
        let lifted = upcast_event(line, &upcasts, &registry, UnknownTypes::Refuse);
        let ours = outcome(
            lifted,
            |event| json!({ "ok": true, "unchanged": parse_event(line).is_ok_and(|read| read == event) }),
        );
        match REFUSED_TEXTS.into_iter().find(|tag| tagged(&case, tag)) {
            Some(reason) => tally.deviate(reason, &case, &ours, &json!({ "error": "JSON" })),
            None => tally.compare(&case, &ours, &case["expected"]),
        }
    }
    tally.finish();
}
