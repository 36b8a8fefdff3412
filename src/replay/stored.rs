//! The content of a store, as a replay looks it up.
//!
//! Invariants:
//! - Content counts as held once it was opened whole and authenticated, never for its name or its state.
//! - What cannot be opened for want of a key is unavailable, and no damage; what opens to other bytes is damage, an error.

use std::borrow::Cow;

use super::checked::Checked;
use super::resolve::Resolver;
use crate::contract::{Address, Error, ErrorKind, Ref, Result};
use crate::store::{BlobStats, Blobs, KeyState};

/// What became of content that a reference names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    /// It is what was put.
    Opened,
    /// It is there, under a key that is not.
    Locked,
    /// It is not resident.
    Gone,
}

/// The content of a store as a [`Resolver`] for one replay: each piece is opened once, however often it is named.
///
/// A reference is exact where its content is resident and opens to what was put. What was never put, was evicted or
/// shredded, or stands under a key that is not held, is unavailable. What a replay was told once it is told again, also
/// where content is put or shredded meanwhile: make one for each replay. It remembers 262,144 addresses, some 20 MiB of
/// them, and opens the content of further ones each time.
///
/// ```
/// use causelog::{Options, Ref, RefKind, Resolver, Store, StoredContent};
///
/// let store = Store::in_memory(Options::new())?;
/// let blobs = store.blobs();
/// let address = blobs.put(b"a note")?;
/// let note = Ref { kind: RefKind::Note, id: "n1".into(), hash: address.to_string().into(), range: None, stored: true };
/// assert_eq!(StoredContent::new(&blobs).held_hash(&note)?.as_deref(), Some(&*note.hash));
///
/// blobs.shred(&address)?;
/// assert_eq!(StoredContent::new(&blobs).held_hash(&note)?, None);
/// # Ok::<(), causelog::Error>(())
/// ```
#[derive(Debug)]
pub struct StoredContent<'s> {
    blobs: &'s Blobs,
    checked: Checked<Held>,
}

impl<'s> StoredContent<'s> {
    /// Takes the content of a store. Reads nothing.
    #[must_use]
    pub fn new(blobs: &'s Blobs) -> Self {
        Self { blobs, checked: Checked::default() }
    }

    /// Reports whether the content of a reference is here, under a key that is not held: such a reference is unavailable
    /// until the key is back.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn is_locked(&self, reference: &Ref) -> Result<bool> {
        self.look(reference).map(|held| held == Held::Locked)
    }

    fn look(&self, reference: &Ref) -> Result<Held> {
        let Ok(address) = reference.hash.parse() else { return Ok(Held::Gone) };
        self.checked.get_or(&address, || look(self.blobs, &address))
    }
}

impl Resolver for StoredContent<'_> {
    fn held_hash<'a>(&'a self, reference: &'a Ref) -> Result<Option<Cow<'a, str>>> {
        self.look(reference).map(|held| answer(held, reference))
    }

    /// That of the content it looks into, as it is now; what this replay was told before stays as it was.
    fn mark(&self) -> Result<Option<[u8; 32]>> {
        self.blobs.mark()
    }
}

/// Opens the content anew for each reference; [`StoredContent`] remembers it for the time of a replay.
impl Resolver for Blobs {
    fn held_hash<'a>(&'a self, reference: &'a Ref) -> Result<Option<Cow<'a, str>>> {
        let Ok(address) = reference.hash.parse() else { return Ok(None) };
        look(self, &address).map(|held| answer(held, reference))
    }

    /// A digest of what is resident, of all counts, and of whether the key is here. Each change leaves a trace in one of
    /// them; damage alone leaves none. Cost: a look at each slot of a key, and some 100 ns for each blob.
    fn mark(&self) -> Result<Option<[u8; 32]>> {
        let mut resident = [0_u8; 32];
        self.for_each(|address, bytes| {
            let one = blake3::hash(format!("{address} {bytes}").as_bytes());
            // The order in which they are visited does not count; no two are the same.
            resident.iter_mut().zip(one.as_bytes()).for_each(|(sum, byte)| *sum ^= byte);
            Ok(())
        })?;
        let counts = self.stats()?;
        let key: u8 = match self.key_state()? {
            KeyState::Held => 0,
            KeyState::Missing => 1,
            KeyState::Wrong => 2,
        };
        let mut hasher = blake3::Hasher::new_derive_key("causelog 2026-12 mark of a store's content");
        hasher.update(&resident).update(&[key]);
        let BlobStats { resident, resident_bytes, evicted, shredded, packs, pack_bytes, .. } = counts;
        for count in [resident, resident_bytes, evicted, shredded, packs, pack_bytes] {
            hasher.update(&count.to_le_bytes());
        }
        Ok(Some(hasher.finalize().into()))
    }
}

