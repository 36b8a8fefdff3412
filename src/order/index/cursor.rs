//! Walks the order by runs, in both directions.
//!
//! Invariants: the cursor stands between two events, or at an end; `boundary` events stand before it. Where it stands within a
//! run, the cursor of the tree stands directly behind that run.

use crate::contract::Result;
use crate::order::tree::{Cursor, Shelf};

use super::key::Run;
use super::kinds::Runs;
use super::layout::Layout;

/// A place in the order, from which pieces of runs can be read both ways.
///
/// It holds on to the nodes it walks, so it goes on over the order it was made from whatever happens to the index since.
#[derive(Debug)]
pub struct RunCursor {
    cursor: Cursor<Runs>,
    boundary: u64,
    /// The run it stands within, and that run's position.
    within: Option<(u64, Run)>,
}

impl RunCursor {
    /// A cursor before the event at a position, which is at most the number of events.
    pub(super) fn new(layout: &Layout, shelf: &Shelf, position: u64) -> Result<Self> {
        let mut cursor = layout.runs.cursor();
        let mut within = None;
        match layout.spot_at(shelf, position)? {
            None => cursor.seek_end(shelf)?,
            Some(spot) => {
                cursor.seek(shelf, &spot.tag)?;
                let before = spot.seq.saturating_sub(spot.run.first);
                if before > 0 {
                    cursor.next(shelf)?;
                    within = Some((position.saturating_sub(before), spot.run));
                }
            }
        }
        Ok(Self { cursor, boundary: position, within })
    }

    /// Returns what is behind the cursor up to the end of a run, with the position of its first event, and goes
    /// behind it; `None` at the end. O(1) amortised.
    ///
    /// # Errors
    /// Those of reading nodes.
    pub fn next(&mut self, shelf: &Shelf) -> Result<Option<(u64, Run)>> {
        let piece = match self.within.take() {
            Some((position, run)) => {
                let gone = self.boundary.saturating_sub(position);
                Run { first: run.first.saturating_add(gone), len: run.len.saturating_sub(gone), ..run }
            }
            None => match self.cursor.next(shelf)? {
                Some((_, run)) => run,
                None => return Ok(None),
            },
        };
        let position = self.boundary;
        self.boundary = position.saturating_add(piece.len);
        Ok(Some((position, piece)))
    }

    /// Returns what is before the cursor down to the start of a run, with the position of its first event, and goes before
    /// it; `None` at the start. O(1) amortised.
    ///
    /// # Errors
    /// Those of reading nodes.
    pub fn prev(&mut self, shelf: &Shelf) -> Result<Option<(u64, Run)>> {
        let Some((_, run)) = self.cursor.prev(shelf)? else { return Ok(None) };
        let piece = match self.within.take() {
            Some((position, run)) => Run { len: self.boundary.saturating_sub(position), ..run },
            None => run,
        };
        self.boundary = self.boundary.saturating_sub(piece.len);
        Ok(Some((self.boundary, piece)))
    }
}
