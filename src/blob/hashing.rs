//! Addresses of content: hashing it once, by as many algorithms as are asked for.

use sha2::{Digest, Sha256};

use crate::contract::{Address, AddressKind};

/// Returns the address of content.
pub(super) fn address_of(kind: AddressKind, content: &[u8]) -> Address {
    let hash = match kind {
        AddressKind::Blake3 => *blake3::hash(content).as_bytes(),
        AddressKind::Sha256 => Sha256::digest(content).into(),
    };
    Address::new(kind, hash)
}

/// Hashes content that comes in pieces.
pub(super) struct Hashing {
    states: Vec<State>,
}

enum State {
    Blake3(Box<blake3::Hasher>),
    Sha256(Box<Sha256>),
}

impl Hashing {
    /// Starts on the algorithms asked for, each once.
    pub(super) fn new(kinds: &[AddressKind]) -> Self {
        let state = |kind: &AddressKind| match kind {
            AddressKind::Blake3 => State::Blake3(Box::default()),
            AddressKind::Sha256 => State::Sha256(Box::default()),
        };
        Self { states: kinds.iter().map(state).collect() }
    }

    /// Takes the next piece.
    pub(super) fn update(&mut self, piece: &[u8]) {
        for state in &mut self.states {
            match state {
                State::Blake3(hasher) => {
                    hasher.update(piece);
                }
                State::Sha256(hasher) => hasher.update(piece),
            }
        }
    }

    /// Returns the addresses, in the order in which the algorithms were asked for.
    pub(super) fn finish(self) -> Vec<Address> {
        let address = |state| match state {
            State::Blake3(hasher) => Address::new(AddressKind::Blake3, *hasher.finalize().as_bytes()),
            State::Sha256(hasher) => Address::new(AddressKind::Sha256, hasher.finalize().into()),
        };
        self.states.into_iter().map(address).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_hash_as_the_whole() {
        let content = b"a piece and another one";
        let mut hashing = Hashing::new(&[AddressKind::Sha256, AddressKind::Blake3]);
        for piece in content.chunks(7) {
            hashing.update(piece);
        }
        let whole = [AddressKind::Sha256, AddressKind::Blake3].map(|kind| address_of(kind, content));
        assert_eq!(hashing.finish(), whole);
        let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(address_of(AddressKind::Sha256, b"").to_string(), empty);
    }
}
