//! The event types of version 1 and the members their payloads must have.

use super::rules::{Member, Rule};

const TURN_ID: Member = Member::required("turnId", Rule::Text);
const REF: Member = Member::required("ref", Rule::Ref);
const CAPABILITY: Member = Member::required("capability", Rule::Text);
const ACTOR: Member = Member::required("actor", Rule::Actor);
const CLASS_USED: Member = Member::required("classUsed", Rule::Class);
const REASON: Member = Member::required("reason", Rule::Text);
const RULE_ID: Member = Member::required("ruleId", Rule::Text);

/// Type and members, a family after the other.
pub(super) const V1: &[(&str, &[Member])] = &[
    ("turn.started", &[TURN_ID]),
    ("turn.ended", &[TURN_ID]),
    ("assistant.prompted", &[TURN_ID, REF]),
    ("assistant.message", &[TURN_ID, REF]),
    ("assistant.reasoning", &[TURN_ID, REF]),
    (
        "context.assembled",
        &[
            TURN_ID,
            Member::required("budget", Rule::Number),
            Member::required("used", Rule::Number),
            Member::required("parts", Rule::Parts),
            Member::required("resident", Rule::Refs),
            Member::required("reachableCount", Rule::Number),
        ],
    ),
    ("context.attached", &[REF]),
    ("context.expanded", &[REF, Member::required("tokens", Rule::Number)]),
    ("capability.offered", &[CAPABILITY, REASON]),
    ("capability.granted", &[CAPABILITY, ACTOR]),
    ("capability.denied", &[CAPABILITY, ACTOR]),
    ("capability.activated", &[CAPABILITY, CLASS_USED]),
    ("capability.revoked", &[CAPABILITY, Member::required("cause", Rule::Text)]),
    (
        "capability.invoked",
        &[
            CAPABILITY,
            ACTOR,
            Member::required("scope", Rule::Scope),
            Member::required("effects", Rule::Effects),
            Member::optional("idempotencyKey", Rule::Text),
        ],
    ),
    (
        "capability.resulted",
        &[CAPABILITY, Member::required("ok", Rule::Flag), CLASS_USED, Member::required("cost", Rule::Cost)],
    ),
    ("privacy.redacted", &[Member::required("counts", Rule::Counts)]),
    (
        "privacy.egress",
        &[
            Member::required("host", Rule::Text),
            Member::required("redacted", Rule::Flag),
            Member::required("controlled", Rule::Flag),
        ],
    ),
    ("policy.changed", &[Member::required("dial", Rule::Text), ACTOR]),
    ("policy.guard_denied", &[CAPABILITY, REASON]),
    ("data.created", &[REF]),
    ("data.updated", &[REF]),
    ("data.deleted", &[REF, Member::required("shredded", Rule::Flag)]),
    ("automation.fired", &[RULE_ID, CLASS_USED]),
    ("automation.suppressed", &[RULE_ID, REASON]),
];
