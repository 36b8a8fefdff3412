//! What became of content, remembered by address.
//!
//! Invariants:
//! - An answer that was given once is given again, up to a bound on what is remembered; beyond it, all is asked anew.
//! - An error is not remembered: it ends the replay.
//! - Nothing is asked under the lock, so that a large piece of content holds up nobody.

use std::collections::HashMap;
use std::fmt;

use parking_lot::Mutex;

use crate::contract::{Address, Result};

/// Most addresses that are remembered, some 20 MiB of them.
const ADDRESSES_MAX: usize = 1 << 18;

/// Answers by address, so that content that is named a thousand times is opened once.
pub(crate) struct Checked<A> {
    known: Mutex<HashMap<Address, A>>,
}

impl<A: Copy> Checked<A> {
    /// Returns what is known of an address, or asks and remembers.
    pub(crate) fn get_or(&self, address: &Address, ask: impl FnOnce() -> Result<A>) -> Result<A> {
        let known = self.known.lock().get(address).copied();
        if let Some(answer) = known {
            return Ok(answer);
        }
        let answer = ask()?;
        let mut known = self.known.lock();
        if known.len() < ADDRESSES_MAX {
            // Of two who asked at once the first answer stands.
            return Ok(*known.entry(*address).or_insert(answer));
        }
        Ok(answer)
    }
}

impl<A> Default for Checked<A> {
    fn default() -> Self {
        Self { known: Mutex::default() }
    }
}

impl<A> fmt::Debug for Checked<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checked").field("addresses", &self.known.lock().len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{AddressKind, Error};

    #[test]
    fn an_answer_stands_and_an_error_does_not() {
        let checked = Checked::default();
        let address = |byte| Address::new(AddressKind::Blake3, [byte; 32]);
        assert!(checked.get_or(&address(1), || Err(Error::corrupt("damage"))).is_err());
        assert_eq!(checked.get_or(&address(1), || Ok(1)).unwrap(), 1);
        assert_eq!(checked.get_or(&address(1), || Ok(2)).unwrap(), 1);
        assert_eq!(checked.get_or(&address(2), || Ok(2)).unwrap(), 2);
        let other = Address::new(AddressKind::Sha256, [1; 32]);
        assert_eq!(checked.get_or(&other, || Ok(3)).unwrap(), 3);
    }
}
