//! I5: items of a stream do not become durable facts.
//!
//! At most a budget of events of one host, type and stream; the stream is the payload's `streamId`,
//! whatever the type. Kept: a digest of 16 bytes and a count for each such triple.

use std::collections::HashMap;

use crate::contract::EventFields;
use crate::replay::payload::{Digest, Raw, digest};

use super::{Findings, Invariant, Step};

#[derive(Debug)]
pub(super) struct EphemeralBudget {
    budget: u64,
    counts: HashMap<Digest, u64>,
    /// The triples over the budget, as host and type, by the order in which they passed it.
    over: Vec<(Digest, Box<str>, Box<str>)>,
}

impl EphemeralBudget {
    pub(super) fn new(budget: u64) -> Self {
        Self { budget, counts: HashMap::new(), over: Vec::new() }
    }

    pub(super) fn step(&mut self, step: &Step<'_>) {
        let text = step.payload.text();
        // Few payloads hold the name; a search for it is cheaper than reading members. A name can also be
        // spelled with escapes.
        if !text.contains("streamId") && !text.contains("\\u") {
            return;
        }
        let [stream] = step.payload.pick(["streamId"]);
        let Some(stream) = stream.filter(|stream| stream.is_truthy()) else { return };
        let key = triple(step.event, stream);
        let count = self.counts.entry(key).or_default();
        *count += 1;
        if *count == self.budget.saturating_add(1) {
            self.over.push((key, step.event.host().into(), step.event.kind().into()));
        }
    }

    pub(super) fn finish(self, found: &mut Findings) {
        for (key, host, kind) in self.over {
            let count = self.counts.get(&key).copied().unwrap_or_default();
            let budget = self.budget;
            found.set(Invariant::I5, || {
                format!("{count} events of one stream from host {host}, type {kind}; the budget is {budget}")
            });
        }
    }
}

/// Streams meet by their text: `7` and `"7"` are one.
fn triple(event: &dyn EventFields, stream: Raw<'_>) -> Digest {
    let host = event.host().as_bytes();
    let kind = event.kind().as_bytes();
    match (stream.as_str(), stream.text().parse::<f64>()) {
        (Some(text), _) => digest(b't', &[host, kind, text.as_bytes()]),
        (None, Ok(number)) => digest(b't', &[host, kind, ryu_js::Buffer::new().format(number).as_bytes()]),
        (None, Err(_)) => digest(b't', &[host, kind, stream.text().as_bytes()]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Event, EventId, HostId, JsonText, Seq};

    fn key(host: &str, stream: &str) -> Digest {
        let payload = JsonText::parse("{}").unwrap();
        let event = Event::new(
            EventId::new("e").unwrap(),
            HostId::new(host).unwrap(),
            Seq::ZERO,
            "data.updated",
            payload,
        );
        triple(&event, Raw::new(stream))
    }

    #[test]
    fn streams_meet_by_their_text() {
        assert_eq!(key("h", "7"), key("h", r#""7""#));
        assert_eq!(key("h", "7.0"), key("h", r#""\u0037""#));
        assert_eq!(key("h", "1e21"), key("h", r#""1e+21""#));
        assert_eq!(key("h", "true"), key("h", r#""true""#));
        assert_ne!(key("h", r#""a""#), key("i", r#""a""#));
    }
}
