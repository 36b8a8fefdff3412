//! What a host does: turns of an agent, step by step, or events that stand alone.

use super::random::Random;
use super::text::{IdText, push_hex, push_number};

/// A step: the type of its event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    TurnStarted,
    ContextAssembled,
    Prompted,
    Redacted,
    Offered,
    Granted,
    Activated,
    Invoked,
    Egress,
    Resulted,
    Revoked,
    Message,
    TurnEnded,
    Created,
    Attached,
    Fired,
}

/// One turn. An egress is taken out where the invocation declares none.
const TURN: [Step; 14] = [
    Step::TurnStarted,
    Step::ContextAssembled,
    Step::Prompted,
    Step::Redacted,
    Step::Offered,
    Step::Granted,
    Step::Activated,
    Step::Invoked,
    Step::Egress,
    Step::Resulted,
    Step::Revoked,
    Step::Message,
    Step::TurnEnded,
    Step::Created,
];

/// Events that ask for no cause.
const ALONE: [Step; 5] = [Step::Created, Step::Attached, Step::Fired, Step::Redacted, Step::Offered];

const CAPABILITIES: [&str; 6] =
    ["page.actions", "notes.search", "mail.draft", "calendar.read", "web.fetch", "files.list"];
const REF_KINDS: [&str; 4] = ["note", "page", "chat", "meeting"];
/// One invocation in so many declares that something leaves the device.
const EGRESS_ONE_IN: u64 = 4;

impl Step {
    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::TurnStarted => "turn.started",
            Self::ContextAssembled => "context.assembled",
            Self::Prompted => "assistant.prompted",
            Self::Redacted => "privacy.redacted",
            Self::Offered => "capability.offered",
            Self::Granted => "capability.granted",
            Self::Activated => "capability.activated",
            Self::Invoked => "capability.invoked",
            Self::Egress => "privacy.egress",
            Self::Resulted => "capability.resulted",
            Self::Revoked => "capability.revoked",
            Self::Message => "assistant.message",
            Self::TurnEnded => "turn.ended",
            Self::Created => "data.created",
            Self::Attached => "context.attached",
            Self::Fired => "automation.fired",
        }
    }
}

/// Where a host is in what it does.
#[derive(Clone, Debug, Default)]
pub(super) struct Script {
    at: usize,
    turn: u64,
    capability: usize,
    /// Number that the invocation and its result share as their idempotency key.
    key: u64,
    egress: bool,
    activation: Option<IdText>,
    invocation: Option<IdText>,
}

impl Script {
    /// Returns the next step. `last` says that the log ends with it: a turn then declares no egress,
    /// since nothing could record it.
    pub(super) fn next(&mut self, turns: bool, last: bool, random: &mut Random) -> Step {
        if !turns {
            return ALONE.get(random.index(ALONE.len())).copied().unwrap_or(Step::Created);
        }
        if self.at >= TURN.len() {
            self.at = 0;
            self.turn += 1;
        }
        let step = TURN.get(self.at).copied().unwrap_or(Step::TurnStarted);
        self.at += 1;
        match step {
            Step::Offered => self.capability = random.index(CAPABILITIES.len()),
            Step::Invoked => {
                self.key = random.next() >> 32;
                self.egress = random.below(EGRESS_ONE_IN) == 0 && !last;
            }
            Step::Egress if !self.egress => return self.next(turns, last, random),
            _ => {}
        }
        step
    }

    /// Reports whether the next step must follow at once: a log that ended between an invocation and
    /// its egress would fail the replay.
    pub(super) fn must_go_on(&self, step: Step) -> bool {
        step == Step::Invoked && self.egress
    }

    /// Returns the event that a step has to name, whatever the shape.
    pub(super) fn required_cause(&self, step: Step) -> Option<IdText> {
        match step {
            Step::Egress => self.invocation,
            Step::Revoked => self.activation,
            _ => None,
        }
    }

    /// Remembers the events that later steps have to name.
    pub(super) fn done(&mut self, step: Step, id: IdText) {
        match step {
            Step::Activated => self.activation = Some(id),
            Step::Invoked => self.invocation = Some(id),
            _ => {}
        }
    }

