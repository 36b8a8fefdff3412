//! The order of the log's events, kept as an index that follows the log by arrival.
//!
//! Invariants:
//! - An arrangement covers the events that arrived before [`arrivals`](Arrangement::arrivals), each of them that is held,
//!   and no other. It is what a computation from the log alone would give, so it can be thrown away at any time.
//! - Causes are told by place where the record has one, else by id; whether a place is held the index knows itself.
//! - A clone shares all nodes: it is how a snapshot keeps its order while the log goes on.

use std::any::Any;
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::parts::Found;
use super::ranks::HostRanks;
use super::view::View;
use crate::contract::{Code, Error, ErrorKind, IdRef, Result};
use crate::order::index::{Cause, EventKey, Facts, NewEvent, OrderIndex, Placing};
use crate::order::tree::{NodeAt, Shape, Shelf, Source};

/// Events that are read at once while an arrangement catches up.
const FETCH: usize = 256;

/// Names the history of an index: one that was made anew has another one.
pub type Incarnation = [u8; 16];

/// The order of all events that arrived before some point of the log.
#[derive(Clone)]
pub struct Arrangement {
    index: OrderIndex,
    shelf: Arc<Shelf>,
    incarnation: Incarnation,
    /// Keeps the files readable that stored nodes lie in.
    files: Option<Arc<dyn Any + Send + Sync>>,
}

impl fmt::Debug for Arrangement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Arrangement({} events)", self.index.len())
    }
}

