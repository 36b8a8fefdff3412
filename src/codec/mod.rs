//! Bytes to values and back, over slices; opens no files.

mod archive;
mod control;
mod frame;
mod header;
mod json;
mod lines;

pub use archive::{
    ArchivedEventRecord, CauseRecord, EventRecord, IdRecord, RecordBuffer, UNRESOLVED, check_event,
};
pub use control::{Control, ControlState, EvictedRange, HostState, check_control, encode_control};
pub use frame::{FRAME_ALIGN, FRAME_HEADER_BYTES, Frame, FrameError, FrameKind, FrameSeed, GroupMark};
pub use header::{Form, HEADER_BYTES, HeaderError, SegmentHeader};
pub use json::{parse_event, read_event, upcast_event, write_event};
pub use lines::{Line, Lines};
