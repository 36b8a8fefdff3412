//! Secret keys in memory: never copied, never shown, overwritten when they are dropped.

use std::fmt;
use std::sync::Arc;

use aes_kw::cipher::consts::U32;
use aes_kw::{KeyInit, KwAes256};
use zeroize::Zeroizing;

use crate::contract::Result;

/// Fills buffers with bytes that nobody can guess.
pub type FillRandom = Arc<dyn Fn(&mut [u8]) -> Result<()> + Send + Sync>;

/// Bytes of a wrapped key.
pub const WRAPPED_BYTES: usize = 40;

/// 32 secret bytes.
pub struct Key(Zeroizing<[u8; 32]>);

impl Key {
    /// Makes a key that nobody can guess.
    ///
    /// # Errors
    /// When randomness fails.
    pub fn random(fill: &FillRandom) -> Result<Self> {
        let mut bytes = Zeroizing::new([0; 32]);
        fill(&mut *bytes)?;
        Ok(Self(bytes))
    }

    /// Takes bytes for a key.
    pub fn of(bytes: Zeroizing<[u8; 32]>) -> Self {
        Self(bytes)
    }

    /// Returns a key for one purpose, with BLAKE3 in its mode for that. No purpose's key tells that of another.
    pub fn derive(&self, context: &'static str) -> Self {
        Self(Zeroizing::new(blake3::derive_key(context, &*self.0)))
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Wraps another key under this one: AES Key Wrap (RFC 3394), which needs no nonce.
    pub fn wrap(&self, key: &Self) -> [u8; WRAPPED_BYTES] {
        let mut out = [0; WRAPPED_BYTES];
        out.copy_from_slice(&self.cipher().wrap_fixed_key::<U32>((&*key.0).into()));
        out
    }

    /// Unwraps a key that was wrapped under this one; `None` when it was not.
    pub fn unwrap(&self, wrapped: &[u8; WRAPPED_BYTES]) -> Option<Self> {
        let mut bytes = Zeroizing::new([0; 32]);
        self.cipher().unwrap_key(wrapped, &mut *bytes).ok()?;
        Some(Self(bytes))
    }

    fn cipher(&self) -> KwAes256 {
        KwAes256::new((&*self.0).into())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(bytes: [u8; 32]) -> Key {
        Key::of(Zeroizing::new(bytes))
    }

    fn counted(from: u8) -> [u8; 32] {
        std::array::from_fn(|i| from + u8::try_from(i).unwrap())
    }

    /// RFC 3394, section 4.6.
    #[test]
    fn wraps_as_the_standard_says() {
        let mut data = [0; 32];
        data[..16].copy_from_slice(&std::array::from_fn::<u8, 16, _>(|i| u8::try_from(i * 0x11).unwrap()));
        data[16..].copy_from_slice(&counted(0)[..16]);
        let wrapped = key(counted(0)).wrap(&key(data));
        let expected = "28c9f404c4b810f4cbccb35cfb87f8263f5786e2d80ed326cbc7f0e71a99f43bfb988b9b7a02dd21";
        assert_eq!(data_encoding::HEXLOWER.encode(&wrapped), expected);
        assert_eq!(key(counted(0)).unwrap(&wrapped).unwrap().bytes(), &data);
        assert!(key(counted(1)).unwrap(&wrapped).is_none());
    }

    #[test]
    fn every_flipped_bit_of_a_wrapped_key_shows() {
        let wrapped = key(counted(1)).wrap(&key(counted(9)));
        for bit in 0..WRAPPED_BYTES * 8 {
            let mut flipped = wrapped;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(key(counted(1)).unwrap(&flipped).is_none(), "bit {bit}");
        }
    }

    #[test]
    fn nothing_is_shown() {
        assert_eq!(format!("{:?}", key(counted(7))), "Key");
    }

    #[test]
    fn purposes_have_keys_of_their_own() {
        let key = key(counted(7));
        assert_ne!(key.derive("a").bytes(), key.derive("b").bytes());
        assert_eq!(key.derive("a").bytes(), key.derive("a").bytes());
    }
}
