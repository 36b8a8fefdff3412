//! A state of the order that can be named later, to ask what changed since.

use serde::{Deserialize, Serialize};

use crate::log::Arrangement;

/// Names a state of one store's order. As JSON: `{"incarnation":"HEX","generation":N}`.
///
/// Survives a restart. Means nothing in another store, and nothing once the order's index was made anew: then all of the
/// order counts as changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderMark {
    /// Names the history of the index: 16 bytes as lower-case hex.
    pub incarnation: String,
    /// Rises with each event that is placed, and with each eviction.
    pub generation: u64,
}

impl OrderMark {
    /// Names the state of an arrangement.
    pub(super) fn of(order: &Arrangement) -> Self {
        let incarnation = data_encoding::HEXLOWER.encode(&order.incarnation());
        Self { incarnation, generation: order.index().generation() }
    }
}
