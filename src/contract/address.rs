//! Addresses of content: what its bytes hash to.
//!
//! Invariant: an address has one spelling, so that equal addresses are equal texts: the algorithm in lower case, a colon,
//! 64 hex digits in lower case.

use std::fmt;
use std::str::FromStr;

use data_encoding::HEXLOWER;

use super::error::{Code, Error};

/// A hash algorithm that addresses content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum AddressKind {
    /// BLAKE3 with 32 bytes of output.
    Blake3,
    /// SHA-256 (FIPS 180-4).
    Sha256,
}

impl AddressKind {
    /// Every algorithm, in the order of its number on disk.
    pub const ALL: &[Self] = &[Self::Blake3, Self::Sha256];

    /// Returns the spelling in front of the colon.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Blake3 => "blake3",
            Self::Sha256 => "sha256",
        }
    }

    /// Finds an algorithm by its spelling.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == word)
    }

    /// Returns the number that stands for the algorithm on disk.
    pub(crate) const fn number(self) -> u8 {
        match self {
            Self::Blake3 => 1,
            Self::Sha256 => 2,
        }
    }

    /// Finds an algorithm by its number.
    pub(crate) fn from_number(number: u8) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.number() == number)
    }
}

impl fmt::Display for AddressKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The address of content: an algorithm and the 32 bytes it gives. Written as `blake3:` or `sha256:` and 64 hex digits.
///
/// ```
/// use causelog::{Address, AddressKind};
///
/// let text = format!("sha256:{}", "0f".repeat(32));
/// let address: Address = text.parse()?;
/// assert_eq!((address.kind(), address.to_string()), (AddressKind::Sha256, text));
/// assert!("SHA256:0F".parse::<Address>().is_err());
/// # Ok::<(), causelog::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    kind: AddressKind,
    hash: [u8; 32],
}

impl Address {
    /// Makes an address of a hash.
    #[must_use]
    pub const fn new(kind: AddressKind, hash: [u8; 32]) -> Self {
        Self { kind, hash }
    }

    /// Returns the algorithm.
    #[must_use]
    pub const fn kind(&self) -> AddressKind {
        self.kind
    }

    /// Returns the hash.
    #[must_use]
    pub const fn hash(&self) -> &[u8; 32] {
        &self.hash
    }
}

impl FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let parse = || {
            let (kind, digits) = text.split_once(':')?;
            let mut hash = [0; 32];
            if digits.len() != 64 {
                return None;
            }
            HEXLOWER.decode_mut(digits.as_bytes(), &mut hash).ok()?;
            Some(Self { kind: AddressKind::from_word(kind)?, hash })
        };
        parse().ok_or_else(|| {
            Error::invalid(Code::Ref, "an address is `blake3:` or `sha256:` and 64 hex digits in lower case")
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind, HEXLOWER.encode(&self.hash))
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_one_spelling() {
        let hex = "00ff".repeat(16);
        for kind in AddressKind::ALL {
            let text = format!("{kind}:{hex}");
            let address: Address = text.parse().unwrap();
            assert_eq!(address.to_string(), text);
            assert_eq!(AddressKind::from_number(kind.number()), Some(*kind));
        }
        let upper = format!("sha256:{}", hex.to_uppercase());
        let odd = [
            &*upper,
            &format!("SHA256:{hex}"),
            &hex,
            "sha256:",
            &format!("sha256:{hex}0"),
            &format!("md5:{hex}"),
            "",
        ];
        for text in odd {
            assert_eq!(text.parse::<Address>().unwrap_err().code(), Code::Ref, "{text}");
        }
    }
}
