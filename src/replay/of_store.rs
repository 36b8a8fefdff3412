//! The replay of a store's events, in memory that does not grow with the log, and from a saved point on.
//!
//! Invariants:
//! - A point is used only where a replay from the start would come to the same state there: the same store, the same
//!   options, nothing at or before the position changed, and content that answers as it did. Else it starts over.
//! - A snapshot does not change, so what was asked at the start holds to the end; of content it is asked again at the end.

use std::fmt;
use std::io::Write;

use crate::contract::{Code, Error, EventFields, Result};
use crate::log::StoredEvent;
use crate::store::Snapshot;

use super::harness::Replay;
use super::held::{HeldPlaces, OrderMark, SnapshotOrder};
use super::options::ReplayOptions;
use super::report::ReplayReport;
use super::resolve::Resolver;
use super::saved::digest::Digest;
use super::saved::{self, Head, SavedPoint, Settings};

/// Why a replay that was asked to go on from a saved point started over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StartedOver {
    /// The point is of another store, or of an index of the order that was made anew since.
    OtherStore,
    /// The options differ.
    OtherOptions,
    /// The order changed before the point.
    OrderChanged {
        /// The first position at which another event stands.
        from: u64,
    },
    /// What was found of content may not be so any more, or nobody can tell; see [`Resolver::mark`].
    ContentChanged,
}

impl fmt::Display for StartedOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherStore => {
                f.write_str("the saved point is of another store, or of an index made anew since")
            }
            Self::OtherOptions => f.write_str("the saved point was taken under other options"),
            Self::OrderChanged { from } => write!(f, "the order changed from position {from} on"),
            Self::ContentChanged => f.write_str("content may have changed since the saved point"),
        }
    }
}

/// A replay of a store's events, step by step, that can be saved and taken up again.
///
/// The report is that of [`replay`](super::replay()) over [`Snapshot::ordered`].
///
/// # Memory
/// Does not grow with the log: a few MiB, what the report lists, and what rules keep up to
/// [`ReplayOptions::state_max`]. Per host, its name and an entry of the proof, about 150 bytes.
///
/// ```
/// use causelog::{NoResolver, Options, ReplayOptions, SavedPoint, Store, StoreReplay};
///
/// let store = Store::in_memory(Options::new())?;
/// let options = ReplayOptions::new();
/// let mut first = StoreReplay::new(&store.snapshot()?, &options, &NoResolver)?;
/// first.run()?;
/// let mut bytes = Vec::new();
/// first.save(&mut bytes)?;
/// assert!(first.finish()?.ok);
///
/// // Later, when more events came.
/// let point = SavedPoint::read(bytes.as_slice(), &options)?;
/// let mut next = StoreReplay::resume(&store.snapshot()?, &options, &NoResolver, point)?;
/// assert_eq!(next.started_over(), None);
/// next.run()?;
/// assert!(next.finish()?.ok);
/// # Ok::<(), causelog::Error>(())
/// ```
pub struct StoreReplay<'r> {
    replay: Replay<'r, HeldPlaces<SnapshotOrder>>,
    events: Box<dyn Iterator<Item = Result<StoredEvent>> + Send>,
    length: u64,
    mark: OrderMark,
    settings: Settings,
    keeps_order: bool,
    digest: Digest,
    resolver: &'r dyn Resolver,
    content: Option<[u8; 32]>,
    resumed: Option<Result<u64, StartedOver>>,
}

impl<'r> StoreReplay<'r> {
    /// Starts at the first event of the order.
    ///
    /// # Errors
    /// `Corrupt`, `Io`, and what the resolver fails with.
    pub fn new(snapshot: &Snapshot, options: &ReplayOptions, resolver: &'r dyn Resolver) -> Result<Self> {
        let order = SnapshotOrder::new(snapshot)?;
        let content = mark_of(options, resolver)?;
        Ok(Self::begin(order, options, resolver, content))
    }

    fn begin(
        order: SnapshotOrder,
        options: &ReplayOptions,
        resolver: &'r dyn Resolver,
        content: Option<[u8; 32]>,
    ) -> Self {
        Self {
            events: Box::new(order.ordered_from(0)),
            length: order.len(),
            mark: order.mark(),
            settings: Settings::of(options),
            keeps_order: options.keep_order,
            replay: Replay::with_places(options, resolver, HeldPlaces::new(order)),
            digest: Digest::default(),
            resolver,
            content,
            resumed: None,
        }
    }

