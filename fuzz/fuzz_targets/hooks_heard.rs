//! Any bytes as what an agent sends to its hook, to every dialect.
//!
//! Fails when it panics, when the same bytes are heard otherwise twice, or when a no is said as a yes. The same check runs
//! over random objects with the ordinary tests (`whatever_is_sent_holds`).
//!
//! Run with `cargo fuzz run -s none hooks_heard fuzz/corpus/hooks_heard crates/pinfold-dialects/tests/heard -- -dict=fuzz/dictionaries/hooks_heard.dict`.

#![no_main]

#[path = "../../crates/pinfold-dialects/tests/kit/laws.rs"]
mod laws;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| laws::hold(bytes));
