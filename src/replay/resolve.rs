//! What became of the content that an event names.

use std::borrow::Cow;

use crate::contract::{Ref, Result};

/// Answers what is behind references now: a store's blobs, an application's sources.
///
/// It answers with a hash and leaves the judgement to [`Ref::resolve`], so that no resolver can pass other
/// content off as the one that was named.
pub trait Resolver: Send + Sync {
    /// Returns the hash of the content that is held for a reference now, or `None` where it is gone: never
    /// stored here, evicted, shredded, or under a key that this process does not hold.
    ///
    /// # Errors
    /// Whatever kept it from finding out, such as damage or a failed read; it ends the replay.
    fn held_hash<'a>(&'a self, reference: &'a Ref) -> Result<Option<Cow<'a, str>>>;
}

/// Holds no content: every reference is unavailable, and passes.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoResolver;

impl Resolver for NoResolver {
    fn held_hash<'a>(&'a self, _reference: &'a Ref) -> Result<Option<Cow<'a, str>>> {
        Ok(None)
    }
}
