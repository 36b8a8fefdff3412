//! Where a command's words go: data to standard output, talk to standard error.
//!
//! Invariants:
//! - With `--json` standard output holds JSON alone: one object, or one a line.
//! - Colour and bars appear on terminals alone.
//! - Once damage was told of, no command ends as if it had answered from the whole store: see [`Output::damaged`].
//! - Text that came from events is printed through [`plain`] wherever people read it, so that it
//!   cannot drive their terminal.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::io::{self, BufWriter, IsTerminal, Stderr, StdoutLock, Write};

use anstyle::{AnsiColor, Style};
use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use super::exit::{Exit, Failure, Outcome, kind_name};
use super::intake::Faults;
use super::progress::{Bar, Unit};
use crate::contract::{Error, ErrorKind};

const BUFFER_BYTES: usize = 1 << 16;

/// What to do about damage.
const ON_DAMAGE: &str =
    "`causelog verify` names the damage, `causelog repair --dry-run` says what can be kept";

/// What there is to know about damage of content.
const ON_CONTENT_DAMAGE: &str =
    "what is damaged is content: the events are whole, and other content can be read";

/// What the words mean; decides the colour.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tone {
    /// A name to go by.
    Name,
    /// Nothing in particular.
    Plain,
    /// Less important than the rest.
    Dim,
    /// The answer is yes.
    Good,
    /// Look here.
    Warning,
    /// The answer is no.
    Bad,
}

impl Tone {
    fn style(self) -> Style {
        match self {
            Self::Name => AnsiColor::Cyan.on_default(),
            Self::Plain => Style::new(),
            Self::Dim => Style::new().dimmed(),
            Self::Good => AnsiColor::Green.on_default().bold(),
            Self::Warning => AnsiColor::Yellow.on_default().bold(),
            Self::Bad => AnsiColor::Red.on_default().bold(),
        }
    }
}

/// Standard output and standard error of one command.
#[expect(clippy::struct_excessive_bools, reason = "facts about the two streams, each asked for alone")]
pub(crate) struct Output {
    out: BufWriter<StdoutLock<'static>>,
    err: Stderr,
    json: bool,
    quiet: bool,
    out_colour: bool,
    err_colour: bool,
    watched: bool,
    out_terminal: bool,
    about_content: bool,
    /// Damage that was told of, as what to say of it at the end.
    damage: Option<&'static str>,
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output").field("json", &self.json).field("quiet", &self.quiet).finish_non_exhaustive()
    }
}

impl Output {
    /// Takes standard output for the rest of the process.
    pub(crate) fn new(json: bool, quiet: bool) -> Self {
        let (stdout, err) = (io::stdout().lock(), io::stderr());
        let colours = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
            && std::env::var_os("TERM").is_none_or(|value| value != "dumb");
        let out_terminal = stdout.is_terminal();
        Self {
            out_colour: colours && !json && out_terminal,
            err_colour: colours && !json && err.is_terminal(),
            watched: !json && !quiet && err.is_terminal(),
            out: BufWriter::with_capacity(BUFFER_BYTES, stdout),
            err,
            json,
            quiet,
            out_terminal,
            about_content: false,
            damage: None,
        }
    }

    /// Reports whether programs read the output.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Notes that the store is damaged: what is read is what is left, and the command ends with
    /// [`Exit::Damage`] whatever it says.
    pub(crate) fn note_damage(&mut self) {
        self.damage = Some(ON_DAMAGE);
    }

    /// Notes that content is damaged, as [`Output::note_damage`] does for the store.
    pub(crate) fn note_content_damage(&mut self) {
        self.damage.get_or_insert(ON_CONTENT_DAMAGE);
    }

    /// Says that the command is about content: so is damage that it ends with.
    pub(crate) fn about_content(&mut self) {
        self.about_content = true;
    }

    /// Reports whether the store is damaged, so that what is read of it may not be all.
    pub(crate) fn damaged(&self) -> bool {
        self.damage.is_some()
    }

