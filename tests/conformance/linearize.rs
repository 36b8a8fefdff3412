//! `linearize*`: the order of a set of events, and whether its causes are well formed.

use std::fs::File;
use std::io::Read;

use causelog::order::{Cycle, OrderError, linearize, well_formed};
use causelog::{EventFields, IdRef, Seq};
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::harness::path;

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
struct Case {
    name: String,
    events: Vec<Row>,
    expected: Value,
    well_formed: Option<bool>,
    differs_from_code_point_order: Option<bool>,
    reversed_same: Option<bool>,
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
            serde_json::json!({"error": code, "stuck": stuck.iter().map(ToString::to_string).collect::<Vec<_>>()})
        }
        Err(other) => panic!("{other}"),
    }
}

fn run(file: &str) {
    let Some(path) = path(file) else { return };
    let text = std::fs::read_to_string(path).unwrap();
    let (mut ran, mut differences) = (0, Vec::new());
    for line in text.lines().filter(|line| !line.is_empty()) {
        let case: Case = serde_json::from_str(line).unwrap();
        ran += 1;
        let mut differs =
            |what: &str, ours: String| differences.push(format!("{}: {what}: {ours}", case.name));
        let ours = answer(&case.events);
        if ours != case.expected {
            differs("order", ours.to_string());
        }
        if let Some(expected) = case.well_formed
            && well_formed(&case.events) != expected
        {
            differs("wellFormed", (!expected).to_string());
        }
        if let Some(expected) = case.differs_from_code_point_order {
            let mut by_bytes = case.events.clone();
            by_bytes.sort_by(|a, b| (&a.1, a.2, &a.0).cmp(&(&b.1, b.2, &b.0)));
            // Without causes the order is that of the keys, so the vector's claim can be checked there.
            if case.events.iter().all(|row| row.3.is_empty())
                && (case.expected != by_bytes.iter().map(|row| row.0.as_str()).collect::<Value>()) != expected
            {
                differs("differsFromCodePointOrder", (!expected).to_string());
            }
        }
        let mut reversed = case.events.clone();
        reversed.reverse();
        let again = answer(&reversed);
        if same(&again, &ours) != case.reversed_same.unwrap_or(true) {
            differs("reversed input", again.to_string());
        }
    }
    println!("{file}: {ran} ran, {} matched", ran - differences.len());
    assert!(differences.is_empty(), "{file}: {differences:#?}");
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
    for case in &cases {
        let mut events: Vec<Row> = (case.rows.iter().enumerate())
            .map(|(index, (host, seq, causes))| {
                Row(id(index), case.hosts[*host].clone(), *seq, causes.iter().copied().map(id).collect())
            })
            .collect();
        for turn in 0..2 {
            let order = linearize(&events).unwrap();
            let ids: Vec<&str> = order.into_iter().map(|index| events[index].0.as_str()).collect();
            assert!(
                ids.starts_with(&texts(&case.first)) && ids.ends_with(&texts(&case.last)),
                "{}",
                case.name
            );
            let digest = Sha256::digest(ids.join(","));
            let hex = data_encoding::HEXLOWER.encode(&digest);
            assert_eq!(hex, case.expected_sha256, "{}, turn {turn}", case.name);
            events.reverse();
        }
    }
    println!("linearize_big.json.gz: {0} ran, {0} matched", cases.len());
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
