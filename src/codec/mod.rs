//! Bytes to values and back, over slices; no files.

mod archive;
mod checkpoint;
mod control;
mod fingerprint;
mod frame;
mod header;
mod json;
mod lines;
mod varint;

pub use archive::{
    ArchivedEventRecord, CauseRecord, EventRecord, IdRecord, RecordBuffer, UNRESOLVED, check_event,
};
pub use checkpoint::{ActiveEntry, Checkpoint};
pub use control::{Control, ControlState, EvictedRange, HostState, check_control, encode_control};
pub use fingerprint::Fingerprint;
pub use frame::{FRAME_ALIGN, FRAME_HEADER_BYTES, Frame, FrameError, FrameKind, FrameSeed, GroupMark};
pub use header::{Form, HEADER_BYTES, HeaderError, SegmentHeader};
pub use json::{parse_event, read_event, upcast_event, write_event};
pub use lines::{Line, Lines};
