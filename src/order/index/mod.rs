//! The order as an index that grows by one event at a time, in memory bounded by a cache.
//!
//! Everything lies in a few persistent trees ([`tree`](super::tree)): a clone of an [`OrderIndex`] is a snapshot, takes a
//! few pointers, and stays what it is. Placing follows from what the order is: an event stands directly before the first
//! one behind its last held cause whose key is greater ([`Proof`](super::Proof) says why). Only where an event arrives
//! after events that name it, or is evicted, can others have to move; one loop sees to that.
//!
//! ```text
//! layout      tag -> run of consecutive seq of one host;   least key of a run -> tag
//! dependents  held cause, event that names it              (not where the event is the next held one of that host)
//! missing     fingerprint of an id not held, event that names it
//! waiting     event -> how many such ids
//! heads       events that no held event names
//! hosts       host -> its first gap that nothing explains
//! ```
//!
//! Invariants stand atop the file of each part: `layout.rs`, `links.rs`, `gaps.rs`, `changes.rs`. Of the whole:
//! - the runs, one after the other, are the one order of the events held;
//! - of each host, events arrive in rising `seq`;
//! - an append that is refused or fails changes nothing, unless taking it back fails as well: then the value is *broken*, and
//!   everything asked of it is an error.
//!
//! Reading proves nothing: nodes are checked for their form, and a table that leads into nothing is `Corrupt`.

mod add;
mod changes;
mod check;
mod cursor;
mod edit;
mod evict;
mod gaps;
mod key;
mod kinds;
mod layout;
mod links;
mod packed;
mod persist;
mod place;
mod positions;
mod repair;
mod tags;
#[cfg(test)]
mod tests;

use crate::contract::{Error, Result};
use crate::order::tree::Tree;

use add::Scratch;
use changes::Changes;
use kinds::{Dependents, Heads, Hosts, Missing, Waiting};
use layout::Layout;
use tags::Stride;

pub use cursor::RunCursor;
pub use key::{Cause, EventKey, Facts, Gap, NewEvent, Placing, Ranks, Run};

/// The order of a set of events, and who names whom. Clones are snapshots: they share all nodes.
#[derive(Clone, Debug, Default)]
pub struct OrderIndex {
    tables: Tables,
    events: u64,
    generation: u64,
    arrivals: u64,
    changes: Changes,
    /// An append failed half-way and could not be taken back.
    broken: bool,
    scratch: Scratch,
}

/// The trees.
#[derive(Clone, Debug, Default)]
struct Tables {
    layout: Layout,
    dependents: Tree<Dependents>,
    missing: Tree<Missing>,
    waiting: Tree<Waiting>,
    heads: Tree<Heads>,
    hosts: Tree<Hosts>,
    stride: Stride,
}

impl OrderIndex {
    /// Returns the number of events. O(1).
    #[must_use]
    pub fn len(&self) -> u64 {
        self.events
    }

    /// Reports whether there are no events.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.events == 0
    }

    /// Returns the number of runs. O(1).
    #[must_use]
    pub fn runs_len(&self) -> u64 {
        self.tables.layout.runs.len()
    }

    /// Returns a number that rises by one with each event placed and each eviction.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns the least position at which anything changed since a generation: what stood before it then stands there now. `None` if
    /// events only went to the end since. It may tell a smaller position than the least for generations before the
    /// last 64 changes that still show. O(1).
    #[must_use]
    pub fn changed_since(&self, generation: u64) -> Option<u64> {
        self.changes.since(generation)
    }

    /// Returns how much of the log, by arrival, the caller said it covers.
    #[must_use]
    pub fn arrivals(&self) -> u64 {
        self.arrivals
    }

    /// Keeps a number for the caller, stored with the index.
    pub fn set_arrivals(&mut self, arrivals: u64) {
        self.arrivals = arrivals;
    }

    fn sound(&self) -> Result<&Tables> {
        if self.broken {
            return Err(Error::corrupt(
                "the order index is half changed: a failed append could not be taken back",
            ));
        }
        Ok(&self.tables)
    }
}
