//! Taking an event in: is it new, may it come, what do its causes resolve to; then its frame is staged.
//!
//! Invariants:
//! - All of it happens under one lock, so two events never both pass a check that only one may.
//! - A refused event changes nothing.
//! - Checks run in the contract's order: id, then seq, then cycle. (The event itself was validated before.)
//! - What was staged and not written can be undone, newest first, and then leaves no trace.
//! - The arrangement covers exactly the events that are staged or stored, or says that it does not.

use std::sync::Arc;

use super::active::ActiveSegment;
use super::arrangement::{Arrangement, Arrival, Refusal};
use super::interner::Names;
use super::keeping::Before;
use super::late::cycle;
use super::notify::Notifier;
use super::parts::Found;
use super::ranks::HostRanks;
use super::recent::{Place, Recent};
use super::standing::Standing;
use super::stored::StoredEvent;
use super::view::View;
use crate::codec::{
    ActiveEntry, CauseRecord, Control, ControlState, EventRecord, Fingerprint, Frame, FrameKind,
    RecordBuffer, UNRESOLVED, encode_control,
};
use crate::contract::{Code, Error, ErrorKind, EventFields, IdRef, Result, limits, same};
use crate::order::index::{Cause, EventKey};

/// What the writer needs to know.
#[derive(Clone, Debug)]
pub struct WriterOptions {
    /// The segment is rolled before it grows past this.
    pub segment_bytes_max: u64,
    /// The segment is rolled before it holds more events than this.
    pub segment_events_max: usize,
    /// Each append waits for a sync.
    pub sync_each: bool,
    /// What has to be durable before events are.
    pub before_sync: Option<BeforeSync>,
    /// Told after each sync that more events are durable.
    pub on_synced: Notifier,
}

/// Is called before each sync of the log, so that what events name is durable before they are.
#[derive(Clone)]
pub struct BeforeSync(Arc<dyn Fn() -> Result<()> + Send + Sync>);

impl BeforeSync {
    /// Wraps what is to be called.
    pub fn new(call: impl Fn() -> Result<()> + Send + Sync + 'static) -> Self {
        Self(Arc::new(call))
    }

    pub(super) fn call(&self) -> Result<()> {
        (self.0)()
    }
}

impl std::fmt::Debug for BeforeSync {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BeforeSync")
    }
}

/// What became of an event that was offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is staged; it is stored when this ticket is acknowledged.
    Staged(u64),
    /// The same event is held; it is acknowledged when this ticket is.
    Duplicate(u64),
    /// The active segment is full: roll, then offer the event again.
    Full,
}

/// The writer's state.
pub struct Staging {
    /// Everything the log says about itself, staged frames included.
    pub state: ControlState,
    /// The active segment.
    pub segment: Arc<ActiveSegment>,
    /// Declarations, evicted and pinned ranges, staged ones included.
    pub(super) standing: Arc<Standing>,
    /// Tickets given out: events, and records of what is kept, staged since the log was opened.
    pub tickets: u64,
    /// The next segment may exist already: the active one is full, whatever its size.
    pub rolling: bool,
    secret: [u8; 16],
    names: Arc<Names>,
    recent: Recent,
    order: Order,
    ranks: HostRanks,
    records: RecordBuffer,
    undo: Vec<Undo>,
    /// Tickets in `undo`.
    unsettled: u64,
}

/// The order of what is staged.
enum Order {
    /// It is kept, event by event.
    Kept(Arrangement),
    /// It could not be: why.
    Lost(Arrangement, String),
}

/// A cause as an event names it, and where it stands if it is held.
type Named<'e> = (IdRef<'e>, Option<Place>);

pub(super) enum Undo {
    Event { host: u32, high: Option<u64>, last_id: String },
    Host,
    Kind,
    LateCauses,
    Kept(Box<Before>),
}

impl Undo {
    /// Reports whether it has a ticket of its own.
    const fn has_ticket(&self) -> bool {
        matches!(self, Self::Event { .. } | Self::Kept(_))
    }
}

