//! What a report lists of content, as bytes of a saved point.

use crate::contract::{RefKind, Resolution, Result};
use crate::replay::report::{Drifted, Reconstruction, Reconstructions, Shown, Turn};
use crate::replay::state::{In, Out, Wire, damaged};

impl Wire for Drifted {
    fn write(&self, out: &mut Out<'_>) -> Result<()> {
        self.event_id.write(out)?;
        self.reference.write(out)?;
        self.actual_hash.write(out)
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        let (event_id, reference) = (Wire::read(from)?, Wire::read(from)?);
        Ok(Self { event_id, reference, actual_hash: Wire::read(from)? })
    }
}

impl Wire for Turn {
    fn write(&self, out: &mut Out<'_>) -> Result<()> {
        self.event_id.write(out)?;
        [&self.turn_id, &self.budget, &self.used, &self.parts]
            .into_iter()
            .try_for_each(|text| text.write(out))?;
        self.reconstructable.write(out)?;
        self.reconstruction.write(out)?;
        [self.exact, self.unavailable, self.drifted].iter().try_for_each(|count| count.write(out))?;
        self.shown.write(out)
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        Ok(Self {
            event_id: Wire::read(from)?,
            turn_id: Wire::read(from)?,
            budget: Wire::read(from)?,
            used: Wire::read(from)?,
            parts: Wire::read(from)?,
            reconstructable: Wire::read(from)?,
            reconstruction: Wire::read(from)?,
            exact: Wire::read(from)?,
            unavailable: Wire::read(from)?,
            drifted: Wire::read(from)?,
            shown: Wire::read(from)?,
        })
    }
}

impl Wire for Shown {
    fn write(&self, out: &mut Out<'_>) -> Result<()> {
        out.bytes_with_length(self.kind.as_str().as_bytes())?;
        self.id.write(out)?;
        self.hash.write(out)?;
        self.resolution.write(out)?;
        self.actual_hash.write(out)
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        Ok(Self {
            kind: RefKind::from_word(&String::read(from)?).ok_or_else(damaged)?,
            id: Wire::read(from)?,
            hash: Wire::read(from)?,
            resolution: Wire::read(from)?,
            actual_hash: Wire::read(from)?,
        })
    }
}

impl Wire for Resolution {
    fn write(&self, out: &mut Out<'_>) -> Result<()> {
        let number: u8 = match self {
            Self::Exact => 0,
            Self::Unavailable => 1,
            Self::Drifted => 2,
        };
        number.write(out)
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        Ok(match u8::read(from)? {
            0 => Self::Exact,
            1 => Self::Unavailable,
            2 => Self::Drifted,
            _ => return Err(damaged()),
        })
    }
}

impl Wire for Reconstruction {
    fn write(&self, out: &mut Out<'_>) -> Result<()> {
        let number: u8 = match self {
            Self::Full => 0,
            Self::Partly => 1,
            Self::No => 2,
        };
        number.write(out)
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        Ok(match u8::read(from)? {
            0 => Self::Full,
            1 => Self::Partly,
            2 => Self::No,
            _ => return Err(damaged()),
        })
    }
}

impl Wire for Reconstructions {
    fn write(&self, out: &mut Out<'_>) -> Result<()> {
        [self.full, self.partly, self.no].iter().try_for_each(|count| count.write(out))
    }

    fn read(from: &mut In<'_>) -> Result<Self> {
        Ok(Self { full: Wire::read(from)?, partly: Wire::read(from)?, no: Wire::read(from)? })
    }
}
