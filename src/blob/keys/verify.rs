//! Checking all there is of subjects and slots.

use super::file::fault_error;
use super::keyring::Keys;
use super::subjects::{DEFAULT_SUBJECT, STORE_SECRET, head_place};
use crate::codec::{Copy, KeyFault, SlotMark, SubjectBody, SubjectKind};
use crate::contract::{Error, ErrorKind, Result};

impl Keys {
    /// Calls `found` with each thing that is not as it was written, as an error with path and offset: damaged copies,
    /// also where the other one is whole; slots that do not check, or lead back; and live slots of subjects that
    /// there are none of. Needs no key. Cost: both files, read once.
    ///
    /// # Errors
    /// What `found` and the system report.
    pub fn verify(&self, found: &mut dyn FnMut(Error) -> Result<()>) -> Result<()> {
        let (subjects, slots) = self.parts();
        let count = subjects.count();
        let mut number = 0u32;
        subjects.for_each(&mut |place, twin| {
            let is_head = place.offset == head_place(&place.store).offset;
            for (copy, index) in twin.copies.iter().zip(0u8..) {
                if matches!(copy, Copy::Damaged) {
                    let fault = KeyFault::Damaged("one of the two copies is damaged");
                    found(subjects.file.fault(fault, place.offset_of(index)))?;
                }
            }
            if is_head {
                return Ok(());
            }
            let kind = if number == STORE_SECRET { SubjectKind::StoreSecret } else { SubjectKind::Subject };
            number = number.saturating_add(1);
            let fault = match twin.body().map(SubjectBody::from_body) {
                Some(Ok(subject)) if subject.kind == kind => return Ok(()),
                Some(Ok(_)) => KeyFault::Damaged("a key of the wrong kind stands here"),
                Some(Err(fault)) => fault,
                None => KeyFault::Damaged("the key of a subject is missing or damaged"),
            };
            found(subjects.file.fault(fault, place.offset))
        })?;
        slots.for_each(slots.handed_out(), &mut |number, slot| {
            // One that does not check is read again: a writer may have been in the midst of it.
            let slot = match slot {
                Ok(slot) => slot,
                Err(_) => match slots.get(number) {
                    Err(e) if e.kind() == ErrorKind::Corrupt => return found(e),
                    again => again?,
                },
            };
            match slot {
                // One that ended in place of a damaged slot is of nobody.
                Some(slot)
                    if slot.mark == SlotMark::Live
                        && !(DEFAULT_SUBJECT..count.max(subjects.count())).contains(&slot.subject) =>
                {
                    let fault = KeyFault::Damaged("a slot is of a subject that there is none of");
                    found(fault_error(fault, slots.file.path(), super::slots::offset_of(number)))
                }
                _ => Ok(()),
            }
        })
    }
}
