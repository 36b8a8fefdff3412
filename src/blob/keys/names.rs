//! Names of subjects: digests to find them by, and their sealed form.
//!
//! Invariant: a name stands nowhere in the clear, and neither its digest nor the size of its sealed form tells anything
//! about it to who lacks the keys.

use aes_gcm::aead::{Aead, KeyInit, Payload};
use aes_gcm::{Aes256Gcm, Nonce};
use zeroize::Zeroizing;

use crate::blob::key::{FillRandom, Key};
use crate::codec::SEALED_NAME_BYTES;
use crate::contract::{Code, Error, Result};

/// A name takes at most this many bytes.
pub(super) const NAME_BYTES_MAX: usize = 254;

const NONCE_BYTES: usize = 12;

/// Refuses what cannot be a name.
///
/// # Errors
/// `Invalid` with [`Code::Limit`]; it does not hold the name.
pub(super) fn check_name(name: &str) -> Result<()> {
    if (1..=NAME_BYTES_MAX).contains(&name.len()) {
        return Ok(());
    }
    let message = format!("the name of a subject has {} bytes, not 1 to {NAME_BYTES_MAX}", name.len());
    Err(Error::invalid(Code::Limit, message))
}

/// Returns what a name is found by.
pub(super) fn digest_of(secret: &Key, name: &str) -> [u8; 32] {
    *blake3::keyed_hash(secret.bytes(), name.as_bytes()).as_bytes()
}

/// Seals a name under a subject's key: AES-256-GCM over its length and its bytes, filled up with zeros to one size for all.
///
/// # Errors
/// When randomness fails; a name that is none.
pub(super) fn seal_name(
    subject: &Key,
    digest: &[u8; 32],
    name: &str,
    fill: &FillRandom,
) -> Result<[u8; SEALED_NAME_BYTES]> {
    check_name(name)?;
    let mut plain = Zeroizing::new([0u8; 2 + NAME_BYTES_MAX]);
    let length = u16::try_from(name.len()).unwrap_or(u16::MAX).to_le_bytes();
    for (to, from) in plain.iter_mut().zip(length.iter().chain(name.as_bytes())) {
        *to = *from;
    }
    let mut out = [0; SEALED_NAME_BYTES];
    let (nonce, sealed) = out.split_at_mut(NONCE_BYTES);
    fill(nonce)?;
    let nonce = Nonce::try_from(&*nonce).map_err(|_| unsealable())?;
    let payload = Payload { msg: &*plain, aad: digest };
    sealed.copy_from_slice(&cipher(subject).encrypt(&nonce, payload).map_err(|_| unsealable())?);
    Ok(out)
}

/// Opens a sealed name, as whoever answers for a subject will; `None` when it is not one of this key and digest.
#[cfg(test)]
pub(super) fn open_name(
    subject: &Key,
    digest: &[u8; 32],
    sealed: &[u8; SEALED_NAME_BYTES],
) -> Option<Zeroizing<String>> {
    let (nonce, sealed) = sealed.split_at_checked(NONCE_BYTES)?;
    let payload = Payload { msg: sealed, aad: digest };
    let nonce = Nonce::try_from(nonce).ok()?;
    let plain = Zeroizing::new(cipher(subject).decrypt(&nonce, payload).ok()?);
    let (length, name) = plain.split_first_chunk::<2>()?;
    let name = name.get(..usize::from(u16::from_le_bytes(*length)))?;
    std::str::from_utf8(name).ok().map(|name| Zeroizing::new(name.to_owned()))
}

fn cipher(subject: &Key) -> Aes256Gcm {
    Aes256Gcm::new(subject.derive("causelog 1 subject name").bytes().into())
}

fn unsealable() -> Error {
    Error::invalid(Code::Store, "the name of a subject cannot be sealed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn sealed_names_open_under_their_key_and_digest_alone() {
        let fill: FillRandom = Arc::new(|bytes: &mut [u8]| {
            bytes.fill(7);
            Ok(())
        });
        let key = |byte| Key::of(Zeroizing::new([byte; 32]));
        for name in ["a", "Ada Lovelace", &"ü".repeat(127)] {
            let digest = digest_of(&key(1), name);
            let sealed = seal_name(&key(2), &digest, name, &fill).unwrap();
            assert_eq!(open_name(&key(2), &digest, &sealed).as_deref().map(String::as_str), Some(name));
            assert!(open_name(&key(3), &digest, &sealed).is_none());
            assert!(open_name(&key(2), &[0; 32], &sealed).is_none());
            for byte in 0..SEALED_NAME_BYTES {
                let mut flipped = sealed;
                flipped[byte] ^= 1;
                assert!(open_name(&key(2), &digest, &flipped).is_none(), "byte {byte}");
            }
        }
        for name in ["", &"x".repeat(255)] {
            assert_eq!(seal_name(&key(2), &[0; 32], name, &fill).unwrap_err().code(), Code::Limit);
        }
    }
}
