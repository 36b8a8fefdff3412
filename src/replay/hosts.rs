//! Hosts by number, in the order in which they were first seen: the order is mostly runs of one host.

use std::cmp::Ordering;
use std::collections::HashMap;

use crate::contract::{IdRef, Result, cmp_utf16};

use super::state::{In, Out, Wire};

/// Each host's name once.
#[derive(Debug, Default)]
pub(super) struct Hosts {
    names: Vec<Box<str>>,
    numbers: HashMap<Box<str>, u32>,
    last: u32,
}

impl Hosts {
    /// Returns the number of hosts.
    pub(super) fn len(&self) -> u64 {
        u64::try_from(self.names.len()).unwrap_or(u64::MAX)
    }

    /// Returns the number of a host, a new one where it was not seen yet.
    pub(super) fn number(&mut self, name: &str) -> u32 {
        if self.name(self.last) != Some(name) {
            self.last = self.numbers.get(name).copied().unwrap_or_else(|| self.add(name.into()));
        }
        self.last
    }

    fn add(&mut self, name: Box<str>) -> u32 {
        let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.numbers.insert(name.clone(), number);
        self.names.push(name);
        number
    }

    fn name(&self, number: u32) -> Option<&str> {
        self.names.get(usize::try_from(number).ok()?).map(|name| &**name)
    }

    /// Compares what orders events that are ready together: host by UTF-16 code units, seq, id.
    pub(super) fn cmp_keys(&self, one: (u32, u64, IdRef<'_>), other: (u32, u64, IdRef<'_>)) -> Ordering {
        let hosts = if one.0 == other.0 {
            Ordering::Equal
        } else {
            let name = |number| self.name(number).unwrap_or_default();
            cmp_utf16(name(one.0), name(other.0))
        };
        hosts.then_with(|| one.1.cmp(&other.1)).then_with(|| one.2.cmp(&other.2))
    }
}

impl Wire for Hosts {
    fn write(&self, out: &mut Out<'_>) -> Result<()> {
        self.names.write(out)
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        let mut hosts = Self::default();
        for name in Vec::<Box<str>>::read(from)? {
            hosts.add(name);
        }
        Ok(hosts)
    }
}
