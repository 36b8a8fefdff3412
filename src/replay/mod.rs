//! Replay: from the events of a run, in their order, to a verdict.
//!
//! - [`replay`] takes a stream that is in the order; [`replay_set`] puts a set in order first.
//! - [`StoreReplay`] replays a store in memory that does not grow with the log, and goes on from a [`SavedPoint`].
//! - [`Resolver`] answers what became of the content that events name: [`StoredContent`] for a store's, [`CurrentHashes`]
//!   for sources, [`Chain`] for several at once.
//! - [`ReplayReport`] is the verdict, for people and as JSON.
//!
//! Invariants:
//! - The order is proved as it streams by, never computed again and never believed.
//! - Only payloads of the types that a rule asks about are looked into, and those without building a tree.
//! - What is gone passes and is counted; what has changed fails. Content that is still held as it was shown is exact,
//!   whatever its source has become.
//! - A replay that goes on from a saved point reports what one from the start would.
//! - No message holds text of a payload.

mod checked;
mod content;
mod current;
mod harness;
mod held;
mod hosts;
mod invariants;
mod of_store;
mod options;
mod payload;
mod reference;
mod report;
mod resolve;
mod saved;
mod seen;
mod set;
mod state;
mod stored;
mod text;

#[cfg(feature = "cli")]
pub(crate) use checked::Checked;
pub use current::CurrentHashes;
pub use harness::{Replay, replay};
pub use invariants::Invariant;
pub use of_store::{StartedOver, StoreReplay};
pub use options::ReplayOptions;
pub use report::{
    Drifted, Reconstruction, Reconstructions, References, ReplayReport, Shown, Totals, Turn, Violation,
};
pub use resolve::{Chain, NoResolver, Resolver};
pub use saved::SavedPoint;
pub use seen::{Arrival, CausePlaces, SeenIds};
pub use set::{check_invariants, read_events, replay_set};
pub use stored::StoredContent;
#[cfg(feature = "cli")]
pub(crate) use text::count;
