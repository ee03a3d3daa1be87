//! Any text as a patch, down the whole road.
//!
//! Fails when it panics, when anything outside the folder changes, or when a patch that is not applied leaves a trace.
//! The same check runs over random patches with the ordinary tests (`any_patch_is_applied_whole_or_not_at_all`).
//!
//! Run with `cargo fuzz run -s none apply_patch -- -dict=fuzz/dictionaries/patches.dict`.

#![no_main]

#[path = "../../crates/pinfold-tools/tests/kit/mod.rs"]
mod kit;
#[path = "../../crates/pinfold-tools/tests/kit/patches.rs"]
mod patches_kit;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| patches_kit::applied_whole_or_not_at_all(text));
