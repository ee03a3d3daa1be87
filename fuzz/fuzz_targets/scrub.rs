//! Any bytes, scrubbed whole, twice, and in chunks.
//!
//! Fails when it panics or breaks a law. The same check runs over random texts with the ordinary tests
//! (`any_bytes_are_scrubbed_once_and_however_cut`). The first byte says how long the chunks are.
//!
//! Run with `cargo fuzz run -s none scrub -- -dict=fuzz/dictionaries/scrub.dict`.

#![no_main]

#[path = "../../crates/pinfold-scrub/tests/kit/laws.rs"]
mod laws;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((size, bytes)) = bytes.split_first() else { return };
    laws::holds(bytes);
    let cuts: Vec<usize> = (0..bytes.len()).step_by(usize::from(*size).max(1)).collect();
    laws::holds_cut(bytes, &cuts);
});
