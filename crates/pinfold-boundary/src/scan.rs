//! A bounded look around a folder: repositories, guarded names and files that run code at a build.
//!
//! Breadth first, so that what a person would see first is found first; never through links; never into
//! directories that hold other people's code. Where a limit was met the look says so.

use std::ffi::OsStr;
use std::fs::{self, FileType};
use std::path::{Path, PathBuf};

use crate::lookup::is_missing;

/// Directories read at most: about five milliseconds on a warm cache.
pub(crate) const MAX_DIRECTORIES: usize = 1_024;

/// Levels below the folder that are looked at.
pub(crate) const MAX_DEPTH: usize = 8;

/// Entries read at most in one directory.
const MAX_ENTRIES: usize = 16_384;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coverage {
    Everything,
    /// All but directories that cannot be read.
    Readable,
    Bounded,
}

/// Shows every entry below `folder` to `visit`. What cannot be read is passed over.
pub(crate) fn scan(folder: &Path, mut visit: impl FnMut(&ScannedEntry<'_>) -> Descend) -> Coverage {
    let mut reach = Coverage::Everything;
    let mut level = vec![folder.to_owned()];
    let mut read = 0;
    for depth in 0..=MAX_DEPTH {
        let mut below = Vec::new();
        for directory in level {
            if read == MAX_DIRECTORIES || depth == MAX_DEPTH {
                return Coverage::Bounded;
            }
            read += 1;
            match (look(&directory, &mut below, &mut visit), reach) {
                (Coverage::Everything, _) | (_, Coverage::Bounded) => {}
                (worse, Coverage::Everything | Coverage::Readable) => reach = worse,
            }
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
    below: &mut Vec<PathBuf>,
    visit: &mut impl FnMut(&ScannedEntry<'_>) -> Descend,
) -> Coverage {
    each_entry(directory, |entry| {
        let descend = visit(entry);
        if entry.kind.is_dir() && descend == Descend::Yes && !is_skipped(entry.name) {
            below.push(entry.path.to_owned());
        }
    })
}

/// Shows every entry of one directory to `visit`.
pub(crate) fn each_entry(directory: &Path, mut visit: impl FnMut(&ScannedEntry<'_>)) -> Coverage {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if is_missing(&error) => return Coverage::Everything,
        Err(_) => return Coverage::Readable,
    };
    for (count, entry) in entries.flatten().enumerate() {
        if count == MAX_ENTRIES {
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
        scan(folder, |entry| {
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
        assert_eq!(each_entry(&folder.path().join("d".repeat(256)), |_| ()), Coverage::Readable);
        assert_eq!(each_entry(&folder.path().join("none"), |_| ()), Coverage::Everything);
    }

    #[test]
    fn a_deep_tree_is_said_to_be_seen_in_part() {
        let folder = tempfile::tempdir().unwrap();
        let shallow = scan(folder.path(), |_| Descend::Yes);
        assert_eq!(shallow, Coverage::Everything);
        fs::create_dir_all(folder.path().join("d/".repeat(MAX_DEPTH + 1))).unwrap();
        assert_eq!(scan(folder.path(), |_| Descend::Yes), Coverage::Bounded);
    }
}
