//! Repairing a damaged log: what still checks is kept, what is lost is named, and the log takes appends again.
//!
//! Every damaged segment is sealed anew from the frames that check, whichever form it had: sealing is atomic, so
//! there is never a moment at which what can be read is in no whole file. A missing segment gets an empty one in its
//! place, and a log whose last segment cannot go on gets a new one.
//!
//! Invariants:
//! - Planning writes nothing.
//! - What is replaced or cut was copied before, and the copy is on the medium.
//! - A repair that is interrupted can be run again, from any point, and comes to the same end. Until it has come to
//!   its end the log is damaged for everyone who opens it: what is lost shows in counts and links until the record
//!   of the repair explains it.
//! - Records are copied as they are. Numbers of hosts and types, and each given `seq`, keep their meaning.

mod apply;
mod look;
mod lost;
mod mend;
mod naming;
mod plan;
mod salvage;
mod survey;

pub use lost::LostRange;
pub use plan::{Plan, Tell, plan_repair};
