//! The proof that a kept order is the one order of the events that a log holds.

use std::sync::Arc;

use super::ordered::Ordered;
use crate::contract::{Error, Result};
use crate::log::{Arrangement, HostRanks, View, ViewFacts};
use crate::order::Proof;
use crate::order::index::{EventKey, Facts};

/// Proves an order by the one-pass check while it streams from the log, and the index by its own invariants. Returns the
/// number of events. Memory: that of one stream, and an entry a host as a rule.
///
/// Each event of the order is read from the log, the index holds none twice, and they are as many as the log holds: so
/// they are the same events.
///
/// # Errors
/// `Corrupt` when it is not the order, or the index contradicts itself or the log; system calls and damage.
pub(super) fn prove(view: &View, order: &Arc<Arrangement>) -> Result<u64> {
    let (index, shelf) = (order.index(), order.shelf());
    let ranks = HostRanks::of(view.names());
    index.check(shelf, ranks.get())?;
    if index.len() != view.len() {
        let (placed, held) = (index.len(), view.len());
        return Err(Error::corrupt(format!("the order has {placed} events and the log holds {held}")));
    }
    let mut proof = Proof::new();
    let mut facts = ViewFacts { view, own: None };
    let mut causes = Vec::new();
    for event in Ordered::new(view.clone(), Arc::clone(order), &(..)) {
        let event = event?;
        let record = event.record();
        let key = EventKey { host: record.host.to_native(), seq: record.seq().get() };
        causes.clear();
        facts.causes(key, &mut causes)?;
        let mut last = None;
        for cause in causes.iter().filter_map(|cause| cause.at) {
            last = last.max(index.position(shelf, cause)?);
        }
        proof.push(ranks.get().of(key), last)?;
    }
    Ok(proof.len())
}
