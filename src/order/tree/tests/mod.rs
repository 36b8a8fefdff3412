//! Trees against plain models, failing media and damaged bytes.

mod bytes;
mod failures;
mod kinds;
mod model;
