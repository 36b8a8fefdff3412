//! The bytes of a saved point: values one behind the other, numbers little-endian, and the BLAKE3 of all at the end.
//!
//! Invariants:
//! - Reading allocates no more than the bytes that are there can justify, whatever they say.
//! - Nothing that was read counts before [`In::finish`] found the checksum right.

use std::fmt;
use std::io::{Read, Write};

use crate::contract::{Code, Error, EventId, JsonText, Result};

/// Read at once of a text whose length is not proved yet.
const CHUNK_BYTES: usize = 1 << 16;

/// Writes values.
pub(in crate::replay) struct Out<'w> {
    to: &'w mut dyn Write,
    hasher: blake3::Hasher,
    pending: Vec<u8>,
}

impl<'w> Out<'w> {
    pub(in crate::replay) fn new(to: &'w mut dyn Write) -> Self {
        Self { to, hasher: blake3::Hasher::new(), pending: Vec::new() }
    }

    pub(in crate::replay) fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.pending.extend_from_slice(bytes);
        if self.pending.len() >= CHUNK_BYTES { self.flush() } else { Ok(()) }
    }

    pub(in crate::replay) fn bytes_with_length(&mut self, bytes: &[u8]) -> Result<()> {
        u64::try_from(bytes.len()).unwrap_or(u64::MAX).write(self)?;
        self.bytes(bytes)
    }

    fn flush(&mut self) -> Result<()> {
        self.hasher.update(&self.pending);
        self.to.write_all(&self.pending).map_err(unwritable)?;
        self.pending.clear();
        Ok(())
    }

    /// Ends with the checksum.
    pub(in crate::replay) fn finish(mut self) -> Result<()> {
        self.flush()?;
        self.to
            .write_all(self.hasher.finalize().as_bytes())
            .and_then(|()| self.to.flush())
            .map_err(unwritable)
    }
}

impl fmt::Debug for Out<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Out").finish_non_exhaustive()
    }
}

/// Reads values.
pub(in crate::replay) struct In<'r> {
    from: &'r mut dyn Read,
    hasher: blake3::Hasher,
}

impl<'r> In<'r> {
    pub(in crate::replay) fn new(from: &'r mut dyn Read) -> Self {
        Self { from, hasher: blake3::Hasher::new() }
    }

    pub(in crate::replay) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.from.read_exact(&mut bytes).map_err(unreadable)?;
        self.hasher.update(&bytes);
        Ok(bytes)
    }

    pub(in crate::replay) fn bytes_with_length(&mut self) -> Result<Vec<u8>> {
        let mut left = usize::try_from(u64::read(self)?).map_err(|_| damaged())?;
        let mut bytes = Vec::new();
        while left > 0 {
            let start = bytes.len();
            bytes.resize(start + left.min(CHUNK_BYTES), 0);
            self.from.read_exact(bytes.get_mut(start..).unwrap_or_default()).map_err(unreadable)?;
            left -= bytes.len() - start;
        }
        self.hasher.update(&bytes);
        Ok(bytes)
    }

    /// Checks the checksum, and that nothing stands behind it.
    pub(in crate::replay) fn finish(self) -> Result<()> {
        let mut stored = [0; blake3::OUT_LEN];
        self.from.read_exact(&mut stored).map_err(unreadable)?;
        let rest = self.from.read(&mut [0]).map_err(unreadable)?;
        if rest == 0 && self.hasher.finalize() == stored { Ok(()) } else { Err(damaged()) }
    }
}

impl fmt::Debug for In<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("In").finish_non_exhaustive()
    }
}

fn unwritable(error: std::io::Error) -> Error {
    Error::io("the saved point cannot be written", error)
}

fn unreadable(error: std::io::Error) -> Error {
    if error.kind() == std::io::ErrorKind::UnexpectedEof {
        return damaged();
    }
    Error::io("the saved point cannot be read", error)
}

/// What is read is no saved point, or one that somebody changed.
pub(in crate::replay) fn damaged() -> Error {
    Error::invalid(Code::Store, "not a saved point of a replay, or a damaged one")
}

