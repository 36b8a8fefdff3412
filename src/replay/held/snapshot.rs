//! What a snapshot answers of its order, from the index that the store keeps.

use crate::contract::{Code, Error, IdRef, Result};
use crate::log::StoredEvent;
use crate::store::{OrderHandle, Ordered, Snapshot};

use super::Held;

/// One state of a store's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::replay) struct OrderMark {
    /// Which index it is of.
    pub(in crate::replay) incarnation: [u8; 16],
    /// Rises with every change.
    pub(in crate::replay) generation: u64,
}

/// The order of a snapshot.
pub(in crate::replay) struct SnapshotOrder {
    snapshot: Snapshot,
    order: OrderHandle,
    missing: u64,
}

impl SnapshotOrder {
    pub(in crate::replay) fn new(snapshot: &Snapshot) -> Result<Self> {
        let order = snapshot.order_handle()?;
        Ok(Self { snapshot: snapshot.clone(), missing: order.missing_ids()?, order })
    }

    /// Returns the state it is in.
    pub(in crate::replay) fn mark(&self) -> OrderMark {
        let (incarnation, generation) = self.order.state();
        OrderMark { incarnation, generation }
    }

    /// Returns the number of events.
    pub(in crate::replay) fn len(&self) -> u64 {
        self.snapshot.len()
    }

    /// Iterates over the order from a position on.
    pub(in crate::replay) fn ordered_from(&self, position: u64) -> Ordered {
        self.order.ordered_from(position)
    }

    /// Returns the least position that changed since the order was in a state: what stands before it is as it was.
    ///
    /// # Errors
    /// Code `CURSOR` where that cannot be told.
    pub(in crate::replay) fn changed_since(&self, mark: &OrderMark) -> Result<Option<u64>> {
        let now = self.mark();
        if mark.incarnation != now.incarnation || mark.generation > now.generation {
            return Err(Error::invalid(Code::Cursor, "the state of the order is not one of this store"));
        }
        Ok(self.order.changed_since(mark.generation))
    }
}

impl Held for SnapshotOrder {
    fn position(&self, host: u32, seq: u64) -> Result<Option<u64>> {
        self.order.position(host, seq)
    }

    fn get(&self, id: IdRef<'_>) -> Result<Option<StoredEvent>> {
        self.snapshot.get(&id.to_owned())
    }

    fn missing(&self) -> u64 {
        self.missing
    }
}
