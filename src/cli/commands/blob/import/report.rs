//! What an import of content did.

use serde::Serialize;

use super::Fate;
use super::names::Found;
use crate::cli::exit::Failure;
use crate::cli::output::{Output, plain};
use crate::replay::count;

/// What became of the files, each counted once: `files` is the sum of the four behind it, but for the bytes.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    /// Files that are named by an address.
    pub(super) files: u64,
    pub(super) stored: u64,
    pub(super) held: u64,
    /// Shredded once, and not stored again.
    pub(super) left_out: u64,
    pub(super) damaged: u64,
    /// Files with other names, and directories: not among `files`.
    pub(super) skipped: u64,
    /// Bytes of content that was stored.
    pub(super) bytes: u64,
    pub(super) dry_run: bool,
}

impl Report {
    /// Counts a file.
    pub(super) fn count(&mut self, fate: &Fate) {
        self.files += 1;
        match fate {
            Fate::Stored(bytes) => {
                self.stored += 1;
                self.bytes = self.bytes.saturating_add(*bytes);
            }
            Fate::Held => self.held += 1,
            Fate::LeftOut => self.left_out += 1,
            Fate::Damaged(_) => self.damaged += 1,
        }
    }

    /// Writes the counts.
    pub(super) fn show(&self, output: &mut Output) -> Result<(), Failure> {
        if output.is_json() {
            return output.json(self);
        }
        let Self { stored, held, left_out, damaged, skipped, .. } = self;
        let word = if self.dry_run { "would store" } else { "stored" };
        let (files, bytes) = (count(self.files, "file"), count(self.bytes, "byte"));
        output.summary(format_args!(
            "{word} {stored} of {files}, {bytes}; {held} held, {left_out} left out as shredded, {damaged} damaged, \
             {skipped} skipped"
        ))
    }
}

/// Says what is in the directory and is not imported.
pub(super) fn warn_of_skipped(found: &Found, output: &mut Output) {
    if found.skipped() == 0 {
        return;
    }
    let mut what = Vec::new();
    if found.others > 0 {
        what.push(format!("{} not named by an address", count(found.others, "file")));
    }
    if found.dirs > 0 {
        let noun = if found.dirs == 1 { "directory" } else { "directories" };
        what.push(format!("{} {noun}", found.dirs));
    }
    let names = found.told.iter().map(|name| plain(name).into_owned()).collect::<Vec<_>>().join(", ");
    let more = if found.skipped() > found.told.len() as u64 { ", ..." } else { "" };
    output.warn(format_args!("skipped: {} ({names}{more})", what.join(", ")));
}
