//! Any bytes as a path claim, against a tree with every kind of link.
//!
//! Fails when resolving panics, when it goes elsewhere than the kernel, when its strategies differ, or when what is
//! held does not lie where it says. The same check runs over a few random inputs with the ordinary tests
//! (`any_bytes_have_an_outcome`).
//!
//! Run with `cargo fuzz run -s none resolve_path -- -dict=fuzz/dictionaries/paths.dict`.

#![no_main]

#[path = "../../crates/pinfold-paths/tests/kit/mod.rs"]
mod kit;

use kit::Bed;
use kit::kernel::{agrees, maze, strategies_agree};
use libfuzzer_sys::fuzz_target;

thread_local! {
    /// Built once: resolving changes nothing.
    static MAZE: Bed = maze();
}

fuzz_target!(|claim: &[u8]| {
    MAZE.with(|bed| {
        for way in kit::strategies() {
            agrees(bed, way, claim);
        }
        strategies_agree(bed, claim);
    });
});
