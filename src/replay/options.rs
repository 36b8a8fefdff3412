//! What a replay checks and what it keeps for the report.

use std::path::PathBuf;
use std::sync::Arc;

use crate::io::Vfs;

use super::state::Scratch;

/// Most findings of one sort that a report lists by default; totals always count all of them.
const LISTED_MAX: usize = 10_000;

/// Most events of one host, type and stream that may be durable, unless told otherwise.
const EPHEMERAL_BUDGET: u64 = 200;

/// Most entries that a rule keeps in memory, unless told otherwise.
const STATE_MAX: usize = 1_000_000;

/// Settings of a replay.
///
/// ```
/// use causelog::ReplayOptions;
///
/// let strict = ReplayOptions::new().ephemeral_budget(50);
/// # let _ = strict;
/// ```
#[derive(Clone, Debug)]
pub struct ReplayOptions {
    pub(super) ephemeral_budget: u64,
    pub(super) content: bool,
    pub(super) keep_order: bool,
    pub(super) listed_max: usize,
    pub(super) state_max: usize,
    scratch: Option<Scratch>,
}

impl ReplayOptions {
    /// Starts from the defaults: a budget of 200, content checked, no order kept, lists of at most 10,000.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            ephemeral_budget: EPHEMERAL_BUDGET,
            content: true,
            keep_order: false,
            listed_max: LISTED_MAX,
            state_max: STATE_MAX,
            scratch: None,
        }
    }

    /// Sets how many events of one host, type and stream may be durable before I5 is violated.
    #[must_use]
    pub const fn ephemeral_budget(mut self, events: u64) -> Self {
        self.ephemeral_budget = events;
        self
    }

    /// Sets whether references are resolved and turns reconstructed.
    ///
    /// Without it the report counts no reference and names no turn, as other implementations do when they
    /// are given no content to look into.
    #[must_use]
    pub const fn check_content(mut self, check: bool) -> Self {
        self.content = check;
        self
    }

    /// Sets whether the report names every event in its order. Costs an id for each event in memory.
    #[must_use]
    pub const fn keep_order(mut self, keep: bool) -> Self {
        self.keep_order = keep;
        self
    }

    /// Sets the most violations of one invariant, drifted references and turns that the report lists.
    ///
    /// What is beyond is counted in the totals all the same, and the verdict knows it. Of what turns were shown,
    /// 100 references are listed for each turn at the most, and 8 times this number in all. The bound keeps the memory of
    /// a replay from growing with the log.
    #[must_use]
    pub const fn listed_max(mut self, entries: usize) -> Self {
        self.listed_max = entries;
        self
    }

    /// Sets the most entries that a rule keeps in memory: turns with a context, invocations that wait for their egress,
    /// streams that are counted. By default 1,000,000, which take about 32 MiB a table; there are five.
    ///
    /// What is beyond goes to a temporary file, of some 50 bytes for each. The report does not depend on this number.
    #[must_use]
    pub const fn state_max(mut self, entries: usize) -> Self {
        self.state_max = entries;
        self
    }

    /// Sets where temporary files lie; by default in the system's directory for them. They are gone when the replay ends,
    /// also by an error. They hold ids, names of hosts and types, and hashes.
    #[must_use]
    pub fn scratch_dir(mut self, vfs: Arc<dyn Vfs>, dir: impl Into<PathBuf>) -> Self {
        self.scratch = Some(Scratch::new(vfs, dir.into()));
        self
    }

    pub(super) fn scratch(&self) -> Scratch {
        self.scratch.clone().unwrap_or_default()
    }
}

impl Default for ReplayOptions {
    fn default() -> Self {
        Self::new()
    }
}
