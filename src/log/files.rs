//! Names of the files beside the segments that the log can do without.

/// A segment being created; worthless unless renamed.
pub fn creating_file(number: u64) -> String {
    format!("{number:010}.creating")
}

/// The checkpoint of an active segment.
pub fn checkpoint_file(number: u64) -> String {
    format!("{number:010}.checkpoint")
}

/// A checkpoint being written; worthless unless renamed.
pub fn checkpoint_temporary(number: u64) -> String {
    format!("{number:010}.checkpointing")
}

/// Reports whether a file is one that a crash can leave and that nothing needs.
pub fn is_leftover(name: &str) -> bool {
    [".creating", ".checkpointing", ".sealing"].iter().any(|end| name.ends_with(end))
}
