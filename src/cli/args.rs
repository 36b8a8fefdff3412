//! Options that verbs share.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::store::Options;

const STORE: &str = "Directory of the store [env: CAUSELOG_STORE] [default: ./causelog]";
const KEY_FILE: &str = "File of the master key [env: CAUSELOG_KEY_FILE] [default: keys/master in the store]";

/// Options of every verb.
#[derive(Clone, Debug, Args)]
pub(crate) struct Shared {
    #[arg(long, global = true, value_name = "DIR", display_order = 100, help = STORE)]
    pub(crate) store: Option<PathBuf>,
    #[arg(long, global = true, value_name = "FILE", display_order = 101, help = KEY_FILE)]
    pub(crate) key_file: Option<PathBuf>,
    /// Write JSON: one object, listings as JSON lines, errors as {"error": {...}} on standard error
    #[arg(long, global = true, display_order = 102)]
    pub(crate) json: bool,
    /// Say nothing but data, warnings and errors
    #[arg(long, short, global = true, display_order = 103)]
    pub(crate) quiet: bool,
}

impl Shared {
    /// Returns the directory of the store: the option, else the environment's, else the default.
    pub(crate) fn store_dir(&self) -> PathBuf {
        self.store
            .clone()
            .or_else(|| path_from("CAUSELOG_STORE"))
            .unwrap_or_else(|| PathBuf::from("./causelog"))
    }

    /// Returns the file of the master key: the option, else the environment's, else `None` for the store's own.
    pub(crate) fn key_file(&self) -> Option<PathBuf> {
        self.key_file.clone().or_else(|| path_from("CAUSELOG_KEY_FILE"))
    }

    /// Returns the defaults of a store's options, with the file of the master key.
    pub(crate) fn options(&self) -> Options {
        with_key_file(Options::new(), self.key_file())
    }
}

/// Sets the file of the master key, where one is named.
pub(crate) fn with_key_file(options: Options, file: Option<PathBuf>) -> Options {
    match file {
        Some(file) => options.key_file(file),
        None => options,
    }
}

/// Reads a path from the environment; a variable that is empty is not set.
fn path_from(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Options of verbs that write.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Writing {
    /// Wait up to so many seconds for another process to let go of the store
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = seconds)]
    pub(crate) wait: Duration,
}

/// Options of verbs that list events.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Listing {
    /// Show so many events at most
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// Show payloads too; they can hold what users typed
    #[arg(long)]
    pub(crate) payload: bool,
}

/// Options of verbs that take something away.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Destructive {
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask; needed where there is no terminal to ask on
    #[arg(long, short)]
    pub(crate) yes: bool,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(number).map_err(|_| "not a number of seconds that can be waited".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_takes_parts_of_seconds() {
        assert_eq!(seconds("0.25"), Ok(Duration::from_millis(250)));
        for bad in ["-1", "NaN", "inf", "1e300", "soon"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
    }
}
