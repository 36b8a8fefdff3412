//! A store open for reading, beside a writer or alone.
//!
//! Invariants: nothing is written; each snapshot shows what the mark file names at that moment, or, while no writer
//! lives, everything that checks.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::opening::{marks, recover_for_reading};
use super::report::OpenReport;
use crate::contract::{Error, Result};
use crate::io::{ProofBudget, Vfs};
use crate::log::{Mark, Names, Recovered, Standing, View};

/// The reading half of a store.
#[derive(Debug)]
pub(super) struct Reader {
    /// Where to look for news; none for a damaged store, which stays as it was found.
    source: Option<Source>,
    state: Mutex<Seen>,
}

#[derive(Debug)]
struct Source {
    vfs: Arc<dyn Vfs>,
    path: PathBuf,
    budget: Arc<ProofBudget>,
}

#[derive(Debug)]
struct Seen {
    view: View,
    store: [u8; 16],
    mark: Option<Mark>,
    report: OpenReport,
}

impl Seen {
    fn of(recovered: Recovered) -> Self {
        let report = OpenReport::of(&recovered);
        let Recovered { store, secret, segments, state, mark, .. } = recovered;
        let visible = segments.active.as_ref().map_or(0, |active| active.visible());
        let view = View::new(Arc::new(segments), Arc::new(Names::of(&state)), secret, visible)
            .with_standing(Arc::new(Standing::of(&state)));
        Self { view, store, mark, report }
    }
}

impl Reader {
    /// Opens a store for reading.
    pub(super) fn open(vfs: &Arc<dyn Vfs>, path: &Path, budget: Arc<ProofBudget>) -> Result<Self> {
        let source = Source { vfs: Arc::clone(vfs), path: path.to_path_buf(), budget };
        let seen = source.look()?;
        Ok(Self { source: Some(source), state: Mutex::new(seen) })
    }

    /// Keeps what was recovered, for a store that must not be written.
    pub(super) fn fixed(recovered: Recovered) -> Self {
        Self { source: None, state: Mutex::new(Seen::of(recovered)) }
    }

    /// Returns what opening found.
    pub(super) fn report(&self) -> OpenReport {
        self.state.lock().report.clone()
    }

    /// Returns the newest view; `Corrupt` where damage appeared since the handle was opened.
    pub(super) fn view(&self) -> Result<View> {
        let mut state = self.state.lock();
        if let Some(source) = &self.source {
            let mark = marks(&*source.vfs, &source.path)?.newest(&state.store);
            if mark != state.mark {
                let seen = source.look()?;
                // The handle was opened on a sound log: it must not go on over less of it in silence.
                if let Some(new) =
                    seen.report.damage.iter().find(|found| !state.report.damage.contains(found))
                {
                    let what = format!("the log was damaged since it was opened: {new}");
                    return Err(Error::corrupt(what).at_path(&source.path));
                }
                *state = seen;
            }
        }
        Ok(state.view.clone())
    }
}

impl Reader {
    /// Returns the view that was newest when somebody last looked.
    pub(super) fn last_view(&self) -> View {
        self.state.lock().view.clone()
    }
}

impl Source {
    fn look(&self) -> Result<Seen> {
        Ok(Seen::of(recover_for_reading(&self.vfs, &self.path, &self.budget)?))
    }
}