/// What an event is refused for.
#[derive(Debug)]
pub enum Refusal {
    /// It would close a cycle: each is a cause of the next, the last is the event itself.
    Cycle(Vec<EventKey>),
    /// The index could not be read.
    Failed(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl Arrangement {
    /// Starts with an index whose stored nodes lie in `files`.
    pub fn new(
        index: OrderIndex,
        shelf: Arc<Shelf>,
        incarnation: Incarnation,
        files: Option<Arc<dyn Any + Send + Sync>>,
    ) -> Self {
        Self { index, shelf, incarnation, files }
    }

    /// Creates the order of nothing, with no files behind it.
    pub fn in_memory() -> Self {
        let shelf = Arc::new(Shelf::new(Arc::new(Nothing), 0, Shape::default()));
        Self::new(OrderIndex::default(), shelf, [0; 16], None)
    }

    /// Returns the index.
    pub fn index(&self) -> &OrderIndex {
        &self.index
    }

    /// Returns where its nodes come from.
    pub fn shelf(&self) -> &Shelf {
        &self.shelf
    }

    /// Returns the name of the index's history.
    pub fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    /// Returns how much of the log is covered: the arrival of the next event.
    pub fn arrivals(&self) -> u64 {
        self.index.arrivals()
    }

    /// Stores what is not stored yet, or all of it anew, and keeps the files it lies in readable.
    ///
    /// # Errors
    /// Those of `store`; the arrangement is then as it was.
    pub fn store(
        &mut self,
        store: impl FnOnce(&mut OrderIndex, &Shelf) -> Result<Arc<dyn Any + Send + Sync>>,
    ) -> Result<()> {
        let mut index = self.index.clone();
        self.files = Some(store(&mut index, &self.shelf)?);
        self.index = index;
        Ok(())
    }

    /// Returns the held events that name an id which was not held so far. Cost: a search; a read of each record.
    ///
    /// # Errors
    /// System calls; damage.
    pub fn namers(&self, id: IdRef<'_>, view: &View) -> Result<Vec<EventKey>> {
        let fingerprint = view.fingerprint(id).0;
        let (mut namers, mut after) = (Vec::new(), None);
        while let Some(key) = self.index.next_namer(&self.shelf, fingerprint, after)? {
            let found = view.at(key.host, key.seq)?.ok_or_else(|| gone(key))?;
            if found.record.get().causes.iter().any(|cause| cause.id.get() == id) {
                namers.push(key);
            }
            after = Some(key);
        }
        Ok(namers)
    }

    /// Places the event that arrives next. `view` holds all events before it, and may hold it.
    ///
    /// # Errors
    /// A cycle; system calls and damage. Nothing is changed then.
    pub fn add(
        &mut self,
        event: &Arrival<'_>,
        causes: &[Cause],
        namers: &[EventKey],
        view: &View,
        ranks: &HostRanks,
    ) -> Result<(), Refusal> {
        let mut facts = ViewFacts { view, own: Some((event.id, event.key)) };
        let fingerprint = view.fingerprint(event.id).0;
        let follows = event.chained && self.names_last(event.key.host, causes)?;
        let new = NewEvent { key: event.key, fingerprint, causes, namers, follows };
        match self.index.add(&self.shelf, ranks.get(), &new, &mut facts)? {
            Placing::Placed => {
                self.index.set_arrivals(event.arrival + 1);
                Ok(())
            }
            Placing::Cycle(path) => Err(Refusal::Cycle(path)),
        }
    }

    /// Takes out the events of ranges, of which `view` still holds all, and returns how many they were.
    ///
    /// # Errors
    /// System calls and damage. Nothing is changed then.
    pub fn evict(
        &mut self,
        ranges: &[(u32, RangeInclusive<u64>)],
        view: &View,
        ranks: &HostRanks,
    ) -> Result<u64> {
        let mut index = self.index.clone();
        let mut facts = ViewFacts { view, own: None };
        let evicted = index.evict(&self.shelf, ranks.get(), ranges, &mut facts)?;
        self.index = index;
        Ok(evicted)
    }

    /// Reports whether the host's newest held event is among causes.
    fn names_last(&self, host: u32, causes: &[Cause]) -> Result<bool> {
        let last = self.index.last_of(&self.shelf, host)?;
        Ok(last.is_some_and(|seq| causes.iter().any(|cause| cause.at == Some(EventKey { host, seq }))))
    }

    /// Places the events of a view that arrived since, one by one; `rest` is called now and then, and may store what is
    /// placed by then. Cost: that of reading and placing them.
    ///
    /// # Errors
    /// Those of `rest`; `CYCLE` where the log's causes form one, which only damage brings about; system calls and damage.
    pub fn follow(
        &mut self,
        view: &View,
        ranks: &mut HostRanks,
        chained: &dyn Fn(u32) -> bool,
        rest: &mut dyn FnMut(&mut Self) -> Result<()>,
    ) -> Result<()> {
        ranks.know(view.names());
        let mut causes = Vec::new();
        loop {
            let run = view.arrivals_from(self.arrivals(), FETCH)?;
            if run.events.is_empty() {
                self.index.set_arrivals(view.arrivals_end().max(self.arrivals()));
                return Ok(());
            }
            for found in run.events {
                let record = found.record.get();
                let key = found.key();
                causes.clear();
                ViewFacts { view, own: None }.causes_in(&found, &mut causes)?;
                let id = record.id.get();
                let namers = self.namers(id, view)?;
                let arrival = Arrival { key, id, arrival: found.arrival, chained: chained(key.host) };
                match self.add(&arrival, &causes, &namers, view, ranks) {
                    Ok(()) => {}
                    Err(Refusal::Failed(error)) => return Err(error),
                    Err(Refusal::Cycle(_)) => {
                        let what = format!("the log's causes form a cycle through event {id}");
                        return Err(Error::new(ErrorKind::Corrupt, Code::Cycle, what));
                    }
                }
            }
            rest(self)?;
        }
    }
}

/// Has no stored nodes.
struct Nothing;

impl Source for Nothing {
    fn read(&self, _: NodeAt) -> Result<Vec<u8>> {
        Err(Error::corrupt("an order in memory has no stored nodes"))
    }
}

/// An event that arrives.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// Its host and `seq`.
    pub key: EventKey,
    /// Its id.
    pub id: IdRef<'a>,
    /// Its arrival.
    pub arrival: u64,
    /// Whether its host names its previous event in each, so that one that does leaves no gap.
    pub chained: bool,
}

fn gone(key: EventKey) -> Error {
    Error::corrupt(format!("seq {} of host number {} is in the order and not in the log", key.seq, key.host))
}

/// The log as the index asks it.
pub struct ViewFacts<'a> {
    /// Holds every event of the index.
    pub view: &'a View,
    /// An event that is being placed: the view need not hold it yet.
    pub own: Option<(IdRef<'a>, EventKey)>,
}

impl ViewFacts<'_> {
    fn causes_in(&self, found: &Found, out: &mut Vec<Cause>) -> Result<()> {
        for cause in found.record.get().causes.iter() {
            let id = cause.id.get();
            let at = match (cause.resolved(), self.own) {
                (Some((host, seq)), _) => Some(EventKey { host, seq: seq.get() }),
                (None, Some((own, key))) if own == id => Some(key),
                (None, _) => self.view.find(id)?.map(|found| found.key()),
            };
            out.push(Cause { fingerprint: self.view.fingerprint(id).0, at });
        }
        Ok(())
    }
}

impl Facts for ViewFacts<'_> {
    fn causes(&mut self, of: EventKey, out: &mut Vec<Cause>) -> Result<()> {
        let found = self.view.at(of.host, of.seq)?.ok_or_else(|| gone(of))?;
        self.causes_in(&found, out)
    }

    fn fingerprint(&mut self, of: EventKey) -> Result<u64> {
        let found = self.view.at(of.host, of.seq)?.ok_or_else(|| gone(of))?;
        Ok(self.view.fingerprint(found.record.get().id.get()).0)
    }
}
