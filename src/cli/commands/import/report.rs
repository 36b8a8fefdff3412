//! What an import did.

use serde::Serialize;

use crate::cli::exit::Failure;
use crate::cli::intake::{Faults, Rules};
use crate::cli::output::Output;
use crate::contract::{Code, UnknownTypes};

/// Counts of lines, of which each is exactly one of stored, duplicate, refused and held back. Blank ones
/// count as none, and so do those behind the line at which a stream stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    /// How many lines there were.
    pub(crate) lines: u64,
    /// How many events were stored, or would be.
    pub(crate) stored: u64,
    /// How many lines repeat an event that is held or was read before.
    pub(crate) duplicates: u64,
    /// How many lines cannot go in.
    pub(crate) refused: u64,
    /// How many lines could go in and were not stored, because of other lines or because the import ended early.
    pub(crate) held_back: u64,
    /// Whether this is what would happen.
    pub(crate) dry_run: bool,
}

impl Report {
    /// Counts lines that are nothing else as held back.
    pub(super) fn hold_back_the_rest(&mut self) {
        self.held_back = self.lines.saturating_sub(self.stored + self.duplicates + self.refused);
    }

    /// Counts no lines beyond those that were stored, duplicate or refused.
    pub(super) fn end_here(&mut self) {
        self.lines = self.stored + self.duplicates + self.refused;
    }

    pub(super) fn show(&self, output: &mut Output) -> Result<(), Failure> {
        if output.is_json() {
            return output.json(self);
        }
        let Self { lines, stored, duplicates, refused, held_back, dry_run } = self;
        let verb = if *dry_run { "would store" } else { "stored" };
        if *stored == 0 && *refused > 0 && *held_back > 0 {
            let nothing = if *dry_run { "would store nothing" } else { "nothing stored" };
            let (are, other) =
                (if *refused == 1 { "is" } else { "are" }, if *duplicates == 0 { "the other " } else { "" });
            let repeats = if *duplicates == 0 {
                String::new()
            } else {
                format!(" and passes over {duplicates} duplicates")
            };
            return output.summary(format_args!(
                "{nothing}: {refused} of {lines} lines {are} bad; --lenient stores {other}{held_back}{repeats}"
            ));
        }
        let rest = if *held_back == 0 { String::new() } else { format!(", {held_back} held back") };
        output.summary(format_args!(
            "{verb} {stored} events of {lines} lines, {duplicates} duplicates, {refused} refused{rest}"
        ))
    }
}

/// Says which option takes events of types that were refused.
pub(super) fn hint(rules: &Rules, faults: &Faults, output: &mut Output) {
    if matches!(rules, Rules::Append { unknown: UnknownTypes::Refuse, .. })
        && faults.kept().any(|error| error.code() == Code::Type)
    {
        output.note(
            "--accept-unknown-types takes types that are not registered here, without checking their payload",
        );
    }
}