    /// Goes on from a saved point, or starts over where it cannot be used; [`started_over`](Self::started_over) says why.
    /// The report is that of a replay from the start either way.
    ///
    /// Content that is held as it was is not opened again: damage that came over it since is for
    /// [`verify`](crate::store::verify) to find.
    ///
    /// # Errors
    /// `Corrupt`, `Io`, and what the resolver fails with.
    pub fn resume(
        snapshot: &Snapshot,
        options: &ReplayOptions,
        resolver: &'r dyn Resolver,
        point: SavedPoint,
    ) -> Result<Self> {
        let order = SnapshotOrder::new(snapshot)?;
        let content = mark_of(options, resolver)?;
        let usable = usable(&point.head, &order, options, content)?;
        let mut this = match usable {
            Ok(()) => {
                let (head, kept) = (point.head, point.kept);
                Self {
                    events: Box::new(order.ordered_from(head.position)),
                    length: order.len(),
                    mark: order.mark(),
                    settings: head.settings,
                    keeps_order: false,
                    replay: {
                        let places = HeldPlaces::new(order).resumed(kept.late);
                        Replay::resumed(options, resolver, places, head.position, kept.rules, kept.content)
                    },
                    digest: kept.digest,
                    resolver,
                    content,
                    resumed: None,
                }
            }
            Err(_) => Self::begin(order, options, resolver, content),
        };
        this.resumed = Some(usable.map(|()| this.position()));
        Ok(this)
    }

    /// Returns the number of events replayed, those before the saved point included.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.replay.position()
    }

    /// Returns the number of events of the snapshot.
    #[must_use]
    pub const fn events(&self) -> u64 {
        self.length
    }

    /// Says why it did not go on from the saved point it was given; `None` where it did, or was given none.
    #[must_use]
    pub fn started_over(&self) -> Option<StartedOver> {
        self.resumed.and_then(Result::err)
    }

    /// Replays the next event. Returns whether there was one.
    ///
    /// # Errors
    /// `Corrupt`, `Io`, and what the resolver fails with. The replay is of no use then.
    pub fn step(&mut self) -> Result<bool> {
        let Some(event) = self.events.next() else { return Ok(false) };
        let event = event?;
        self.replay.push(&event)?;
        self.digest.take(event.id());
        Ok(true)
    }

    /// Replays all events that are left.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn run(&mut self) -> Result<()> {
        while self.step()? {}
        Ok(())
    }

    /// Writes where the replay is, for [`resume`](Self::resume). It goes on as if nothing had been written.
    ///
    /// The bytes are complete when this returns; that they reach the disk, and take the place of older ones whole or not
    /// at all, is for who gave the file to see to.
    ///
    /// # Errors
    /// `Invalid` when the report is to list the order, which no point holds; what writing fails with; what the resolver
    /// fails with.
    pub fn save(&mut self, mut to: impl Write) -> Result<()> {
        if self.keeps_order {
            let message = "a replay that lists the order cannot be saved";
            return Err(Error::invalid(Code::Store, message));
        }
        let now = if self.settings.is_of_content() { self.resolver.mark()? } else { None };
        let head = Head {
            mark: self.mark,
            settings: self.settings,
            content: now.filter(|now| self.content.as_ref() == Some(now)),
            position: self.position(),
        };
        saved::write(&mut to, &head, self.replay.kept(&self.digest))
    }

    /// Ends the replay, where it is: what still waits for a later event is given up on.
    ///
    /// # Errors
    /// `Io` when a temporary file cannot be used.
    pub fn finish(self) -> Result<ReplayReport> {
        let mut report = self.replay.finish()?;
        report.resumed_from = self.resumed.map(Result::unwrap_or_default);
        Ok(report)
    }
}

fn mark_of(options: &ReplayOptions, resolver: &dyn Resolver) -> Result<Option<[u8; 32]>> {
    if options.content { resolver.mark() } else { Ok(None) }
}

/// Tells whether a replay can go on from a point.
fn usable(
    head: &Head,
    order: &SnapshotOrder,
    options: &ReplayOptions,
    content: Option<[u8; 32]>,
) -> Result<Result<(), StartedOver>> {
    if head.settings != Settings::of(options) || options.keep_order {
        return Ok(Err(StartedOver::OtherOptions));
    }
    if options.content && (content.is_none() || content != head.content) {
        return Ok(Err(StartedOver::ContentChanged));
    }
    match order.changed_since(&head.mark) {
        Ok(Some(from)) if from < head.position => Ok(Err(StartedOver::OrderChanged { from })),
        Ok(_) if head.position <= order.len() => Ok(Ok(())),
        Ok(_) => Ok(Err(StartedOver::OtherStore)),
        Err(error) if error.code() == Code::Cursor => Ok(Err(StartedOver::OtherStore)),
        Err(error) => Err(error),
    }
}

impl fmt::Debug for StoreReplay<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreReplay")
            .field("position", &self.position())
            .field("resumed", &self.resumed)
            .finish_non_exhaustive()
    }
}
