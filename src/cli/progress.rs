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
pub(crate) struct Bar {
    bar: ProgressBar,
    unit: Unit,
}

impl Bar {
    /// Shows a bar with a caption, or nothing when `visible` is not set.
    ///
    /// `total` is the work in units where it is known.
    pub(crate) fn new(visible: bool, caption: &'static str, unit: Unit, total: Option<u64>) -> Self {
        if !visible {
            return Self { bar: ProgressBar::hidden(), unit };
        }
        let bar = total.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
        bar.set_style(style(unit, total.is_some()));
        bar.set_message(caption);
        Self { bar, unit }
    }

    /// Does something that writes to the terminal, with the bar out of the way.
    pub(crate) fn aside<R>(&self, write: impl FnOnce() -> R) -> R {
        self.bar.suspend(write)
    }

    /// Counts finished units.
    pub(crate) fn advance(&self, units: u64) {
        self.bar.inc(units);
    }
}

impl Progress for Bar {
    fn total(&self, units: u64) {
        self.bar.set_length(units);
        self.bar.set_style(style(self.unit, true));
    }

    fn advance(&self, units: u64) {
        self.bar.inc(units);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Returns how a bar looks, which depends on whether the whole of the work is known.
fn style(unit: Unit, whole: bool) -> ProgressStyle {
    let template = match (unit, whole) {
        (Unit::Bytes, true) => "{msg:>10} [{bar:32}] {bytes}/{total_bytes} {binary_bytes_per_sec} {eta}",
        (Unit::Bytes, false) => "{msg:>10} {spinner} {bytes} {binary_bytes_per_sec}",
        (Unit::Count, true) => "{msg:>10} [{bar:32}] {human_pos}/{human_len} {eta}",
        (Unit::Count, false) => "{msg:>10} {spinner} {human_pos}",
    };
    // A template this file gets wrong costs the bar its looks, not the user the command.
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    style.progress_chars("=> ")
}
