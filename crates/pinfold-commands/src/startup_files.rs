//! Start-up files of shells and interpreters: a table, for the guards of a gate and for the safeguards here.

use std::sync::LazyLock;

const TABLE: &str = include_str!("startup_files.txt");

/// Patterns of the files that a shell, a terminal, a session of the desktop or an interpreter runs when it starts or ends:
/// `**/` any depth, `/` from the root. What lies beneath a match is meant too.
pub fn startup_files() -> impl Iterator<Item = &'static str> {
    TABLE.lines().filter(|line| !line.starts_with('#'))
}

/// The names of those that count at any depth: each a file, or directories and what lies in the last one.
pub(crate) static STARTUP_NAMES: LazyLock<Vec<Vec<&str>>> =
    LazyLock::new(|| startup_files().filter_map(|pattern| pattern.strip_prefix("**/")).map(names).collect());

fn names(pattern: &'static str) -> Vec<&'static str> {
    pattern.split('/').collect()
}
