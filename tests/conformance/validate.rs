//! `validate_event.jsonl`: parse, then validate.

use causelog::{TypeRegistry, UnknownTypes, limits, parse_event, read_event, validate};
use serde_json::{Value, json};

use crate::harness::{Tally, cases, outcome, tagged};

/// Tags of texts that peers read differently, and that this crate refuses as JSON.
pub(crate) const REFUSED_TEXTS: [&str; 3] = ["dup-keys", "lone-surrogate", "json-overflow"];

#[test]
fn validate_event() {
    let registry = TypeRegistry::v1();
    let mut tally = Tally::new("validate_event.jsonl");
    for case in cases("validate_event.jsonl") {
        let line = case["json"].as_str().expect("a text").as_bytes();
        let read = read_event(line, &registry, UnknownTypes::Refuse);
        let ours = outcome(read, |event| {
            // A typed event is judged as its line is.
            validate(&event, &registry, UnknownTypes::Refuse).expect("valid again");
            assert_eq!(parse_event(line).expect("valid again"), event);
            json!({ "ok": true })
        });
        if let Some(reason) = REFUSED_TEXTS.into_iter().find(|tag| tagged(&case, tag)) {
            tally.deviate(reason, &case, &ours, &json!({ "error": "JSON" }));
        } else if tagged(&case, "bignum") && seq_is_beyond_range(&case) {
            tally.deviate("seq beyond 2^53-1", &case, &ours, &json!({ "error": "SHAPE" }));
        } else {
            tally.compare(&case, &ours, &case["expected"]);
        }
    }
    tally.finish();
}

#[expect(clippy::cast_precision_loss, reason = "the greatest seq is exact")]
fn seq_is_beyond_range(case: &Value) -> bool {
    let event: Value = serde_json::from_str(case["json"].as_str().expect("a text")).expect("JSON");
    event["seq"].as_f64().is_some_and(|seq| seq > limits::SEQ_MAX as f64)
}
