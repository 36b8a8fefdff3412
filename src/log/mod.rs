//! Segments: the files that hold the events, and the one writer that makes them.

mod active;
mod active_index;
mod arrivals;
mod blocks;
mod chain;
mod check;
mod checked;
mod cursor;
mod directory;
mod ending;
mod error;
mod files;
mod finding;
mod group;
mod head;
mod identity;
mod ids;
mod interner;
mod keeping;
mod late;
mod mark;
mod merge;
mod names;
mod notify;
mod parts;
mod recent;
mod record;
mod recovery;
mod repair;
mod resync;
mod scan;
mod seal;
mod sealed;
mod sections;
mod staging;
mod standing;
mod stored;
mod tail;
#[cfg(test)]
mod tests;
mod tiers;
mod trouble;
mod upkeep;
mod verify;
mod view;
mod writer;

pub use check::check_active;
pub use finding::Finding;
pub use interner::Names;
#[cfg(feature = "cli")]
pub use late::causes_of;
pub use mark::{MARK_FILE, Mark, MarkFile, MarkWriter};
pub use notify::Notifier;
pub use parts::{Found, HostReader, Part};

pub use record::Record;
pub use recovery::{IDS_DIR, Recovered, Role, recover};
pub use repair::{LostRange, Plan, Tell, plan_repair};

pub use staging::{BeforeSync, Outcome, Staging, WriterOptions};
pub use standing::Standing;
pub use stored::{StoredEvent, resolved_causes};
pub use tail::Torn;
pub use upkeep::{checkpoint, drop_oldest, merge_next, seal_next};
pub use view::View;
pub use writer::{Writer, create_active};
