//! Trees to test with, and a medium to store them on.

use std::sync::Arc;

use parking_lot::Mutex;

use super::super::*;
use crate::contract::{Code, Error, ErrorKind};

/// Numbers whose sum depends on their order: how many, the greatest, and a digest of keys and values from left to right.
pub(super) struct Numbers;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NumbersSum {
    pub(super) events: u64,
    pub(super) greatest: u64,
    digest: u64,
    power: u64,
}

const BASE: u64 = 0x0000_0100_0000_01b3;

impl Kind for Numbers {
    const NUMBER: u8 = 7;
    type Key = u64;
    type Value = u64;
    type Sum = NumbersSum;
    /// What the digest starts with.
    type Context = u64;

    fn sum(entries: &[Entry<Self>], context: &u64) -> NumbersSum {
        assert!(!entries.is_empty());
        let one = |(key, value): &Entry<Self>| NumbersSum {
            events: value % 8,
            greatest: *value,
            digest: key.wrapping_mul(31).wrapping_add(*value).wrapping_mul(*context),
            power: BASE,
        };
        entries.iter().map(one).reduce(|left, right| Self::add(left, right, context)).unwrap()
    }

    fn add(left: NumbersSum, right: NumbersSum, _: &u64) -> NumbersSum {
        NumbersSum {
            events: left.events.wrapping_add(right.events),
            greatest: left.greatest.max(right.greatest),
            digest: left.digest.wrapping_mul(right.power).wrapping_add(right.digest),
            power: left.power.wrapping_mul(right.power),
        }
    }

    fn put_entry(out: &mut Vec<u8>, before: Option<&u64>, key: &u64, value: &u64) {
        put_u64(out, key - before.unwrap_or(&0));
        put_u64(out, *value);
    }

    fn take_entry(bytes: &mut &[u8], before: Option<&u64>) -> Option<(u64, u64)> {
        Some((take_u64(bytes)?.checked_add(*before.unwrap_or(&0))?, take_u64(bytes)?))
    }

    fn put_key(out: &mut Vec<u8>, key: &u64) {
        put_u64(out, *key);
    }

    fn take_key(bytes: &mut &[u8]) -> Option<u64> {
        take_u64(bytes)
    }

    fn put_sum(out: &mut Vec<u8>, sum: &NumbersSum) {
        for number in [sum.events, sum.greatest, sum.digest, sum.power] {
            put_u64(out, number);
        }
    }

    fn take_sum(bytes: &mut &[u8]) -> Option<NumbersSum> {
        let (events, greatest) = (take_u64(bytes)?, take_u64(bytes)?);
        Some(NumbersSum { events, greatest, digest: take_u64(bytes)?, power: take_u64(bytes)? })
    }
}

/// Keys alone, with how many they are; the sum follows each change.
pub(super) struct Counted;

impl Kind for Counted {
    const NUMBER: u8 = 9;
    type Key = (u32, u64);
    type Value = ();
    type Sum = u64;
    type Context = ();

    fn sum(entries: &[Entry<Self>], (): &()) -> u64 {
        entries.len() as u64
    }

    fn add(left: u64, right: u64, (): &()) -> u64 {
        left.wrapping_add(right)
    }

    fn change(sum: u64, _: &Self::Key, old: Option<&()>, new: Option<&()>, (): &()) -> Option<u64> {
        Some(sum.wrapping_add(u64::from(new.is_some())).wrapping_sub(u64::from(old.is_some())))
    }

    fn put_entry(out: &mut Vec<u8>, _: Option<&Self::Key>, key: &Self::Key, (): &()) {
        Self::put_key(out, key);
    }

    fn take_entry(bytes: &mut &[u8], _: Option<&Self::Key>) -> Option<Entry<Self>> {
        Some((Self::take_key(bytes)?, ()))
    }

    fn put_key(out: &mut Vec<u8>, (host, seq): &Self::Key) {
        put_u64(out, u64::from(*host));
        put_u64(out, *seq);
    }

    fn take_key(bytes: &mut &[u8]) -> Option<Self::Key> {
        Some((take_u32(bytes)?, take_u64(bytes)?))
    }

    fn put_sum(out: &mut Vec<u8>, sum: &u64) {
        put_u64(out, *sum);
    }

    fn take_sum(bytes: &mut &[u8]) -> Option<u64> {
        take_u64(bytes)
    }
}

/// Nodes in memory, each in a file of its own. Fails once so many calls were let through.
#[derive(Default)]
pub(super) struct Medium {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    nodes: Vec<Vec<u8>>,
    reads: usize,
    fails_in: Option<usize>,
}

impl State {
    fn call(&mut self) -> Result<()> {
        match &mut self.fails_in {
            Some(0) => Err(Error::new(ErrorKind::Io, Code::Store, "the medium fails")),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl Medium {
    pub(super) fn fail_in(&self, calls: Option<usize>) {
        self.state.lock().fails_in = calls;
    }

    pub(super) fn reads(&self) -> usize {
        self.state.lock().reads
    }

    pub(super) fn len(&self) -> usize {
        self.state.lock().nodes.len()
    }

    /// Bytes of all nodes from one on.
    pub(super) fn bytes_from(&self, first: usize) -> u64 {
        self.state.lock().nodes[first..].iter().map(|node| node.len() as u64).sum()
    }

    pub(super) fn forget_before(&self, first: usize) {
        self.state.lock().nodes[..first].iter_mut().for_each(Vec::clear);
    }

    pub(super) fn damage(&self, node: usize, bytes: Vec<u8>) {
        self.state.lock().nodes[node] = bytes;
    }

    pub(super) fn node(&self, node: usize) -> Vec<u8> {
        self.state.lock().nodes[node].clone()
    }
}

impl Source for Medium {
    fn read(&self, at: NodeAt) -> Result<Vec<u8>> {
        let mut state = self.state.lock();
        state.call()?;
        state.reads += 1;
        let node = usize::try_from(at.offset / 8).ok().and_then(|index| state.nodes.get(index));
        node.cloned().ok_or_else(|| Error::corrupt("nothing is stored there"))
    }
}

/// The medium as one writes to it.
pub(super) struct Pen(pub(super) Arc<Medium>);

impl Sink for Pen {
    fn append(&mut self, node: &[u8]) -> Result<NodeAt> {
        let mut state = self.0.state.lock();
        // A place is taken even where writing to it fails.
        state.nodes.push(node.to_vec());
        state.call()?;
        let (offset, bytes) = (8 * (state.nodes.len() as u64 - 1), u32::try_from(node.len()).unwrap());
        Ok(NodeAt { file: 3, offset, bytes })
    }
}
