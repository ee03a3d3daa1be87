//! One place of a list, by both of its names, and what lies below it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::pattern::Glob;

/// A place: as the person wrote it, as it is spelled, and where that leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScopeEntry {
    pub(super) written: String,
    pub(super) spelled: PathBuf,
    pub(super) real: PathBuf,
}

impl ScopeEntry {
    /// Returns `true` if `path` is the place or lies below it, by either of its names.
    pub(super) fn covers(&self, path: &Path, folds_case: bool) -> bool {
        is_below(path, &self.spelled, folds_case) || is_below(path, &self.real, folds_case)
    }

    /// Returns `true` if the place lies in `folder`, under either of its names.
    pub(super) fn is_in(&self, folder: &Path, folds_case: bool) -> bool {
        is_below(&self.spelled, folder, folds_case) || is_below(&self.real, folder, folds_case)
    }

    /// Returns `true` if `pattern`, names that a shell fills in below `folder`, can lead to the place or below it.
    pub(super) fn meets(&self, folder: &Path, pattern: &str, folds_case: bool) -> bool {
        [&self.spelled, &self.real].into_iter().any(|place| can_reach(folder, pattern, place, folds_case))
    }
}

/// Returns `true` if `path` is `place` or lies below it. Compared by components: `/a/bc` is not below `/a/b`.
fn is_below(path: &Path, place: &Path, folds_case: bool) -> bool {
    path.starts_with(place) || (folds_case && strip_prefix_ignoring_case(path, place).is_some())
}

/// Returns the part of `path` behind `place` when upper and lower case are the same.
fn strip_prefix_ignoring_case<'a>(path: &'a Path, place: &Path) -> Option<std::path::Components<'a>> {
    let mut rest = path.components();
    let same =
        |a: &OsStr, b: &OsStr| a.to_string_lossy().to_lowercase() == b.to_string_lossy().to_lowercase();
    place
        .components()
        .all(|name| rest.next().is_some_and(|own| same(own.as_os_str(), name.as_os_str())))
        .then_some(rest)
}

/// Compares name by name. A name that a pattern does not state for certain (`[…]`, `**`, extended patterns, an
/// escape) counts as matching.
fn can_reach(folder: &Path, pattern: &str, place: &Path, folds_case: bool) -> bool {
    let Ok(beyond) = place.strip_prefix(folder) else {
        // The place does not lie below the folder by its letters; by folded case it may.
        return folds_case && strip_prefix_ignoring_case(place, folder).is_some();
    };
    let mut wanted = beyond.components().map(|name| name.as_os_str().as_bytes());
    for part in pattern.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part.contains("**") || part == ".." {
            return true;
        }
        let Some(name) = wanted.next() else { return true };
        if !may_be(part, name, folds_case) {
            return false;
        }
    }
    wanted.next().is_none()
}

/// Returns `true` if a shell may take `name` for a part of a pattern. What is not certain counts as yes.
pub fn may_fill_in(part: &str, name: &[u8]) -> bool {
    may_be(part, name, false)
}

fn may_be(part: &str, name: &[u8], folds_case: bool) -> bool {
    let uncertain = part.contains(['[', ']', '(', ')', '\\']);
    uncertain || folds_case || Glob::new(part.as_bytes()).matches(name)
}
