//! References that nothing but a missing key keeps from being read.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::contract::{Ref, Result};
use crate::replay::{Chain, Resolver, StoredContent};

/// Asks a chain, and counts what it finds nowhere though the store holds it, under a key that is not here.
pub(crate) struct CountLocked<'r> {
    chain: Chain<'r>,
    stored: &'r StoredContent<'r>,
    locked: AtomicU64,
}

impl<'r> CountLocked<'r> {
    /// Takes a chain; `stored` is the store's content in it.
    pub(crate) fn new(chain: Chain<'r>, stored: &'r StoredContent<'r>) -> Self {
        Self { chain, stored, locked: AtomicU64::new(0) }
    }

    /// Returns how many references were asked for that only the key is missing for.
    pub(crate) fn count(&self) -> u64 {
        self.locked.load(Ordering::Relaxed)
    }
}

impl Resolver for CountLocked<'_> {
    fn held_hash<'a>(&'a self, reference: &'a Ref) -> Result<Option<Cow<'a, str>>> {
        let held = self.chain.held_hash(reference)?;
        if held.is_none() && self.stored.is_locked(reference)? {
            self.locked.fetch_add(1, Ordering::Relaxed);
        }
        Ok(held)
    }

    /// That of the chain; none once something was counted, since a replay that goes on would count the rest alone.
    fn mark(&self) -> Result<Option<[u8; 32]>> {
        if self.count() > 0 { Ok(None) } else { self.chain.mark() }
    }
}
