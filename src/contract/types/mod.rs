//! Event types and what their payloads must hold.

mod rules;
mod table;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::error::{Code, Error, Result};
use super::json::Json;
use super::limits::{TYPE_BYTES_MAX, TYPES_MAX};
use rules::Member;

/// Why a payload was refused.
///
/// Holds texts of the program alone, so that nothing a user typed can reach an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PayloadFault {
    member: &'static str,
    expected: &'static str,
}

impl PayloadFault {
    /// Names the member of the payload and what it must be, as in `("turnId", "a string")`.
    #[must_use]
    pub const fn new(member: &'static str, expected: &'static str) -> Self {
        Self { member, expected }
    }
}

type CustomCheck = dyn Fn(&Json<'_>) -> Result<(), PayloadFault> + Send + Sync;

#[derive(Clone)]
enum Check {
    Members(&'static [Member]),
    Custom(Arc<CustomCheck>),
}

/// What becomes of an event whose type is not registered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownTypes {
    /// It is refused with `TYPE`.
    #[default]
    Refuse,
    /// It is taken as it is, its payload unchecked, if the type is `family.kind`.
    Accept,
}

/// The event types this process knows, each with a check of its payload.
#[derive(Clone)]
pub struct TypeRegistry {
    checks: HashMap<Box<str>, Check>,
}

impl TypeRegistry {
    /// Creates a registry of the contract's own types, version 1.
    #[must_use]
    pub fn v1() -> Self {
        let checks = table::V1.iter().map(|(name, members)| ((*name).into(), Check::Members(members)));
        Self { checks: checks.collect() }
    }

    /// Adds a type with a check of its payload.
    ///
    /// The check sees the parsed payload: an object or an array. It runs when an event is appended. A store does not
    /// remember types: each process that appends registers them, and reading needs none.
    ///
    /// ```
    /// use causelog::{Json, Options, PayloadFault, Store, TypeRegistry};
    ///
    /// let mut types = TypeRegistry::v1();
    /// types.register("file.saved", |payload| match payload.get("path").and_then(Json::as_str) {
    ///     Some(_) => Ok(()),
    ///     None => Err(PayloadFault::new("path", "a string")),
    /// })?;
    /// let store = Store::in_memory(Options::new().types(types))?;
    /// # Ok::<(), causelog::Error>(())
    /// ```
    ///
    /// # Errors
    /// `TYPE` when the name is not `family.kind` or is taken, `LIMIT` when it is longer than
    /// [`TYPE_BYTES_MAX`] or more than [`TYPES_MAX`] types are registered.
    pub fn register<F>(&mut self, name: &str, check: F) -> Result<()>
    where
        F: Fn(&Json<'_>) -> Result<(), PayloadFault> + Send + Sync + 'static,
    {
        check_type_name(name)?;
        check_parts(name)?;
        if self.contains(name) {
            return Err(Error::invalid(Code::Type, format!("the type {} is registered", shown(name))));
        }
        if self.checks.len() >= TYPES_MAX + table::V1.len() {
            return Err(Error::invalid(Code::Limit, format!("over {TYPES_MAX} types are registered")));
        }
        self.checks.insert(name.into(), Check::Custom(Arc::new(check)));
        Ok(())
    }

    /// Reports whether a type is registered.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.checks.contains_key(name)
    }

    /// Iterates over the registered types, in no particular order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.checks.keys().map(|name| &**name)
    }

    /// Checks that an event may carry a type.
    pub(crate) fn check_type(&self, name: &str, unknown: UnknownTypes) -> Result<()> {
        check_type_name(name)?;
        if self.contains(name) {
            return Ok(());
        }
        check_parts(name)?;
        match unknown {
            UnknownTypes::Accept => Ok(()),
            UnknownTypes::Refuse => {
                Err(Error::invalid(Code::Type, format!("the type {} is not registered", shown(name))))
            }
        }
    }

    /// Checks the payload of an event whose type was checked. An unknown type accepts any payload.
    pub(crate) fn check_payload(&self, name: &str, payload: &Json<'_>) -> Result<()> {
        let outcome = match self.checks.get(name) {
            None => Ok(()),
            Some(Check::Members(members)) => members.iter().try_for_each(|member| member.check(payload)),
            Some(Check::Custom(check)) => check(payload),
        };
        outcome.map_err(|fault| {
            let message = format!("{}: `{}` must be {}", shown(name), fault.member, fault.expected);
            Error::invalid(Code::Payload, message)
        })
    }
}

impl Default for TypeRegistry {
    /// The contract's own types, as [`TypeRegistry::v1`].
    fn default() -> Self {
        Self::v1()
    }
}

impl fmt::Debug for TypeRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

/// Checks that a text can be the name of a type, known or not.
pub(crate) fn check_type_name(name: &str) -> Result<()> {
    if name.is_empty() {
        return Err(Error::invalid(Code::Type, "`type` must not be empty"));
    }
    if name.len() > TYPE_BYTES_MAX {
        let message = format!("a type of {} bytes is over the limit of {TYPE_BYTES_MAX}", name.len());
        return Err(Error::invalid(Code::Limit, message));
    }
    Ok(())
}

/// Checks that a name consists of a family and a kind.
fn check_parts(name: &str) -> Result<()> {
    if name.split_once('.').is_some_and(|(family, kind)| !family.is_empty() && !kind.is_empty()) {
        return Ok(());
    }
    let message = format!("an event type is `family.kind`, not {}", shown(name));
    Err(Error::invalid(Code::Type, message))
}

/// Quotes a type for a message, its control characters escaped.
fn shown(name: &str) -> String {
    format!("{name:?}")
}
