//! Randomness that a seed repeats.

/// Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014).
pub(super) struct SplitMix64(pub(super) u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a number below a bound; zero for a bound of zero.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).unwrap_or(u64::MAX);
        let chosen = self.next().checked_rem(bound).unwrap_or(0);
        usize::try_from(chosen).unwrap_or(0)
    }

    pub(super) fn coin(&mut self) -> bool {
        self.next() & 1 == 1
    }
}
