//! Bodies of twins: the master key, the head of `keys/subjects`, and one subject's key.
//!
//! ```text
//! offset  bytes  the master key ("CLMASTER")
//!      0      2  version, u16 = 1
//!      2      2  zeros
//!      4      4  epoch, u32, from 1
//!      8     32  the master key
//!     40    448  zeros
//!
//! offset  bytes  the head of the subjects ("CLSUBJEC")
//!      0      2  version, u16 = 1
//!      2      1  default kind of address: 1 BLAKE3, 2 SHA-256
//!      3      1  zero
//!      4      4  compatible feature bits, u32
//!      8      4  incompatible feature bits, u32
//!     12      4  epoch of the master key, u32
//!     16     16  check value of the master key
//!     32    456  zeros
//!
//! offset  bytes  a subject's key ("CLSUBKEY")
//!      0      1  kind: 1 the store's secret, 2 a subject
//!      1      1  state: 1 live, 2 destroyed
//!      2      2  zeros
//!      4      4  epoch of the master key that wraps it, u32
//!      8     32  digest of the name; zeros: none
//!     40     40  the wrapped key; zeros when it was destroyed
//!     80     12  nonce of the name
//!     92    272  the sealed name and its tag; zeros with the nonce: no name
//!    364    124  zeros
//! ```

use zeroize::Zeroizing;

use super::fields::{is_zeros, put, take, take_u16, take_u32};
use super::key_head::{KeyFault, VERSION, check_version};
use super::twin::BODY_BYTES;
use crate::contract::AddressKind;

/// A sealed name: a nonce, 256 bytes of ciphertext, a tag.
pub const SEALED_NAME_BYTES: usize = 12 + 256 + 16;

/// The master key, as its file holds it.
pub struct MasterBody {
    /// Which master key, from 1.
    pub epoch: u32,
    /// The key.
    pub key: Zeroizing<[u8; 32]>,
}

impl MasterBody {
    /// Lays out the body.
    #[must_use]
    pub fn to_body(&self) -> Zeroizing<[u8; BODY_BYTES]> {
        let mut out = Zeroizing::new([0; BODY_BYTES]);
        put(&mut *out, 0, &VERSION.to_le_bytes());
        put(&mut *out, 4, &self.epoch.to_le_bytes());
        put(&mut *out, 8, &*self.key);
        out
    }

    /// Reads a body.
    ///
    /// # Errors
    /// A newer version, or what cannot be.
    pub fn from_body(body: &[u8; BODY_BYTES]) -> Result<Self, KeyFault> {
        check_version(take_u16(body, 0), 0)?;
        let epoch = take_u32(body, 4);
        if epoch == 0 {
            return Err(KeyFault::Damaged("the master key is of no epoch"));
        }
        Ok(Self { epoch, key: Zeroizing::new(take(body, 8)) })
    }
}

/// Shows no key.
impl std::fmt::Debug for MasterBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MasterBody(epoch {})", self.epoch)
    }
}

/// What the subjects of a store have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubjectsHead {
    /// The kind of address that every record carries.
    pub default: AddressKind,
    /// Epoch of the master key that is in use.
    pub epoch: u32,
    /// Tells the right master key from a wrong one.
    pub check: [u8; 16],
}

impl SubjectsHead {
    /// Lays out the body.
    #[must_use]
    pub fn to_body(self) -> [u8; BODY_BYTES] {
        let mut out = [0; BODY_BYTES];
        put(&mut out, 0, &VERSION.to_le_bytes());
        put(&mut out, 2, &[self.default.number()]);
        put(&mut out, 12, &self.epoch.to_le_bytes());
        put(&mut out, 16, &self.check);
        out
    }

    /// Reads a body.
    ///
    /// # Errors
    /// A newer version, a feature that is not known, or what cannot be.
    pub fn from_body(body: &[u8; BODY_BYTES]) -> Result<Self, KeyFault> {
        check_version(take_u16(body, 0), take_u32(body, 8))?;
        let [number] = take(body, 2);
        let default = AddressKind::from_number(number).ok_or(KeyFault::Damaged("no such kind of address"))?;
        Ok(Self { default, epoch: take_u32(body, 12), check: take(body, 16) })
    }
}

/// What a key among the subjects is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubjectKind {
    /// It keys the digests of names.
    StoreSecret,
    /// It wraps data keys.
    Subject,
}

