//! What an event is.

use super::id::{EventId, HostId, IdRef, Seq};
use super::json::JsonText;

/// The version of the envelope that this crate writes.
pub const VERSION: u32 = 1;

/// An event, owned. Reading a store gives zero-copy views instead; both answer [`EventFields`].
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Version of the envelope.
    pub v: u32,
    /// Unique identifier.
    pub id: EventId,
    /// The writer.
    pub host: HostId,
    /// Ordinal within the host.
    pub seq: Seq,
    /// Direct causes, in the order they were given.
    pub causes: Vec<EventId>,
    /// Milliseconds since the Unix epoch, shown to people; orders nothing. Finite.
    pub at: f64,
    /// The event's type, `family.kind`.
    pub kind: Box<str>,
    /// The payload's text as it came, without white space between tokens.
    pub payload: JsonText,
    /// Unknown members of the envelope as one object's text, or `None` when there are none.
    pub extra: Option<JsonText>,
}

impl Event {
    /// Creates an event without causes and unknown members, shown at time 0.
    ///
    /// Nothing is checked here; an append checks everything.
    #[must_use]
    pub fn new(id: EventId, host: HostId, seq: Seq, kind: &str, payload: JsonText) -> Self {
        let kind = kind.into();
        Self { v: VERSION, id, host, seq, causes: Vec::new(), at: 0.0, kind, payload, extra: None }
    }

    /// Sets the direct causes.
    #[must_use]
    pub fn with_causes(mut self, causes: impl IntoIterator<Item = EventId>) -> Self {
        self.causes = causes.into_iter().collect();
        self
    }

    /// Sets the time shown to people, in milliseconds since the Unix epoch.
    #[must_use]
    pub fn with_at(mut self, at: f64) -> Self {
        self.at = at;
        self
    }

    /// Sets the unknown members of the envelope, one object's text.
    #[must_use]
    pub fn with_extra(mut self, extra: JsonText) -> Self {
        self.extra = Some(extra);
        self
    }
}

/// What every form of an event answers: owned, in a segment, or in a file.
pub trait EventFields {
    /// Returns the version of the envelope.
    fn v(&self) -> u32;
    /// Returns the identifier.
    fn id(&self) -> IdRef<'_>;
    /// Returns the writer's name.
    fn host(&self) -> &str;
    /// Returns the ordinal within the host.
    fn seq(&self) -> Seq;
    /// Returns the time shown to people, in milliseconds since the Unix epoch.
    fn at(&self) -> f64;
    /// Returns the type.
    fn kind(&self) -> &str;
    /// Returns the payload's compact JSON text.
    fn payload(&self) -> &str;
    /// Returns the unknown members of the envelope as one object's compact JSON text.
    fn extra(&self) -> Option<&str>;
    /// Returns the number of causes.
    fn causes_len(&self) -> usize;
    /// Returns the cause at `index`, or `None` past the end.
    fn cause(&self, index: usize) -> Option<IdRef<'_>>;

    /// Iterates over the causes in the order they were given.
    fn causes(&self) -> impl Iterator<Item = IdRef<'_>>
    where
        Self: Sized,
    {
        (0..self.causes_len()).filter_map(|index| self.cause(index))
    }
}

impl EventFields for Event {
    fn v(&self) -> u32 {
        self.v
    }
    fn id(&self) -> IdRef<'_> {
        self.id.as_ref()
    }
    fn host(&self) -> &str {
        self.host.as_str()
    }
    fn seq(&self) -> Seq {
        self.seq
    }
    fn at(&self) -> f64 {
        self.at
    }
    fn kind(&self) -> &str {
        &self.kind
    }
    fn payload(&self) -> &str {
        self.payload.as_str()
    }
    fn extra(&self) -> Option<&str> {
        self.extra.as_ref().map(JsonText::as_str)
    }
    fn causes_len(&self) -> usize {
        self.causes.len()
    }
    fn cause(&self, index: usize) -> Option<IdRef<'_>> {
        self.causes.get(index).map(EventId::as_ref)
    }
}
