//! Events as lines: for people, or as JSON.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::value::RawValue;

use super::args::Listing;
use super::exit::Failure;
use super::output::{Output, Tone, plain};
use crate::codec::write_event;
use crate::contract::{Error, EventFields, Result, write_number};
use crate::store::Snapshot;

/// Widths of the first columns, which later lines only widen.
const PLACE_WIDTH: usize = 18;
const KIND_WIDTH: usize = 21;
/// Most causes that a line names.
const CAUSES_MAX: usize = 4;

/// What a listing is as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The events themselves, as an export has them.
    Whole,
    /// What people see: without payloads, unless they were asked for.
    Summary,
}

/// Writes events up to the limit; returns how many. `snapshot` says where their causes stand.
///
/// Cost of a line for people: a look-up for each cause that it names.
pub(crate) fn list<E: EventFields>(
    snapshot: &Snapshot,
    events: impl Iterator<Item = Result<E>>,
    listing: Listing,
    form: Form,
    output: &mut Output,
) -> Result<u64, Failure> {
    let limit = listing.limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    let mut lines = Lines::new();
    let mut count = 0;
    for event in events.take(limit) {
        let event = event?;
        match (output.is_json(), form) {
            (true, Form::Whole) => lines.whole(&event, output)?,
            (true, Form::Summary) => summary(&event, listing.payload, output)?,
            (false, _) => lines.line(snapshot, &event, listing.payload, Around::default(), output)?,
        }
        count += 1;
    }
    Ok(count)
}

/// Writes an event as the line that an export has.
pub(crate) fn whole(event: &impl EventFields, output: &mut Output) -> Result<(), Failure> {
    let mut bytes = Vec::new();
    write_event(event, &mut bytes);
    bytes.push(b'\n');
    output.bytes(&bytes)
}

/// An event as people see it. Numbers and payload are the event's own text, so that nothing is rounded.
#[derive(Serialize)]
struct Summary<'a> {
    host: &'a str,
    seq: u64,
    id: String,
    #[serde(rename = "type")]
    kind: &'a str,
    at: Box<RawValue>,
    causes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<&'a RawValue>,
}

fn summary(event: &impl EventFields, payload: bool, output: &mut Output) -> Result<(), Failure> {
    let broken = |_| Error::corrupt("a stored event is not JSON");
    let mut at = Vec::new();
    write_number(event.at(), &mut at);
    let payload = payload.then(|| serde_json::from_str(event.payload())).transpose().map_err(broken)?;
    output.json(&Summary {
        host: event.host(),
        seq: event.seq().get(),
        id: event.id().to_string(),
        kind: event.kind(),
        at: RawValue::from_string(String::from_utf8_lossy(&at).into_owned()).map_err(broken)?,
        causes: (0..event.causes_len()).filter_map(|at| event.cause(at)).map(|id| id.to_string()).collect(),
        payload,
    })
}

/// What stands around a line for people.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Around<'a> {
    /// Before it: a part of a picture.
    pub(crate) before: &'a str,
    /// Behind its causes.
    pub(crate) behind: &'a str,
}

/// Lines for people, aligned as far as that can be done while they stream.
#[derive(Debug)]
pub(crate) struct Lines {
    place: usize,
    kind: usize,
    text: String,
    bytes: Vec<u8>,
}

impl Lines {
    pub(crate) fn new() -> Self {
        Self { place: PLACE_WIDTH, kind: KIND_WIDTH, text: String::new(), bytes: Vec::new() }
    }

    fn whole(&mut self, event: &impl EventFields, output: &mut Output) -> Result<(), Failure> {
        self.bytes.clear();
        write_event(event, &mut self.bytes);
        self.bytes.push(b'\n');
        output.bytes(&self.bytes)
    }

    /// Writes the line of an event.
    pub(crate) fn line(
        &mut self,
        snapshot: &Snapshot,
        event: &impl EventFields,
        payload: bool,
        around: Around<'_>,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let stands = plain(&place(event)).into_owned();
        let kind = plain(event.kind());
        self.place = self.place.max(stands.chars().count());
        self.kind = self.kind.max(kind.chars().count());
        let (place_width, kind_width) = (self.place, self.kind);
        self.text.clear();
        self.text.push_str(around.before);
        // Writing to a string cannot fail.
        let _ = write!(
            self.text,
            "{:place_width$}  {kind:kind_width$}  {}  {}",
            output.tint(Tone::Name, stands),
            output.tint(Tone::Dim, time(event.at())),
            plain(&event.id().to_string()),
        );
        for at in 0..event.causes_len().min(CAUSES_MAX) {
            if let Some(cause) = event.cause(at) {
                self.text.push_str(if at == 0 { " <- " } else { " " });
                let held = snapshot.get(&cause.to_owned())?;
                let name = held.map_or_else(|| cause.to_string(), |held| place(&held));
                self.text.push_str(&plain(&name));
            }
        }
        if event.causes_len() > CAUSES_MAX {
            let _ = write!(self.text, " +{}", event.causes_len() - CAUSES_MAX);
        }
        self.text.push_str(around.behind);
        if payload {
            let _ = write!(self.text, "  {}", plain(event.payload()));
        }
        output.line(&self.text)
    }
}

/// Returns where an event stands, as verbs that take an event read it.
fn place(event: &impl EventFields) -> String {
    format!("{}#{}", event.host(), event.seq())
}

/// Returns the time of an event for people: in UTC, or the bare number where no calendar reaches.
pub(crate) fn time(at_ms: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "saturates, and no calendar reaches that far")]
    let whole = at_ms.floor() as i64;
    match jiff::Timestamp::from_millisecond(whole) {
        Ok(time) => format!("{time:.3}"),
        Err(_) => at_ms.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_in_utc() {
        assert_eq!(time(1_790_000_094_975.0), "2026-09-21T14:14:54.975Z");
        assert_eq!(time(-0.5), "1969-12-31T23:59:59.999Z");
        assert_eq!(time(1e300), "1e300".parse::<f64>().unwrap().to_string());
    }
}