    /// Writes bytes to standard output as they are.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.out.write_all(bytes).map_err(Failure::output)
    }

    /// Writes a line of text to standard output.
    pub(crate) fn line(&mut self, text: impl fmt::Display) -> Result<(), Failure> {
        writeln!(self.out, "{text}").map_err(Failure::output)
    }

    /// Writes a line of a summary to standard output, unless `--quiet` asks for data alone.
    pub(crate) fn summary(&mut self, text: impl fmt::Display) -> Result<(), Failure> {
        if self.quiet { Ok(()) } else { self.line(text) }
    }

    /// Writes a value as one line of JSON to standard output.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        serde_json::to_writer(&mut self.out, value).map_err(|error| Failure::output(error.into()))?;
        self.bytes(b"\n")
    }

    /// Writes rows as a table with a head; the columns named in `numbers` stand to the right.
    pub(crate) fn table<const N: usize>(
        &mut self,
        head: [&str; N],
        numbers: &[usize],
        rows: impl Iterator<Item = [String; N]>,
    ) -> Result<(), Failure> {
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_header(head).add_rows(rows);
        for (place, column) in table.column_iter_mut().enumerate() {
            column.set_padding((0, 2));
            if numbers.contains(&place) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        for (n, line) in table.lines().enumerate() {
            let tone = if n == 0 { Tone::Dim } else { Tone::Plain };
            let line = self.tint(tone, line.trim_end().to_owned());
            self.line(line)?;
        }
        Ok(())
    }

    /// Hands everything written so far to the reader.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        self.out.flush().map_err(Failure::output)
    }

    /// Colours words for standard output.
    pub(crate) fn tint<T: fmt::Display>(&self, tone: Tone, words: T) -> Tinted<T> {
        Tinted { style: self.out_colour.then(|| tone.style()), words }
    }

    /// Says something to the person at the terminal, unless `--quiet` or `--json` is set.
    pub(crate) fn note(&mut self, text: impl fmt::Display) {
        if !self.quiet && !self.json {
            self.say(format_args!("{text}\n"));
        }
    }

    /// Warns; also under `--quiet`.
    pub(crate) fn warn(&mut self, text: impl fmt::Display) {
        if self.json {
            let object = serde_json::json!({"warning": {"message": text.to_string()}});
            self.say(format_args!("{object}\n"));
        } else {
            let word = Tinted { style: self.err_colour.then(|| Tone::Warning.style()), words: "warning" };
            self.say(format_args!("{word}: {text}\n"));
        }
    }

    /// Reports an error.
    pub(crate) fn error(&mut self, error: &Error) {
        if self.json {
            let message = Chain(error).to_string();
            self.json_error(error.code().as_str(), kind_name(error.kind()), &message, error.place().line);
        } else {
            let (code, message) = (error.code(), Chain(error).to_string());
            let message = plain(&message);
            let word = Tinted { style: self.err_colour.then(|| Tone::Bad.style()), words: "error" };
            self.say(format_args!("{word}[{code}]: {message}\n"));
        }
    }

    /// Reports a wrong command line.
    pub(crate) fn usage(&mut self, message: &str) {
        if self.json {
            self.json_error("USAGE", "usage", message, None);
        } else {
            let word = Tinted { style: self.err_colour.then(|| Tone::Bad.style()), words: "error" };
            self.say(format_args!("{word}: {message}\n"));
        }
    }

    fn json_error(&mut self, code: &str, kind: &str, message: &str, line: Option<u64>) {
        let object = serde_json::json!({
            "error": {"code": code, "kind": kind, "message": message, "line": line}
        });
        self.say(format_args!("{object}\n"));
    }

    /// Standard error is best effort: when it is gone there is nobody left to tell.
    fn say(&mut self, text: fmt::Arguments<'_>) {
        let _ = self.out.flush();
        let _ = self.err.write_fmt(text);
    }

    /// Ends the command: flushes, reports what went wrong, and says how the process exits.
    pub(crate) fn finish(&mut self, outcome: Outcome) -> Exit {
        let flushed = self.flush();
        let exit = match outcome.and_then(|exit| exit.after(flushed)) {
            Ok(exit) => exit,
            Err(Failure::Closed) => Exit::Fine,
            Err(Failure::Usage(message)) => {
                self.usage(&message);
                Exit::Usage
            }
            Err(Failure::Error(error)) => {
                if error.kind() == ErrorKind::Corrupt {
                    let hint = if self.about_content { ON_CONTENT_DAMAGE } else { ON_DAMAGE };
                    self.damage.get_or_insert(hint);
                }
                self.error(&error);
                Exit::of(error.kind())
            }
        };
        let Some(hint) = self.damage else { return exit };
        self.warn(hint);
        if matches!(exit, Exit::Fine | Exit::No) { Exit::Damage } else { exit }
    }

    /// Shows a bar for long work whose data go to standard output: none where both would share a terminal.
    pub(crate) fn bar_beside_data(&self, caption: &'static str, unit: Unit, total: Option<u64>) -> Bar {
        Bar::new(self.watched && !self.out_terminal, caption, unit, total)
    }

    /// Shows a bar for long work, if a terminal watches.
    pub(crate) fn bar(&self, caption: &'static str, unit: Unit, total: Option<u64>) -> Bar {
        Bar::new(self.watched, caption, unit, total)
    }

    /// Asks a yes-or-no question on the terminal; `None` where there is none to ask on.
    pub(crate) fn ask(&mut self, question: &str) -> Result<Option<bool>, Failure> {
        let stdin = io::stdin();
        if self.json || !stdin.is_terminal() || !self.err.is_terminal() {
            return Ok(None);
        }
        self.say(format_args!("{question} [y/N] "));
        let mut answer = String::new();
        stdin.read_line(&mut answer).map_err(|error| Error::io("no answer", error))?;
        Ok(Some(matches!(answer.trim(), "y" | "Y" | "yes")))
    }
}

