//! Segments: the files that hold the events.

mod blocks;
mod checked;
mod cursor;
mod directory;
mod ids;
mod merge;
mod names;
mod record;
mod seal;
mod sealed;
mod sections;
#[cfg(test)]
mod tests;
mod tiers;
mod trouble;
mod verify;

pub use cursor::HostCursor;
pub use ids::{Candidates, IdTables, TierFiles};
pub use merge::MergePlan;
pub use names::{SegmentName, Stage, segment_file};
pub use record::{FrameTrouble, Record, TableSizes};
pub use seal::{SealEntry, SealSource, SealedSummary, seal};
pub use sealed::{Hits, Offsets, SealedSegment};
pub use tiers::Tier;
