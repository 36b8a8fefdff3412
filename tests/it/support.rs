//! What the integration tests share.

use causelog::{Event, EventId, HostId, JsonText, Options, Seq};

/// Makes a valid event with a payload that tells it apart.
pub fn event(host: &str, seq: u64, causes: &[&Event]) -> Event {
    let id = EventId::new(&format!("{host}-{seq}")).unwrap();
    named(id, host, seq, causes.iter().map(|cause| cause.id.clone()).collect())
}

/// Makes a valid event with this id and these causes.
pub fn named(id: EventId, host: &str, seq: u64, causes: Vec<EventId>) -> Event {
    let payload =
        format!(r#"{{"turnId":"t{seq}","note":"{}"}}"#, "x".repeat(usize::try_from(seq % 40).unwrap()));
    let host = HostId::new(host).unwrap();
    Event::new(id, host, Seq::new(seq).unwrap(), "turn.started", JsonText::parse(&payload).unwrap())
        .with_causes(causes)
        .with_at(1_700_000_000_000.0)
}

/// Options without a thread of the store's own and with small segments.
pub fn small() -> Options {
    Options::new().background(false).segment_bytes_max(64 << 10)
}