    /// Appends the payload without its closing brace.
    pub(super) fn payload(&self, step: Step, host: usize, out: &mut Vec<u8>, random: &mut Random) {
        use Part::{Key, Number, Reference, Text, Turn};

        let capability = Text(CAPABILITIES.get(self.capability).copied().unwrap_or("page.actions"));
        let mut write = |parts: &[Part]| {
            for part in parts {
                part.push(self, host, out, random);
            }
        };
        match step {
            Step::TurnStarted => write(&[Text("{"), Turn, Text(r#","surface":"panel""#)]),
            Step::ContextAssembled => {
                write(&[Text("{"), Turn, Text(r#","budget":8000,"used":"#), Number(8000)]);
                write(&[Text(r#","parts":{"system":120},"resident":["#), Reference]);
                write(&[Text(r#"],"reachableCount":"#), Number(90)]);
            }
            Step::Prompted | Step::Message => {
                write(&[Text("{"), Turn, Text(r#","chars":"#), Number(4000), Text(r#","ref":"#), Reference]);
            }
            Step::Redacted => {
                write(&[
                    Text(r#"{"counts":{"PERSON":"#),
                    Number(4),
                    Text(r#","EMAIL":"#),
                    Number(3),
                    Text("}"),
                ]);
            }
            Step::Offered => {
                write(&[Text(r#"{"capability":""#), capability, Text(r#"","reason":"tab matches""#)]);
            }
            Step::Granted => {
                write(&[
                    Text(r#"{"capability":""#),
                    capability,
                    Text(r#"","actor":{"kind":"user","id":"u1"}"#),
                ]);
            }
            Step::Activated => {
                write(&[Text(r#"{"capability":""#), capability, Text(r#"","classUsed":"R""#)]);
            }
            Step::Invoked => {
                write(&[Text("{"), Turn, Text(r#","capability":""#), capability]);
                write(&[Text(r#"","actor":{"kind":"model","id":"m1"},"scope":{"kind":"tab","id":"t1"}"#)]);
                write(&[Text(r#","effects":"idempotent","idempotencyKey":"#), Key, Text(r#","egress":"#)]);
                write(&[Text(if self.egress { r#""search.example""# } else { r#""none""# })]);
            }
            Step::Egress => {
                write(&[Text(r#"{"host":"search.example","redacted":true,"controlled":true,"bytes":"#)]);
                write(&[Number(4000)]);
            }
            Step::Resulted => {
                write(&[Text(r#"{"capability":""#), capability, Text(r#"","ok":true,"classUsed":"L""#)]);
                write(&[Text(r#","cost":{"ms":"#), Number(2500), Text(r#"},"idempotencyKey":"#), Key]);
            }
            Step::Revoked => {
                write(&[Text(r#"{"capability":""#), capability, Text(r#"","cause":"turn over""#)]);
            }
            Step::TurnEnded => {
                write(&[Text("{"), Turn, Text(r#","ms":"#), Number(20_000)]);
                write(&[Text(r#","tokensIn":"#), Number(4000), Text(r#","tokensOut":"#), Number(900)]);
            }
            Step::Created | Step::Attached => write(&[Text(r#"{"ref":"#), Reference]),
            Step::Fired => {
                write(&[Text(r#"{"ruleId":"r_"#), Number(1_000_000), Text(r#"","classUsed":"R""#)]);
            }
        }
    }
}

/// A piece of a payload.
#[derive(Clone, Copy, Debug)]
enum Part {
    Text(&'static str),
    /// The member `turnId`.
    Turn,
    /// The idempotency key of the running invocation.
    Key,
    /// A number below a bound.
    Number(u64),
    /// A reference to content that nobody holds.
    Reference,
}

impl Part {
    fn push(self, script: &Script, host: usize, out: &mut Vec<u8>, random: &mut Random) {
        match self {
            Self::Text(text) => out.extend_from_slice(text.as_bytes()),
            Self::Turn => {
                out.extend_from_slice(br#""turnId":"t_"#);
                push_number(out, u64::try_from(host).unwrap_or(0));
                out.push(b'_');
                push_number(out, script.turn);
                out.push(b'"');
            }
            Self::Key => {
                out.extend_from_slice(br#""k_"#);
                push_number(out, script.key);
                out.push(b'"');
            }
            Self::Number(bound) => push_number(out, random.below(bound)),
            Self::Reference => {
                let kind = REF_KINDS.get(random.index(REF_KINDS.len())).copied().unwrap_or("note");
                out.extend_from_slice(br#"{"kind":""#);
                out.extend_from_slice(kind.as_bytes());
                out.extend_from_slice(br#"","id":"n_"#);
                push_number(out, random.below(100_000));
                out.extend_from_slice(br#"","hash":"sha256:"#);
                push_hex(out, random, 64);
                out.extend_from_slice(br#""}"#);
            }
        }
    }
}
