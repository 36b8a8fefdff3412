//! `man`: the manual's pages.

use std::fs;
use std::path::{Path, PathBuf};

use clap_mangen::Man;

use crate::cli::exit::{Exit, Failure, Outcome};
use crate::cli::line::Cli;
use crate::cli::output::{Output, plain};
use crate::contract::Error;
use crate::replay::count;

const EXAMPLES: &str = "\
Examples:
  causelog man | man -l -
  causelog man log | man -l -
  causelog man --dir ~/.local/share/man/man1";

/// Write a page of the manual, as roff.
///
/// Without a VERB the page of the whole. To standard output, or all pages to files of a directory, which is made where
/// it is not there. Uses no store.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The verb whose page it is
    #[arg(value_name = "VERB")]
    verb: Option<String>,
    /// Write all pages into this directory, over those that are there
    #[arg(long, value_name = "DIR", conflicts_with = "verb")]
    dir: Option<PathBuf>,
}

pub(super) fn run(args: &Args, output: &mut Output) -> Outcome {
    let pages = pages();
    if let Some(dir) = &args.dir {
        fs::create_dir_all(dir).map_err(|e| Error::io("cannot create a directory", e).at_path(dir))?;
        for page in &pages {
            write(dir, page)?;
        }
        let pages = count(pages.len() as u64, "page");
        output.summary(format_args!("wrote {pages} to {}", plain(&dir.to_string_lossy())))?;
        return Ok(Exit::Fine);
    }
    let wanted = args.verb.as_deref();
    let Some(page) = pages.iter().find(|page| page.verb.as_deref() == wanted) else {
        let verb = args.verb.as_deref().unwrap_or_default();
        let message = format!("there is no verb {}; `causelog help` lists them", plain(verb));
        return Err(Failure::Usage(message));
    };
    output.bytes(&page.text()?)?;
    Ok(Exit::Fine)
}

/// A page of the manual: of a verb, or of the whole.
struct Page {
    verb: Option<String>,
    man: Man,
}

impl Page {
    fn text(&self) -> Result<Vec<u8>, Error> {
        let mut text = Vec::new();
        self.man.render(&mut text).map_err(|e| Error::io("cannot render a page", e))?;
        Ok(text)
    }
}

fn pages() -> Vec<Page> {
    let mut line = Cli::line().disable_help_subcommand(true);
    line.build();
    let shown = line.get_subcommands().filter(|verb| !verb.is_hide_set()).cloned();
    let verbs: Vec<Page> =
        shown.map(|verb| Page { verb: Some(verb.get_name().to_owned()), man: Man::new(verb) }).collect();
    [Page { verb: None, man: Man::new(line) }].into_iter().chain(verbs).collect()
}

fn write(dir: &Path, page: &Page) -> Result<(), Error> {
    let path = dir.join(page.man.get_filename());
    fs::write(&path, page.text()?).map_err(|e| Error::io("cannot write a page", e).at_path(path))
}
