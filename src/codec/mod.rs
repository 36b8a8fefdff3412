//! Bytes to values and back, over slices; no files.

mod archive;
mod control;
mod frame;
mod header;

pub use archive::{
    ArchivedEventRecord, CauseRecord, EventRecord, IdRecord, RecordBuffer, UNRESOLVED, check_event,
};
pub use control::{Control, ControlState, EvictedRange, HostState, check_control, encode_control};
pub use frame::{FRAME_ALIGN, FRAME_HEADER_BYTES, Frame, FrameError, FrameKind, FrameSeed, GroupMark};
pub use header::{Form, HEADER_BYTES, HeaderError, SegmentHeader};
