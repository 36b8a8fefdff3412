//! Hosts by number.

use std::collections::HashMap;

use crate::contract::limits::HOSTS_MAX;
use crate::contract::{Code, Error, HostId, Result};

/// Numbers hosts as they turn up, and ranks the numbers by the hosts' names.
#[derive(Debug, Default)]
pub(crate) struct Hosts {
    names: Vec<HostId>,
    numbers: HashMap<HostId, u64>,
    /// Rank by number; shorter than `names` when hosts turned up since.
    ranks: Vec<u64>,
}

impl Hosts {
    /// Returns the number of a host, a new one where it is new.
    ///
    /// # Errors
    /// `LIMIT` at more hosts than a store holds.
    pub(super) fn number(&mut self, host: &HostId) -> Result<u64> {
        if let Some(number) = self.numbers.get(host) {
            return Ok(*number);
        }
        if self.names.len() >= HOSTS_MAX {
            return Err(Error::invalid(Code::Limit, format!("more than {HOSTS_MAX} hosts")));
        }
        let number = u64::try_from(self.names.len()).unwrap_or(u64::MAX);
        self.names.push(host.clone());
        self.numbers.insert(host.clone(), number);
        Ok(number)
    }

    /// Returns the host of a number.
    pub(super) fn name(&self, number: u64) -> Option<&HostId> {
        usize::try_from(number).ok().and_then(|number| self.names.get(number))
    }

    /// Returns what maps a number to its rank among the hosts known now. Ranks of two hosts never
    /// change places, whatever hosts turn up later.
    pub(super) fn ranks(&mut self) -> impl Fn(u64) -> u64 + use<'_> {
        if self.ranks.len() < self.names.len() {
            let mut sorted: Vec<usize> = (0..self.names.len()).collect();
            sorted.sort_unstable_by_key(|number| self.names.get(*number));
            self.ranks.resize(self.names.len(), 0);
            for (rank, number) in (0_u64..).zip(sorted) {
                if let Some(place) = self.ranks.get_mut(number) {
                    *place = rank;
                }
            }
        }
        let ranks = &self.ranks;
        |number| {
            usize::try_from(number).ok().and_then(|number| ranks.get(number)).copied().unwrap_or(u64::MAX)
        }
    }
}
