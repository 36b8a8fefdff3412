//! `init`: makes an empty store.

use serde_json::json;

use crate::cli::address;
use crate::cli::args::{Shared, Writing};
use crate::cli::exit::{Exit, Outcome};
use crate::cli::open;
use crate::cli::output::{Output, plain};
use crate::contract::{AddressKind, Code, Error, Result};
use crate::store::Store;

/// Make an empty store.
///
/// By default in ./causelog; directories above it are made too. A store that is there already is left alone: exit 1.
/// The master key, under which all content is encrypted, is made with it: in keys/master of the store, or in the file
/// that --key-file names, which must not be there yet; every later command needs that file named again. Who loses it
/// loses the content, and no events.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Args {
    /// Algorithm that addresses content where nobody asks for the other one: blake3 or sha256
    #[arg(long, value_name = "ALGORITHM", default_value = "blake3", value_parser = address::kind)]
    address: AddressKind,
    #[command(flatten)]
    writing: Writing,
}

pub(super) fn run(args: Args, shared: &Shared, output: &mut Output) -> Outcome {
    let dir = shared.store_dir();
    open::no_file(&dir)?;
    refuse_key_file(shared)?;
    let options = shared.options().address_kind(args.address).lock_wait(args.writing.wait);
    Store::create(&dir, options)?.close()?;
    if output.is_json() {
        output.json(&json!({"store": dir}))?;
    } else {
        output.summary(format_args!("made an empty store in {}", plain(&dir.to_string_lossy())))?;
    }
    Ok(Exit::Fine)
}

/// Refuses a place where no key file can be made, before a store is made that would have no key. A file that is there is
/// one: a master key belongs to one store, and nothing that may hold one is overwritten. A directory is not made: it may
/// be one that is to be mounted first.
fn refuse_key_file(shared: &Shared) -> Result<()> {
    let Some(file) = shared.key_file() else { return Ok(()) };
    let cannot = |error| Error::io("the file of the master key cannot be made", error).at_path(&file);
    match file.symlink_metadata() {
        Ok(_) => {
            let what = "there is a file already, and a new store makes a master key of its own";
            return Err(Error::invalid(Code::Store, what).at_path(&file));
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(cannot(error)),
    }
    match file.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir.metadata().map(drop).map_err(cannot),
        _ => Ok(()),
    }
}
