//! A bounded look around a folder: repositories, guarded names and files that run code at a build.
//!
//! Breadth first, so that what a person would see first is found first; never through links; never into
//! directories that hold other people's code. Where a limit was met the look says so.

use std::ffi::OsStr;
use std::fs::{self, FileType};
use std::path::{Path, PathBuf};

use crate::lookup::is_missing;

/// Limits of a look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Directories read at most.
    pub(crate) directories: usize,
    /// Levels below the folder that are looked at.
    pub(crate) depth: usize,
    /// Entries read at most in one directory.
    pub(crate) entries: usize,
    /// Links followed at most.
    pub(crate) links: usize,
}

impl Bounds {
    /// For what each start waits for: about five milliseconds on a warm cache.
    pub(crate) const START: Self = Self { directories: 1_024, depth: 8, entries: 16_384, links: 1_000 };

    /// For all that there is: some eight microseconds a directory.
    pub(crate) const WHOLE: Self =
        Self { directories: 1 << 20, depth: usize::MAX, entries: 1 << 22, links: 1 << 20 };
}

/// Directories that hold dependencies or products. A repository in one of them is rare and belongs to another
/// project; what git finds there is not run by a git command above it.
const SKIPPED: [&str; 14] = [
    "node_modules",
    "target",
    ".venv",
    "venv",
    "__pycache__",
    ".tox",
    ".mypy_cache",
    ".pytest_cache",
    ".gradle",
    ".terraform",
    ".next",
    "dist",
    "build",
    ".cache",
];

/// Returns whether a directory of this name holds dependencies or products.
pub(crate) fn is_skipped(name: &OsStr) -> bool {
    SKIPPED.iter().any(|skipped| name == *skipped)
}

/// Entry at one name.
pub(crate) struct ScannedEntry<'a> {
    pub(crate) path: &'a Path,
    pub(crate) name: &'a OsStr,
    pub(crate) kind: FileType,
}

/// Choice to look inside a directory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Descend {
    Yes,
    No,
}

/// Completeness of the look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Coverage {
    Everything,
    /// All but directories that cannot be read.
    Readable,
    Bounded,
}

/// Shows every entry below `folder` to `visit`, within `bounds`. What cannot be read is passed over.
pub(crate) fn scan(
    folder: &Path,
    bounds: Bounds,
    mut visit: impl FnMut(&ScannedEntry<'_>) -> Descend,
) -> Coverage {
    let mut reach = Coverage::Everything;
    let mut level = vec![folder.to_owned()];
    let mut read = 0;
    for depth in 0..=bounds.depth {
        let mut below = Vec::new();
        for directory in level {
            if read == bounds.directories || depth == bounds.depth {
                return Coverage::Bounded;
            }
            read += 1;
            reach = reach.max(look(&directory, bounds, &mut below, &mut visit));
        }
        if below.is_empty() {
            break;
        }
        level = below;
    }
    reach
}

fn look(
    directory: &Path,
    bounds: Bounds,
    below: &mut Vec<PathBuf>,
    visit: &mut impl FnMut(&ScannedEntry<'_>) -> Descend,
) -> Coverage {
    each_entry(directory, bounds, |entry| {
        let descend = visit(entry);
        if entry.kind.is_dir() && descend == Descend::Yes && !is_skipped(entry.name) {
            below.push(entry.path.to_owned());
        }
    })
}

/// Shows every entry of one directory to `visit`.
pub(crate) fn each_entry(
    directory: &Path,
    bounds: Bounds,
    mut visit: impl FnMut(&ScannedEntry<'_>),
) -> Coverage {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if is_missing(&error) => return Coverage::Everything,
        Err(_) => return Coverage::Readable,
    };
    for (count, entry) in entries.flatten().enumerate() {
        if count == bounds.entries {
            return Coverage::Bounded;
        }
        let Ok(kind) = entry.file_type() else { continue };
        let (path, name) = (entry.path(), entry.file_name());
        visit(&ScannedEntry { path: &path, name: &name, kind });
    }
    Coverage::Everything
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut found = Vec::new();
        scan(folder, Bounds::START, |entry| {
            found.push(entry.path.strip_prefix(folder).unwrap().display().to_string());
            Descend::Yes
        });
        found.sort();
        found
    }

    #[test]
    fn links_and_dependencies_are_named_but_not_entered() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("a/b")).unwrap();
        fs::create_dir_all(at("node_modules/x")).unwrap();
        std::os::unix::fs::symlink(at("a"), at("link")).unwrap();
        assert_eq!(names(folder.path()), ["a", "a/b", "link", "node_modules"]);
    }

    #[test]
    fn what_cannot_be_read_is_said_to_be_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        // No directory has a longer name.
        assert_eq!(
            each_entry(&folder.path().join("d".repeat(256)), Bounds::START, |_| ()),
            Coverage::Readable
        );
        assert_eq!(each_entry(&folder.path().join("none"), Bounds::START, |_| ()), Coverage::Everything);
    }

    #[test]
    fn a_deep_tree_is_said_to_be_seen_in_part() {
        let folder = tempfile::tempdir().unwrap();
        let shallow = scan(folder.path(), Bounds::START, |_| Descend::Yes);
        assert_eq!(shallow, Coverage::Everything);
        fs::create_dir_all(folder.path().join("d/".repeat(Bounds::START.depth + 1))).unwrap();
        assert_eq!(scan(folder.path(), Bounds::START, |_| Descend::Yes), Coverage::Bounded);
        assert_eq!(scan(folder.path(), Bounds::WHOLE, |_| Descend::Yes), Coverage::Everything);
    }
}