impl Staging {
    /// Starts from a log's state, with the order of all its events.
    pub fn new(
        state: ControlState,
        names: Arc<Names>,
        segment: Arc<ActiveSegment>,
        order: Arrangement,
    ) -> Self {
        Self {
            order: Order::Kept(order),
            ranks: HostRanks::of(&names),
            secret: segment.header().secret,
            standing: Arc::new(Standing::of(&state)),
            state,
            segment,
            tickets: 0,
            rolling: false,
            names,
            recent: Recent::default(),
            records: RecordBuffer::default(),
            undo: Vec::new(),
            unsettled: 0,
        }
    }

    /// Returns the names, those of staged events included.
    pub fn names(&self) -> &Arc<Names> {
        &self.names
    }

    /// Takes an event in. `view` sees all events, staged ones included.
    ///
    /// # Errors
    /// `Equivocation` when the id or `(host, seq)` is held with other content; `SEQ` when `seq` does not rise;
    /// `CYCLE`; `LIMIT`; system calls and damage met on the way.
    pub fn offer(
        &mut self,
        event: &impl EventFields,
        view: &View,
        options: &WriterOptions,
    ) -> Result<Outcome> {
        let id = event.id();
        if let Some(held) = view.find(id)? {
            return self.compare(event, held);
        }
        self.check_seq(event, view)?;
        self.check_promise(event)?;
        let causes = self.resolve(event, view)?;
        let known_host = self.names.host_number(event.host());
        let known_kind = self.names.kind_number(event.kind());
        self.check_limits(known_host, known_kind)?;

        let host = known_host.unwrap_or_else(|| u32::try_from(self.state.hosts.len()).unwrap_or(UNRESOLVED));
        let kind = known_kind.unwrap_or_else(|| u32::try_from(self.state.types.len()).unwrap_or(UNRESOLVED));
        let key = EventKey { host, seq: event.seq().get() };
        let mut records = std::mem::take(&mut self.records);
        let staged = self.arrange(event, (key, kind), &causes, view, &mut records, options);
        self.records = records;
        staged
    }