fn answer(held: Held, reference: &Ref) -> Option<Cow<'_, str>> {
    (held == Held::Opened).then_some(Cow::Borrowed(&*reference.hash))
}

fn look(blobs: &Blobs, address: &Address) -> Result<Held> {
    match blobs.check(address) {
        Ok(Some(true)) => Ok(Held::Opened),
        Ok(Some(false)) => Ok(Held::Locked),
        Ok(None) => Ok(Held::Gone),
        // It was shredded or evicted while it was read.
        Err(error) if error.kind() == ErrorKind::Shredded => Ok(Held::Gone),
        Err(error) if error.kind() == ErrorKind::Corrupt => Err(damaged(address, &error)),
        Err(error) => Err(error),
    }
}

/// Says of which content damage is; where it stands the error says already.
fn damaged(address: &Address, error: &Error) -> Error {
    let told = Error::corrupt(format!("the content {address} cannot be opened: {}", error.message()));
    let place = error.place();
    let told = place.path.iter().fold(told, Error::at_path);
    place.offset.iter().fold(told, |told, offset| told.at_byte(*offset))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::RefKind;
    use crate::store::{Options, Store};

    fn named(hash: &str) -> Ref {
        Ref { kind: RefKind::Note, id: "n".into(), hash: hash.into(), range: None, stored: false }
    }

    #[test]
    fn resident_content_answers_with_its_own_hash_by_each_address() {
        let store = Store::in_memory(Options::new()).unwrap();
        let blobs = store.blobs();
        let how = crate::store::PutOptions::new().address(crate::contract::AddressKind::Sha256);
        let sha = blobs.put_with(b"text", &how).unwrap().address();
        let blake = blobs.put(b"text").unwrap();
        assert_ne!(sha, blake);
        let stored = StoredContent::new(&blobs);
        for address in [sha, blake] {
            let reference = named(&address.to_string());
            assert_eq!(blobs.held_hash(&reference).unwrap().as_deref(), Some(&*reference.hash));
            assert_eq!(stored.held_hash(&reference).unwrap().as_deref(), Some(&*reference.hash));
            assert!(!stored.is_locked(&reference).unwrap());
        }
        for hash in ["", "text", "sha256:01", "md5:00", &sha.to_string().to_uppercase()] {
            assert_eq!(stored.held_hash(&named(hash)).unwrap(), None, "{hash}");
            assert_eq!(blobs.held_hash(&named(hash)).unwrap(), None, "{hash}");
        }
    }

    #[test]
    fn a_replay_is_told_one_thing_and_the_next_what_is_so_then() {
        let store = Store::in_memory(Options::new()).unwrap();
        let blobs = store.blobs();
        let (kept, shredded, evicted) =
            (blobs.put(b"1").unwrap(), blobs.put(b"2").unwrap(), blobs.put(b"3").unwrap());
        let of = |address: &Address| named(&address.to_string());
        let answers = |resolver: &dyn Resolver| {
            [kept, shredded, evicted]
                .map(|address| resolver.held_hash(&of(&address)).unwrap().map(Cow::into_owned))
                .map(|held| held.is_some())
        };
        let stored = StoredContent::new(&blobs);
        assert_eq!(answers(&stored), [true; 3]);
        blobs.shred(&shredded).unwrap();
        blobs.evict(&evicted).unwrap();
        assert_eq!(answers(&stored), [true; 3]);
        assert_eq!(answers(&blobs), [true, false, false]);
        let next = StoredContent::new(&blobs);
        assert_eq!(answers(&next), [true, false, false]);
        blobs.put(b"3").unwrap();
        assert_eq!((answers(&next), answers(&blobs)), ([true, false, false], [true, false, true]));
    }
}
