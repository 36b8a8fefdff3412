//! The report for people.

use std::fmt;

use super::invariants::Invariant;
use super::report::{Reconstruction, Reconstructions, ReplayReport, Violation};

/// Most events named for one invariant, and most drifted references.
const NAMED_MAX: usize = 10;

impl fmt::Display for Invariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Reconstruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for ReplayReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let totals = &self.totals;
        writeln!(f, "verdict: {}", if self.ok { "ok" } else { "FAILED" })?;
        let order = if self.stable { "in their one order, proved" } else { "NOT in their one order" };
        writeln!(f, "  {} of {}, {order}", count(self.events, "event"), count(totals.hosts, "host"))?;
        if let Some(from) = self.resumed_from.filter(|from| *from > 0) {
            writeln!(f, "  {} of them replayed before, and saved", count(from, "event"))?;
        }
        if totals.missing_causes > 0 {
            writeln!(f, "  {} named and not held", count(totals.missing_causes, "cause"))?;
        }
        let refs = self.refs.exact + self.refs.unavailable + totals.drifted;
        writeln!(
            f,
            "  {}: {} exact, {} unavailable, {} drifted",
            count(refs, "reference"),
            self.refs.exact,
            self.refs.unavailable,
            totals.drifted
        )?;
        let Reconstructions { full, partly, no } = totals.reconstruction;
        writeln!(
            f,
            "  {} of turns: {full} can be read again in full, {partly} in part, {no} not",
            count(totals.turns, "context")
        )?;
        if totals.violations == 0 {
            writeln!(f, "  every invariant holds")?;
        }
        for &(invariant, total) in &totals.by_invariant {
            self.write_violations(f, invariant, total)?;
        }
        self.write_drift(f)
    }
}

impl ReplayReport {
    fn write_violations(&self, f: &mut fmt::Formatter<'_>, invariant: Invariant, total: u64) -> fmt::Result {
        writeln!(f, "  {invariant} violated, {}: {}", count(total, "time"), invariant.rule())?;
        let mut named = 0;
        for violation in
            self.violations.iter().filter(|violation| violation.invariant == invariant).take(NAMED_MAX)
        {
            writeln!(f, "    {violation}")?;
            named += 1;
        }
        write_rest(f, total, named)?;
        writeln!(f, "    hint: {}", invariant.hint())
    }

    fn write_drift(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.totals.drifted == 0 {
            return Ok(());
        }
        writeln!(f, "  content has drifted, {}:", count(self.totals.drifted, "time"))?;
        let mut named = 0;
        for drifted in self.refs.drifted.iter().take(NAMED_MAX) {
            writeln!(f, "    {} names content that is {} now", drifted.event_id, drifted.actual_hash)?;
            named += 1;
        }
        write_rest(f, self.totals.drifted, named)?;
        writeln!(f, "    hint: the source changed after the run; what the run was shown is gone from it")
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.event_id, &self.detail) {
            (Some(id), Some(detail)) => write!(f, "{id}: {detail}"),
            (Some(id), None) => write!(f, "{id}"),
            (None, Some(detail)) => f.write_str(detail),
            (None, None) => f.write_str("the set as a whole"),
        }
    }
}

fn write_rest(f: &mut fmt::Formatter<'_>, total: u64, named: u64) -> fmt::Result {
    match total.saturating_sub(named) {
        0 => Ok(()),
        rest => writeln!(f, "    and {rest} more"),
    }
}

/// Returns a count with its noun.
pub(crate) fn count(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}
