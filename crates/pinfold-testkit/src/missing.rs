//! Tests that could not be run on this machine: reported, and counted.

use std::env;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Reports on standard error, past the capture of the test runner, that `what` was not tried, and how many were not so
/// far in this process.
pub fn left_out(what: &str, why: &str) {
    let count = COUNT.fetch_add(1, Ordering::Relaxed) + 1;
    print_uncaptured(&format!("LEFT OUT ({count}): {what}: {why}"));
}

/// A line on standard error that is seen although the test passes.
pub fn print_uncaptured(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Returns true if all of these programs are there; if not, [`left_out`] has been told.
pub fn all_there(what: &str, programs: &[&str]) -> bool {
    let absent: Vec<&str> = programs.iter().copied().filter(|p| which(p).is_none()).collect();
    if !absent.is_empty() {
        left_out(what, &format!("no {} here", absent.join(", ")));
    }
    absent.is_empty()
}

/// The path of a program on [`SEARCH_PATH`].
pub fn which(program: &str) -> Option<PathBuf> {
    env::split_paths(SEARCH_PATH).map(|at| at.join(program)).find(|at| at.is_file())
}

/// Directories in which programs are looked for: those that every user can read.
pub const SEARCH_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
