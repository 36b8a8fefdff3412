//! What a host promises of the events that it has yet to write.

/// What a declared host promises from its declaration on. The default promises nothing but that the host is one of
/// those that write: its events rise in `seq`, as every host's do.
///
/// What was appended before may break a promise; what comes after may not. A promise is taken back by declaring the
/// host again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct HostPromise {
    /// Each event names its host's previous one as a cause.
    pub chained: bool,
    /// No further event of this host will come.
    pub closed: bool,
}
