//! `jsonl_text.jsonl`: splitting text into lines and reading the value of each.

use causelog::{JsonText, Lines};
use serde_json::{Value, json};

use crate::harness::{Tally, cases};

#[test]
fn jsonl_text() {
    let mut tally = Tally::new("jsonl_text.jsonl");
    for case in cases("jsonl_text.jsonl") {
        let text = case["text"].as_str().expect("a text");
        tally.compare(&case, &values(text), &case["expected"]);
    }
    tally.finish();
}

/// The vectors name the class of a script error where we have a code of our own.
fn values(text: &str) -> Value {
    let mut lines = Lines::new(text.as_bytes());
    let mut values = Vec::new();
    while let Some(line) = lines.next_line().expect("memory can be read") {
        let line = str::from_utf8(line.text.expect("a short line")).expect("UTF-8");
        match JsonText::parse(line) {
            Ok(value) => values.push(serde_json::from_str(value.as_str()).expect("JSON")),
            Err(error) => {
                assert_eq!(error.code().as_str(), "JSON");
                return json!({ "error": "SyntaxError" });
            }
        }
    }
    json!({ "ok": Value::Array(values) })
}
