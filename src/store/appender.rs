//! One host's writer: it owns `seq` and makes ids, so that an application cannot get them wrong.

use std::fmt;

use super::Store;
use crate::contract::{Code, Error, ErrorKind, Event, EventId, HostId, JsonText, Result, Seq};

/// An event that an [`Appender`] completes.
#[derive(Clone, Debug, PartialEq)]
pub struct NewEvent {
    /// The type, `family.kind`.
    pub kind: Box<str>,
    /// The payload.
    pub payload: JsonText,
    /// Direct causes.
    pub causes: Vec<EventId>,
}

impl NewEvent {
    /// Creates an event without causes.
    #[must_use]
    pub fn new(kind: &str, payload: JsonText) -> Self {
        Self { kind: kind.into(), payload, causes: Vec::new() }
    }

    /// Adds causes.
    #[must_use]
    pub fn with_causes(mut self, causes: impl IntoIterator<Item = EventId>) -> Self {
        self.causes.extend(causes);
        self
    }
}

/// Appends events of one host. At most one is alive for each host of a store.
///
/// `seq` goes on behind the highest one held. A refused event uses up its `seq` and its id, as in the other
/// implementations of the contract: gaps are allowed, reuse is not.
pub struct Appender {
    store: Store,
    host: HostId,
    next: Option<Seq>,
}

impl Appender {
    pub(super) fn new(store: Store, host: HostId) -> Result<Self> {
        store.core()?;
        if !store.0.appenders.lock().insert(host.clone()) {
            let message = format!("host {host} has a live appender in this process");
            return Err(Error::new(ErrorKind::Locked, Code::Store, message));
        }
        // From here on dropping gives the host back.
        let mut appender = Self { store, host, next: Some(Seq::ZERO) };
        let high = appender.store.core()?.writer.high_of(appender.host.as_str());
        if let Some(high) = high {
            appender.next = Seq::new(high)?.next();
        }
        Ok(appender)
    }

    /// Starts at another `seq` than the one behind the highest held.
    #[must_use]
    pub fn starting_at(mut self, seq: Seq) -> Self {
        self.next = Some(seq);
        self
    }

    /// Returns the host.
    pub fn host(&self) -> &HostId {
        &self.host
    }

    /// Returns the `seq` of the next event; `None` when the host has used up all of them.
    pub fn next_seq(&self) -> Option<Seq> {
        self.next
    }

    /// Completes and appends an event. Durability, cost and errors are those of [`Store::append`].
    ///
    /// # Errors
    /// As [`Store::append`]; `SEQ` when the host has used up every `seq`.
    pub fn append(&mut self, new: NewEvent) -> Result<Event> {
        let options = self.store.options();
        let at = options.clock.now_ms();
        let id = options.ids.new_id(at, &*options.random)?;
        let seq = self
            .next
            .ok_or_else(|| Error::invalid(Code::Seq, format!("host {} has used up every seq", self.host)))?;
        self.next = seq.next();
        let event = Event::new(id, self.host.clone(), seq, &new.kind, new.payload)
            .with_causes(new.causes)
            .with_at(at);
        self.store.append(&event)?;
        Ok(event)
    }
}

impl Drop for Appender {
    fn drop(&mut self) {
        self.store.0.appenders.lock().remove(&self.host);
    }
}

impl fmt::Debug for Appender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Appender({}, next {:?})", self.host, self.next)
    }
}
