//! Any text as a command line.
//!
//! Fails when it panics, overflows the stack, or when the list breaks a promise: spans in the text, shells that come
//! out of each other, the same list twice. The same check runs over random texts with the ordinary tests
//! (`any_text_has_a_script`).
//!
//! Run with `cargo fuzz run -s none shell -- -dict=fuzz/dictionaries/shell.dict`.

#![no_main]

#[path = "../../crates/pinfold-shell/tests/kit/laws.rs"]
mod laws;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| laws::holds(text));
