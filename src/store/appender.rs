//! One host's writer: it owns `seq` and makes ids, so that an application cannot get them wrong.

use std::fmt;

use super::Store;
use super::batch::{self, BatchMode};
use crate::contract::{Code, Error, ErrorKind, Event, EventId, HostId, JsonText, Result, Seq};

/// An event that an [`Appender`] completes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct NewEvent {
    /// The type, `family.kind`.
    pub kind: Box<str>,
    /// The payload.
    pub payload: JsonText,
    /// Direct causes.
    pub causes: Vec<EventId>,
    /// The time shown to people, in milliseconds since the Unix epoch; `None` for the store's clock.
    pub at: Option<f64>,
    /// Unknown members of the envelope, one object's text.
    pub extra: Option<JsonText>,
}

impl NewEvent {
    /// Creates an event without causes and unknown members, shown at the time it is appended.
    #[must_use]
    pub fn new(kind: &str, payload: JsonText) -> Self {
        Self { kind: kind.into(), payload, causes: Vec::new(), at: None, extra: None }
    }

    /// Adds causes.
    #[must_use]
    pub fn with_causes(mut self, causes: impl IntoIterator<Item = EventId>) -> Self {
        self.causes.extend(causes);
        self
    }

    /// Sets the time shown to people, in milliseconds since the Unix epoch.
    #[must_use]
    pub fn with_at(mut self, at: f64) -> Self {
        self.at = Some(at);
        self
    }

    /// Sets the unknown members of the envelope, one object's text.
    #[must_use]
    pub fn with_extra(mut self, extra: JsonText) -> Self {
        self.extra = Some(extra);
        self
    }
}

/// Appends events of one host. At most one is alive for each host of a store.
///
/// `seq` goes on behind the highest one held, also when events of the host came in another way meanwhile. A refused
/// event uses up its `seq` and its id, as in the other implementations of the contract: gaps are allowed, reuse is
/// not.
///
/// **Causes make the order, `seq` does not.** Two events of one host that are not linked by causes stand where their
/// causes put them; `seq` decides only between events that are ready together. A host whose events rest on one another
/// says so: name the previous event as a cause, or let [`Appender::chained`] do it.
pub struct Appender {
    store: Store,
    host: HostId,
    next: Option<Seq>,
    chained: bool,
}

impl Appender {
    pub(super) fn new(store: Store, host: HostId) -> Result<Self> {
        store.core()?;
        if !store.0.appenders.lock().insert(host.clone()) {
            let message = format!("host {host} has a live appender in this process");
            return Err(Error::new(ErrorKind::Locked, Code::Store, message));
        }
        Ok(Self { store, host, next: Some(Seq::ZERO), chained: false })
    }

    /// Starts at this `seq`, or behind the highest one held where that is higher.
    #[must_use]
    pub fn starting_at(mut self, seq: Seq) -> Self {
        self.next = Some(seq);
        self
    }

    /// Sets whether each event names the host's previous one as a cause, behind its own causes and unless it is among
    /// them. Default: no. The host's events then stand in the order by rising `seq`.
    ///
    /// This is what the appender does; [`Store::declare_host`] is what every writer of the host is held to. For a host that
    /// was declared chained, an appender has to chain, unless each event names the host's last one by itself.
    #[must_use]
    pub fn chained(mut self, chained: bool) -> Self {
        self.chained = chained;
        self
    }

    /// Returns the host.
    pub fn host(&self) -> &HostId {
        &self.host
    }

    /// Returns the `seq` of the next event; `None` when the host has used up all of them.
    pub fn next_seq(&self) -> Option<Seq> {
        // A number that is held is in range.
        let behind = self.last().map_or(Some(Seq::ZERO), |(high, _)| Seq::new(high).ok()?.next());
        Some(self.next?.max(behind?))
    }

    /// Completes and appends an event. Durability and cost are those of [`Store::append`].
    ///
    /// # Errors
    /// As [`Store::append`]; a refusal with `SEQ` when the host has used up every `seq`; what the store's
    /// [`IdFactory`](super::IdFactory) reports.
    pub fn append(&mut self, new: NewEvent) -> Result<Event> {
        let event = self.complete(new, self.previous()?)?;
        self.store.append(&event)?;
        Ok(event)
    }

    /// Completes and appends many events with one sync, or as few as their size allows. All ids and `seq` are made
    /// first. Ends at the first refusal: each outcome is an event that is stored, but the last can be the refusal, and
    /// what came after it was not offered.
    ///
    /// # Errors
    /// As [`Store::append_batch`], and what the store's [`IdFactory`](super::IdFactory) reports, before anything is
    /// stored.
    pub fn append_batch(&mut self, new: impl IntoIterator<Item = NewEvent>) -> Result<Vec<Result<Event>>> {
        let mut events = Vec::new();
        let mut previous = self.previous()?;
        let mut used_up = None;
        for new in new {
            match self.complete(new, previous.take()) {
                Ok(event) => {
                    previous = self.chained.then(|| event.id.clone());
                    events.push(event);
                }
                Err(error) if error.is_refusal() => {
                    used_up = Some(error);
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        let outcomes = batch::append(self.store.core()?, &events, BatchMode::StopAtFirst)?.outcomes;
        let all = outcomes.len() == events.len() && outcomes.iter().all(Result::is_ok);
        let outcomes = events.into_iter().zip(outcomes).map(|(event, outcome)| outcome.map(|_| event));
        Ok(outcomes.chain(used_up.filter(|_| all).map(Err)).collect())
    }

    /// Gives an event its id, `seq` and time.
    fn complete(&mut self, new: NewEvent, previous: Option<EventId>) -> Result<Event> {
        let options = self.store.options();
        let now = options.clock.now_ms();
        let id = options.ids.new_id(now, &*options.random)?;
        let seq = self
            .next_seq()
            .ok_or_else(|| Error::invalid(Code::Seq, format!("host {} has used up every seq", self.host)))?;
        self.next = seq.next();
        let mut event = Event::new(id, self.host.clone(), seq, &new.kind, new.payload)
            .with_causes(new.causes)
            .with_at(new.at.unwrap_or(now));
        event.extra = new.extra;
        event.causes.extend(previous.filter(|previous| !event.causes.contains(previous)));
        Ok(event)
    }

    /// Returns the event that the next one is chained to.
    fn previous(&self) -> Result<Option<EventId>> {
        let last = self.last().filter(|_| self.chained);
        last.map(|(_, id)| EventId::new(&id)).transpose()
    }

    /// Returns the host's highest `seq` and the id there.
    fn last(&self) -> Option<(u64, String)> {
        self.store.core().ok()?.writer.high_of(self.host.as_str())
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
