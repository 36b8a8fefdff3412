//! Where the causes of an event stand, told from what has been replayed so far.

use std::collections::HashSet;
use std::fmt;
use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher13};

use crate::contract::{Code, Error, ErrorKind, EventFields, IdRef, Result};

/// Tells where the causes of events stand in the order.
///
/// A replay asks once for each event, in the order. [`SeenIds`] answers from memory; an index of the order
/// can answer from its own positions instead and keep nothing.
pub trait CausePlaces<E> {
    /// Takes the event at `position` and appends to `places` where each of its causes stands: `None` for
    /// one that is not held, or that has not come yet.
    ///
    /// # Errors
    /// What kept it from answering; it ends the replay.
    fn take(&mut self, event: &E, position: u64, places: &mut Vec<Option<u64>>) -> Result<Arrival>;

    /// Returns how many ids were named as causes and not held so far.
    fn missing(&self) -> u64;
}

/// How an event came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Arrival {
    /// Before everything that names it.
    InTime,
    /// Behind an event that names it as a cause, so that the sequence is not the order.
    Late,
    /// A second time: an event of this id was taken before.
    Repeated,
}

/// Remembers ids and positions of all events taken, in 20 to 30 bytes an event.
///
/// An id is kept as 96 bits of a SipHash-1-3. Chance makes two of 10,000,000 ids meet with a probability
/// below 10^-15. Someone who writes a log for the purpose and spends some 2^48 hashes can make two of its
/// ids meet; what he gains is a wrong verdict on his own log.
///
/// Ids that were named and have not come are kept beside, 16 bytes and a little for each.
#[derive(Clone, Default)]
pub struct SeenIds {
    shards: Vec<Shard>,
    awaited: HashSet<Fingerprint>,
}

/// Number of tables. When one of them grows, the memory for its copy is a small part of the whole.
const SHARDS: usize = 64;

/// Greatest position a slot can hold; the one beyond marks a free slot.
const POSITION_MAX: u32 = u32::MAX - 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Fingerprint {
    high: u64,
    low: u32,
}

impl Fingerprint {
    fn of(id: IdRef<'_>) -> Self {
        let mut hasher = SipHasher13::new();
        match id {
            IdRef::Uuid(bytes) => hasher.write(&bytes),
            IdRef::Text(text) => {
                hasher.write(text.as_bytes());
                // Keeps a text of 16 bytes apart from a UUID.
                hasher.write_u8(0xFF);
            }
        }
        let hash = hasher.finish128();
        // The low half of the second word; its upper half is not needed.
        let [a, b, c, d, ..] = hash.h2.to_le_bytes();
        Self { high: hash.h1, low: u32::from_le_bytes([a, b, c, d]) }
    }

    fn shard(self) -> usize {
        usize::try_from(self.low).unwrap_or_default() % SHARDS
    }
}

#[derive(Clone, Copy)]
struct Slot {
    fingerprint_high: u64,
    fingerprint_low: u32,
    position: u32,
}

const FREE: Slot = Slot { fingerprint_high: 0, fingerprint_low: 0, position: u32::MAX };

impl Slot {
    const fn is_free(self) -> bool {
        self.position == u32::MAX
    }

    const fn holds(self, id: Fingerprint) -> bool {
        self.fingerprint_high == id.high && self.fingerprint_low == id.low
    }

    const fn fingerprint(self) -> Fingerprint {
        Fingerprint { high: self.fingerprint_high, low: self.fingerprint_low }
    }
}

/// A table with linear probing, at most four fifths full, that grows by half.
#[derive(Clone, Default)]
struct Shard {
    slots: Vec<Slot>,
    used: usize,
}

impl Shard {
    /// Returns the slots in the order in which an id is looked for.
    fn probe(&self, id: Fingerprint) -> impl Iterator<Item = (usize, Slot)> {
        let start = self.start(id);
        let slots = self.slots.iter().copied().enumerate();
        slots.clone().skip(start).chain(slots.take(start))
    }

    /// Maps the hash onto the slots without a division.
    fn start(&self, id: Fingerprint) -> usize {
        let slots = u128::try_from(self.slots.len()).unwrap_or_default();
        usize::try_from((u128::from(id.high) * slots) >> 64).unwrap_or_default()
    }

    fn find(&self, id: Fingerprint) -> Option<u32> {
        let (_, slot) = self.probe(id).find(|(_, slot)| slot.is_free() || slot.holds(id))?;
        (!slot.is_free()).then_some(slot.position)
    }

    /// Notes an id unless it is there; reports whether it is new.
    fn insert(&mut self, id: Fingerprint, position: u32) -> bool {
        if self.used * 5 >= self.slots.len() * 4 {
            self.grow();
        }
        let free = match self.probe(id).find(|(_, slot)| slot.is_free() || slot.holds(id)) {
            Some((at, slot)) if slot.is_free() => at,
            _ => return false,
        };
        if let Some(slot) = self.slots.get_mut(free) {
            *slot = Slot { fingerprint_high: id.high, fingerprint_low: id.low, position };
            self.used += 1;
        }
        true
    }

    fn grow(&mut self) {
        let slots = self.slots.len() + self.slots.len() / 2 + 8;
        let old = std::mem::replace(&mut self.slots, vec![FREE; slots]);
        self.used = 0;
        for slot in old.into_iter().filter(|slot| !slot.is_free()) {
            self.insert(slot.fingerprint(), slot.position);
        }
    }
}

impl SeenIds {
    /// Starts with nothing seen.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn find(&self, id: Fingerprint) -> Option<u64> {
        self.shards.get(id.shard())?.find(id).map(u64::from)
    }
}

impl<E: EventFields> CausePlaces<E> for SeenIds {
    fn take(&mut self, event: &E, position: u64, places: &mut Vec<Option<u64>>) -> Result<Arrival> {
        let position =
            u32::try_from(position).ok().filter(|position| *position <= POSITION_MAX).ok_or_else(|| {
                let message =
                    format!("a replay in memory takes at most {} events", u64::from(POSITION_MAX) + 1);
                Error::new(ErrorKind::Unsupported, Code::Limit, message)
            })?;
        for cause in event.causes() {
            let cause = Fingerprint::of(cause);
            let place = self.find(cause);
            if place.is_none() {
                self.awaited.insert(cause);
            }
            places.push(place);
        }
        // Behind its causes: an event that names itself is late.
        let own = Fingerprint::of(event.id());
        self.shards.resize_with(SHARDS, Shard::default);
        let new = self.shards.get_mut(own.shard()).is_some_and(|shard| shard.insert(own, position));
        if !new {
            return Ok(Arrival::Repeated);
        }
        Ok(if self.awaited.remove(&own) { Arrival::Late } else { Arrival::InTime })
    }

    fn missing(&self) -> u64 {
        u64::try_from(self.awaited.len()).unwrap_or(u64::MAX)
    }
}

impl fmt::Debug for SeenIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids: usize = self.shards.iter().map(|shard| shard.used).sum();
        f.debug_struct("SeenIds").field("ids", &ids).field("awaited", &self.awaited.len()).finish()
    }
}
