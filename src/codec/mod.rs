//! Bytes to values and back, over slices; no files.

mod archive;
mod checkpoint;
mod control;
mod filter;
mod fingerprint;
mod footer;
mod frame;
mod header;
mod json;
mod lines;
mod table;
mod tier;
mod varint;

pub use archive::{ArchivedEventRecord, CauseRecord, EventRecord, RecordBuffer, UNRESOLVED, check_event};
pub use checkpoint::{ActiveEntry, Checkpoint};
pub use control::{
    Control, ControlState, EvictedRange, HostState, RepairedSegment, check_control, encode_control,
};
pub use fingerprint::Fingerprint;
pub use footer::{
    BLOCK_ENTRY_BYTES, BlockEntry, FooterError, HOST_ENTRY_BYTES, HostEntry, Section, SectionPlace,
    TRAILER_BYTES, Trailer, offset_of, place_of,
};
pub use frame::{FRAME_ALIGN, FRAME_HEADER_BYTES, Frame, FrameError, FrameKind, FrameSeed, GroupMark};
pub use header::{Form, HEADER_BYTES, HeaderError, SegmentHeader};
pub use json::{parse_event, read_event, upcast_event, write_event};
pub use lines::{Line, Lines};
pub use table::{Partition, TableEntry, TableError, TableLayout, TableWriter, write_table};
pub use tier::{Covered, TIER_HEADER_BYTES, TierHeader};
