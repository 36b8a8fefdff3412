//! The lines that cannot go in.

use std::collections::BTreeMap;

use crate::contract::Error;

/// Most errors that are kept to be reported; the rest are counted.
const KEPT_MAX: usize = 20;

/// What is wrong with the lines of a file: the first errors by line, and the count of all.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    count: u64,
    kept: BTreeMap<u64, Error>,
}

impl Faults {
    /// Adds the error of a line. A line has one at most.
    pub(crate) fn add(&mut self, line: u64, error: Error) {
        self.count += 1;
        self.kept.insert(line, error.at_line(line));
        if self.kept.len() > KEPT_MAX {
            self.kept.pop_last();
        }
    }

    /// Returns how many lines are bad.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Returns the first errors, by line.
    pub(crate) fn kept(&self) -> impl Iterator<Item = &Error> {
        self.kept.values()
    }

    /// Returns how many errors were counted and not kept.
    pub(crate) fn beyond(&self) -> u64 {
        self.count.saturating_sub(u64::try_from(self.kept.len()).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Code;

    #[test]
    fn the_first_lines_are_kept() {
        let mut faults = Faults::default();
        for line in (1..=50).rev() {
            faults.add(line, Error::invalid(Code::Json, "bad"));
        }
        assert_eq!((faults.count(), faults.beyond()), (50, 30));
        let lines: Vec<u64> = faults.kept().filter_map(|error| error.place().line).collect();
        assert_eq!(lines, (1..=20).collect::<Vec<u64>>());
    }
}
