//! The order as a store keeps it, against the order as the events alone give it.

mod changes;
mod history;
mod kept;
mod stable;
mod stored;
