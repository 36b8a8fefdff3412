//! A bar for long work, when somebody watches.

use indicatif::{ProgressBar, ProgressStyle};

use crate::store::Progress;

/// What a bar counts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unit {
    /// Bytes, shown as such.
    Bytes,
    /// Anything else, as numbers.
    Count,
}

/// A progress bar on standard error; silent where no terminal shows it. It vanishes when dropped.
#[derive(Debug)]
pub(crate) struct Bar(ProgressBar);

impl Bar {
    /// Shows a bar with a caption, or nothing when `visible` is not set.
    ///
    /// `total` is the work in units where it is known.
    pub(crate) fn new(visible: bool, caption: &'static str, unit: Unit, total: Option<u64>) -> Self {
        if !visible {
            return Self(ProgressBar::hidden());
        }
        let bar = total.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
        let template = match (unit, total) {
            (Unit::Bytes, Some(_)) => {
                "{msg:>10} [{bar:32}] {bytes}/{total_bytes} {binary_bytes_per_sec} {eta}"
            }
            (Unit::Bytes, None) => "{msg:>10} {spinner} {bytes} {binary_bytes_per_sec}",
            (Unit::Count, Some(_)) => "{msg:>10} [{bar:32}] {human_pos}/{human_len} {eta}",
            (Unit::Count, None) => "{msg:>10} {spinner} {human_pos}",
        };
        // A template this file gets wrong costs the bar its looks, not the user the command.
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style.progress_chars("=> "));
        bar.set_message(caption);
        Self(bar)
    }

    /// Does something that writes to the terminal, with the bar out of the way.
    pub(crate) fn aside<R>(&self, write: impl FnOnce() -> R) -> R {
        self.0.suspend(write)
    }

    /// Counts finished units.
    pub(crate) fn advance(&self, units: u64) {
        self.0.inc(units);
    }
}

impl Progress for Bar {
    fn total(&self, units: u64) {
        self.0.set_length(units);
    }

    fn advance(&self, units: u64) {
        self.0.inc(units);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
