//! What a replay found.

use serde::{Serialize, Serializer};

use crate::contract::{EventId, JsonText, RefKind, Resolution};

use super::invariants::Invariant;

/// The verdict on a run and what it rests on.
///
/// As JSON it has the members that every implementation reports: `ok`, `events`, `stable`, `violations`,
/// `refs`, `turns`, and `order` where it was asked for; `totals` is ours. `Display` writes it for people.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ReplayReport {
    /// The verdict: the order is proved, no invariant is violated and no content has drifted.
    pub ok: bool,
    /// Number of events replayed.
    pub events: u64,
    /// Whether the sequence was proved to be the one order of its events.
    pub stable: bool,
    /// Violations by invariant (I7, I1 to I6), within one by the order. Bounded; see
    /// [`Totals::violations`].
    pub violations: Vec<Violation>,
    /// What became of the references.
    pub refs: References,
    /// The contexts that were assembled, by the order. Bounded; see [`Totals::turns`].
    pub turns: Vec<Turn>,
    /// The ids of all events in the order, if [asked for](super::ReplayOptions::keep_order).
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "ids")]
    pub order: Option<Vec<EventId>>,
    /// Where a replay that was asked to go on from a saved point went on: 0 where it could not and started over, `None`
    /// where it was not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumed_from: Option<u64>,
    /// Counts of everything, listed or not.
    pub totals: Totals,
}

/// An invariant that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Violation {
    /// Which one.
    pub invariant: Invariant,
    /// The event that breaks it, or `None` where the set does.
    #[serde(serialize_with = "id_or_null")]
    pub event_id: Option<EventId>,
    /// More about it, where there is more to say. Holds no text of a payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// What became of the references of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct References {
    /// Number of those whose content is there.
    pub exact: u64,
    /// Number of those whose content is gone. They pass: the record stands.
    pub unavailable: u64,
    /// Those whose source holds other content now, by the order. Bounded; see [`Totals::drifted`].
    pub drifted: Vec<Drifted>,
}

/// A reference whose source holds other content now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Drifted {
    /// The event that names the content.
    #[serde(serialize_with = "id")]
    pub event_id: EventId,
    /// The reference as it stands in the event.
    #[serde(rename = "ref")]
    pub reference: JsonText,
    /// The hash of what the source holds.
    pub actual_hash: String,
}

/// A context that was assembled for a turn. Members of the payload are as they came, absent where it has
/// none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Turn {
    /// The event that says so.
    #[serde(serialize_with = "id")]
    pub event_id: EventId,
    /// The turn's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<JsonText>,
    /// How much the context could hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<JsonText>,
    /// How much it held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used: Option<JsonText>,
    /// What it was made of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<JsonText>,
    /// Whether nothing of what was shown has drifted. What is gone stays verified, and counts below.
    pub reconstructable: bool,
    /// How much of what was shown can still be read; says more than `reconstructable`, which is as every
    /// implementation reports it.
    pub reconstruction: Reconstruction,
    /// Number of residents whose content is there.
    pub exact: u64,
    /// Number of residents whose content is gone.
    pub unavailable: u64,
    /// Number of residents that have drifted.
    pub drifted: u64,
    /// The residents in their order, as far as they are references. Bounded for a turn and for the report, see
    /// [`ReplayOptions::listed_max`](super::ReplayOptions::listed_max); the counts are of all.
    pub shown: Vec<Shown>,
}

/// A reference that a turn was shown, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Shown {
    /// What the content is.
    #[serde(serialize_with = "kind")]
    pub kind: RefKind,
    /// The source's own name for it.
    pub id: Box<str>,
    /// The hash of what was shown.
    pub hash: Box<str>,
    /// What became of it.
    #[serde(serialize_with = "resolution")]
    pub resolution: Resolution,
    /// The hash of what its source holds now, where it has drifted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual_hash: Option<Box<str>>,
}

/// How much of what a turn was shown can be put before it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Reconstruction {
    /// All of it: `resident` is a list of references, and each is exact. Also where it is empty.
    Full,
    /// What is there is what was shown, but not all is there: some is gone, which the record still verifies if it comes
    /// back, or was never recorded as a reference, which I1 reports.
    Partly,
    /// A source holds something else now. What it would show today is not what the turn was shown.
    No,
}

impl Reconstruction {
    /// Returns the spelling in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Partly => "partly",
            Self::No => "no",
        }
    }
}

/// Numbers of assembled contexts, by how much of each can be read again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Reconstructions {
    /// Of those that are [`Reconstruction::Full`].
    pub full: u64,
    /// Of those that are [`Reconstruction::Partly`].
    pub partly: u64,
    /// Of those that are [`Reconstruction::No`].
    pub no: u64,
}

impl Reconstructions {
    pub(super) fn count(&mut self, reconstruction: Reconstruction) {
        let count = match reconstruction {
            Reconstruction::Full => &mut self.full,
            Reconstruction::Partly => &mut self.partly,
            Reconstruction::No => &mut self.no,
        };
        *count += 1;
    }

    /// Returns the number of all of them.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.full + self.partly + self.no
    }
}

/// Counts of everything a replay came across.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Totals {
    /// Number of hosts.
    pub hosts: u64,
    /// Number of ids that held events name and nobody holds.
    pub missing_causes: u64,
    /// Number of violations.
    pub violations: u64,
    /// Number of references whose content has drifted.
    pub drifted: u64,
    /// Number of contexts assembled, of which a turn has one as a rule.
    pub turns: u64,
    /// How much of those can be read again.
    pub reconstruction: Reconstructions,
    /// Number of violations of each invariant that does not hold, in the order of the report.
    #[serde(serialize_with = "by_name")]
    pub by_invariant: Vec<(Invariant, u64)>,
}

fn id<S: Serializer>(id: &EventId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(id)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form serde calls")]
fn kind<S: Serializer>(kind: &RefKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.as_str())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form serde calls")]
fn resolution<S: Serializer>(resolution: &Resolution, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(resolution.as_str())
}

#[expect(clippy::ref_option, reason = "the form serde calls")]
fn id_or_null<S: Serializer>(id: &Option<EventId>, serializer: S) -> Result<S::Ok, S::Error> {
    id.as_ref().map(ToString::to_string).serialize(serializer)
}

#[expect(clippy::ref_option, reason = "the form serde calls")]
fn ids<S: Serializer>(ids: &Option<Vec<EventId>>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(ids.iter().flatten().map(ToString::to_string))
}

fn by_name<S: Serializer>(counts: &[(Invariant, u64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(counts.iter().copied())
}

impl Serialize for Invariant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
