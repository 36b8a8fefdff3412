//! The index against a plain model, at every step of random histories.

mod atomicity;
mod cost;
mod encoding;
mod histories;
mod model;
mod store;

use super::*;
use model::{Model, compare};
use store::{Memory, Random};
