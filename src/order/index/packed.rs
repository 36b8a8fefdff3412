//! Keys in stored nodes: each by its difference to the key before it, in LEB128.
//!
//! A number is its difference; an event is the difference of its host and, where that is none, that of its `seq`,
//! else the `seq` whole; a pair is its left part and, where that is the same, the difference of its right part, else
//! the right part whole.

use crate::order::tree::{put_u64, take_u64};

use super::key::EventKey;

/// A key that can be told by its difference to a key that is not greater.
pub(super) trait Packed: Sized + PartialEq {
    fn put(&self, out: &mut Vec<u8>, before: Option<&Self>);

    /// `None` where the bytes are no such key.
    fn take(bytes: &mut &[u8], before: Option<&Self>) -> Option<Self>;
}

impl Packed for u64 {
    fn put(&self, out: &mut Vec<u8>, before: Option<&Self>) {
        put_u64(out, self.wrapping_sub(before.copied().unwrap_or_default()));
    }

    fn take(bytes: &mut &[u8], before: Option<&Self>) -> Option<Self> {
        take_u64(bytes)?.checked_add(before.copied().unwrap_or_default())
    }
}

impl Packed for u32 {
    fn put(&self, out: &mut Vec<u8>, before: Option<&Self>) {
        u64::from(*self).put(out, before.copied().map(u64::from).as_ref());
    }

    fn take(bytes: &mut &[u8], before: Option<&Self>) -> Option<Self> {
        Self::try_from(u64::take(bytes, before.copied().map(u64::from).as_ref())?).ok()
    }
}

impl Packed for EventKey {
    fn put(&self, out: &mut Vec<u8>, before: Option<&Self>) {
        (self.host, self.seq).put(out, before.map(|key| (key.host, key.seq)).as_ref());
    }

    fn take(bytes: &mut &[u8], before: Option<&Self>) -> Option<Self> {
        let (host, seq) = Packed::take(bytes, before.map(|key| (key.host, key.seq)).as_ref())?;
        Some(Self { host, seq })
    }
}

impl<A: Packed, B: Packed> Packed for (A, B) {
    fn put(&self, out: &mut Vec<u8>, before: Option<&Self>) {
        self.0.put(out, before.map(|pair| &pair.0));
        self.1.put(out, before.filter(|pair| pair.0 == self.0).map(|pair| &pair.1));
    }

    fn take(bytes: &mut &[u8], before: Option<&Self>) -> Option<Self> {
        let left = A::take(bytes, before.map(|pair| &pair.0))?;
        let right = B::take(bytes, before.filter(|pair| pair.0 == left).map(|pair| &pair.1))?;
        Some((left, right))
    }
}
