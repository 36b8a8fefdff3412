//! Segments: the files that hold the events, and the one writer that makes them.

mod active;
mod active_index;
mod blocks;
mod checked;
mod cursor;
mod directory;
mod error;
mod files;
mod finding;
mod group;
mod ids;
mod interner;
mod late;
mod mark;
mod names;
mod recent;
mod record;
mod recovery;
mod scan;
mod seal;
mod sealed;
mod sections;
mod staging;
mod stored;
mod tail;
#[cfg(test)]
mod tests;
mod trouble;
mod upkeep;
mod verify;
mod view;
mod writer;

pub use finding::Finding;
pub use interner::Names;
pub use mark::{MARK_FILE, Mark, MarkWriter};
pub use names::{SegmentName, Stage, segment_file};
pub use record::Record;
pub use recovery::{Recovered, Role, recover};
pub use sealed::SealedSegment;
pub use staging::{Outcome, Staging};
pub use stored::{StoredEvent, resolved_causes};
pub use tail::Torn;
pub use upkeep::{Covered, checkpoint, drop_oldest, seal_next};
pub use view::{Found, HostReader, Part, Segments, View};
pub use writer::{Writer, WriterOptions, create_active};
