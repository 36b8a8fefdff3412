//! What a payload member must be.

use super::PayloadFault;
use crate::contract::json::Json;
use crate::contract::reference::is_ref;
use crate::contract::words::{ActorKind, Class, Effects};

/// What a member must be. Only what every peer asks for: members that are not named here, and values
/// inside these ones that no rule names, are kept as they come.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rule {
    Text,
    Number,
    Flag,
    Class,
    Effects,
    Actor,
    Scope,
    Cost,
    Ref,
    Refs,
    Parts,
    Counts,
}

/// A member of a payload with its rule.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    name: &'static str,
    rule: Rule,
    optional: bool,
}

impl Member {
    pub(super) const fn required(name: &'static str, rule: Rule) -> Self {
        Self { name, rule, optional: false }
    }

    pub(super) const fn optional(name: &'static str, rule: Rule) -> Self {
        Self { name, rule, optional: true }
    }

    pub(super) fn check(&self, payload: &Json<'_>) -> Result<(), PayloadFault> {
        match payload.get(self.name) {
            None if self.optional => Ok(()),
            Some(value) if self.rule.holds(value) => Ok(()),
            _ => Err(PayloadFault::new(self.name, self.rule.expected())),
        }
    }
}

impl Rule {
    fn holds(self, value: &Json<'_>) -> bool {
        match self {
            Self::Text => is_text(value),
            Self::Number => value.as_f64().is_some(),
            Self::Flag => value.as_bool().is_some(),
            Self::Class => value.as_str().and_then(Class::from_word).is_some(),
            Self::Effects => value.as_str().and_then(Effects::from_word).is_some(),
            Self::Actor => {
                has_word(value, "kind", |word| ActorKind::from_word(word).is_some()) && has_text(value, "id")
            }
            Self::Scope => has_text(value, "kind") && has_text(value, "id"),
            Self::Cost => value.get("ms").and_then(Json::as_f64).is_some(),
            Self::Ref => is_ref(value),
            Self::Refs => value.as_array().is_some_and(|refs| refs.iter().all(is_ref)),
            Self::Parts => matches!(value, Json::Array(_) | Json::Object(_)),
            Self::Counts => match value {
                Json::Array(counts) => counts.iter().all(|count| count.as_f64().is_some()),
                Json::Object(counts) => counts.iter().all(|(_, count)| count.as_f64().is_some()),
                _ => false,
            },
        }
    }

    const fn expected(self) -> &'static str {
        match self {
            Self::Text => "a string that is not empty",
            Self::Number => "a number",
            Self::Flag => "true or false",
            Self::Class => "a class",
            Self::Effects => "one of the effects",
            Self::Actor => "an actor with a known kind and an id",
            Self::Scope => "a scope with a kind and an id",
            Self::Cost => "a cost with its ms",
            Self::Ref => "a reference with a known kind, an id and a hash",
            Self::Refs => "a list of references",
            Self::Parts => "an object",
            Self::Counts => "an object of numbers",
        }
    }
}

fn is_text(value: &Json<'_>) -> bool {
    value.as_str().is_some_and(|text| !text.is_empty())
}

fn has_text(value: &Json<'_>, member: &str) -> bool {
    value.get(member).is_some_and(is_text)
}

fn has_word(value: &Json<'_>, member: &str, known: impl Fn(&str) -> bool) -> bool {
    value.get(member).and_then(Json::as_str).is_some_and(known)
}

/// Spells the rule as `docs/events.md` does.
#[cfg(test)]
impl std::fmt::Display for Member {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mark = if self.optional { "?" } else { "" };
        write!(f, "`{}`{mark} {}", self.name, format!("{:?}", self.rule).to_lowercase())
    }
}
