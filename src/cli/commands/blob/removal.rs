//! What `blob evict` and `shred` have in common: say what will go, ask, do it, say what went.
//!
//! Invariant: exit 0 means that all of the content is in the state that was asked for, whoever brought it there; so the
//! same command twice ends the same way. In a damaged store nothing is called absent: it may be what was lost.

use serde_json::json;

use super::{is_damaged, not_left};
use crate::cli::args::{Destructive, Shared, Writing};
use crate::cli::commands::confirmed;
use crate::cli::exit::{Exit, Failure, Outcome};
use crate::cli::open;
use crate::cli::output::Output;
use crate::contract::{Address, ErrorKind, Result};
use crate::replay::count;
use crate::store::{BlobState, Blobs};

/// How content goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli::commands) enum Removal {
    /// Until it is put again.
    Evict,
    /// For good.
    Shred,
}

impl Removal {
    /// Returns the state that it leaves content in.
    fn leaves(self) -> BlobState {
        match self {
            Self::Evict => BlobState::Evicted,
            Self::Shred => BlobState::Shredded,
        }
    }

    /// Reports whether there is something to take away from content in a state.
    fn takes(self, state: BlobState) -> bool {
        match self {
            Self::Evict => state == BlobState::Resident,
            // A tombstone keeps what was evicted from coming back.
            Self::Shred => matches!(state, BlobState::Resident | BlobState::Evicted),
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Evict => "evict",
            Self::Shred => "shred",
        }
    }

    fn question(self) -> &'static str {
        match self {
            Self::Evict => "Evict this content?",
            Self::Shred => "Shred this content for good?",
        }
    }

    fn take(self, blobs: &Blobs, address: &Address) -> Result<bool> {
        match self {
            Self::Evict => blobs.evict(address),
            Self::Shred => blobs.shred(address),
        }
    }
}

/// A piece of content, and what becomes of it.
#[derive(Clone, Copy, Debug)]
struct Piece {
    address: Address,
    state: BlobState,
    /// How long it is, or was.
    bytes: Option<u64>,
    /// Whether something was taken away, or would be.
    taken: bool,
    /// Whether it is not found, in a store that has lost some.
    lost: bool,
}

/// Takes content away, after it was asked whether that is meant. The store is held while somebody is asked, so that what
/// goes is what was shown.
pub(in crate::cli::commands) fn remove(
    removal: Removal,
    addresses: &[Address],
    how: Destructive,
    writing: Writing,
    shared: &Shared,
    output: &mut Output,
) -> Outcome {
    let store = if how.dry_run {
        open::read_content(shared, output)?
    } else {
        open::write_content(shared, writing, output)?
    };
    let blobs = store.blobs();
    let damaged = is_damaged(&store);
    let plan = addresses
        .iter()
        .map(|address| look(removal, *address, &blobs, damaged))
        .collect::<Result<Vec<_>>>()?;
    if how.dry_run {
        return exit_of(removal, &plan).after(show_all(removal, true, &plan, output));
    }
    if plan.iter().any(|piece| piece.taken) {
        if !how.yes && !output.is_json() {
            show_all(removal, true, &plan, output)?;
        }
        if !confirmed(how, removal.question(), output)? {
            return Ok(Exit::No);
        }
    }
    let mut all = Vec::new();
    let done = plan.iter().try_for_each(|piece| {
        // Nobody was asked about what is lost: that there is nothing to take is all that can be said of it.
        let taken = if piece.lost && !how.yes { Ok(false) } else { removal.take(&blobs, &piece.address) };
        let taken = match taken {
            // Marked as shredded all the same, so that it stays unread should it be put back.
            Err(error) if piece.lost && error.kind() == ErrorKind::Corrupt => false,
            taken => taken?,
        };
        let state = if taken { removal.leaves() } else { blobs.state(&piece.address)? };
        all.push(Piece { state, taken, ..*piece });
        Ok(())
    });
    let exit = exit_of(removal, &all);
    super::settle(done, &blobs, || {
        let said = show_all(removal, false, &all, output).and_then(|()| output.flush());
        exit.after(said).map(drop)
    })?;
    super::close(store, output)?;
    Ok(exit)
}

/// Returns what would become of a piece.
fn look(removal: Removal, address: Address, blobs: &Blobs, damaged: bool) -> Result<Piece> {
    let state = blobs.state(&address)?;
    // What is too damaged to say how long it is can be taken away all the same.
    let bytes = match blobs.len_of(&address) {
        Err(error) if error.kind() == ErrorKind::Corrupt => None,
        bytes => bytes?,
    };
    let taken = removal.takes(state);
    let lost = damaged && state == BlobState::Absent;
    Ok(Piece { address, state: if taken { removal.leaves() } else { state }, bytes, taken, lost })
}

fn exit_of(removal: Removal, pieces: &[Piece]) -> Exit {
    if pieces.iter().any(|piece| piece.lost) {
        Exit::Damage
    } else if pieces.iter().all(|piece| piece.state == removal.leaves()) {
        Exit::Fine
    } else {
        Exit::No
    }
}

fn show_all(removal: Removal, dry_run: bool, pieces: &[Piece], output: &mut Output) -> Result<(), Failure> {
    pieces.iter().try_for_each(|piece| show(removal, dry_run, piece, output))
}

fn show(removal: Removal, dry_run: bool, piece: &Piece, output: &mut Output) -> Result<(), Failure> {
    let Piece { address, state, bytes, taken, lost } = piece;
    if *lost {
        output.error(&not_left(address));
        if removal == Removal::Shred && *state == BlobState::Shredded {
            output.warn(format_args!(
                "{address} is marked as shredded all the same; its key could not be found"
            ));
        }
        output.note_content_damage();
        return Ok(());
    }
    let (state, word) = (state.as_str(), removal.word());
    if output.is_json() {
        let address = address.to_string();
        return output.json(&json!({
            "address": address, "state": state, "bytes": bytes, "taken": taken, "dryRun": dry_run
        }));
    }
    if !taken {
        return output.line(format_args!("{address} is {state}: there is nothing to {word}"));
    }
    let bytes = bytes.map(|bytes| format!(", {}", count(bytes, "byte"))).unwrap_or_default();
    if dry_run {
        output.line(format_args!("would {word} {address}{bytes}"))
    } else {
        output.line(format_args!("{state} {address}{bytes}"))
    }
}
