//! What an event is: plain types and rules, no files.

mod address;
mod cursor;
mod error;
mod event;
mod id;
mod json;
pub mod limits;
mod promise;
mod reference;
mod same;
mod serde;
mod types;
mod upcast;
mod utf16;
mod validate;
mod words;

pub use address::{Address, AddressKind};
pub use cursor::{Cursor, CursorEntry};
pub use error::{Code, Error, ErrorKind, Place, Result};
pub use event::{Event, EventFields, VERSION};
pub(crate) use id::IdForm;
pub use id::{EventId, HostId, IdRef, Seq};
#[cfg(test)]
pub(crate) use json::arbitrary_json;
pub(crate) use json::{
    Faults, Key, Strict, compact, error_at, read_at_level, trailing, write_number, write_string,
};
pub use json::{Json, JsonText};
pub use promise::HostPromise;
pub use reference::{Ref, RefRange, Resolution, is_ref};
pub use same::{canonical, same};
pub(crate) use types::check_type_name;
pub use types::{PayloadFault, TypeRegistry, UnknownTypes};
pub(crate) use upcast::Path;
pub use upcast::Upcasts;
pub use utf16::cmp_utf16;
pub use validate::validate;
pub(crate) use validate::{check_causes_len, check_payload_shape, check_version, not_a_version, shape};
pub use words::{ActorKind, Class, Effects, Egress, RefKind};
