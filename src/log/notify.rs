//! Tells whoever is above the log that more of it is durable.

use std::fmt;
use std::sync::Arc;

/// What the writer calls after more events became synced. The default tells nobody.
///
/// It is called by the thread that synced, under locks of the log: it must not wait for anything, and must not ask the
/// log anything.
#[derive(Clone, Default)]
pub struct Notifier(Option<Arc<dyn Fn() + Send + Sync>>);

impl Notifier {
    /// Calls `tell` each time.
    pub fn new(tell: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(tell)))
    }

    /// Says that more is synced.
    pub fn notify(&self) {
        if let Some(tell) = &self.0 {
            tell();
        }
    }
}

impl fmt::Debug for Notifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Notifier({})", if self.0.is_some() { "set" } else { "none" })
    }
}
