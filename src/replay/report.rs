//! What a replay found.

use serde::{Serialize, Serializer};

use crate::contract::{EventId, JsonText};

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
    /// Number of residents whose content is there.
    pub exact: u64,
    /// Number of residents whose content is gone.
    pub unavailable: u64,
    /// Number of residents that have drifted.
    pub drifted: u64,
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
    /// Number of contexts assembled.
    pub turns: u64,
    /// Number of violations of each invariant that does not hold, in the order of the report.
    #[serde(serialize_with = "by_name")]
    pub by_invariant: Vec<(Invariant, u64)>,
}

fn id<S: Serializer>(id: &EventId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(id)
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
