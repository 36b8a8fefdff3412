//! Fields of a fixed width, one after another.

use super::PackError;

/// Takes fields off the front of bytes.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    pub(super) fn bytes<const N: usize>(&mut self) -> Result<&'a [u8; N], PackError> {
        let (field, rest) = self.0.split_first_chunk().ok_or(PackError::Damaged("it is cut short"))?;
        self.0 = rest;
        Ok(field)
    }

    pub(super) fn u8(&mut self) -> Result<u8, PackError> {
        self.bytes::<1>().map(|[byte]| *byte)
    }

    pub(super) fn u16(&mut self) -> Result<u16, PackError> {
        self.bytes().map(|bytes| u16::from_le_bytes(*bytes))
    }

    pub(super) fn u32(&mut self) -> Result<u32, PackError> {
        self.bytes().map(|bytes| u32::from_le_bytes(*bytes))
    }

    pub(super) fn u64(&mut self) -> Result<u64, PackError> {
        self.bytes().map(|bytes| u64::from_le_bytes(*bytes))
    }

    /// Passes over a reserved field.
    pub(super) fn zeros<const N: usize>(&mut self) -> Result<(), PackError> {
        if *self.bytes::<N>()? == [0; N] {
            Ok(())
        } else {
            Err(PackError::Damaged("a reserved field is not zero"))
        }
    }
}
