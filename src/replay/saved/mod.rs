//! Points of a replay that are saved, so that a later one can go on from there.
//!
//! ```text
//! "causelog replay\n"    16 bytes
//! version                u32, 1
//! state of the order     16 bytes of the index's name, generation u64
//! options                budget u64, most listed u64, content u8
//! mark of the content    0, or 1 and 32 bytes
//! position               u64: events replayed
//! digest                 of what was replayed, see `digest.rs`
//! late                   0, or 1 and u64: the first event known to stand behind one that names it
//! rules, content         as each file writes what it keeps
//! checksum               32 bytes, BLAKE3 of all before
//! ```
//!
//! Numbers are little-endian, texts and lists behind their length. What changes in what a rule keeps is another version.

pub(super) mod digest;
mod reported;

use std::io::{Read, Write};

use crate::contract::{Code, Error, ErrorKind, Result};

use super::content::Content;
use super::held::OrderMark;
use super::invariants::Rules;
use super::options::ReplayOptions;
use super::state::{In, Out, Wire, damaged};
use digest::Digest;

const MAGIC: &[u8; 16] = b"causelog replay\n";
const VERSION: u32 = 1;

/// A replay that was saved on its way through a store's order, as [`StoreReplay::save`](super::StoreReplay::save) wrote it.
///
/// It is good for the store it was taken from, as long as nothing at or before its position changes in the order.
/// [`StoreReplay::resume`](super::StoreReplay::resume) finds out.
///
/// # Memory
/// What the replay held that was saved.
#[derive(Debug)]
pub struct SavedPoint {
    pub(super) head: Head,
    pub(super) kept: Kept,
}

/// What decides whether a point can be used.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub(super) mark: OrderMark,
    pub(super) settings: Settings,
    /// What the resolver said of its content, where it was the same at the start and at the end.
    pub(super) content: Option<[u8; 32]>,
    pub(super) position: u64,
}

/// The options that a report depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    ephemeral_budget: u64,
    listed_max: u64,
    content: bool,
}

/// What a replay keeps of the events that went by.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) digest: Digest,
    pub(super) late: Option<u64>,
    pub(super) rules: Rules,
    pub(super) content: Content,
}

impl Settings {
    pub(super) fn of(options: &ReplayOptions) -> Self {
        let listed_max = u64::try_from(options.listed_max).unwrap_or(u64::MAX);
        Self { ephemeral_budget: options.ephemeral_budget, listed_max, content: options.content }
    }

    pub(super) const fn is_of_content(self) -> bool {
        self.content
    }

    fn apply(self, options: &ReplayOptions) -> Result<ReplayOptions> {
        let listed_max = usize::try_from(self.listed_max).map_err(|_| damaged())?;
        let options = options.clone().ephemeral_budget(self.ephemeral_budget).listed_max(listed_max);
        Ok(options.check_content(self.content))
    }
}

impl SavedPoint {
    /// Reads a point. `options` say how much of it memory may hold; those that the report depends on are compared when it
    /// is used.
    ///
    /// # Errors
    /// `Invalid` when it is no saved point, or one that was changed; `Unsupported` when another version of this crate
    /// wrote it; `Io`.
    pub fn read(mut from: impl Read, options: &ReplayOptions) -> Result<Self> {
        let mut from = In::new(&mut from);
        if &from.array()? != MAGIC {
            return Err(damaged());
        }
        let version = u32::read(&mut from)?;
        if version != VERSION {
            let message = format!("the saved point has version {version}, this build reads {VERSION}");
            return Err(Error::new(ErrorKind::Unsupported, Code::Version, message));
        }
        let head = Head::read(&mut from)?;
        let options = head.settings.apply(options)?;
        let kept = Kept::read(&options, &mut from)?;
        from.finish()?;
        Ok(Self { head, kept })
    }

    /// Returns how many events were replayed.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.head.position
    }

    /// Returns a digest of the ids that were replayed, in their order. Two points with the same one replayed the same.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        self.kept.digest.value()
    }
}

/// Writes a point.
pub(super) fn write(to: &mut dyn Write, head: &Head, kept: KeptMut<'_>) -> Result<()> {
    let mut out = Out::new(to);
    out.bytes(MAGIC)?;
    VERSION.write(&mut out)?;
    head.write(&mut out)?;
    kept.digest.write(&mut out)?;
    kept.late.write(&mut out)?;
    kept.rules.write(&mut out)?;
    kept.content.write(&mut out)?;
    out.finish()
}

/// [`Kept`], in a replay that goes on.
pub(super) struct KeptMut<'k> {
    pub(super) digest: &'k Digest,
    pub(super) late: Option<u64>,
    pub(super) rules: &'k mut Rules,
    pub(super) content: &'k Content,
}

impl Kept {
    fn read(options: &ReplayOptions, from: &mut In<'_>) -> Result<Self> {
        Ok(Self {
            digest: Wire::read(from)?,
            late: Wire::read(from)?,
            rules: Rules::read(options, from)?,
            content: Content::read(options.listed_max, from)?,
        })
    }
}

impl Wire for Head {
    fn write(&self, out: &mut Out<'_>) -> Result<()> {
        self.mark.incarnation.write(out)?;
        self.mark.generation.write(out)?;
        self.settings.ephemeral_budget.write(out)?;
        self.settings.listed_max.write(out)?;
        self.settings.content.write(out)?;
        self.content.write(out)?;
        self.position.write(out)
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        Ok(Self {
            mark: OrderMark { incarnation: Wire::read(from)?, generation: Wire::read(from)? },
            settings: Settings {
                ephemeral_budget: Wire::read(from)?,
                listed_max: Wire::read(from)?,
                content: Wire::read(from)?,
            },
            content: Wire::read(from)?,
            position: Wire::read(from)?,
        })
    }
}
