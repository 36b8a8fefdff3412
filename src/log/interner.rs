//! Names of hosts and types, and the numbers that stand for them in records.
//!
//! Invariants:
//! - Numbers count from 0 without gaps and never change their meaning, so a newer table answers for every record that
//!   an older one could.
//! - All tables of one log share their names and differ in how many they know. So adding a name, and handing a table
//!   to readers, copies none. One table alone, the staging area's, is added to; names are taken back by making the
//!   tables anew.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, RwLock};

use crate::codec::ControlState;
use crate::contract::cmp_utf16;

/// The names behind the numbers of one store.
#[derive(Clone, Debug, Default)]
pub struct Names {
    hosts: Table,
    kinds: Table,
    order: OnceLock<Arc<Vec<u32>>>,
    /// The host numbers in order, as far as any table of this log was asked for them.
    known_order: Arc<Mutex<Arc<Vec<u32>>>>,
}

/// The first `len` of the shared names.
#[derive(Clone, Debug, Default)]
struct Table {
    len: u32,
    shared: Arc<Shared>,
}

/// Room for names, each set once.
type Bucket = Box<[OnceLock<Arc<str>>]>;

/// Names that are only ever added to. The bucket at place `n` has room for `2^n` of them, so that none ever moves.
#[derive(Debug, Default)]
struct Shared {
    buckets: [OnceLock<Bucket>; 32],
    numbers: RwLock<HashMap<Arc<str>, u32>>,
}

impl Shared {
    fn place_of(number: u32) -> Option<(usize, usize)> {
        let from_one = number.checked_add(1)?;
        let bucket = from_one.ilog2();
        Some((usize::try_from(bucket).ok()?, usize::try_from(from_one - (1 << bucket)).ok()?))
    }

    fn get(&self, number: u32) -> Option<&str> {
        let (bucket, at) = Self::place_of(number)?;
        self.buckets.get(bucket)?.get()?.get(at)?.get().map(|name| &**name)
    }

    fn set(&self, number: u32, name: &str) -> Option<()> {
        let (bucket, at) = Self::place_of(number)?;
        let names = self
            .buckets
            .get(bucket)?
            .get_or_init(|| (0..1usize << bucket).map(|_| OnceLock::new()).collect());
        let name: Arc<str> = name.into();
        names.get(at)?.set(Arc::clone(&name)).ok()?;
        self.numbers.write().insert(name, number);
        Some(())
    }
}

impl Table {
    fn push(&mut self, name: &str) -> Option<u32> {
        let number = self.len;
        self.shared.set(number, name)?;
        self.len = number + 1;
        Some(number)
    }

    fn name(&self, number: u32) -> Option<&str> {
        if number < self.len { self.shared.get(number) } else { None }
    }

    fn number(&self, name: &str) -> Option<u32> {
        self.shared.numbers.read().get(name).copied().filter(|number| *number < self.len)
    }
}

impl Names {
    /// Reads the names out of a control state.
    pub fn of(state: &ControlState) -> Self {
        let mut names = Self::default();
        for host in &state.hosts {
            names.hosts.push(&host.name);
        }
        for kind in &state.types {
            names.kinds.push(kind);
        }
        names
    }

    /// Numbers a new host.
    pub fn push_host(&mut self, name: &str) -> Option<u32> {
        self.order = OnceLock::new();
        self.hosts.push(name)
    }

    /// Numbers a new type.
    pub fn push_kind(&mut self, name: &str) -> Option<u32> {
        self.kinds.push(name)
    }

    /// Returns the name of a host.
    pub fn host(&self, number: u32) -> Option<&str> {
        self.hosts.name(number)
    }

    /// Returns the name of a type.
    pub fn kind(&self, number: u32) -> Option<&str> {
        self.kinds.name(number)
    }

    /// Returns the number of a host.
    pub fn host_number(&self, name: &str) -> Option<u32> {
        self.hosts.number(name)
    }

    /// Returns the number of a type.
    pub fn kind_number(&self, name: &str) -> Option<u32> {
        self.kinds.number(name)
    }

    /// Lists types with their numbers.
    pub fn kinds(&self) -> impl Iterator<Item = (u32, &str)> {
        (0..self.kinds.len).filter_map(|number| Some((number, self.kinds.name(number)?)))
    }

    /// Lists host numbers in UTF-16 order of their names. Cost: the first time, a pass over all of them, and a sort
    /// of those that no table of this log had when it was asked.
    pub fn hosts_in_order(&self) -> &[u32] {
        self.order.get_or_init(|| {
            let mut known = self.known_order.lock();
            let len = self.hosts.len;
            let mut order: Vec<u32> = known.iter().copied().filter(|number| *number < len).collect();
            order.extend(u32::try_from(known.len()).unwrap_or(u32::MAX)..len);
            let name = |number: u32| self.hosts.name(number).unwrap_or("");
            // A stable sort takes what is in order already as one run.
            order.sort_by(|a, b| cmp_utf16(name(*a), name(*b)));
            let order = Arc::new(order);
            if order.len() > known.len() {
                *known = Arc::clone(&order);
            }
            order
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_knows_what_it_was_given_and_copies_no_name() {
        let mut names = Names::default();
        let mut given = Vec::new();
        for number in 0..300u32 {
            assert_eq!(names.push_host(&format!("host-{}", number * 7 % 300)), Some(number));
            given.push(names.clone());
        }
        for (len, table) in (1u32..).zip(&given) {
            assert!(Arc::ptr_eq(&table.hosts.shared, &names.hosts.shared));
            let newest = table.host(len - 1).unwrap();
            assert_eq!((table.host_number(newest), table.host(len)), (Some(len - 1), None));
            assert_eq!(names.host(len).and_then(|name| table.host_number(name)), None);
        }
        // Asked in any order, each has its own hosts in theirs.
        for at in [299usize, 3, 150, 0, 299] {
            let table = &given[at];
            let listed: Vec<&str> = table.hosts_in_order().iter().map(|n| table.host(*n).unwrap()).collect();
            let mut sorted: Vec<&str> =
                (0..=u32::try_from(at).unwrap()).map(|n| table.host(n).unwrap()).collect();
            sorted.sort_unstable();
            assert_eq!(listed, sorted);
        }
    }
}
