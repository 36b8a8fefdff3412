//! `blob put`: files, or standard input, as content.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::cli::address;
use crate::cli::args::{Shared, Writing};
use crate::cli::exit::{Exit, Failure, Outcome};
use crate::cli::input::Input;
use crate::cli::open;
use crate::cli::output::Output;
use crate::cli::progress::Unit;
use crate::contract::{AddressKind, Result};
use crate::store::{Blobs, PutOptions, PutReport};

const EXAMPLES: &str = "\
Examples:
  causelog blob put page.html
  causelog blob put --subject 'user 4711' --address sha256 mail.eml
  curl -s https://example.org | causelog blob put -";

/// Put files as content, and print their addresses.
///
/// Streams: memory does not grow with a file. What is printed is safe on disk, one line a file. Content that is held
/// already is stored once. Content that was shredded is stored again, under a fresh key; a note says so.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The files, or - for standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Whom the content is about: a name of 1 to 254 bytes, which is kept encrypted
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    subject: Option<String>,
    /// Algorithm of the addresses: blake3 or sha256 [default: the store's]
    #[arg(long, value_name = "ALGORITHM", value_parser = address::kind)]
    address: Option<AddressKind>,
    /// Keep the content from being dropped to make room
    #[arg(long)]
    pin: bool,
    #[command(flatten)]
    writing: Writing,
}

/// A file that was put.
struct Done<'a> {
    file: &'a Path,
    report: PutReport,
    was_shredded: bool,
}

pub(super) fn run(args: &Args, shared: &Shared, output: &mut Output) -> Outcome {
    if args.files.iter().filter(|file| file.as_os_str() == "-").count() > 1 {
        return Err(Failure::Usage("standard input can be read once: - stands there twice".to_owned()));
    }
    let store = open::write_content(shared, args.writing, output)?;
    let blobs = store.blobs();
    let mut all = Vec::new();
    let mut done = Ok(());
    for file in &args.files {
        match put(args, file, &blobs, output) {
            Ok(one) => all.push(one),
            Err(error) => {
                done = Err(error.into());
                break;
            }
        }
    }
    super::settle(done, &blobs, || {
        let said = all.iter().try_for_each(|one| show(one, output)).and_then(|()| output.flush());
        Exit::Fine.after(said).map(drop)
    })?;
    super::close(store, output)?;
    Ok(Exit::Fine)
}

fn put<'a>(args: &Args, file: &'a Path, blobs: &Blobs, output: &Output) -> Result<Done<'a>> {
    let input = Input::open(file)?;
    // What is held and damaged is made whole by putting it again.
    let mut options = PutOptions::new().recheck(true);
    if let Some(subject) = &args.subject {
        options = options.subject(subject);
    }
    if let Some(kind) = args.address {
        options = options.address(kind);
    }
    let bar = output.bar("putting", Unit::Bytes, input.bytes);
    let report = blobs.put_reader(input.watched(&bar), &options).map_err(|error| error.at_path(file))?;
    drop(bar);
    if args.pin {
        blobs.pin(&report.address())?;
    }
    let was_shredded = matches!(report, PutReport::Stored(_)) && blobs.is_shredded(&report.address())?;
    Ok(Done { file, report, was_shredded })
}

fn show(done: &Done<'_>, output: &mut Output) -> Result<(), Failure> {
    let address = done.report.address().to_string();
    if done.was_shredded {
        output.note(format_args!("{address} was shredded before; it is stored again, under a fresh key"));
    }
    if output.is_json() {
        let state = if matches!(done.report, PutReport::Stored(_)) { "stored" } else { "held" };
        return output.json(&json!({"address": address, "state": state, "file": done.file}));
    }
    output.line(address)
}
