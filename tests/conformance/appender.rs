//! `appender.jsonl`: a host's writer that owns `seq` and makes ids.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use causelog::{
    Clock, Durability, EventFields, EventId, HostId, IdFactory, IdRef, JsonText, NewEvent, Options, Random,
    Result, Seq, Store,
};
use serde_json::{Value, json};

use crate::harness::{Tally, cases, refusal};

/// Hands out `id0`, `id1`, ...; tells 1000 and the ids handed out, the one that is about to be included.
#[derive(Default)]
struct Counted(AtomicU32);

impl Clock for Counted {
    fn now_ms(&self) -> f64 {
        f64::from(1001 + self.0.load(Ordering::SeqCst))
    }
}

impl IdFactory for Counted {
    fn new_id(&self, _: f64, _: &dyn Random) -> Result<EventId> {
        EventId::new(&format!("id{}", self.0.fetch_add(1, Ordering::SeqCst)))
    }
}

#[test]
fn appender() {
    let mut tally = Tally::new("appender.jsonl");
    for case in cases("appender.jsonl") {
        let ours = run(&case).unwrap_or_else(|error| refusal(&error));
        tally.compare(&case, &ours, &case["expected"]);
    }
    tally.finish();
}

fn run(case: &Value) -> Result<Value> {
    let counted = Arc::new(Counted::default());
    let options = Options::new().durability(Durability::Os).background(false);
    let store = Store::in_memory(options.clock(counted.clone()).ids(counted))?;
    // A host of another type than text cannot be written in Rust; an empty one stands for it.
    let mut appender = store.appender(HostId::new(case["host"].as_str().unwrap_or_default())?)?;
    if let Some(seq) = case["seq"].as_u64() {
        appender = appender.starting_at(Seq::new(seq)?);
    }
    let mut results = Vec::new();
    for op in case["ops"].as_array().unwrap() {
        let causes = op["causes"].as_array().into_iter().flatten();
        let new = NewEvent::new(op["type"].as_str().unwrap(), JsonText::parse(&op["payload"].to_string())?)
            .with_causes(causes.map(|cause| IdRef::new(cause.as_str().unwrap()).to_owned()));
        results.push(match appender.append(new) {
            Err(error) => refusal(&error),
            Ok(event) => {
                let held = store.get(&event.id)?.unwrap();
                assert_eq!(held.to_event()?, event);
                json!({
                    "v": event.v, "id": event.id.to_string(), "host": event.host(), "seq": event.seq.get(),
                    "at": held.at(), "causes": event.causes.iter().map(ToString::to_string).collect::<Vec<_>>(),
                })
            }
        });
    }
    let next = appender.next_seq().map(Seq::get);
    // The vectors write whole numbers; so does ours once it went through JSON text.
    Ok(serde_json::from_str(&json!({ "results": results, "nextSeq": next }).to_string().replace(".0,", ","))
        .unwrap())
}