/// A value in a saved point.
pub(in crate::replay) trait Wire: Sized {
    fn write(&self, out: &mut Out<'_>) -> Result<()>;
    fn read(from: &mut In<'_>) -> Result<Self>;
}

impl Wire for u64 {
    fn write(&self, out: &mut Out<'_>) -> Result<()> {
        out.bytes(&self.to_le_bytes())
    }
    fn read(from: &mut In<'_>) -> Result<Self> {
        from.array().map(Self::from_le_bytes)
    }
}

impl Wire for u128 {
    fn write(&self, out: &mut Out<'_>) -> Result<()> {
        out.bytes(&self.to_le_bytes())
    }
    fn read(from: &mut In<'_>) -> Result<Self> {
        from.array().map(Self::from_le_bytes)
    }
}

impl Wire for u32 {
    fn write(&self, out: &mut Out<'_>) -> Result<()> {
        out.bytes(&self.to_le_bytes())
    }
    fn read(from: &mut In<'_>) -> Result<Self> {
        from.array().map(Self::from_le_bytes)
    }
}

impl Wire for u8 {
    fn write(&self, out: &mut Out<'_>) -> Result<()> {
        out.bytes(&[*self])
    }
    fn read(from: &mut In<'_>) -> Result<Self> {
        from.array().map(|[byte]| byte)
    }
}

impl<const N: usize> Wire for [u8; N] {
    fn write(&self, out: &mut Out<'_>) -> Result<()> {
        out.bytes(self)
    }
    fn read(from: &mut In<'_>) -> Result<Self> {
        from.array()
    }
}

impl Wire for bool {
    fn write(&self, out: &mut Out<'_>) -> Result<()> {
        u8::from(*self).write(out)
    }
    fn read(from: &mut In<'_>) -> Result<Self> {
        match u8::read(from)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(damaged()),
        }
    }
}

impl Wire for String {
    fn write(&self, out: &mut Out<'_>) -> Result<()> {
        out.bytes_with_length(self.as_bytes())
    }
    fn read(from: &mut In<'_>) -> Result<Self> {
        Self::from_utf8(from.bytes_with_length()?).map_err(|_| damaged())
    }
}

impl Wire for Box<str> {
    fn write(&self, out: &mut Out<'_>) -> Result<()> {
        out.bytes_with_length(self.as_bytes())
    }
    fn read(from: &mut In<'_>) -> Result<Self> {
        String::read(from).map(Into::into)
    }
}

impl Wire for JsonText {
    fn write(&self, out: &mut Out<'_>) -> Result<()> {
        out.bytes_with_length(self.as_str().as_bytes())
    }
    fn read(from: &mut In<'_>) -> Result<Self> {
        Self::parse(&String::read(from)?).map_err(|_| damaged())
    }
}

impl Wire for EventId {
    fn write(&self, out: &mut Out<'_>) -> Result<()> {
        self.as_ref().with_str(|text| out.bytes_with_length(text.as_bytes()))
    }
    fn read(from: &mut In<'_>) -> Result<Self> {
        Self::new(&String::read(from)?).map_err(|_| damaged())
    }
}

impl<T: Wire> Wire for Option<T> {
    fn write(&self, out: &mut Out<'_>) -> Result<()> {
        self.is_some().write(out)?;
        self.as_ref().map_or(Ok(()), |value| value.write(out))
    }
    fn read(from: &mut In<'_>) -> Result<Self> {
        bool::read(from)?.then(|| T::read(from)).transpose()
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn write(&self, out: &mut Out<'_>) -> Result<()> {
        u64::try_from(self.len()).unwrap_or(u64::MAX).write(out)?;
        self.iter().try_for_each(|value| value.write(out))
    }
    fn read(from: &mut In<'_>) -> Result<Self> {
        let mut values = Self::new();
        for _ in 0..u64::read(from)? {
            values.push(T::read(from)?);
        }
        Ok(values)
    }
}

impl<A: Wire, B: Wire> Wire for (A, B) {
    fn write(&self, out: &mut Out<'_>) -> Result<()> {
        self.0.write(out)?;
        self.1.write(out)
    }
    fn read(from: &mut In<'_>) -> Result<Self> {
        Ok((A::read(from)?, B::read(from)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written() -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut out = Out::new(&mut bytes);
        vec![(7_u64, Some("text".to_owned())), (u64::MAX, None)].write(&mut out).unwrap();
        EventId::new("an id").unwrap().write(&mut out).unwrap();
        out.finish().unwrap();
        bytes
    }

    type Values = (Vec<(u64, Option<String>)>, EventId);

    fn read(mut bytes: &[u8]) -> Result<Values> {
        let mut from = In::new(&mut bytes);
        let values = (Vec::read(&mut from)?, EventId::read(&mut from)?);
        from.finish().map(|()| values)
    }

    #[test]
    fn values_come_back_and_no_other_bytes_pass() {
        let bytes = written();
        let (list, id) = read(&bytes).unwrap();
        assert_eq!(list, [(7, Some("text".to_owned())), (u64::MAX, None)]);
        assert_eq!(id.to_string(), "an id");
        for end in 0..bytes.len() {
            assert!(read(&bytes[..end]).is_err(), "cut to {end}");
        }
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(read(&flipped).unwrap_err().message(), damaged().message(), "bit {bit}");
        }
        assert!(read(&[&bytes[..], &[0]].concat()).is_err());
    }
}
