//! I5: items of a stream do not become durable facts.
//!
//! At most a budget of events of one host, type and stream; the stream is the payload's `streamId`,
//! whatever the type. Kept: a digest of 16 bytes and a count for each such triple.
//!
//! Invariants:
//! - A triple is counted in `counts`, or, once there is no room for another, each of its events is noted in `others`;
//!   never in both.
//! - Triples over the budget are listed by the position at which they passed it.

use std::collections::HashMap;

use crate::contract::{EventFields, Result};
use crate::replay::payload::{Digest, Raw, digest};
use crate::replay::state::{First, In, Out, Pile, Record, Scratch, Wire};

use super::{Bounds, Findings, Invariant, Step};

#[derive(Debug)]
pub(super) struct EphemeralBudget {
    bounds: Bounds,
    budget: u64,
    counts: HashMap<Digest, u64>,
    /// The triples in `counts` over the budget.
    over: First<Over>,
    /// Events of further triples: by digest and position, with host and type.
    others: Pile,
}

/// A triple over the budget.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Over {
    key: Digest,
    host: Box<str>,
    kind: Box<str>,
}

impl EphemeralBudget {
    pub(super) fn new(bounds: Bounds, budget: u64) -> Self {
        let (over, others) = (First::new(bounds.listed_max), Pile::new(bounds.state_max));
        Self { bounds, budget, counts: HashMap::new(), over, others }
    }

    pub(super) fn step(&mut self, step: &Step<'_>, scratch: &Scratch) -> Result<()> {
        let Some(stream) = stream_of(step.payload) else { return Ok(()) };
        let key = triple(step.event, stream);
        let has_room = self.counts.len() < self.bounds.state_max;
        let count = match self.counts.get_mut(&key) {
            Some(count) => count,
            None if has_room => self.counts.entry(key).or_default(),
            None => return self.others.push(scratch, key, step.position, &names(step.event)),
        };
        *count += 1;
        if *count == self.budget.saturating_add(1) {
            let over = || Ok(Over { key, host: step.event.host().into(), kind: step.event.kind().into() });
            self.over.add(step.position, over)?;
        }
        Ok(())
    }

    pub(super) fn finish(self, found: &mut Findings) -> Result<()> {
        let Self { bounds, budget, counts, over, mut others } = self;
        let (over, mut unlisted) = over.finish();
        let mut all = First::new(bounds.listed_max);
        for (position, over) in over {
            let count = counts.get(&over.key).copied().unwrap_or_default();
            all.add(position, || Ok((over, count)))?;
        }
        each_over(&mut others, budget, |position, over, count| all.add(position, || Ok((over, count))))?;
        let (all, beyond) = all.finish();
        unlisted += beyond;
        for (_, (Over { host, kind, .. }, count)) in all {
            found.set(Invariant::I5, || {
                format!("{count} events of one stream from host {host}, type {kind}; the budget is {budget}")
            });
        }
        found.more(Invariant::I5, unlisted);
        Ok(())
    }

    pub(super) fn write(&mut self, out: &mut Out<'_>) -> Result<()> {
        let mut counts: Vec<(Digest, u64)> = self.counts.iter().map(|(key, count)| (*key, *count)).collect();
        counts.sort_unstable();
        counts.write(out)?;
        self.over.write(out)?;
        self.others.write(out)
    }

    pub(super) fn read(bounds: Bounds, budget: u64, scratch: &Scratch, from: &mut In<'_>) -> Result<Self> {
        Ok(Self {
            bounds,
            budget,
            counts: Vec::read(from)?.into_iter().collect(),
            over: First::read(bounds.listed_max, from)?,
            others: Pile::read(bounds.state_max, scratch, from)?,
        })
    }
}

impl Wire for Over {
    fn write(&self, out: &mut Out<'_>) -> Result<()> {
        self.key.write(out)?;
        self.host.write(out)?;
        self.kind.write(out)
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        Ok(Self { key: Wire::read(from)?, host: Wire::read(from)?, kind: Wire::read(from)? })
    }
}

/// Returns what a payload says of its stream. Few payloads hold the name; a search for it is cheaper than reading
/// members. A name can also be spelled with escapes.
fn stream_of(payload: Raw<'_>) -> Option<Raw<'_>> {
    let text = payload.text();
    if !text.contains("streamId") && !text.contains("\\u") {
        return None;
    }
    let [stream] = payload.pick(["streamId"]);
    stream.filter(|stream| stream.is_truthy())
}

/// Host and type of an event as the value of a record. No name of a host holds the byte between them.
fn names(event: &dyn EventFields) -> Vec<u8> {
    [event.host().as_bytes(), event.kind().as_bytes()].join(&SEPARATOR)
}

/// No byte of UTF-8.
const SEPARATOR: u8 = 0xFF;

/// Shows the triples of a pile that are over the budget: where they passed it, and the number of their events.
fn each_over(
    events: &mut Pile,
    budget: u64,
    mut show: impl FnMut(u64, Over, u64) -> Result<()>,
) -> Result<()> {
    let mut events = events.merged()?;
    let (mut count, mut passed) = (0_u64, None);
    let mut next = events.next()?;
    while let Some(Record { key, position, value }) = next {
        count += 1;
        if count == budget.saturating_add(1) {
            passed = Some((position, value));
        }
        next = events.next()?;
        if next.as_ref().is_none_or(|next| next.key != key) {
            if let Some((position, value)) = passed.take() {
                let mut names = value.split(|byte| *byte == SEPARATOR).map(String::from_utf8_lossy);
                let mut name = || names.next().unwrap_or_default().into();
                let (host, kind) = (name(), name());
                show(position, Over { key, host, kind }, count)?;
            }
            count = 0;
        }
    }
    Ok(())
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
