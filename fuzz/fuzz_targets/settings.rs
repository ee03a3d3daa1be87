//! Any bytes as a settings file.
//!
//! Fails when it panics, when what is told stands nowhere in the text, when a file that nobody trusted widens, or when a
//! rule that is added and removed leaves another behind. The same check runs over random files with the ordinary tests
//! (`they_hold_for_whatever_is_nearly_a_file`).
//!
//! Run with `cargo fuzz run -s none settings -- -dict=fuzz/dictionaries/settings.dict`.

#![no_main]

#[path = "../../crates/pinfold-policy/tests/kit/settings_laws.rs"]
mod laws;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| laws::hold(bytes));
