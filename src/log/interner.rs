//! Names of hosts and types, and the numbers that stand for them in records.
//!
//! Invariants: numbers count from 0 without gaps and never change their meaning, so a newer table answers for
//! every record that an older one could.

use std::collections::HashMap;
use std::sync::Arc;

use crate::codec::ControlState;
use crate::contract::cmp_utf16;

/// The names behind the numbers of one store.
#[derive(Clone, Debug, Default)]
pub struct Names {
    hosts: Table,
    kinds: Table,
    /// Host numbers in UTF-16 order of their names.
    order: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
struct Table {
    names: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
}

impl Table {
    fn push(&mut self, name: &str) -> Option<u32> {
        let number = u32::try_from(self.names.len()).ok()?;
        let name: Arc<str> = name.into();
        self.names.push(Arc::clone(&name));
        self.numbers.insert(name, number);
        Some(number)
    }

    fn pop(&mut self) {
        if let Some(name) = self.names.pop() {
            self.numbers.remove(&name);
        }
    }

    fn name(&self, number: u32) -> Option<&str> {
        self.names.get(usize::try_from(number).ok()?).map(|name| &**name)
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
        names.order = (0..u32::try_from(names.hosts.names.len()).unwrap_or(u32::MAX)).collect();
        let hosts = &names.hosts;
        names.order.sort_by(|a, b| cmp_utf16(hosts.name(*a).unwrap_or(""), hosts.name(*b).unwrap_or("")));
        names
    }

    /// Numbers a new host.
    pub fn push_host(&mut self, name: &str) -> Option<u32> {
        let number = self.hosts.push(name)?;
        let hosts = &self.hosts;
        let at =
            self.order.partition_point(|other| cmp_utf16(hosts.name(*other).unwrap_or(""), name).is_lt());
        self.order.insert(at, number);
        Some(number)
    }

    /// Numbers a new type.
    pub fn push_kind(&mut self, name: &str) -> Option<u32> {
        self.kinds.push(name)
    }

    /// Forgets the newest host.
    pub fn pop_host(&mut self) {
        self.hosts.pop();
        let len = self.hosts.names.len();
        self.order.retain(|number| (*number as usize) < len);
    }

    /// Forgets the newest type.
    pub fn pop_kind(&mut self) {
        self.kinds.pop();
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
        self.hosts.numbers.get(name).copied()
    }

    /// Returns the number of a type.
    pub fn kind_number(&self, name: &str) -> Option<u32> {
        self.kinds.numbers.get(name).copied()
    }

    /// Lists types with their numbers.
    pub fn kinds(&self) -> impl Iterator<Item = (u32, &str)> {
        (0..).zip(self.kinds.names.iter().map(|name| &**name))
    }

    /// Lists host numbers in UTF-16 order of their names.
    pub fn hosts_in_order(&self) -> &[u32] {
        &self.order
    }
}
