//! Where the causes of an event stand, told from what has been replayed so far.

use std::collections::HashSet;
use std::fmt;
use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher13};

use crate::contract::{Code, Error, ErrorKind, EventFields, IdForm, IdRef, Result};

use super::invariants::ACTIVATED;

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

    /// Reports whether one of an event's causes that stand before it is a `capability.activated`. It is asked of
    /// revocations alone, right behind [`take`](Self::take), and is shown what that appended.
    ///
    /// # Errors
    /// What kept it from answering; it ends the replay.
    fn names_activation(&mut self, event: &E, places: &[Option<u64>]) -> Result<bool>;

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

/// Remembers ids and positions of all events taken, in 18 to 21 bytes an event, and a bit for each up to the last
/// activation.
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
    /// Bit `p` is set if the event at position `p` is an activation.
    activations: Vec<u64>,
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
        // The last byte keeps a text apart from a UUID of the same bytes.
        match id.form() {
            IdForm::Uuid(bytes) => {
                hasher.write(&bytes);
                hasher.write_u8(0xFE);
            }
            IdForm::Text(text) => {
                hasher.write(text.as_bytes());
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

/// A table with linear probing, at most seven eighths full, that grows by an eighth: a look-up that finds nothing reads
/// 33 slots at the most on average, and copying costs each slot some nine moves in all.
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
        if self.used * 8 >= self.slots.len() * 7 {
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
        let slots = self.slots.len() + self.slots.len() / 8 + 8;
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

    fn note_activation(&mut self, position: u64) {
        let Some((word, bit)) = bit_of(position) else { return };
        if self.activations.len() <= word {
            self.activations.resize(word + 1, 0);
        }
        if let Some(word) = self.activations.get_mut(word) {
            *word |= bit;
        }
    }

    fn is_activation(&self, position: u64) -> bool {
        bit_of(position)
            .is_some_and(|(word, bit)| self.activations.get(word).is_some_and(|word| word & bit != 0))
    }
}

/// Returns the word of a position and its bit in it.
fn bit_of(position: u64) -> Option<(usize, u64)> {
    Some((usize::try_from(position / 64).ok()?, 1 << (position % 64)))
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
        if event.kind() == ACTIVATED {
            self.note_activation(position.into());
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

    fn names_activation(&mut self, _event: &E, places: &[Option<u64>]) -> Result<bool> {
        Ok(places.iter().flatten().any(|place| self.is_activation(*place)))
    }

    fn missing(&self) -> u64 {
        u64::try_from(self.awaited.len()).unwrap_or(u64::MAX)
    }
}

impl fmt::Debug for SeenIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids: usize = self.shards.iter().map(|shard| shard.used).sum();
        f.debug_struct("SeenIds")
            .field("ids", &ids)
            .field("awaited", &self.awaited.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;
    use crate::contract::{Event, EventId, HostId, JsonText, Seq};

    fn event(id: &str, causes: &[&str]) -> Event {
        let host = HostId::new("h").unwrap();
        let payload = JsonText::parse("{}").unwrap();
        let mut event = Event::new(EventId::new(id).unwrap(), host, Seq::ZERO, "turn.started", payload);
        event.causes = causes.iter().map(|cause| EventId::new(cause).unwrap()).collect();
        event
    }

    fn take(seen: &mut SeenIds, position: u64, id: &str, causes: &[&str]) -> (Arrival, Vec<Option<u64>>) {
        let mut places = Vec::new();
        let arrival = seen.take(&event(id, causes), position, &mut places).unwrap();
        (arrival, places)
    }

    #[test]
    fn causes_are_told_by_position_and_lateness_shows() {
        let mut seen = SeenIds::new();
        assert_eq!(take(&mut seen, 0, "a", &["b", "gone"]), (Arrival::InTime, vec![None, None]));
        assert_eq!(CausePlaces::<Event>::missing(&seen), 2);
        assert_eq!(take(&mut seen, 1, "b", &["a", "a"]), (Arrival::Late, vec![Some(0), Some(0)]));
        assert_eq!(CausePlaces::<Event>::missing(&seen), 1);
        assert_eq!(take(&mut seen, 2, "c", &["c"]), (Arrival::Late, vec![None]));
        assert_eq!(take(&mut seen, 3, "a", &["b"]), (Arrival::Repeated, vec![Some(1)]));
    }

    #[test]
    fn positions_end_where_a_slot_ends() {
        let mut seen = SeenIds::new();
        let last = u64::from(POSITION_MAX);
        assert_eq!(take(&mut seen, last, "a", &[]).0, Arrival::InTime);
        assert_eq!(take(&mut seen, last, "b", &["a"]).1, [Some(last)]);
        let error = seen.take(&event("c", &[]), last + 1, &mut Vec::new()).unwrap_err();
        assert_eq!(error.code(), Code::Limit);
    }

    #[test]
    fn an_event_costs_at_most_21_bytes() {
        let mut seen = SeenIds::new();
        assert_eq!(size_of::<Slot>(), 16);
        for position in 0..300_000_u64 {
            let id = EventId::from_uuid_bytes(u128::from(position).to_be_bytes());
            let event = Event { id, ..event("x", &[]) };
            assert_eq!(seen.take(&event, position, &mut Vec::new()).unwrap(), Arrival::InTime);
            if position >= 20_000 && position.is_multiple_of(1_000) {
                let bytes: usize =
                    seen.shards.iter().map(|shard| shard.slots.capacity() * size_of::<Slot>()).sum();
                assert!(
                    u64::try_from(bytes).unwrap() <= 21 * position,
                    "{bytes} bytes for {position} events"
                );
            }
        }
        assert_eq!(seen.find(Fingerprint::of(IdRef::from_uuid_bytes(77_u128.to_be_bytes()))), Some(77));
    }

    proptest! {
        #[test]
        fn a_shard_is_a_map(ids in prop::collection::vec((0..40_u64, 0..2_u32), 0..120)) {
            let (mut shard, mut plain) = (Shard::default(), HashMap::new());
            for (position, (high, low)) in (0..).zip(ids) {
                // Few and crowded starts, at both ends of the table.
                let id = Fingerprint { high: high.wrapping_mul(u64::MAX / 3).wrapping_sub(high), low };
                prop_assert_eq!(shard.insert(id, position), !plain.contains_key(&id));
                plain.entry(id).or_insert(position);
            }
            prop_assert_eq!(shard.used, plain.len());
            for (id, position) in plain {
                prop_assert_eq!(shard.find(id), Some(position));
                prop_assert_eq!(shard.find(Fingerprint { low: 7, ..id }), None);
            }
        }
    }
}
