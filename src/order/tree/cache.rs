//! Decoded clean nodes, bounded by the memory they take.
//!
//! Invariants:
//! - a shard's `bytes` are those of its slots and never above its share;
//! - `places` names every slot once, by its index.
//!
//! Second chance: a slot that was used since the hand last passed is passed over once. Nothing is
//! remembered of what was evicted. A node stands for one place for good, so an entry is never stale.

use std::any::Any;
use std::sync::Arc;

use hashbrown::HashTable;
use parking_lot::Mutex;

use super::NodeAt;

/// A decoded node of whatever tree.
pub(super) type Cached = Arc<dyn Any + Send + Sync>;

/// Memory of a slot and of what leads to it, beside the node's own.
const SLOT_BYTES: usize = size_of::<Slot>() + 16;

/// A shard's share is at least this, so that small caches do not consist of shards too small for a node.
const SHARD_BYTES_MIN: usize = 1 << 20;

const SHARDS_MAX: usize = 16;

pub(super) struct Cache {
    /// A power of two of them.
    shards: Box<[Mutex<Shard>]>,
}

struct Shard {
    places: HashTable<usize>,
    slots: Vec<Slot>,
    hand: usize,
    bytes: usize,
    bytes_max: usize,
}

struct Slot {
    at: NodeAt,
    node: Cached,
    bytes: usize,
    used: bool,
}

impl Cache {
    /// Creates one that keeps at most so many bytes; with 0 it keeps nothing.
    pub(super) fn new(bytes_max: usize) -> Self {
        let shards = (bytes_max / SHARD_BYTES_MIN).clamp(1, SHARDS_MAX);
        let shards = if shards.is_power_of_two() { shards } else { shards.next_power_of_two() / 2 };
        let shard = || {
            let bytes_max = bytes_max / shards;
            Mutex::new(Shard { places: HashTable::new(), slots: Vec::new(), hand: 0, bytes: 0, bytes_max })
        };
        Self { shards: std::iter::repeat_with(shard).take(shards).collect() }
    }

    pub(super) fn get(&self, at: NodeAt) -> Option<Cached> {
        let hash = hash(at);
        self.shard(hash)?.lock().get(hash, at)
    }

    /// Keeps a node, and forgets others for it; a node too large for a shard is not kept.
    pub(super) fn put(&self, at: NodeAt, node: Cached, bytes: usize) {
        let hash = hash(at);
        if let Some(shard) = self.shard(hash) {
            let evicted = shard.lock().put(hash, Slot { at, node, bytes: bytes + SLOT_BYTES, used: false });
            // Nodes are freed with the lock released.
            drop(evicted);
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().bytes).sum()
    }

    fn shard(&self, hash: u64) -> Option<&Mutex<Shard>> {
        // The table takes the low and the highest bits.
        self.shards.get((hash >> 40) as usize & (self.shards.len() - 1))
    }
}

impl Shard {
    fn find(&self, hash: u64, at: NodeAt) -> Option<usize> {
        self.places.find(hash, |index| self.slots.get(*index).is_some_and(|slot| slot.at == at)).copied()
    }

    fn get(&mut self, hash: u64, at: NodeAt) -> Option<Cached> {
        let index = self.find(hash, at)?;
        let slot = self.slots.get_mut(index)?;
        slot.used = true;
        Some(Arc::clone(&slot.node))
    }

    fn put(&mut self, hash: u64, slot: Slot) -> Vec<Slot> {
        let mut evicted = Vec::new();
        if slot.bytes > self.bytes_max || self.find(hash, slot.at).is_some() {
            return evicted;
        }
        while self.bytes + slot.bytes > self.bytes_max {
            let Some(old) = self.evict() else { break };
            evicted.push(old);
        }
        self.bytes += slot.bytes;
        let (places, slots) = (&mut self.places, &self.slots);
        let rehash = |index: &usize| slots.get(*index).map_or(0, |slot| self::hash(slot.at));
        places.insert_unique(hash, slots.len(), rehash);
        self.slots.push(slot);
        evicted
    }

    /// Takes out the next slot under the hand that was not used; a full turn clears all marks, so it ends.
    fn evict(&mut self) -> Option<Slot> {
        loop {
            if self.hand >= self.slots.len() {
                self.hand = 0;
            }
            let slot = self.slots.get_mut(self.hand)?;
            if !std::mem::take(&mut slot.used) {
                break;
            }
            self.hand += 1;
        }
        let index = self.hand;
        let last = self.slots.len() - 1;
        self.forget_place(index);
        if index != last
            && let Some(moved) = self.slots.get(last).map(|slot| slot.at)
            && let Ok(mut place) = self.places.find_entry(hash(moved), |place| *place == last)
        {
            *place.get_mut() = index;
        }
        let old = self.slots.swap_remove(index);
        self.bytes -= old.bytes;
        Some(old)
    }

    fn forget_place(&mut self, index: usize) {
        if let Some(at) = self.slots.get(index).map(|slot| slot.at)
            && let Ok(place) = self.places.find_entry(hash(at), |place| *place == index)
        {
            place.remove();
        }
    }
}

/// Mixes a place. Places are our own files', so nobody chooses them to collide.
fn hash(at: NodeAt) -> u64 {
    let mixed = (at.offset ^ (u64::from(at.file) << 40)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(number: u64) -> NodeAt {
        NodeAt { file: u32::try_from(number % 3).unwrap(), offset: 8 * number, bytes: 8 }
    }

    fn number(node: &Cached) -> u64 {
        *node.downcast_ref::<u64>().unwrap()
    }

    proptest! {
        #[test]
        fn it_gives_what_was_put_and_stays_within_its_bytes(
            ops in prop::collection::vec((any::<bool>(), 0..40_u64), 1..300),
            bytes_max in prop_oneof![0..2000_usize, Just(usize::MAX)],
        ) {
            let cache = Cache::new(bytes_max);
            let mut put = std::collections::BTreeSet::new();
            for (puts, key) in ops {
                if puts {
                    cache.put(at(key), Arc::new(key), 50 + usize::try_from(key).unwrap());
                    put.insert(key);
                }
                let found = cache.get(at(key));
                prop_assert!(found.as_ref().is_none_or(|node| number(node) == key && put.contains(&key)));
                prop_assert!(bytes_max < usize::MAX || found.is_some() == put.contains(&key));
                prop_assert!(cache.bytes() <= bytes_max);
                for shard in &cache.shards {
                    let shard = shard.lock();
                    prop_assert_eq!(shard.bytes, shard.slots.iter().map(|slot| slot.bytes).sum::<usize>());
                    prop_assert_eq!(shard.places.len(), shard.slots.len());
                    for (index, slot) in shard.slots.iter().enumerate() {
                        prop_assert_eq!(shard.find(hash(slot.at), slot.at), Some(index));
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_used_stays() {
        let cache = Cache::new(10 * (100 + SLOT_BYTES));
        for key in 0..1000 {
            cache.put(at(key), Arc::new(key), 100);
            assert_eq!(cache.get(at(0)).as_ref().map(number), Some(0), "after {key} were put");
        }
        assert_eq!(cache.bytes(), 10 * (100 + SLOT_BYTES));
    }

    #[test]
    fn places_spread_over_shards() {
        let cache = Cache::new(64 << 20);
        assert_eq!(cache.shards.len(), SHARDS_MAX);
        for key in 0..16_000 {
            cache.put(at(key * 100), Arc::new(key), 8);
        }
        for shard in &cache.shards {
            assert!((800..1200).contains(&shard.lock().slots.len()));
        }
    }
}
