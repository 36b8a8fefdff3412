//! Bytes to values and back, over slices; no files.

mod archive;
mod checkpoint;
mod control;
mod fields;
mod filter;
mod fingerprint;
mod footer;
mod frame;
mod header;
mod json;
mod key_head;
mod ledger;
mod lines;
mod nodes;
mod pack;
mod ranges;
mod slot;
mod subject;
mod table;
mod tier;
mod twin;
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
pub use header::{FEATURE_KEEPING, Form, HEADER_BYTES, HeaderError, SegmentHeader};
pub use json::{parse_event, read_event, upcast_event, write_event};
pub use key_head::{KEY_HEAD_BYTES, KeyFault, KeyHead};
pub use ledger::{ENTRY_BYTES, Entry, EntryKind, LedgerEntry};
pub use lines::{Line, Lines};
pub use nodes::{
    NODE_ALIGN, NODE_BYTES_MAX, NODE_HEAD_BYTES, NODES_HEAD_BYTES, NODES_START, NodesFault, NodesHead,
    ROOT_BYTES_MAX, ROOT_SLOT_BYTES, ROOT_SLOTS, RootSlot,
};
pub use pack::{
    CHUNK_BYTES, ContentTrailer, FOOTER_ENTRY_BYTES, FOOTER_TAIL_BYTES, FooterEntry, FooterTail,
    HEAD_BYTES_MAX, HEAD_BYTES_MIN, PACK_HEADER_BYTES, PackError, PackHeader, RECORD_ALIGN, RecordHead,
    RecordId, RecordKind, TAG_BYTES, address_bytes, aligned, trailer_bytes,
};
pub use ranges::{HostRange, RangeKind, Ranges};
pub use slot::{SLOT_BYTES, Slot, SlotMark};
pub use subject::{MasterBody, SEALED_NAME_BYTES, SubjectBody, SubjectKind, SubjectsHead};
pub use table::{Partition, TableEntry, TableError, TableLayout, TableWriter, write_table};
pub use tier::{Covered, TIER_HEADER_BYTES, TierHeader};
pub use twin::{BODY_BYTES as TWIN_BODY_BYTES, Copy, TWIN_BYTES, Twin, TwinPlace};
