//! A stream of frames from any bytes: every frame is decoded, and what checks is read as its kind says.
//!
//! The first byte says whether checksums are made right before decoding: without that the records behind them
//! would never be reached.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = causelog::fuzzing::frames(data);
});
