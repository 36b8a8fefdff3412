//! The order's index: opened with a store, followed up to its log, stored at checkpoints.
//!
//! Invariants:
//! - A stored index is used where it covers exactly the events that the log holds of those before its arrivals, and ends
//!   with the same event. Anything else is made anew from the segments; the index is never trusted over them.
//! - A root is published when every event that it covers is durable.

use std::any::Any;
use std::path::Path;
use std::sync::Arc;

use super::options::Options;
use crate::contract::Result;
use crate::index::{NodeAccess, NodeFiles, NodesFound};
use crate::log::{Arrangement, HostRanks, Incarnation, View};
use crate::order::index::OrderIndex;
use crate::order::tree::{Shape, Shelf, Source};

/// Directory of the order's index within a store's.
pub(super) const ORDER_DIR: &str = "order";

/// Memory of nodes that are not stored, at the least, before they are.
const FRESH_MIN: usize = 256 << 10;

/// The files of an index, and the cache of what was read from them.
#[derive(Debug)]
pub(super) struct OrderFiles {
    nodes: Arc<NodeFiles>,
    found: NodesFound,
    shelf: Arc<Shelf>,
    /// Memory of nodes that are not stored from which on they are stored.
    fresh_max: usize,
}

impl OrderFiles {
    /// Opens the files of a store's index. What is wrong with them only means that there is no stored index.
    ///
    /// # Errors
    /// What the system calls report.
    pub(super) fn open(options: &Options, path: &Path, store: &[u8; 16], access: NodeAccess) -> Result<Self> {
        let (nodes, found) =
            NodeFiles::open(Arc::clone(&options.vfs), &path.join(ORDER_DIR), *store, access)?;
        let nodes = Arc::new(nodes);
        let source: Arc<dyn Source> = Arc::clone(&nodes) as _;
        // A quarter is left for what is not stored yet.
        let cache = options.order_cache_bytes - options.order_cache_bytes / 4;
        let shelf = Arc::new(Shelf::new(source, cache, Shape::default()));
        Ok(Self { nodes, found, shelf, fresh_max: (options.order_cache_bytes / 4).max(FRESH_MIN) })
    }

    /// Returns the stored order if it is this log's, else an empty one and why.
    ///
    /// # Errors
    /// System calls; damage of the log; missing randomness.
    pub(super) fn stored(&self, options: &Options, view: &View) -> Result<(Arrangement, Option<String>)> {
        let why = match self.nodes.root().as_deref().map(Root::parse) {
            Some(Some(root)) if root.is_of(view)? => {
                let files: Arc<dyn Any + Send + Sync> = Arc::new(self.nodes.hold());
                return Ok((
                    Arrangement::new(root.index, Arc::clone(&self.shelf), root.incarnation, Some(files)),
                    None,
                ));
            }
            Some(Some(_)) => Some("it is not of the events that the log holds".to_owned()),
            Some(None) => Some("its root cannot be read".to_owned()),
            None if view.arrivals_end() == 0 => None,
            None => Some(self.found.to_string()),
        };
        let mut incarnation = [0; 16];
        options.random.fill(&mut incarnation)?;
        Ok((Arrangement::new(OrderIndex::default(), Arc::clone(&self.shelf), incarnation, None), why))
    }

    /// Reports whether so much is not stored that it is time to.
    pub(super) fn is_due(&self, fresh_bytes: usize) -> bool {
        fresh_bytes > self.fresh_max
    }

    /// Stores what is not stored yet of an order; all of it in a new file, where too much of the file is dead.
    ///
    /// # Errors
    /// What the system calls report; damage of stored nodes. The order is then as it was.
    pub(super) fn store(&self, order: &mut Arrangement) -> Result<()> {
        order.store(|index, shelf| {
            if self.nodes.wants_rewrite(index.live_bytes()) {
                self.nodes.begin_next()?;
                let mut sink = self.nodes.sink();
                if let Err(error) = index.rewrite(shelf, &mut sink).and_then(|()| sink.finish()) {
                    self.nodes.abandon_next();
                    return Err(error);
                }
            } else {
                let mut sink = self.nodes.sink();
                index.flush(shelf, &mut sink)?;
                sink.finish()?;
            }
            Ok(Arc::new(self.nodes.hold()))
        })
    }

