//! Binary fuse filters: "surely not held" in three probes, 9 to 10 bits a key.
//!
//! After Graf and Lemire, "Binary Fuse Filters: Fast and Smaller Than Xor Filters" (2022). The crate `xorf`
//! builds them; the probe is written out here, because it is part of the format and because a filter read from
//! disk may say anything:
//!
//! ```text
//! hash = mix64(key + seed), wrapping, mix64 being the finalizer of MurmurHash3
//! h0   = (hash * count_length) >> 64
//! h1   = (h0 +     length) xor ((hash >> 18) mod length)
//! h2   = (h0 + 2 * length) xor ( hash        mod length)
//! the key may be held when bytes[h0] xor bytes[h1] xor bytes[h2] = low byte of (hash xor hash >> 32)
//! ```
//!
//! Invariant: a probe reads within the slice it is given and never panics; where a place is out of range the
//! answer is "may be held", which costs a search and is never wrong.

use xorf::BinaryFuse8;

/// What a probe needs beside the filter's bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FilterShape {
    /// Added to the key before it is mixed.
    pub seed: u64,
    /// Length of one window, a power of two.
    pub length: u32,
    /// Length of all places that `h0` can take.
    pub count_length: u32,
}

impl FilterShape {
    /// Builds a filter over distinct keys; `None` when there are no keys, or, what no input is known to cause,
    /// when the construction does not succeed. Every key may be held then.
    ///
    /// Takes about 35 bytes of memory a key while it builds.
    #[must_use]
    pub fn build(keys: &[u64]) -> Option<(Self, Box<[u8]>)> {
        if keys.is_empty() {
            return None;
        }
        let filter = BinaryFuse8::try_from(keys).ok()?;
        let shape = Self {
            seed: filter.descriptor.seed,
            length: filter.descriptor.segment_length,
            count_length: filter.descriptor.segment_count_length,
        };
        Some((shape, filter.fingerprints))
    }

    /// Reports whether a key may be held; `false` is certain, `true` is wrong for 1 key in 256.
    #[must_use]
    pub fn may_contain(self, bytes: &[u8], key: u64) -> bool {
        let hash = mix64(key.wrapping_add(self.seed));
        let mask = u64::from(self.length).wrapping_sub(1);
        let h0 = high_half(hash, u64::from(self.count_length));
        let h1 = h0.wrapping_add(u64::from(self.length)) ^ ((hash >> 18) & mask);
        let h2 = h0.wrapping_add(2 * u64::from(self.length)) ^ (hash & mask);
        let at = |place: u64| usize::try_from(place).ok().and_then(|place| bytes.get(place));
        let (Some(a), Some(b), Some(c)) = (at(h0), at(h1), at(h2)) else {
            return true;
        };
        let [print, ..] = (hash ^ (hash >> 32)).to_le_bytes();
        print == a ^ b ^ c
    }
}

fn high_half(a: u64, b: u64) -> u64 {
    u64::try_from((u128::from(a) * u128::from(b)) >> 64).unwrap_or(u64::MAX)
}

const fn mix64(mut hash: u64) -> u64 {
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use xorf::Filter;

    proptest! {
        #[test]
        fn probes_as_the_builder_does(keys in proptest::collection::btree_set(any::<u64>(), 1..300), others: [u64; 32]) {
            let keys: Vec<u64> = keys.into_iter().collect();
            let (shape, bytes) = FilterShape::build(&keys).unwrap();
            let theirs = BinaryFuse8::try_from(&keys).unwrap();
            for key in &keys {
                prop_assert!(shape.may_contain(&bytes, *key));
            }
            for key in others {
                prop_assert_eq!(shape.may_contain(&bytes, key), theirs.contains(&key));
            }
        }

        #[test]
        fn a_hostile_shape_never_panics(seed: u64, length: u32, count_length: u32, key: u64, bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = FilterShape { seed, length, count_length }.may_contain(&bytes, key);
        }
    }

    #[test]
    fn refuses_all_but_one_in_256() {
        let keys: Vec<u64> = (0..20_000u64).map(mix64).collect();
        let (shape, bytes) = FilterShape::build(&keys).unwrap();
        let wrong = (20_000..120_000u64).filter(|key| shape.may_contain(&bytes, mix64(*key))).count();
        assert!((250..550).contains(&wrong), "{wrong} of 100000");
        assert!(bytes.len() < 20_000 * 5 / 4, "{} bytes", bytes.len());
    }

    #[test]
    fn is_a_function_of_the_keys() {
        let keys: Vec<u64> = (0..1000u64).map(mix64).collect();
        assert_eq!(FilterShape::build(&keys), FilterShape::build(&keys));
    }
}
