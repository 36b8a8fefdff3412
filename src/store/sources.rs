//! What a store takes from the outside: time, ids, randomness. Each can be replaced, so that a run repeats exactly.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::contract::{Error, EventId, Result};

/// Tells the time that is shown to people. It orders nothing.
pub trait Clock: Send + Sync {
    /// Returns milliseconds since the Unix epoch; finite.
    fn now_ms(&self) -> f64;
}

/// Fills buffers with bytes nobody can guess.
pub trait Random: Send + Sync {
    /// Fills `bytes`.
    ///
    /// # Errors
    /// When the source fails.
    fn fill(&self, bytes: &mut [u8]) -> Result<()>;
}

/// Makes event ids.
pub trait IdFactory: Send + Sync {
    /// Returns an id that no other event has.
    ///
    /// # Errors
    /// When randomness fails.
    fn new_id(&self, now_ms: f64, random: &dyn Random) -> Result<EventId>;
}

/// The system's clock, in whole milliseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> f64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        (since.as_secs_f64() * 1000.0).floor()
    }
}

/// The operating system's random bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemRandom;

impl Random for SystemRandom {
    fn fill(&self, bytes: &mut [u8]) -> Result<()> {
        getrandom::fill(bytes)
            .map_err(|e| Error::io("cannot read random bytes", std::io::Error::other(e.to_string())))
    }
}

/// UUID version 7 (RFC 9562): 48 bits of milliseconds, then random bits.
#[derive(Clone, Copy, Debug, Default)]
pub struct UuidV7;

impl IdFactory for UuidV7 {
    fn new_id(&self, now_ms: f64, random: &dyn Random) -> Result<EventId> {
        let mut bytes = [0u8; 10];
        random.fill(&mut bytes)?;
        let millis = if now_ms.is_finite() && now_ms >= 0.0 {
            // In range by the test above and the minimum; a float has no `try_from`.
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "bounded just before"
            )]
            let millis = now_ms.min(281_474_976_710_655.0) as u64;
            millis
        } else {
            0
        };
        Ok(EventId::from_uuid_bytes(
            uuid::Builder::from_unix_timestamp_millis(millis, &bytes).into_uuid().into_bytes(),
        ))
    }
}