/// Reports bad lines: each one that was kept, then how many more there are.
pub(crate) fn report_faults(faults: &Faults, output: &mut Output) {
    for error in faults.kept() {
        output.error(error);
    }
    report_beyond(faults, output);
}

/// Says how many bad lines there are that are not named.
pub(crate) fn report_beyond(faults: &Faults, output: &mut Output) {
    if faults.beyond() > 0 {
        output.warn(format_args!("{} more lines cannot go in", faults.beyond()));
    }
}

/// Words with a colour, or without one.
#[derive(Debug)]
pub(crate) struct Tinted<T> {
    style: Option<Style>,
    words: T,
}

impl<T: fmt::Display> fmt::Display for Tinted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.style {
            Some(style) => {
                write!(f, "{style}")?;
                self.words.fmt(f)?;
                write!(f, "{style:#}")
            }
            None => self.words.fmt(f),
        }
    }
}

/// An error with the causes behind it.
pub(crate) struct Chain<'a>(pub(crate) &'a Error);

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)?;
        let mut source = std::error::Error::source(self.0);
        while let Some(error) = source {
            write!(f, ": {error}")?;
            source = error.source();
        }
        Ok(())
    }
}

/// Returns text with control characters spelled out, fit for a terminal and a single line.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    if !text.chars().any(drives_terminal) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if drives_terminal(character) {
            // Writing to a string cannot fail.
            let _ = write!(safe, "{}", character.escape_unicode());
        } else {
            safe.push(character);
        }
    }
    Cow::Owned(safe)
}

/// Controls, line separators and the marks that turn the reading direction.
fn drives_terminal(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_drive_the_terminal() {
        assert_eq!(plain("host-1"), "host-1");
        assert_eq!(plain("a\u{1b}[2Jb\nc\u{202e}"), "a\\u{1b}[2Jb\\u{a}c\\u{202e}");
        assert!(matches!(plain("größe 漢"), Cow::Borrowed(_)));
    }

    #[test]
    fn an_error_names_what_is_behind_it() {
        let error = Error::io("the file cannot be read", io::Error::other("device gone")).at_line(3);
        assert_eq!(Chain(&error).to_string(), "the file cannot be read, line 3: device gone");
    }
}
