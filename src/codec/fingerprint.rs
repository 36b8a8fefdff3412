//! Fingerprints of event ids: 64 bits, keyed with a secret of the store.
//!
//! A fingerprint is a hint. Two ids can share one, so whoever finds an event by it compares the whole id.
//! The key keeps a writer of hostile ids from making them collide: SipHash-2-4 (Aumasson and Bernstein, 2012).

use std::hash::Hasher;

use siphasher::sip::SipHasher24;

use crate::contract::IdRef;

/// Fingerprint of an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// Wraps a fingerprint that was read from a table.
    #[must_use]
    pub const fn new(value: u64) -> Self {
        Self(value)
    }

    /// Returns the number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Computes the fingerprint of an id under the store's secret.
    #[must_use]
    pub fn of(id: IdRef<'_>, secret: &[u8; 16]) -> Self {
        let mut hasher = SipHasher24::new_with_key(secret);
        match id {
            IdRef::Uuid(bytes) => {
                hasher.write(&bytes);
                hasher.write_u8(0);
            }
            IdRef::Text(text) => {
                hasher.write(text.as_bytes());
                hasher.write_u8(1);
            }
        }
        Self(hasher.finish())
    }
}
