//! The `seq` of many events, by number, packed.
//!
//! Invariants:
//! - Numbers stand in blocks: consecutive `seq`, however many, or up to 64 of them as distances from the first, in as
//!   many bits as the greatest takes. No block holds events of two hosts.
//! - Within a host `seq` rises with the number.

use std::ops::Range;

/// Events of a block with distances, at the most. A run of as many consecutive ones is a block of its own.
const BLOCK: usize = 64;

const WORD_BITS: usize = 64;

/// `seq` by number. 24 bytes for a run of consecutive ones; else, an event, 3/8 of a byte and its distance: a byte where
/// every third `seq` is held, below seven whatever the gaps.
#[derive(Debug, Default)]
pub(super) struct Seqs {
    blocks: Vec<Block>,
    words: Vec<u64>,
    /// Events that were added, and how many of them have their block.
    len: u32,
    settled: u32,
    /// What has no block yet: some, and consecutive ones behind them.
    loose: Vec<u64>,
    run: Run,
}

#[derive(Clone, Copy, Debug)]
struct Block {
    first: u64,
    /// The first event's number.
    number: u32,
    /// The word in which its distances start; they leave out the first.
    word: u32,
    /// Bits of a distance; 0 where `seq` are consecutive.
    width: u8,
}

#[derive(Clone, Copy, Debug, Default)]
struct Run {
    first: u64,
    len: u32,
}

impl Seqs {
    /// Creates an empty list with room for so many hosts of one block.
    pub(super) fn with_capacity(hosts: usize) -> Self {
        Self { blocks: Vec::with_capacity(hosts), ..Self::default() }
    }

    /// Returns the number of events.
    pub(super) const fn len(&self) -> u32 {
        self.len
    }

    /// Returns how many blocks there are.
    pub(super) fn blocks(&self) -> u32 {
        u32::try_from(self.blocks.len()).unwrap_or(u32::MAX)
    }

    /// Adds consecutive `seq` of the current host. `None` when 32 bits cannot number them.
    pub(super) fn push(&mut self, first: u64, len: u64) -> Option<()> {
        let len = u32::try_from(len).ok()?;
        self.len = self.len.checked_add(len)?;
        if self.run.len > 0 && self.run.first + u64::from(self.run.len) == first {
            self.run.len += len;
        } else {
            self.settle_run();
            self.run = Run { first, len };
        }
        Some(())
    }

    /// Says that what is added next is another host's.
    pub(super) fn end_host(&mut self) {
        self.settle_run();
        self.settle_loose();
    }

    /// Gives back what was taken in advance.
    pub(super) fn shrink(&mut self) {
        self.loose = Vec::new();
        self.blocks.shrink_to_fit();
        self.words.shrink_to_fit();
    }

    fn settle_run(&mut self) {
        let Run { first, len } = std::mem::take(&mut self.run);
        if len as usize >= BLOCK {
            self.settle_loose();
            self.settle(first, len, 0);
            return;
        }
        // A short run shares a block with its neighbours.
        for seq in first..first + u64::from(len) {
            self.loose.push(seq);
            if self.loose.len() == BLOCK {
                self.settle_loose();
            }
        }
    }

    fn settle_loose(&mut self) {
        let (Some(first), Some(last)) = (self.loose.first().copied(), self.loose.last().copied()) else {
            return;
        };
        let len = u32::try_from(self.loose.len()).unwrap_or(u32::MAX);
        let consecutive = last - first == u64::from(len - 1);
        let width = if consecutive { 0 } else { u64::BITS - (last - first).leading_zeros() };
        self.settle(first, len, u8::try_from(width).unwrap_or(u8::MAX));
        let mut loose = std::mem::take(&mut self.loose);
        if !consecutive {
            self.pack(loose.iter().skip(1).map(|seq| seq - first), width as usize);
        }
        loose.clear();
        self.loose = loose;
    }

    fn settle(&mut self, first: u64, len: u32, width: u8) {
        let word = u32::try_from(self.words.len()).unwrap_or(u32::MAX);
        self.blocks.push(Block { first, number: self.settled, word, width });
        self.settled += len;
    }

    /// Adds distances, from a new word on.
    fn pack(&mut self, distances: impl Iterator<Item = u64>, width: usize) {
        let mut used = WORD_BITS;
        for distance in distances {
            if used == WORD_BITS {
                self.words.push(0);
                used = 0;
            }
            if let Some(word) = self.words.last_mut() {
                *word |= distance << used;
            }
            used += width;
            if used > WORD_BITS {
                used -= WORD_BITS;
                self.words.push(distance >> (width - used));
            }
        }
    }

    /// Returns the number of the event with a `seq`, among the blocks of its host.
    pub(super) fn find(&self, blocks: Range<u32>, seq: u64) -> Option<u32> {
        let of_host = self.blocks.get(blocks.start as usize..blocks.end as usize)?;
        let at =
            blocks.start as usize + of_host.partition_point(|block| block.first <= seq).checked_sub(1)?;
        let (block, len) = (self.blocks.get(at)?, self.len_of(at));
        let distance = seq - block.first;
        if block.width == 0 {
            let within = u32::try_from(distance).ok().filter(|within| *within < len)?;
            return Some(block.number + within);
        }
        let (mut low, mut high) = (0, len);
        while low < high {
            let middle = low.midpoint(high);
            if self.distance(block, middle) < distance { low = middle + 1 } else { high = middle }
        }
        (low < len && self.distance(block, low) == distance).then_some(block.number + low)
    }

