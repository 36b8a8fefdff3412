//! `linearize*`: the order of a set of events, and whether its causes are well formed.

use std::fs::File;
use std::io::Read;

use causelog::order::{Cycle, OrderError, linearize, well_formed};
use causelog::{EventFields, IdRef, Seq};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::harness::{Tally, cases, path};

/// An event as the vectors write it: `[id, host, seq, [causes]]`.
#[derive(Clone, Deserialize)]
struct Row(String, String, u64, Vec<String>);

impl EventFields for Row {
    fn v(&self) -> u32 {
        causelog::VERSION
    }
    fn id(&self) -> IdRef<'_> {
        IdRef::new(&self.0)
    }
    fn host(&self) -> &str {
        &self.1
    }
    fn seq(&self) -> Seq {
        Seq::new(self.2).unwrap()
    }
    fn at(&self) -> f64 {
        0.0
    }
    fn kind(&self) -> &'static str {
        "turn.started"
    }
    fn payload(&self) -> &'static str {
        "{}"
    }
    fn extra(&self) -> Option<&str> {
        None
    }
    fn causes_len(&self) -> usize {
        self.3.len()
    }
    fn cause(&self, index: usize) -> Option<IdRef<'_>> {
        self.3.get(index).map(|cause| IdRef::new(cause))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Big {
    name: String,
    hosts: Vec<String>,
    rows: Vec<(usize, u64, Vec<usize>)>,
    expected_sha256: String,
    first: Vec<String>,
    last: Vec<String>,
}

/// The answer in the vectors' form.
fn answer(events: &[Row]) -> Value {
    match linearize(events) {
        Ok(order) => order.into_iter().map(|index| events[index].0.as_str()).collect(),
        Err(error @ OrderError::Cycle(_)) => {
            let code = causelog::Error::from(error.clone()).code().as_str();
            let OrderError::Cycle(Cycle { stuck }) = error else { unreachable!() };
            json!({"error": code, "stuck": stuck.iter().map(ToString::to_string).collect::<Vec<_>>()})
        }
        Err(other) => panic!("{other}"),
    }
}

fn run(file: &str) {
    let mut tally = Tally::new(file);
    for case in cases(file) {
        let events: Vec<Row> = serde_json::from_value(case["events"].clone()).unwrap();
        let expected = &case["expected"];
        let order = answer(&events);
        let mut reversed = events.clone();
        reversed.reverse();
        let again = same(&answer(&reversed), &order);
        let mut ours = json!({ "order": order, "reversedSame": again });
        let mut stated =
            json!({ "order": expected, "reversedSame": case["reversedSame"].as_bool().unwrap_or(true) });
        if let Some(expected) = case["wellFormed"].as_bool() {
            ours["wellFormed"] = well_formed(&events).into();
            stated["wellFormed"] = expected.into();
        }
        // Without causes the order is that of the keys, so the vector's claim can be checked there.
        if let Some(expected) = case["differsFromCodePointOrder"].as_bool()
            && events.iter().all(|row| row.3.is_empty())
        {
            let mut by_bytes: Vec<&Row> = events.iter().collect();
            by_bytes.sort_by(|a, b| (&a.1, a.2, &a.0).cmp(&(&b.1, b.2, &b.0)));
            let by_bytes: Value = by_bytes.iter().map(|row| row.0.as_str()).collect();
            ours["differs"] = (ours["order"] != by_bytes).into();
            stated["differs"] = expected.into();
        }
        tally.compare(&case, &ours, &stated);
    }
    tally.finish();
}

/// Compares two answers to the same set: orders as they are, stuck events as a set.
fn same(a: &Value, b: &Value) -> bool {
    let sorted = |answer: &Value| {
        let mut stuck: Vec<String> =
            answer["stuck"].as_array().into_iter().flatten().map(Value::to_string).collect();
        stuck.sort();
        stuck
    };
    a == b || (a.is_object() && b.is_object() && sorted(a) == sorted(b))
}

#[test]
fn linearize_vectors() {
    run("linearize.jsonl");
}

#[test]
fn linearize_utf16_vectors() {
    run("linearize_utf16.jsonl");
}

#[test]
fn linearize_repeated_ids_vectors() {
    run("linearize_dupid.jsonl");
}

#[test]
fn linearize_big_vectors() {
    let mut text = String::new();
    let Some(path) = path("linearize_big.json.gz") else { return };
    let file = File::open(path).unwrap();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    let cases: Vec<Big> = serde_json::from_str(&text).unwrap();
    let mut tally = Tally::new("linearize_big.json.gz");
    for case in &cases {
        let mut events: Vec<Row> = (case.rows.iter().enumerate())
            .map(|(index, (host, seq, causes))| {
                Row(id(index), case.hosts[*host].clone(), *seq, causes.iter().copied().map(id).collect())
            })
            .collect();
        let mut turns = Vec::new();
        for _ in 0..2 {
            let order = linearize(&events).unwrap();
            let ids: Vec<&str> = order.into_iter().map(|index| events[index].0.as_str()).collect();
            let hex = data_encoding::HEXLOWER.encode(&Sha256::digest(ids.join(",")));
            let (first, last) = (ids.starts_with(&texts(&case.first)), ids.ends_with(&texts(&case.last)));
            turns.push(json!([first, last, hex]));
            events.reverse();
        }
        let stated = json!([true, true, case.expected_sha256]);
        tally.compare(&json!(case.name), &json!(turns), &json!([stated, stated]));
    }
    tally.finish();
}

fn texts(ids: &[String]) -> Vec<&str> {
    ids.iter().map(String::as_str).collect()
}

/// The identifier of a row of the big vectors: `e` and the index in base 36.
fn id(index: usize) -> String {
    let mut digits = Vec::new();
    let mut left = index;
    loop {
        digits.push(char::from_digit(u32::try_from(left % 36).unwrap(), 36).unwrap());
        left /= 36;
        if left == 0 {
            digits.push('e');
            return digits.into_iter().rev().collect();
        }
    }
}
