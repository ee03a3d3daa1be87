//! Any text as a command line, down to what it would do.
//!
//! Fails when it panics or breaks a promise. The same check runs over random texts with the ordinary tests
//! (`any_text_has_its_claims`).
//!
//! Run with `cargo fuzz run -s none commands -- -dict=fuzz/dictionaries/shell.dict`.

#![no_main]

#[path = "../../crates/pinfold-policy/tests/kit/command_laws.rs"]
#[allow(dead_code, reason = "each target takes its part")]
mod laws;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| laws::a_line_holds(text));
