//! `blob import`: a directory of files that are named by their addresses.
//!
//! Invariants:
//! - Nothing of a file is stored that does not hash to its name.
//! - What is resident is not read again unless that is asked for, and what was shredded stays so: the same import again
//!   goes on where the last one ended.
//! - Memory: 48 bytes for each file, and what one put needs.

mod names;
mod predict;
mod report;

use std::io::Read;
use std::path::{Path, PathBuf};

use names::{Found, Named};
use predict::Prediction;
use report::Report;

use crate::cli::args::{Shared, Writing};
use crate::cli::exit::{Exit, Failure, Outcome};
use crate::cli::input::Input;
use crate::cli::open;
use crate::cli::output::Output;
use crate::cli::progress::{Bar, Unit};
use crate::contract::{Address, Error, ErrorKind, Result};
use crate::store::{BlobState, Blobs, PutOptions, PutReport};

const EXAMPLES: &str = "\
Files are named sha256-HEX, sha256:HEX, blake3-HEX or blake3:HEX. Their content keeps that address, beside the one \
of the store's own algorithm, and must hash to it: a file that does not is named, nothing of it is stored, the others \
go on, and the exit is 4. Other files, and directories, are skipped and counted.

An import that is interrupted, by Ctrl-C or a full disk, leaves the content that was stored until then. Import the \
directory again to finish: what is resident is not read again. With --subject it is read, as who else it is about \
may have to be written down; each piece that is newly about somebody is then a sync of its own. Content that was \
shredded is left out and counted, whoever's copy it is.

What is resident may have been damaged on disk since. --recheck opens what the files name, in the store, and stores \
again what is damaged; such files count as stored.

Examples:
  causelog blob import blobs
  causelog blob import blobs --dry-run          what would happen
  causelog blob import backup --recheck         make whole what was damaged";

/// Most bytes, and files, that are stored between two syncs.
const SYNC_BYTES: u64 = 64 << 20;
const SYNC_FILES: u32 = 1000;

/// Import a directory of files that are named by their addresses.
///
/// In the order of their names; what is counted at the end is safe on disk.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The directory
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Whom the content is about: a name of 1 to 254 bytes, which is kept encrypted
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    subject: Option<String>,
    /// Open what is resident, and store it again where it is damaged
    #[arg(long)]
    recheck: bool,
    /// Read and check what would be read, and store nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    writing: Writing,
}

/// What became of a file.
#[derive(Debug)]
enum Fate {
    /// Its content was stored: so many bytes.
    Stored(u64),
    /// Its content was held.
    Held,
    /// Its content was shredded once.
    LeftOut,
    /// It does not hold what its name says.
    Damaged(Error),
}

/// How the content of files is taken.
enum Taking {
    /// It is put.
    Put,
    /// It is only looked at.
    Predict(Prediction),
}

pub(super) fn run(args: &Args, shared: &Shared, output: &mut Output) -> Outcome {
    let store = if args.dry_run {
        open::read_content(shared, output)?
    } else {
        open::write_content(shared, args.writing, output)?
    };
    let blobs = store.blobs();
    let found = names::find(&args.dir)?;
    report::warn_of_skipped(&found, output);
    let mut report = Report { skipped: found.skipped(), dry_run: args.dry_run, ..Report::default() };
    let mut taking = if args.dry_run {
        Taking::Predict(Prediction::new(blobs.default_kind()?, args.recheck))
    } else {
        Taking::Put
    };
    let done = take_all(args, &found, &mut taking, &blobs, &mut report, output);
    let is_whole = done.is_ok();
    let may_mend = !args.recheck && !store.opening().content_damage.is_empty();
    let mut said = Ok(());
    let mut tell = || {
        said = report.show(output).and_then(|()| output.flush());
        if !is_whole {
            output.warn("the import ended early: importing the directory again goes on from there");
        }
        if may_mend {
            output
                .warn("content of the store is damaged: --recheck makes whole what the directory has of it");
        }
        Ok(())
    };
    if args.dry_run {
        done?;
        tell()?;
    } else {
        super::settle(done, &blobs, tell)?;
        super::close(store, output)?;
    }
    let exit = if report.damaged == 0 { Exit::Fine } else { Exit::Damage };
    exit.after(said)
}

fn take_all(
    args: &Args,
    found: &Found,
    taking: &mut Taking,
    blobs: &Blobs,
    report: &mut Report,
    output: &mut Output,
) -> Result<(), Failure> {
    let bar = output.bar("importing", Unit::Bytes, Some(found.bytes()));
    let mut since_sync = (0_u64, 0_u32);
    for file in &found.files {
        let path = args.dir.join(file.name());
        let fate = take(args, &path, file, taking, blobs, &bar).map_err(|error| error.at_path(&path))?;
        report.count(&fate);
        match fate {
            Fate::Damaged(error) => bar.aside(|| output.error(&error.at_path(&path))),
            Fate::Stored(bytes) if !args.dry_run => {
                since_sync = (since_sync.0.saturating_add(bytes), since_sync.1 + 1);
            }
            _ => {}
        }
        if since_sync.0 >= SYNC_BYTES || since_sync.1 >= SYNC_FILES {
            blobs.sync()?;
            since_sync = (0, 0);
        }
    }
    Ok(())
}

fn take(
    args: &Args,
    path: &Path,
    file: &Named,
    taking: &mut Taking,
    blobs: &Blobs,
    bar: &Bar,
) -> Result<Fate> {
    if let Some(fate) = known(blobs, args, &file.address)? {
        bar.advance(file.bytes);
        return Ok(fate);
    }
    let mut reader = Counting { reader: Input::open(path)?.watched(bar), bytes: 0 };
    if let Taking::Predict(prediction) = taking {
        return prediction.predict(&file.address, reader, blobs);
    }
    let mut options = PutOptions::new().expect(file.address).keep_shredded(true).recheck(args.recheck);
    if let Some(subject) = &args.subject {
        options = options.subject(subject);
    }
    match blobs.put_reader(&mut reader, &options) {
        Ok(PutReport::Stored(_)) => Ok(Fate::Stored(reader.bytes)),
        Ok(PutReport::Held(_)) => Ok(Fate::Held),
        Ok(PutReport::LeftOut(_)) => Ok(Fate::LeftOut),
        // Damage of the store names a file of the store's.
        Err(error) if error.kind() == ErrorKind::Corrupt && error.place().path.is_none() => {
            Ok(Fate::Damaged(error))
        }
        Err(error) => Err(error),
    }
}

/// Returns what becomes of content that need not be read.
fn known(blobs: &Blobs, args: &Args, address: &Address) -> Result<Option<Fate>> {
    let look = || -> Result<Option<Fate>> {
        match blobs.state(address)? {
            BlobState::Shredded => Ok(Some(Fate::LeftOut)),
            // A put writes down whom it is about, and checks it then.
            BlobState::Resident if args.subject.is_some() => Ok(None),
            BlobState::Resident if args.recheck => {
                Ok((blobs.check(address)? == Some(true)).then_some(Fate::Held))
            }
            BlobState::Resident => Ok(Some(Fate::Held)),
            _ => Ok(None),
        }
    };
    match look() {
        // What is damaged can be stored again.
        Err(error) if error.kind() == ErrorKind::Corrupt => Ok(None),
        found => found,
    }
}

/// A reader that counts.
struct Counting<R> {
    reader: R,
    bytes: u64,
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.bytes = self.bytes.saturating_add(count as u64);
        Ok(count)
    }
}
