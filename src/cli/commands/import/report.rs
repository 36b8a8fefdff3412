//! What an import did.

use serde::Serialize;

use crate::cli::exit::Failure;
use crate::cli::output::Output;

/// Counts of lines; blank ones count as none.
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
    /// Whether this is what would happen.
    pub(crate) dry_run: bool,
}

impl Report {
    pub(super) fn show(&self, output: &mut Output) -> Result<(), Failure> {
        if output.is_json() {
            return output.json(self);
        }
        let Self { lines, stored, duplicates, refused, dry_run } = self;
        let verb = if *dry_run { "would store" } else { "stored" };
        output.summary(format_args!(
            "{verb} {stored} events of {lines} lines, {duplicates} duplicates, {refused} refused"
        ))
    }
}
