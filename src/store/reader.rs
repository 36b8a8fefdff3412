//! A store open for reading, beside a writer or alone.
//!
//! Invariants: nothing is written; each snapshot shows what the mark file names at that moment, or, while no writer
//! lives, everything that checks.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::arranging::{OrderFiles, caught_up, is_of};
use super::opening::{marks, recover_for_reading};
use super::options::Options;
use super::report::OpenReport;
use crate::contract::{Error, Result};
use crate::index::NodeAccess;
use crate::io::ProofBudget;
use crate::log::{Arrangement, Mark, Names, Recovered, Standing, View};

/// The reading half of a store.
#[derive(Debug)]
pub(super) struct Reader {
    /// Where to look for news; none for a damaged store, which stays as it was found.
    source: Option<Source>,
    state: Mutex<Seen>,
    /// The newest order that somebody asked for.
    order: Mutex<Option<Arc<Arrangement>>>,
}

#[derive(Debug)]
struct Source {
    options: Options,
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
    pub(super) fn open(options: &Options, path: &Path, budget: Arc<ProofBudget>) -> Result<Self> {
        let source = Source { options: options.clone(), path: path.to_path_buf(), budget };
        let seen = source.look()?;
        Ok(Self { source: Some(source), state: Mutex::new(seen), order: Mutex::default() })
    }

    /// Keeps what was recovered, for a store that must not be written.
    pub(super) fn fixed(recovered: Recovered) -> Self {
        Self { source: None, state: Mutex::new(Seen::of(recovered)), order: Mutex::default() }
    }

    /// Returns what opening found.
    pub(super) fn report(&self) -> OpenReport {
        self.state.lock().report.clone()
    }

    /// Returns the newest view; `Corrupt` where damage appeared since the handle was opened.
    pub(super) fn view(&self) -> Result<View> {
        let mut state = self.state.lock();
        if let Some(source) = &self.source {
            let mark = marks(&*source.options.vfs, &source.path)?.newest(&state.store);
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
    /// Returns the order of a view of this log: the stored one, followed up to the view's end in memory.
    pub(super) fn arrange(&self, view: &View) -> Result<Arc<Arrangement>> {
        let mut kept = self.order.lock();
        if let Some(order) = &*kept
            && is_of(order, view)?
        {
            let order = caught_up(Arc::clone(order), view)?;
            *kept = Some(Arc::clone(&order));
            return Ok(order);
        }
        let store = self.state.lock().store;
        let order = match &self.source {
            Some(Source { options, path, .. }) => {
                OrderFiles::open(options, path, &store, NodeAccess::Read)?.stored(options, view)?.0
            }
            None => Arrangement::in_memory(),
        };
        let order = caught_up(Arc::new(order), view)?;
        // An older snapshot's order does not replace a newer one's.
        if kept.as_ref().is_none_or(|kept| kept.arrivals() <= order.arrivals()) {
            *kept = Some(Arc::clone(&order));
        }
        Ok(order)
    }

    /// Returns the view that was newest when somebody last looked.
    pub(super) fn last_view(&self) -> View {
        self.state.lock().view.clone()
    }
}

impl Source {
    fn look(&self) -> Result<Seen> {
        Ok(Seen::of(recover_for_reading(&self.options.vfs, &self.path, &self.budget)?))
    }
}
