//! A list of numbers in blocks, so that growing copies nothing.

/// Numbers of one block.
const BLOCK: usize = 1 << 16;

/// A list that takes what it holds and at most one block more, also while it grows.
#[derive(Clone, Debug, Default)]
pub(super) struct Blocks {
    /// All but the last are full.
    blocks: Vec<Vec<u32>>,
    len: usize,
}

impl Blocks {
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    pub(super) fn push(&mut self, number: u32) {
        if self.len == self.blocks.len() * BLOCK {
            // A short list stays small: only its first block grows.
            self.blocks.push(if self.len == 0 { Vec::new() } else { Vec::with_capacity(BLOCK) });
        }
        if let Some(last) = self.blocks.last_mut() {
            last.push(number);
            self.len += 1;
        }
    }

    /// Takes back everything from `len` on.
    pub(super) fn truncate(&mut self, len: usize) {
        self.blocks.truncate(len.div_ceil(BLOCK));
        if let Some(last) = self.blocks.last_mut() {
            last.truncate(len - (len - 1) / BLOCK * BLOCK);
        }
        self.len = self.len.min(len);
    }

    #[inline]
    pub(super) fn get(&self, at: usize) -> Option<u32> {
        self.blocks.get(at / BLOCK)?.get(at % BLOCK).copied()
    }

    #[inline]
    pub(super) fn set(&mut self, at: usize, number: u32) {
        if let Some(slot) = self.blocks.get_mut(at / BLOCK).and_then(|block| block.get_mut(at % BLOCK)) {
            *slot = number;
        }
    }

    /// Returns the bytes held.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.blocks.iter().map(|block| block.capacity() * size_of::<u32>()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_a_list() {
        let (mut blocks, mut plain) = (Blocks::default(), Vec::new());
        assert_eq!(blocks.get(0), None);
        for (len, cut) in
            [(3, 0), (BLOCK, BLOCK), (BLOCK + 1, BLOCK), (3 * BLOCK + 5, BLOCK - 1), (2 * BLOCK, 2 * BLOCK)]
        {
            for at in plain.len()..len {
                let number = u32::try_from(at * 7 + cut).unwrap();
                blocks.push(number);
                plain.push(number);
            }
            blocks.set(len / 2, 9);
            plain[len / 2] = 9;
            assert!((0..=len).all(|at| blocks.get(at) == plain.get(at).copied()));
            blocks.truncate(cut);
            plain.truncate(cut);
            assert_eq!(blocks.len(), plain.len());
            assert!((0..=len).all(|at| blocks.get(at) == plain.get(at).copied()));
        }
    }

    #[test]
    fn growing_takes_one_block_more_at_the_most() {
        let mut blocks = Blocks::default();
        for len in 1..=5 * BLOCK {
            blocks.push(0);
            assert!(blocks.bytes() <= size_of::<u32>() * (len + BLOCK));
        }
    }
}
