//! Telling how far long work is.

/// Is told how far long work is; `()` does not care.
pub trait Progress: Sync {
    /// Says how many units there are in all. May be called again when more is known.
    fn total(&self, units: u64);

    /// Says that so many further units are done.
    fn advance(&self, units: u64);
}

impl Progress for () {
    fn total(&self, _units: u64) {}

    fn advance(&self, _units: u64) {}
}
