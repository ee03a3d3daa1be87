//! Any text as a rule.
//!
//! Fails when it panics or breaks a promise. The same check runs over random texts with the ordinary tests
//! (`any_text_is_a_rule_or_an_error`).
//!
//! Run with `cargo fuzz run -s none rules -- -dict=fuzz/dictionaries/shell.dict`.

#![no_main]

#[path = "../../crates/pinfold-policy/tests/kit/command_laws.rs"]
#[allow(dead_code, reason = "each target takes its part")]
mod laws;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| laws::a_rule_holds(text));