    /// Makes a stored order the one that the next open finds. All events that it covers are durable and in the view.
    ///
    /// # Errors
    /// What the system calls report.
    pub(super) fn publish(&self, order: &Arrangement, view: &View) -> Result<()> {
        match Root::of(order, view)? {
            // A store that was opened and closed again leaves the root as it is.
            Some(root) if self.nodes.root().as_ref() != Some(&root) => self.nodes.publish(&root),
            _ => Ok(()),
        }
    }
}

/// Follows a log up to the end of a view, where an order is not there yet. In memory.
///
/// # Errors
/// System calls; damage.
pub(super) fn caught_up(order: Arc<Arrangement>, view: &View) -> Result<Arc<Arrangement>> {
    if order.arrivals() >= view.arrivals_end() {
        return Ok(order);
    }
    let mut order = Arrangement::clone(&order);
    order.follow(view, &mut HostRanks::of(view.names()), &|_| false, &mut |_| Ok(()))?;
    Ok(Arc::new(order))
}

/// What stands in a root.
struct Root {
    incarnation: Incarnation,
    /// Arrival and id fingerprint of the newest event that is covered and held.
    last: Option<(u64, u64)>,
    index: OrderIndex,
}

const ROOT_VERSION: u8 = 1;

impl Root {
    fn of(order: &Arrangement, view: &View) -> Result<Option<Vec<u8>>> {
        let Some(index) = order.index().to_bytes() else { return Ok(None) };
        let mut bytes = vec![ROOT_VERSION];
        bytes.extend_from_slice(&order.incarnation());
        let last = last_before(view, order.arrivals())?;
        let (arrival, fingerprint) = last.unwrap_or((u64::MAX, 0));
        bytes.extend_from_slice(&arrival.to_le_bytes());
        bytes.extend_from_slice(&fingerprint.to_le_bytes());
        bytes.extend_from_slice(&index);
        Ok(Some(bytes))
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (version, rest) = bytes.split_first()?;
        let (incarnation, rest) = rest.split_first_chunk()?;
        let (arrival, rest) = rest.split_first_chunk()?;
        let (fingerprint, rest) = rest.split_first_chunk()?;
        if *version != ROOT_VERSION {
            return None;
        }
        let last = (u64::from_le_bytes(*arrival), u64::from_le_bytes(*fingerprint));
        let last = (last.0 != u64::MAX).then_some(last);
        Some(Self { incarnation: *incarnation, last, index: OrderIndex::from_bytes(rest)? })
    }

    /// Reports whether this is the index of what the log holds before its arrivals.
    fn is_of(&self, view: &View) -> Result<bool> {
        let arrivals = self.index.arrivals();
        Ok(covers(&self.index, view)? && last_before(view, arrivals)? == self.last)
    }
}

/// Reports whether an order covers what the log holds of the events before its arrivals, as far as counts tell.
///
/// # Errors
/// System calls; damage.
pub(super) fn is_of(order: &Arrangement, view: &View) -> Result<bool> {
    covers(order.index(), view)
}

fn covers(index: &OrderIndex, view: &View) -> Result<bool> {
    let arrivals = index.arrivals();
    Ok(arrivals <= view.arrivals_end() && view.held_before(arrivals)? == index.len())
}

/// Returns arrival and fingerprint of the newest event before an arrival; none where that one is not held any more.
fn last_before(view: &View, arrivals: u64) -> Result<Option<(u64, u64)>> {
    let Some(arrival) = arrivals.checked_sub(1) else { return Ok(None) };
    let found = view.arrived(arrival)?;
    Ok(found.map(|found| (arrival, view.fingerprint(found.record.get().id.get()).0)))
}
