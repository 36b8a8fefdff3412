//! How the events of a synthetic log hang together.

use clap::ValueEnum;

/// The causal shape of a synthetic log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shape {
    /// Each event names its host's previous one; some name another host's latest event as well.
    Chain,
    /// Every event names the very first one.
    Star,
    /// No event names any other.
    Wide,
    /// Hosts take turns: 15 to 25 events in a row, the first of which names the last host's last event.
    Runs,
    /// Every event names another host's latest event, so that no two of a host stand together.
    Hard,
}

impl Shape {
    /// Returns the share of events that name another host's latest event on top, in thousandths,
    /// where the user gives none.
    pub(super) fn cross_per_mille(self) -> u64 {
        match self {
            Self::Chain => 200,
            Self::Runs => 50,
            Self::Star | Self::Wide | Self::Hard => 0,
        }
    }

    /// Reports whether hosts go through whole turns. The steps of a turn name each other, so shapes that
    /// allow no such causes are made of events that stand alone.
    pub(super) fn has_turns(self) -> bool {
        matches!(self, Self::Chain | Self::Runs | Self::Hard)
    }
}
