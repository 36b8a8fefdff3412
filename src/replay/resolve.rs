//! What became of the content that an event names.

use std::borrow::Cow;
use std::fmt;

use crate::contract::{Ref, Resolution, Result};

/// Answers what is behind references now.
///
/// | who answers | content is there | content is gone | something else is there |
/// |---|---|---|---|
/// | what holds content by hash: a store's blobs, a directory | the hash that was named | `None` | never: other bytes under that hash are damage, an error |
/// | sources that go on living: notes, pages | the hash they have now | `None` | the hash they have now |
///
/// It answers with a hash and leaves the judgement to [`Ref::resolve`], so that no resolver can pass other
/// content off as the one that was named. [`Chain`] asks several.
pub trait Resolver: Send + Sync {
    /// Returns the hash of the content that is held for a reference now, or `None` where it is gone: never
    /// stored here, evicted, shredded, or under a key that this process does not hold.
    ///
    /// What cannot be found is gone and no error, since the record of what was shown stands without it. The
    /// same reference gets the same answer for as long as a replay takes.
    ///
    /// # Errors
    /// What kept it from finding out, and ends the replay: kind `Io` for a failed read; kind `Corrupt`, with the
    /// place, for bytes that are not what their hash says. Damage is never answered as gone or as drift.
    fn held_hash<'a>(&'a self, reference: &'a Ref) -> Result<Option<Cow<'a, str>>>;

    /// Returns what stands for all answers it would give now: as long as the mark is the same, so are they. `None`, as it
    /// is unless a resolver says otherwise, where it cannot tell; a saved replay then starts over instead of going on.
    ///
    /// # Errors
    /// What kept it from finding out.
    fn mark(&self) -> Result<Option<[u8; 32]>> {
        Ok(None)
    }
}

/// Holds no content: every reference is unavailable, and passes.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoResolver;

impl Resolver for NoResolver {
    fn held_hash<'a>(&'a self, _reference: &'a Ref) -> Result<Option<Cow<'a, str>>> {
        Ok(None)
    }

    fn mark(&self) -> Result<Option<[u8; 32]>> {
        Ok(Some([0; 32]))
    }
}

/// Several resolvers that answer as one.
///
/// They are asked in the order in which they were added, until one holds the content exactly as it was shown: that
/// settles it, whatever a source has become since. Where none does, the first that holds something answers, and the
/// reference has drifted; where none holds anything, it is unavailable. So the order decides no resolution but which
/// of several drifts is reported, and what an answer costs: what holds content by hash goes first, then sources.
///
/// ```
/// use causelog::{Chain, CurrentHashes, Ref, RefKind, Resolution, Resolver};
/// # struct Archive;
/// # impl Resolver for Archive {
/// #     fn held_hash<'a>(&'a self, reference: &'a Ref) -> causelog::Result<Option<std::borrow::Cow<'a, str>>> {
/// #         Ok((&*reference.hash == "sha256:01").then_some("sha256:01".into()))
/// #     }
/// # }
/// # let archive = Archive;
///
/// // The note was edited after the run. The archive holds what it was then, the page is in neither.
/// let sources = CurrentHashes::from_iter([(RefKind::Note, "n1", "sha256:02")]);
/// let both = Chain::new().with(&archive).with(&sources);
/// let resolve = |kind, id: &str, hash: &str, resolver: &dyn Resolver| {
///     let reference = Ref { kind, id: id.into(), hash: hash.into(), range: None, stored: false };
///     resolver.held_hash(&reference).map(|held| reference.resolve(held.as_deref()))
/// };
/// assert_eq!(resolve(RefKind::Note, "n1", "sha256:01", &both)?, Resolution::Exact);
/// assert_eq!(resolve(RefKind::Note, "n1", "sha256:01", &sources)?, Resolution::Drifted);
/// assert_eq!(resolve(RefKind::Page, "p1", "sha256:03", &both)?, Resolution::Unavailable);
/// # Ok::<(), causelog::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Chain<'r> {
    resolvers: Vec<&'r dyn Resolver>,
}

