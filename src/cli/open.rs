//! Opens the store for a verb, and passes on what opening it found.

use std::path::Path;

use super::args::{Shared, Writing};
use super::exit::Failure;
use super::output::{Output, plain};
use crate::contract::{Code, Error, ErrorKind, UnknownTypes};
use crate::replay::count;
use crate::store::{Options, Store};

/// Most findings of damage that a verb names before it points to `verify`.
const NAMED_MAX: usize = 3;

/// Opens the store for reading: beside a writer, and without writing a byte.
pub(crate) fn read(shared: &Shared, output: &mut Output) -> Result<Store, Failure> {
    let dir = shared.store_dir();
    let store = Store::open_read_only(&dir, shared.options()).map_err(|error| absent(error, &dir))?;
    pass_on(&store, output);
    Ok(store)
}

/// Opens the store for reading content: as [`read`], and damage of content is damage of what is asked for.
pub(crate) fn read_content(shared: &Shared, output: &mut Output) -> Result<Store, Failure> {
    output.about_content();
    let store = read(shared, output)?;
    if !store.opening().content_damage.is_empty() {
        output.note_content_damage();
    }
    Ok(store)
}

/// Opens the store for writing content.
pub(crate) fn write_content(
    shared: &Shared,
    writing: Writing,
    output: &mut Output,
) -> Result<Store, Failure> {
    output.about_content();
    write(shared, writing, shared.options(), output)
}

/// Opens the store for writing. The options are those of [`Shared::options`], or more.
pub(crate) fn write(
    shared: &Shared,
    writing: Writing,
    options: Options,
    output: &mut Output,
) -> Result<Store, Failure> {
    let dir = shared.store_dir();
    let options = options.lock_wait(writing.wait);
    let store = Store::open(&dir, options).map_err(|error| absent(error, &dir))?;
    pass_on(&store, output);
    match &store.opening().read_only {
        // Better now than after an import read all of its file.
        Some(reason) => {
            Err(Error::new(ErrorKind::ReadOnly, Code::Store, reason.as_str()).at_path(dir).into())
        }
        None => Ok(store),
    }
}

/// Turns the absence of a store into a wrong command line: the answer to what was asked is not "no",
/// there was nobody to ask.
pub(crate) fn absent(error: Error, dir: &Path) -> Failure {
    if let Err(failure) = no_file(dir) {
        failure
    } else if error.kind() == ErrorKind::NotFound {
        let dir = plain(&dir.to_string_lossy()).into_owned();
        Failure::Usage(format!("there is no store at {dir}; `causelog init --store {dir}` makes one"))
    } else {
        Failure::Error(error)
    }
}

/// Refuses a file in a store's place.
pub(crate) fn no_file(dir: &Path) -> Result<(), Failure> {
    match std::fs::metadata(dir) {
        Ok(metadata) if !metadata.is_dir() => {
            let dir = plain(&dir.to_string_lossy()).into_owned();
            Err(Failure::Usage(format!("{dir} is not a store: a store is a directory")))
        }
        _ => Ok(()),
    }
}

/// Reads the option `--accept-unknown-types`.
pub(crate) fn unknown_types(accept: bool) -> UnknownTypes {
    if accept { UnknownTypes::Accept } else { UnknownTypes::Refuse }
}

fn pass_on(store: &Store, output: &mut Output) {
    let report = store.opening();
    if let Some(torn) = &report.torn {
        output.warn(format_args!("{torn}; the log goes on before it"));
    }
    for finding in report.damage.iter().take(NAMED_MAX) {
        output.warn(format_args!("damage: {finding}"));
    }
    if !report.damage.is_empty() {
        output.note_damage();
        output.warn("the store is damaged: it only reads, and what is read is what is left of it");
    }
    if let Some(torn) = &report.torn_content {
        let path = torn.path.to_string_lossy();
        output.warn(format_args!(
            "torn content: {} behind offset {} were never confirmed, in {}; what is before them is whole",
            count(torn.bytes, "byte"),
            torn.offset,
            plain(&path)
        ));
    }
    for finding in report.content_damage.iter().take(NAMED_MAX) {
        output.warn(format_args!("damage of content: {finding}"));
    }
    if !report.content_damage.is_empty() {
        output
            .warn("content is damaged: events are whole, and what is read of content is what is left of it");
    }
}