/// One key among the subjects.
#[derive(Clone, PartialEq, Eq)]
pub struct SubjectBody {
    /// What it is for.
    pub kind: SubjectKind,
    /// Epoch of the master key that wraps it.
    pub epoch: u32,
    /// The keyed digest of the name; zeros: no name.
    pub digest: [u8; 32],
    /// The wrapped key; `None` when it was destroyed.
    pub wrapped: Option<[u8; 40]>,
    /// Nonce, ciphertext and tag of the name; zeros: no name.
    pub name: [u8; SEALED_NAME_BYTES],
}

impl SubjectBody {
    /// Lays out the body.
    #[must_use]
    pub fn to_body(&self) -> [u8; BODY_BYTES] {
        let mut out = [0; BODY_BYTES];
        let kind = match self.kind {
            SubjectKind::StoreSecret => 1,
            SubjectKind::Subject => 2,
        };
        put(&mut out, 0, &[kind, if self.wrapped.is_some() { 1 } else { 2 }]);
        put(&mut out, 4, &self.epoch.to_le_bytes());
        put(&mut out, 8, &self.digest);
        put(&mut out, 40, &self.wrapped.unwrap_or([0; 40]));
        put(&mut out, 80, &self.name);
        out
    }

    /// Reads a body.
    ///
    /// # Errors
    /// What cannot be.
    pub fn from_body(body: &[u8; BODY_BYTES]) -> Result<Self, KeyFault> {
        let [kind, state] = take(body, 0);
        let kind = match kind {
            1 => SubjectKind::StoreSecret,
            2 => SubjectKind::Subject,
            _ => return Err(KeyFault::Damaged("a subject of a kind that is none")),
        };
        let wrapped: [u8; 40] = take(body, 40);
        let wrapped = match state {
            1 => Some(wrapped),
            2 if is_zeros(&wrapped) => None,
            2 => return Err(KeyFault::Damaged("a subject that was destroyed holds a key")),
            _ => return Err(KeyFault::Damaged("a subject has a state that is none")),
        };
        Ok(Self { kind, epoch: take_u32(body, 4), digest: take(body, 8), wrapped, name: take(body, 80) })
    }
}

/// Shows no key, no name and no digest.
impl std::fmt::Debug for SubjectBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SubjectBody")
            .field("kind", &self.kind)
            .field("epoch", &self.epoch)
            .field("live", &self.wrapped.is_some())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn round_trips() {
        let master = MasterBody { epoch: 7, key: Zeroizing::new([8; 32]) };
        let read = MasterBody::from_body(&master.to_body()).unwrap();
        assert_eq!((read.epoch, *read.key), (7, [8; 32]));
        assert_eq!(format!("{read:?}"), "MasterBody(epoch 7)");
        for default in AddressKind::ALL {
            let head = SubjectsHead { default: *default, epoch: 7, check: [1; 16] };
            assert_eq!(SubjectsHead::from_body(&head.to_body()), Ok(head));
        }
        for wrapped in [Some([3; 40]), None] {
            let name = [5; SEALED_NAME_BYTES];
            let kind = SubjectKind::Subject;
            let subject = SubjectBody { kind, epoch: 7, digest: [4; 32], wrapped, name };
            assert_eq!(SubjectBody::from_body(&subject.to_body()), Ok(subject.clone()));
            let shown = format!("{subject:?}");
            assert!(["3, 3", "4, 4", "5, 5"].iter().all(|bytes| !shown.contains(bytes)), "{shown}");
        }
    }

    #[test]
    fn what_a_newer_version_wrote_is_refused_by_name() {
        let mut body = SubjectsHead { default: AddressKind::Blake3, epoch: 1, check: [0; 16] }.to_body();
        body[8] = 2;
        assert_eq!(SubjectsHead::from_body(&body), Err(KeyFault::Features { bits: 2 }));
        body[0] = 2;
        assert_eq!(SubjectsHead::from_body(&body), Err(KeyFault::Version { found: 2 }));
    }

    proptest! {
        #[test]
        fn arbitrary_bodies_never_panic(bytes in proptest::collection::vec(any::<u8>(), BODY_BYTES)) {
            let body: [u8; BODY_BYTES] = bytes.try_into().unwrap();
            let _ = MasterBody::from_body(&body);
            let _ = SubjectsHead::from_body(&body);
            let _ = SubjectBody::from_body(&body);
        }
    }
}
