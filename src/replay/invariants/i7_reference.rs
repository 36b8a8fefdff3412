//! I7: assistant events name content and do not hold it. Keeps nothing.
//!
//! Every type that begins with `assistant.` carries a reference in `ref`, and none of its own members but
//! the model's name is a string of more than 200 UTF-16 code units. Strings deeper inside are not looked
//! at, since other implementations do not.

use crate::replay::payload::Raw;
use crate::replay::reference;

use super::{Findings, Invariant, Step};

/// Longest string beside the reference, in UTF-16 code units.
const UNITS_MAX: usize = 200;

/// The member that may be longer.
const MODEL: &str = "model";

pub(super) struct ContentByReference;

impl ContentByReference {
    pub(super) fn said(step: &Step<'_>, found: &mut Findings) {
        let mut named = false;
        let mut held = false;
        for (name, value) in step.payload.members() {
            if name == "ref" {
                named = reference::is_reference(value);
            }
            held |= name != MODEL && is_long(value);
        }
        if held || !named {
            found.event(Invariant::I7, step.event.id(), step.position);
        }
    }
}

fn is_long(value: Raw<'_>) -> bool {
    // No code unit is spelled with less than a byte, and two bytes are the quotes.
    value.text().len() > UNITS_MAX + 2
        && value.as_str().is_some_and(|text| text.encode_utf16().nth(UNITS_MAX).is_some())
}
