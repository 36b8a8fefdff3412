//! The order of hosts by name, as numbers that compare.
//!
//! Invariants:
//! - Ranks rise with names by UTF-16 code units, and each host has its own.
//! - A host that is new takes a rank between its neighbours'. Where there is none left, the smallest window of neighbours
//!   that is thin enough is spread anew, so that a new host costs a search and, rarely, a few neighbours.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::interner::Names;
use crate::contract::cmp_utf16;
use crate::order::index::Ranks;

/// Rank of the first host: there is room on both sides.
const FIRST: u64 = 1 << 63;

/// Distance of the rank of a host that comes first or last from its neighbour's.
const STRIDE: u64 = 1 << 40;

/// Distance of neighbours in a window that was spread, at the least.
const THIN: u64 = 1 << 20;

/// Ranks of the hosts of a log.
#[derive(Debug, Default)]
pub struct HostRanks {
    by_name: BTreeMap<Name, u32>,
    by_number: Vec<u64>,
    ranks: Ranks,
}

#[derive(Debug, PartialEq, Eq)]
struct Name(Arc<str>);

impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        cmp_utf16(&self.0, &other.0)
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl HostRanks {
    /// Ranks the hosts of a table of names.
    pub fn of(names: &Names) -> Self {
        let mut ranks = Self::default();
        ranks.know(names);
        ranks
    }

    /// Returns the ranks.
    pub fn get(&self) -> &Ranks {
        &self.ranks
    }

    /// Takes in the hosts of a newer table of the same names.
    pub fn know(&mut self, names: &Names) {
        let mut number = u32::try_from(self.by_number.len()).unwrap_or(u32::MAX);
        while let Some(name) = names.host(number) {
            self.push(Name(name.into()), number);
            number += 1;
        }
    }

    /// Takes in the host of the next number, unless it is known; reports whether it was not.
    pub fn admit(&mut self, name: &str, number: u32) -> bool {
        let is_new = number as usize == self.by_number.len();
        if is_new {
            self.push(Name(name.into()), number);
        }
        is_new
    }

    /// Forgets the host of the highest number.
    pub fn retract(&mut self, name: &str) {
        self.by_name.remove(&Name(name.into()));
        self.by_number.pop();
        self.ranks.pop();
    }

    fn rank_of(&self, number: u32) -> u64 {
        self.by_number.get(number as usize).copied().unwrap_or_default()
    }

    fn push(&mut self, name: Name, number: u32) {
        let before = self.by_name.range(..&name).next_back().map(|(_, number)| self.rank_of(*number));
        let after = self.by_name.range(&name..).next().map(|(_, number)| self.rank_of(*number));
        let rank = match (before, after) {
            (None, None) => FIRST,
            (Some(low), None) => low.saturating_add(STRIDE),
            (None, Some(high)) => high.saturating_sub(STRIDE),
            (Some(low), Some(high)) => low.midpoint(high),
        };
        let fits = before.is_none_or(|low| low < rank) && after.is_none_or(|high| rank < high);
        self.by_number.push(rank);
        self.ranks.push(rank);
        let own = name.0.clone();
        self.by_name.insert(name, number);
        if !fits {
            self.spread_around(&Name(own));
        }
    }

    /// Makes room around a host whose rank is not its own.
    fn spread_around(&mut self, name: &Name) {
        let mut half = 8;
        loop {
            let below: Vec<u32> =
                self.by_name.range(..name).rev().take(half).map(|(_, number)| *number).collect();
            let above: Vec<u32> = self.by_name.range(name..).take(half).map(|(_, number)| *number).collect();
            // The ranks of the hosts on both sides of the window stay; at an end of the list there is none to respect.
            let whole = below.len() < half && above.len() < half;
            let (low, first) = match below.split_last() {
                Some((edge, _)) if below.len() == half => (self.rank_of(*edge), half - 1),
                _ => (0, below.len()),
            };
            let (high, last) = match above.split_last() {
                Some((edge, _)) if above.len() == half => (self.rank_of(*edge), half - 1),
                _ => (u64::MAX, above.len()),
            };
            let inner: Vec<u32> =
                below.iter().take(first).rev().chain(above.iter().take(last)).copied().collect();
            let gap = (high - low) / (inner.len() as u64 + 1);
            if gap >= THIN || whole {
                let mut rank = low;
                for number in inner {
                    rank += gap;
                    if let Some(slot) = self.by_number.get_mut(number as usize) {
                        *slot = rank;
                    }
                    self.ranks.set(number, rank);
                }
                return;
            }
            half *= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::index::EventKey;

    #[test]
    fn ranks_rise_with_names_however_hosts_come() {
        let orders: [fn(u32) -> u32; 5] = [
            |n| n,
            |n| 5_000 - n,
            |n| n * 7_919 % 5_003,
            |n| n.reverse_bits() >> 8,
            // Always between the last and one of the first two.
            |n| if n < 2 { n * 100_000 } else { n },
        ];
        for order in orders {
            let (mut names, mut ranks) = (Names::default(), HostRanks::default());
            for number in 0..1_500 {
                names.push_host(&format!("h{:08}", order(number)));
                if number % 3 == 0 {
                    ranks.know(&names);
                }
            }
            ranks.know(&names);
            let listed = names.hosts_in_order();
            let of = |host: u32| ranks.get().of(EventKey { host, seq: 0 });
            assert!(listed.windows(2).all(|pair| of(pair[0]) < of(pair[1])));
        }
    }
}
