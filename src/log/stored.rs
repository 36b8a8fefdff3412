//! An event as a reader gets it: a view into the segment that holds it.

use std::fmt;
use std::sync::Arc;

use super::interner::Names;
use super::record::Record;
use crate::codec::ArchivedEventRecord;
use crate::contract::{Event, EventFields, EventId, HostId, IdRef, JsonText, Result, Seq};

/// An event that the store holds. Zero-copy: it points into its segment and keeps it readable.
///
/// Cheap to clone; `Send`, `Sync` and independent of the store's life. Everything it says is read through
/// [`EventFields`].
#[derive(Clone)]
pub struct StoredEvent {
    record: Record,
    names: Arc<Names>,
    arrival: u64,
}

impl StoredEvent {
    /// Wraps a record that was written as the log's event number `arrival`.
    pub(crate) fn new(record: Record, names: Arc<Names>, arrival: u64) -> Self {
        Self { record, names, arrival }
    }

    /// Returns the event's place in arrival order: how many were written to this store before it.
    pub fn arrival(&self) -> u64 {
        self.arrival
    }

    /// Copies the event out. Cost: its size.
    ///
    /// # Errors
    /// When what is stored breaks a limit of the contract, which only damage that also kept every checksum
    /// right can bring about.
    pub fn to_event(&self) -> Result<Event> {
        Ok(Event {
            v: self.v(),
            id: self.id().to_owned(),
            host: HostId::new(self.host())?,
            seq: self.seq(),
            causes: self.causes().map(IdRef::to_owned).collect::<Vec<EventId>>(),
            at: self.at(),
            kind: self.kind().into(),
            payload: JsonText::from_checked(self.payload().to_owned()),
            extra: self.extra().map(|extra| JsonText::from_checked(extra.to_owned())),
        })
    }

    /// Returns the archived record.
    pub(crate) fn record(&self) -> &ArchivedEventRecord<'static> {
        self.record.get()
    }
}

impl EventFields for StoredEvent {
    fn v(&self) -> u32 {
        self.record().v.to_native()
    }
    fn id(&self) -> IdRef<'_> {
        self.record().id.get()
    }
    fn host(&self) -> &str {
        self.names.host(self.record().host.to_native()).unwrap_or_default()
    }
    fn seq(&self) -> Seq {
        self.record().seq()
    }
    fn at(&self) -> f64 {
        self.record().at.to_native()
    }
    fn kind(&self) -> &str {
        self.names.kind(self.record().kind.to_native()).unwrap_or_default()
    }
    fn payload(&self) -> &str {
        &self.record().payload
    }
    fn extra(&self) -> Option<&str> {
        let extra: &str = &self.record().extra;
        (!extra.is_empty()).then_some(extra)
    }
    fn causes_len(&self) -> usize {
        self.record().causes.len()
    }
    fn cause(&self, index: usize) -> Option<IdRef<'_>> {
        self.record().causes.get().get(index).map(|cause| cause.id.get())
    }
}

impl fmt::Debug for StoredEvent {
    /// Prints the identity alone: payloads can hold what users typed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoredEvent({} {}#{})", self.id(), self.host(), self.seq())
    }
}