impl<'r> Chain<'r> {
    /// Starts with none, which resolves as [`NoResolver`] does.
    #[must_use]
    pub const fn new() -> Self {
        Self { resolvers: Vec::new() }
    }

    /// Adds a resolver that is asked behind the others.
    #[must_use]
    pub fn with(mut self, resolver: &'r dyn Resolver) -> Self {
        self.resolvers.push(resolver);
        self
    }

    /// Reports whether there is nobody to ask.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.resolvers.is_empty()
    }
}

impl<'r> FromIterator<&'r dyn Resolver> for Chain<'r> {
    fn from_iter<I: IntoIterator<Item = &'r dyn Resolver>>(resolvers: I) -> Self {
        Self { resolvers: resolvers.into_iter().collect() }
    }
}

impl Resolver for Chain<'_> {
    fn held_hash<'a>(&'a self, reference: &'a Ref) -> Result<Option<Cow<'a, str>>> {
        let mut other = None;
        for resolver in &self.resolvers {
            let held = resolver.held_hash(reference)?;
            match reference.resolve(held.as_deref()) {
                Resolution::Exact => return Ok(held),
                Resolution::Drifted => other = other.or(held),
                Resolution::Unavailable => {}
            }
        }
        Ok(other)
    }

    /// That of all it asks, in their order; none where one of them has none.
    fn mark(&self) -> Result<Option<[u8; 32]>> {
        let mut hasher = blake3::Hasher::new_derive_key("causelog 2026-12 mark of a chain of resolvers");
        for resolver in &self.resolvers {
            let Some(mark) = resolver.mark()? else { return Ok(None) };
            hasher.update(&mark);
        }
        Ok(Some(hasher.finalize().into()))
    }
}

impl fmt::Debug for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chain").field("resolvers", &self.resolvers.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::contract::{Error, RefKind};

    /// Answers the same to everything; fails where it was told to.
    struct Says(Result<Option<&'static str>, ()>);

    impl Resolver for Says {
        fn held_hash<'a>(&'a self, _reference: &'a Ref) -> Result<Option<Cow<'a, str>>> {
            self.0.map(|held| held.map(Cow::Borrowed)).map_err(|()| Error::corrupt("damaged"))
        }
    }

    fn named() -> Ref {
        Ref { kind: RefKind::Note, id: "n".into(), hash: "h:shown".into(), range: None, stored: false }
    }

    proptest! {
        #[test]
        fn what_was_shown_goes_before_what_is_there_now(
            answers in prop::collection::vec(
                prop_oneof![
                    Just(Ok(None)), Just(Ok(None)),
                    Just(Ok(Some("h:shown"))), Just(Ok(Some("h:now"))), Just(Ok(Some("h:later"))), Just(Ok(Some(""))),
                    Just(Err(())),
                ],
                0..6,
            ),
        ) {
            let resolvers: Vec<Says> = answers.iter().copied().map(Says).collect();
            let chain: Chain<'_> = resolvers.iter().map(|resolver| resolver as &dyn Resolver).collect();
            let reference = named();
            let ours = chain.held_hash(&reference).map(|held| held.map(Cow::into_owned)).map_err(drop);
            // The plain rule: of the answers before the first failure, the exact one; a failure that was met; the
            // first other one.
            let met: Vec<_> = answers.iter().map_while(|answer| answer.ok()).collect();
            let plain = if met.contains(&Some("h:shown")) {
                Ok(Some("h:shown".to_owned()))
            } else if met.len() < answers.len() {
                Err(())
            } else {
                Ok(met.into_iter().flatten().next().map(str::to_owned))
            };
            prop_assert_eq!(ours, plain);
        }
    }

    #[test]
    fn nobody_to_ask_holds_nothing() {
        let chain = Chain::new();
        assert!(chain.is_empty());
        assert_eq!(chain.held_hash(&named()).unwrap(), None);
    }
}
