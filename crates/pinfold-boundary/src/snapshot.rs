//! Changes of a run that tools will act on later: repositories, autorun and build files.
//!
//! A look before and a look after, both bounded. Files are compared by identity, size and times; the change time
//! cannot be set by a program. What lies beyond the bounds, or in a directory of dependencies, is not seen.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use pinfold_policy::Guards;
use pinfold_sandbox::is_placeholder;

use crate::build_files::is_build_file;
use crate::folder::guard_of;
use crate::git::layout;
use crate::scan::{Bounds, Coverage, Descend, ScannedEntry, scan};

/// Identity of one state of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileVersion {
    place: (u64, u64),
    size: u64,
    changed: (i64, i64),
}

/// Kind of an entry.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SnapshotKind {
    Repository,
    Other,
}

/// One look.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    repositories: BTreeMap<PathBuf, (u64, u64)>,
    files: BTreeMap<PathBuf, FileVersion>,
}

impl Snapshot {
    /// Looks at a folder anew.
    pub(crate) fn take(folder: &Path, into: &mut Self, guards: &Guards, home: Option<&Path>) -> Coverage {
        let guarded = guards.write(folder, home, false).is_some();
        scan(folder, Bounds::START, |entry| {
            if into.see(entry) == SnapshotKind::Repository {
                return Descend::No;
            }
            if guarded || guard_of(guards, entry, home, false).is_none() {
                return Descend::Yes;
            }
            into.file(entry.path);
            Descend::No
        })
    }

    /// Notes an entry if it is of interest, and says whether it is a git directory or a pointer to one.
    pub(crate) fn see(&mut self, entry: &ScannedEntry<'_>) -> SnapshotKind {
        if entry.name == ".git" || (entry.kind.is_dir() && layout::serves_as_git_dir(entry.path)) {
            if let Ok(meta) = fs::symlink_metadata(entry.path) {
                self.repositories.insert(entry.path.to_owned(), (meta.dev(), meta.ino()));
            }
            return SnapshotKind::Repository;
        }
        if !entry.kind.is_dir() && is_build_file(entry.path) {
            self.file(entry.path);
        }
        SnapshotKind::Other
    }

    /// Notes a file whatever its name, but for what only holds a name for the length of a run, this one or another.
    pub(crate) fn file(&mut self, path: &Path) {
        if is_placeholder(path) {
            return;
        }
        if let Ok(meta) = fs::symlink_metadata(path) {
            let state = FileVersion {
                place: (meta.dev(), meta.ino()),
                size: if meta.is_dir() { 0 } else { meta.len() },
                changed: if meta.is_dir() { (0, 0) } else { (meta.ctime(), meta.ctime_nsec()) },
            };
            self.files.insert(path.to_owned(), state);
        }
    }

    /// Files that were found.
    pub(crate) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.files.keys()
    }

    /// Repositories that were found.
    pub(crate) fn repositories(&self) -> impl Iterator<Item = &PathBuf> {
        self.repositories.keys()
    }

    /// Repositories of `after` that were not there, or are others than they were.
    pub(crate) fn new_repositories(&self, after: &Self) -> Vec<PathBuf> {
        let new = after.repositories.iter().filter(|(path, id)| self.repositories.get(*path) != Some(id));
        new.map(|(path, _)| path.clone()).collect()
    }

    /// Files of `after` that were made or changed, and files that are gone.
    pub(crate) fn changed_files(&self, after: &Self) -> Vec<PathBuf> {
        let changed = after.files.iter().filter(|(path, state)| self.files.get(*path) != Some(state));
        let gone = self
            .files
            .keys()
            .filter(|path| !after.files.contains_key(*path) && fs::symlink_metadata(path).is_err());
        let mut all: Vec<PathBuf> = changed.map(|(path, _)| path).chain(gone).cloned().collect();
        all.sort();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build_files::{BUILD_DIRECTORIES, BUILD_FILES};

    #[test]
    fn what_holds_a_name_for_another_run_is_no_change() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let held = folder.path().join(".envrc");
        let look = || {
            let mut seen = Snapshot::default();
            seen.file(&held);
            seen
        };
        let before = look();
        fs::create_dir(&held).unwrap();
        fs::set_permissions(&held, fs::Permissions::from_mode(0o1755)).unwrap();
        assert!(is_placeholder(&held) && before.changed_files(&look()).is_empty());
        assert!(look().changed_files(&before).is_empty());
        fs::write(held.join("x"), "").unwrap();
        assert_eq!(before.changed_files(&look()), vec![held.clone()], "the control");
    }

    #[test]
    fn every_build_file_is_known_for_one() {
        let folder = tempfile::tempdir().unwrap();
        for directory in BUILD_DIRECTORIES {
            fs::create_dir_all(folder.path().join(directory).join("deep")).unwrap();
            fs::write(folder.path().join(directory).join("deep/any"), "").unwrap();
        }
        let others = ["a", "Makefile.am", "package.jso", "package.jsonx", "githu", "zzz"];
        for name in BUILD_FILES.iter().chain(&others) {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let mut seen = Snapshot::default();
        Snapshot::take(folder.path(), &mut seen, &Guards::default(), None);
        assert_eq!(seen.files.len(), BUILD_FILES.len() + BUILD_DIRECTORIES.len(), "{:?}", seen.files.keys());
        assert!(others.iter().all(|name| !seen.files.contains_key(&folder.path().join(name))));
    }
}
