//! Every maximum of the contract, once.

/// Greatest `seq`: 2^53 - 1, the greatest integer every JSON peer holds exactly.
pub const SEQ_MAX: u64 = (1 << 53) - 1;

/// Longest JSON line, in bytes without its line end.
pub const LINE_BYTES_MAX: usize = 16 << 20;

/// Deepest nesting of arrays and objects in one line; the envelope itself is level 1.
pub const JSON_DEPTH_MAX: usize = 128;

/// Most values in one payload, or among an event's unknown members: each element of an array, each member of an object, each array and object
/// itself. They are looked at as a tree, which takes up to 200 bytes of memory for each.
pub const JSON_VALUES_MAX: u32 = 1 << 18;

/// Longest event id, in bytes.
pub const ID_BYTES_MAX: usize = 1024;

/// Longest host name, in bytes.
pub const HOST_BYTES_MAX: usize = 1024;

/// Longest event type, in bytes.
pub const TYPE_BYTES_MAX: usize = 256;

/// Most causes of one event.
pub const CAUSES_MAX: usize = 65_536;

/// Most hosts of one store.
pub const HOSTS_MAX: usize = 1 << 20;

/// Most event types of one store beyond the contract's own.
pub const TYPES_MAX: usize = 1 << 16;
