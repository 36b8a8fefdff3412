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

/// Reports whether a file is one that a crash can leave and that nothing needs, given all names beside it.
pub fn is_leftover(name: &str, names: &[String]) -> bool {
    let unfinished = [".creating", ".checkpointing", ".sealing"].iter().any(|end| name.ends_with(end));
    // Of a segment that was sealed and whose active form is gone.
    let outlived = name.strip_suffix(".checkpoint").is_some_and(|number| {
        let beside = |end: &str| names.iter().any(|other| other.strip_suffix(end) == Some(number));
        beside(".sealed") && !beside(".active")
    });
    unfinished || outlived
}
