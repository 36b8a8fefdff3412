//! Changes to the tables that can be taken back.
//!
//! Every change goes through [`Edit::set`], which notes what was there before. An append that fails half-way, or that
//! turns out to close a cycle, is taken back by putting the old entries in again, the last one first. Copies of the
//! roots would do the same; but then each append would copy the nodes on its paths, which costs more than all the rest.

use crate::contract::Result;
use crate::order::tree::{Kind, Shelf, Tree};

use super::Tables;
use super::key::{EventKey, Ranks, Run};
use super::kinds::{Dependents, Gaps, Heads, Hosts, Missing, Places, Runs, Waiting};

/// What an entry was before it changed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Was {
    Run(u64, Option<Run>),
    Place(EventKey, Option<u64>),
    Dependent((EventKey, EventKey), Option<()>),
    Missing((u64, EventKey), Option<bool>),
    Waiting(EventKey, Option<u32>),
    Head(EventKey, Option<()>),
    Host(u32, Option<Gaps>),
}

/// A change on its way.
#[derive(Debug)]
pub(super) struct Edit<'a> {
    pub(super) shelf: &'a Shelf,
    pub(super) ranks: &'a Ranks,
    pub(super) tables: &'a mut Tables,
    /// What to put back; `None` where nobody will ask for that.
    journal: Option<&'a mut Vec<Was>>,
    /// The least position at which the order changed.
    changed: Option<u64>,
}

/// A tree of the index: where it is, and how its changes are noted.
pub(super) trait Table: Kind {
    fn tree(tables: &mut Tables) -> &mut Tree<Self>;
    fn was(key: Self::Key, value: Option<Self::Value>) -> Was;
    fn context(ranks: &Ranks) -> &Self::Context;
}

macro_rules! table {
    ($kind:ty, $tree:ident $(. $part:ident)?, $was:ident, $ranks:pat => $context:expr) => {
        impl Table for $kind {
            fn tree(tables: &mut Tables) -> &mut Tree<Self> {
                &mut tables.$tree$(.$part)?
            }

            fn was(key: Self::Key, value: Option<Self::Value>) -> Was {
                Was::$was(key, value)
            }

            fn context($ranks: &Ranks) -> &Self::Context {
                $context
            }
        }
    };
}

table!(Runs, layout.runs, Run, ranks => ranks);
table!(Places, layout.places, Place, _ => &());
table!(Dependents, dependents, Dependent, _ => &());
table!(Missing, missing, Missing, _ => &());
table!(Waiting, waiting, Waiting, _ => &());
table!(Heads, heads, Head, _ => &());
table!(Hosts, hosts, Host, _ => &());

impl<'a> Edit<'a> {
    /// Starts a change. With a journal, which must be empty, it can be taken back.
    pub(super) fn new(
        shelf: &'a Shelf,
        ranks: &'a Ranks,
        tables: &'a mut Tables,
        journal: Option<&'a mut Vec<Was>>,
    ) -> Self {
        Self { shelf, ranks, tables, journal, changed: None }
    }

    /// Puts an entry in, or with `None` takes it out; returns what was there.
    pub(super) fn set<T: Table>(&mut self, key: T::Key, value: Option<T::Value>) -> Result<Option<T::Value>> {
        let was = put::<T>(self.tables, self.shelf, self.ranks, key, value)?;
        // Taking out what is not there is no change.
        if let Some(journal) = &mut self.journal
            && (was.is_some() || value.is_some())
        {
            journal.push(T::was(key, was));
        }
        Ok(was)
    }

    /// Takes everything back.
    ///
    /// # Errors
    /// Those of reading nodes; the tables are then half changed.
    pub(super) fn take_back(&mut self) -> Result<()> {
        self.changed = None;
        let Some(journal) = &mut self.journal else { return Ok(()) };
        let (tables, shelf, ranks) = (&mut *self.tables, self.shelf, self.ranks);
        while let Some(was) = journal.pop() {
            match was {
                Was::Run(key, value) => restore::<Runs>(tables, shelf, ranks, key, value)?,
                Was::Place(key, value) => restore::<Places>(tables, shelf, ranks, key, value)?,
                Was::Dependent(key, value) => restore::<Dependents>(tables, shelf, ranks, key, value)?,
                Was::Missing(key, value) => restore::<Missing>(tables, shelf, ranks, key, value)?,
                Was::Waiting(key, value) => restore::<Waiting>(tables, shelf, ranks, key, value)?,
                Was::Head(key, value) => restore::<Heads>(tables, shelf, ranks, key, value)?,
                Was::Host(key, value) => restore::<Hosts>(tables, shelf, ranks, key, value)?,
            }
        }
        Ok(())
    }

    /// Notes that the order changed at a position.
    pub(super) fn changed_at(&mut self, position: u64) {
        self.changed = Some(self.changed.map_or(position, |least| least.min(position)));
    }

    /// Returns the least position at which the order changed; `None` where events went to its end alone.
    pub(super) fn changed(&self) -> Option<u64> {
        self.changed
    }
}

fn put<T: Table>(
    tables: &mut Tables,
    shelf: &Shelf,
    ranks: &Ranks,
    key: T::Key,
    value: Option<T::Value>,
) -> Result<Option<T::Value>> {
    let (tree, context) = (T::tree(tables), T::context(ranks));
    match value {
        Some(value) => tree.insert(shelf, context, key, value),
        None => tree.remove(shelf, context, &key),
    }
}

fn restore<T: Table>(
    tables: &mut Tables,
    shelf: &Shelf,
    ranks: &Ranks,
    key: T::Key,
    value: Option<T::Value>,
) -> Result<()> {
    put::<T>(tables, shelf, ranks, key, value).map(|_| ())
}
