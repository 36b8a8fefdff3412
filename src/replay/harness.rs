//! The replay of a sequence of events to a verdict.

use crate::contract::{EventFields, EventId, Result};

use super::content::Content;
use super::held::{Held, HeldPlaces};
use super::invariants::{Findings, Found, Invariant, REVOKED, Rules, Step};
use super::options::ReplayOptions;
use super::payload::Raw;
use super::report::{References, ReplayReport, Totals, Violation};
use super::resolve::Resolver;
use super::saved::KeptMut;
use super::saved::digest::Digest;
use super::seen::{CausePlaces, SeenIds};

/// Replays events that come in the order, and returns the verdict.
///
/// Proves while the events stream by that their sequence is the one order, checks I1 to I7 and resolves
/// every reference. The verdict depends on the set of events alone.
///
/// # Memory
/// 18 to 21 bytes an event for where causes stand ([`SeenIds`]). Beside it a bounded amount: what rules keep of turns,
/// streams and what waits for a later event goes to a temporary file beyond [`ReplayOptions::state_max`]. Per host, its
/// name and an entry of the proof, about 150 bytes. [`StoreReplay`](super::StoreReplay) asks a store where causes stand,
/// and keeps nothing that grows with the log.
///
/// # Errors
/// What the iterator or the resolver fails with; `Io` when a temporary file cannot be used. A broken order or invariant is no error but a verdict.
pub fn replay<E: EventFields>(
    events: impl IntoIterator<Item = Result<E>>,
    options: &ReplayOptions,
    resolver: &dyn Resolver,
) -> Result<ReplayReport> {
    let mut replay = Replay::new(options, resolver);
    for event in events {
        replay.push(&event?)?;
    }
    replay.finish()
}

/// A replay in progress, for callers that hold the events' reins themselves.
pub struct Replay<'r, P = SeenIds> {
    resolver: Option<&'r dyn Resolver>,
    places: P,
    /// Where the causes of the current event stand; kept for its memory alone.
    causes: Vec<Option<u64>>,
    rules: Rules,
    content: Content,
    order: Option<Vec<EventId>>,
    events: u64,
    missing: u64,
}

impl<'r, H: Held> Replay<'r, HeldPlaces<H>> {
    /// Goes on in the middle of the order.
    pub(super) fn resumed(
        options: &ReplayOptions,
        resolver: &'r dyn Resolver,
        places: HeldPlaces<H>,
        position: u64,
        rules: Rules,
        content: Content,
    ) -> Self {
        // Told at each event, of which there may be none left.
        let missing = places.missing();
        let fresh = Self::with_places(options, resolver, places);
        Self { rules, content, events: position, missing, ..fresh }
    }

    /// Returns all that it keeps of the events taken.
    pub(super) fn kept<'k>(&'k mut self, digest: &'k Digest) -> KeptMut<'k> {
        KeptMut { digest, late: self.places.late(), rules: &mut self.rules, content: &self.content }
    }
}

impl<'r> Replay<'r> {
    /// Starts a replay that remembers where events stand.
    #[must_use]
    pub fn new(options: &ReplayOptions, resolver: &'r dyn Resolver) -> Self {
        Self::with_places(options, resolver, SeenIds::new())
    }
}

impl<'r, P> Replay<'r, P> {
    /// Starts a replay that asks `places` where causes stand.
    #[must_use]
    pub fn with_places(options: &ReplayOptions, resolver: &'r dyn Resolver, places: P) -> Self {
        Self {
            resolver: options.content.then_some(resolver),
            places,
            causes: Vec::new(),
            rules: Rules::new(options),
            content: Content::new(options.listed_max),
            order: options.keep_order.then(Vec::new),
            events: 0,
            missing: 0,
        }
    }

    /// Returns the number of events taken.
    pub(super) const fn position(&self) -> u64 {
        self.events
    }

    /// Takes the next event of the order.
    ///
    /// # Errors
    /// What the places of causes or the resolver fail with.
    pub fn push<E: EventFields>(&mut self, event: &E) -> Result<()>
    where
        P: CausePlaces<E>,
    {
        self.causes.clear();
        let arrival = self.places.take(event, self.events, &mut self.causes)?;
        self.missing = self.places.missing();
        let names_activation =
            event.kind() == REVOKED && self.places.names_activation(event, &self.causes)?;
        let payload = Raw::new(event.payload());
        self.rules.step(&Step {
            event,
            payload,
            position: self.events,
            causes: &self.causes,
            arrival,
            names_activation,
        })?;
        if let Some(resolver) = self.resolver {
            self.content.step(event, payload, resolver)?;
        }
        if let Some(order) = &mut self.order {
            order.push(event.id().to_owned());
        }
        self.events += 1;
        Ok(())
    }

    /// Ends the replay: what still waits for a later event is given up on.
    ///
    /// # Errors
    /// `Io` when a temporary file cannot be used.
    pub fn finish(self) -> Result<ReplayReport> {
        let hosts = self.rules.hosts();
        let findings = self.rules.finish()?;
        let totals = Totals {
            hosts,
            missing_causes: self.missing,
            violations: findings.total(),
            drifted: self.content.drifted_total,
            turns: self.content.reconstructions.total(),
            reconstruction: self.content.reconstructions,
            by_invariant: by_invariant(&findings),
        };
        Ok(ReplayReport {
            ok: totals.violations == 0 && totals.drifted == 0,
            events: self.events,
            stable: findings.total_of(Invariant::I6) == 0,
            violations: findings.into_list().into_iter().map(Violation::from).collect(),
            refs: References {
                exact: self.content.exact,
                unavailable: self.content.unavailable,
                drifted: self.content.drifted,
            },
            turns: self.content.turns,
            order: self.order,
            resumed_from: None,
            totals,
        })
    }

    /// Ends the replay for what the rules found alone.
    pub(super) fn into_findings(self) -> Result<Findings> {
        self.rules.finish()
    }
}

impl<P> std::fmt::Debug for Replay<'_, P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replay").field("events", &self.events).finish_non_exhaustive()
    }
}

fn by_invariant(findings: &Findings) -> Vec<(Invariant, u64)> {
    let counts = Invariant::REPORTED.iter().map(|invariant| (*invariant, findings.total_of(*invariant)));
    counts.filter(|(_, total)| *total > 0).collect()
}

impl From<Found> for Violation {
    fn from(found: Found) -> Self {
        let event_id = found.event.map(|(id, _)| id);
        Self { invariant: found.invariant, event_id, detail: found.detail }
    }
}
