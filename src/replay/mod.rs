//! Replay: from the events of a run, in their order, to a verdict.
//!
//! - [`replay`] takes a stream that is in the order; [`replay_set`] puts a set in order first.
//! - [`Resolver`] answers what became of the content that events name: [`StoredContent`] for a store's, [`CurrentHashes`]
//!   for sources, [`Chain`] for several at once.
//! - [`ReplayReport`] is the verdict, for people and as JSON.
//!
//! Invariants:
//! - The order is proved as it streams by, never computed again and never believed.
//! - Only payloads of the types that a rule asks about are looked into, and those without building a tree.
//! - What is gone passes and is counted; what has changed fails. Content that is still held as it was shown is exact,
//!   whatever its source has become.
//! - No message holds text of a payload.

mod checked;
mod content;
mod current;
mod harness;
mod invariants;
mod options;
mod payload;
mod reference;
mod report;
mod resolve;
mod seen;
mod set;
mod stored;
mod text;

#[cfg(feature = "cli")]
pub(crate) use checked::Checked;
pub use current::CurrentHashes;
pub use harness::{Replay, replay};
pub use invariants::Invariant;
pub use options::ReplayOptions;
pub use report::{
    Drifted, Reconstruction, Reconstructions, References, ReplayReport, Shown, Totals, Turn, Violation,
};
pub use resolve::{Chain, NoResolver, Resolver};
pub use seen::{Arrival, CausePlaces, SeenIds};
pub use set::{check_invariants, read_events, replay_set};
pub use stored::StoredContent;
#[cfg(feature = "cli")]
pub(crate) use text::count;