    /// Returns the `seq` of an event.
    pub(super) fn seq(&self, number: u32) -> Option<u64> {
        let at = self.blocks.partition_point(|block| block.number <= number).checked_sub(1)?;
        let block = self.blocks.get(at)?;
        let within = number - block.number;
        (within < self.len_of(at)).then(|| block.first + self.distance(block, within))
    }

    /// Returns how many events a block holds.
    fn len_of(&self, block: usize) -> u32 {
        let end = self.blocks.get(block + 1).map_or(self.settled, |next| next.number);
        end - self.blocks.get(block).map_or(end, |block| block.number)
    }

    /// Returns how far an event of a block is from its first.
    #[inline]
    fn distance(&self, block: &Block, within: u32) -> u64 {
        let width = usize::from(block.width);
        let Some(place) = (within as usize).checked_sub(1).filter(|_| width > 0) else {
            return within.into();
        };
        let (word, bit) = (block.word as usize + place * width / WORD_BITS, place * width % WORD_BITS);
        let low = self.words.get(word).map_or(0, |word| word >> bit);
        let high = match WORD_BITS - bit {
            held if held < width => self.words.get(word + 1).map_or(0, |word| word << held),
            _ => 0,
        };
        (low | high) & (u64::MAX >> (WORD_BITS - width))
    }

    /// Returns the bytes held.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        self.blocks.capacity() * size_of::<Block>() + self.words.capacity() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::limits::SEQ_MAX;
    use proptest::prelude::*;

    /// The list of hosts' `seq`, and the blocks of each.
    fn packed(hosts: &[Vec<u64>]) -> (Seqs, Vec<Range<u32>>) {
        let mut seqs = Seqs::with_capacity(hosts.len());
        let blocks = hosts.iter().map(|host| {
            let start = seqs.blocks();
            for seq in host {
                seqs.push(*seq, 1).unwrap();
            }
            seqs.end_host();
            start..seqs.blocks()
        });
        let blocks = blocks.collect();
        seqs.shrink();
        (seqs, blocks)
    }

    /// Runs of any length behind gaps of any width.
    fn host() -> impl Strategy<Value = Vec<u64>> {
        let gap = prop_oneof![1u64..4, 1u64..1_000, 1u64..1 << 40, Just(1 << 52)];
        let run = (gap, prop_oneof![1u64..4, 1u64..200]);
        prop::collection::vec(run, 1..40).prop_map(|runs| {
            let (mut seqs, mut next) = (Vec::new(), 0);
            for (gap, len) in runs.into_iter().take_while(|(gap, len)| *gap + *len < SEQ_MAX) {
                next += gap;
                seqs.extend((next..next + len).filter(|seq| *seq <= SEQ_MAX));
                next += len;
            }
            seqs
        })
    }

    proptest! {
        #[test]
        fn is_a_list_of_lists(hosts in prop::collection::vec(host(), 1..5)) {
            let (seqs, blocks) = packed(&hosts);
            let mut number = 0;
            for (host, blocks) in hosts.iter().zip(&blocks) {
                for (at, seq) in host.iter().enumerate() {
                    prop_assert_eq!(seqs.seq(number), Some(*seq));
                    prop_assert_eq!(seqs.find(blocks.clone(), *seq), Some(number));
                    for other in [seq.saturating_sub(1), seq + 1] {
                        let near = host.get(at.saturating_sub(1)..).unwrap_or_default();
                        if !near.iter().take(3).any(|seq| *seq == other) {
                            prop_assert_eq!(seqs.find(blocks.clone(), other), None);
                        }
                    }
                    number += 1;
                }
            }
            prop_assert_eq!(seqs.len(), number);
            prop_assert_eq!(seqs.seq(number), None);
        }
    }

    #[test]
    fn takes_little_whatever_the_gaps() {
        // For 1,000 events.
        let bytes = |seqs: &[u64]| packed(&[seqs.to_vec()]).0.bytes() * 1_000 / seqs.len();
        let every = |step: u64| (0..100_000).map(|at| at * step).collect::<Vec<u64>>();
        assert!(bytes(&every(1)) < 1);
        assert!(bytes(&every(3)) < 1_500);
        assert!(bytes(&every(SEQ_MAX / 100_000)) < 6_000);
        let runs: Vec<u64> = (0..100_000).map(|at| at + at / 70 * 1_000).collect();
        assert!(bytes(&runs) < 400);
    }

    #[test]
    fn ends_where_32_bits_do() {
        let mut seqs = Seqs::default();
        assert_eq!(seqs.push(0, u64::from(u32::MAX)), Some(()));
        assert_eq!(seqs.push(1 << 33, 1), None);
        assert_eq!(Seqs::default().push(0, 1 << 32), None);
    }
}