    /// Stages an event and gives it its place in the order. Of one that closes a cycle nothing is staged.
    fn arrange(
        &mut self,
        event: &impl EventFields,
        (key, kind): (EventKey, u32),
        causes: &[Named<'_>],
        view: &View,
        records: &mut RecordBuffer,
        options: &WriterOptions,
    ) -> Result<Outcome> {
        let id = event.id();
        if causes.iter().any(|(cause, _)| *cause == id) {
            return Err(cycle(id, key, &[key], view));
        }
        let chained = self.state.hosts.get(key.host as usize).is_some_and(|host| host.chained);
        let arrival = Arrival { key, id, arrival: self.state.arrivals, chained };
        let named: Vec<Cause> = causes
            .iter()
            .map(|(cause, place)| Cause {
                fingerprint: view.fingerprint(*cause).0,
                at: place.map(|place| EventKey { host: place.host, seq: place.seq }),
            })
            .collect();
        let order = match &mut self.order {
            Order::Kept(order) => order,
            Order::Lost(_, why) if self.state.late_causes || !view.namers(id)?.is_empty() => {
                let what = format!("the order of the events could not be kept, open the store again: {why}");
                return Err(Error::corrupt(what));
            }
            Order::Lost(..) => return self.stage(event, (key.host, kind), causes, false, records, options),
        };
        let namers = order.namers(id, view)?;
        if namers.is_empty() {
            // Nothing waits for it, so it closes no cycle, whatever it names.
            let outcome = self.stage(event, (key.host, kind), causes, false, records, options)?;
            if let (Outcome::Staged(_), Order::Kept(order)) = (outcome, &mut self.order)
                && let Err(Refusal::Failed(error)) = order.add(&arrival, &named, &[], view, &self.ranks)
            {
                tracing::warn!(%error, "the order of the events is not kept any more");
                self.lose_order(error.message());
            }
            return Ok(outcome);
        }
        let before = order.clone();
        let is_new = self.ranks.admit(event.host(), key.host);
        let placed = match order.add(&arrival, &named, &namers, view, &self.ranks) {
            Ok(()) => self.stage(event, (key.host, kind), causes, true, records, options),
            Err(Refusal::Cycle(path)) => Err(cycle(id, key, &path, view)),
            Err(Refusal::Failed(error)) => Err(error),
        };
        if !matches!(placed, Ok(Outcome::Staged(_))) {
            self.order = Order::Kept(before);
            if is_new {
                self.ranks.retract(event.host());
            }
        }
        placed
    }

    /// Keeps the order no longer.
    pub fn lose_order(&mut self, why: &str) {
        self.order = Order::Lost(self.order_as_it_is().clone(), why.to_owned());
    }

    /// Returns the order as far as it was kept.
    pub fn order_as_it_is(&self) -> &Arrangement {
        let (Order::Kept(order) | Order::Lost(order, _)) = &self.order;
        order
    }

    /// Returns the order of all that is staged, or why it is not kept.
    ///
    /// # Errors
    /// `Corrupt`.
    pub fn order(&self) -> Result<&Arrangement> {
        match &self.order {
            Order::Kept(order) => Ok(order),
            Order::Lost(_, why) => {
                Err(Error::corrupt(format!("the order of the events could not be kept: {why}")))
            }
        }
    }

    /// Changes the order where what it says stays the same, or where events are dropped.
    ///
    /// # Errors
    /// `Corrupt` where it is not kept; those of `change`, and it is then as it was.
    pub fn change_order(
        &mut self,
        change: impl FnOnce(&mut Arrangement, &HostRanks) -> Result<()>,
    ) -> Result<()> {
        let mut changed = self.order()?.clone();
        change(&mut changed, &self.ranks)?;
        self.order = Order::Kept(changed);
        Ok(())
    }

    fn stage(
        &mut self,
        event: &impl EventFields,
        (host, kind): (u32, u32),
        causes: &[Named<'_>],
        late: bool,
        records: &mut RecordBuffer,
        options: &WriterOptions,
    ) -> Result<Outcome> {
        let id = event.id();
        let cause_records: Vec<CauseRecord<'_>> = causes
            .iter()
            .map(|(cause, place)| CauseRecord {
                id: (*cause).into(),
                host: place.map_or(UNRESOLVED, |place| place.host),
                seq: place.map_or(0, |place| place.seq),
            })
            .collect();
        let record = EventRecord {
            seq: event.seq().get(),
            at: event.at(),
            id: id.into(),
            host,
            kind,
            v: event.v(),
            causes: &cause_records,
            payload: event.payload(),
            extra: event.extra().unwrap_or_default(),
        };
        let body = records.archive(&record).map_err(|e| Error::invalid(Code::Limit, e))?;
        let segment = Arc::clone(&self.segment);
        let events = segment.index().read().len();
        let end = segment.staged_end() + Frame::bytes_for(body.len()) as u64;
        let full = end > options.segment_bytes_max || events >= options.segment_events_max;
        if events > 0 && (self.rolling || full) {
            return Ok(Outcome::Full);
        }
        self.define(event, host, kind, late)?;
        let ordinal = u32::try_from(events).map_err(|e| Error::invalid(Code::Limit, e.to_string()))?;
        let (offset, bytes) = segment.stage(FrameKind::Event, ordinal, body)?;
        let secret = &self.secret;
        let dangling =
            causes.iter().filter(|(_, place)| place.is_none()).map(|(id, _)| Fingerprint::of(secret, *id));
        let entry =
            ActiveEntry { offset, bytes, host, kind, seq: record.seq, id: Fingerprint::of(&self.secret, id) };
        segment.index().write().push(entry, dangling);
        self.count(id, host, record.seq)?;
        self.tickets += 1;
        Ok(Outcome::Staged(self.tickets))
    }

    /// Stages the control records that the event's frame needs before it.
    fn define(&mut self, event: &impl EventFields, host: u32, kind: u32, late: bool) -> Result<()> {
        if host as usize >= self.state.hosts.len() {
            self.name_host(event.host())?;
        }
        if kind as usize >= self.state.types.len() {
            self.control(&Control::TypeDefined { name: event.kind().to_owned() })?;
            Arc::make_mut(&mut self.names).push_kind(event.kind());
            self.undo.push(Undo::Kind);
        }
        if late && !self.state.late_causes {
            self.control(&Control::LateCauses)?;
            self.undo.push(Undo::LateCauses);
        }
        Ok(())
    }

    fn name_host(&mut self, name: &str) -> Result<()> {
        self.control(&Control::HostDefined { name: name.to_owned() })?;
        if let Some(number) = Arc::make_mut(&mut self.names).push_host(name) {
            self.ranks.admit(name, number);
        }
        self.undo.push(Undo::Host);
        Ok(())
    }

    /// Returns a host's number, which it gets now if it has none.
    ///
    /// # Errors
    /// `LIMIT`.
    pub(super) fn define_host(&mut self, name: &str) -> Result<u32> {
        if let Some(number) = self.names.host_number(name) {
            return Ok(number);
        }
        self.check_limits(None, Some(0))?;
        let number = u32::try_from(self.state.hosts.len()).unwrap_or(UNRESOLVED);
        self.name_host(name)?;
        Ok(number)
    }

    /// Notes how to take back what is staged next, which gets a ticket.
    pub(super) fn note_keeping(&mut self, undo: Undo) {
        self.undo.push(undo);
        self.unsettled += 1;
        self.tickets += 1;
    }

    /// Stages a control record and applies it.
    ///
    /// # Errors
    /// When it names a host that is not defined.
    pub fn control(&mut self, control: &Control) -> Result<()> {
        let body = encode_control(control).map_err(Error::corrupt)?;
        self.segment.stage(FrameKind::Control, 0, &body)?;
        self.state.apply(control).map_err(Error::corrupt)
    }

    fn count(&mut self, id: IdRef<'_>, host: u32, seq: u64) -> Result<()> {
        let arrival = self.state.arrivals;
        let before = self
            .state
            .hosts
            .get_mut(host as usize)
            .map(|state| (state.high, std::mem::take(&mut state.last_id)));
        let (high, last_id) = before.unwrap_or_default();
        self.undo.push(Undo::Event { host, high, last_id });
        self.unsettled += 1;
        id.with_str(|id| self.state.count_event(host, seq, id)).map_err(Error::corrupt)?;
        self.recent.insert(id, Place { host, seq, arrival });
        Ok(())
    }

    /// Forgets the events that arrived before `oldest`: they were dropped.
    pub fn forget(&mut self, oldest: u64) {
        self.recent.forget(oldest);
    }

    /// Forgets how to undo what is written now.
    pub fn settle(&mut self, tickets_left: u64) {
        self.unsettled = tickets_left;
        if tickets_left == 0 {
            self.undo.clear();
            return;
        }
        // What was staged while the group was written is still to be kept: cut behind the settled ones.
        let mut left = tickets_left;
        let keep = self.undo.iter().rposition(|undo| {
            left -= u64::from(undo.has_ticket());
            left == 0
        });
        // The definitions directly before the first ticket that is left belong to it.
        let mut from = keep.unwrap_or(0);
        while from > 0 && self.undo.get(from - 1).is_some_and(|undo| !undo.has_ticket()) {
            from -= 1;
        }
        self.undo.drain(..from);
    }

    /// Undoes everything that is not settled; `settled` is the order of what is.
    pub fn undo(&mut self, settled: &Arrangement) {
        let mut renamed = false;
        while let Some(undo) = self.undo.pop() {
            match undo {
                Undo::Event { host, high, last_id } => {
                    if let Some(state) = self.state.hosts.get_mut(host as usize) {
                        state.high = high;
                        state.last_id = last_id;
                        state.events = state.events.saturating_sub(1);
                    }
                    self.state.arrivals = self.state.arrivals.saturating_sub(1);
                }
                Undo::Host => {
                    self.state.hosts.pop();
                    renamed = true;
                }
                Undo::Kind => {
                    self.state.types.pop();
                    renamed = true;
                }
                Undo::LateCauses => self.state.late_causes = false,
                Undo::Kept(before) => self.take_back(*before),
            }
        }
        self.unsettled = 0;
        if renamed {
            self.names = Arc::new(Names::of(&self.state));
            self.ranks = HostRanks::of(&self.names);
        }
        self.recent.clear();
        if matches!(self.order, Order::Kept(_)) {
            self.order = Order::Kept(settled.clone());
        }
    }

    fn compare(&self, event: &impl EventFields, held: Found) -> Result<Outcome> {
        let held = StoredEvent::new(held.record, Arc::clone(&self.names), held.arrival);
        if same(&held, event)? {
            // Behind the settled events lie those that are still being written: wait for all of them.
            let settled = self.state.arrivals.saturating_sub(self.unsettled);
            return Ok(Outcome::Duplicate(if held.arrival() < settled { 0 } else { self.tickets }));
        }
        let message = format!(
            "event {} is held with other content, as {}#{}; {}#{} was offered",
            held.id(),
            held.host(),
            held.seq(),
            event.host(),
            event.seq()
        );
        Err(Error::new(ErrorKind::Equivocation, Code::Id, message))
    }

    fn check_seq(&self, event: &impl EventFields, view: &View) -> Result<()> {
        let Some(host) = self.names.host_number(event.host()) else { return Ok(()) };
        let high = self.state.hosts.get(host as usize).and_then(|state| state.high);
        let (Some(high), seq) = (high, event.seq().get()) else { return Ok(()) };
        if seq > high {
            return Ok(());
        }
        let (id, name) = (event.id(), event.host());
        Err(match view.at(host, seq)? {
            Some(held) => {
                let held = held.record.get().id.get().to_owned();
                let message = format!("{name}#{seq} is held as event {held}; event {id} was offered for it");
                Error::new(ErrorKind::Equivocation, Code::Seq, message)
            }
            None => match self.standing.evicted_around(host, seq) {
                Some((first, last)) => {
                    let message =
                        format!("event {id} is {name}#{seq}, and {name}#{first} to #{last} were evicted");
                    Error::new(ErrorKind::Evicted, Code::Seq, message)
                }
                None => {
                    let message = format!("event {id} has seq {seq}, but host {name} is at {high} already");
                    Error::invalid(Code::Seq, message)
                }
            },
        })
    }

    fn resolve<'e>(&self, event: &'e impl EventFields, view: &View) -> Result<Vec<Named<'e>>> {
        event
            .causes()
            .map(|cause| {
                if let Some(place) = self.recent.get(cause) {
                    return Ok((cause, Some(place)));
                }
                let found = view.find(cause)?;
                Ok((cause, found.map(|found| found.place())))
            })
            .collect()
    }

    fn check_limits(&self, host: Option<u32>, kind: Option<u32>) -> Result<()> {
        let full = |what: &str, most: usize| {
            Err(Error::invalid(Code::Limit, format!("a store holds at most {most} {what}")))
        };
        if host.is_none() && self.state.hosts.len() >= limits::HOSTS_MAX {
            return full("hosts", limits::HOSTS_MAX);
        }
        if kind.is_none() && self.state.types.len() >= limits::TYPES_MAX {
            return full("event types", limits::TYPES_MAX);
        }
        Ok(())
    }
}

impl std::fmt::Debug for Staging {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Staging({} tickets, segment {})", self.tickets, self.segment.number())
    }
}
