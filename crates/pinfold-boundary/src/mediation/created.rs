//! Directories and repositories that this run made: what it makes whole it may configure as it likes, and the report names it.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use pinfold_sandbox::FileIdentity;

/// Directories that are remembered. Further ones count as if they had been there before.
const MAX_DIRECTORIES: usize = 1 << 21;

/// Directories and files that this run made.
#[derive(Debug, Default)]
pub(crate) struct CreatedByRun {
    directories: HashSet<FileIdentity>,
    /// Granted folders in which nothing was at the start.
    empty: Vec<PathBuf>,
    /// A `.git` directory was among them.
    repositories: bool,
    /// Git directories of linked worktrees.
    worktrees: Vec<PathBuf>,
    /// A git directory outside every old working tree may hold what git runs.
    untrusted_repository: bool,
    /// A `.git` file was made in an old working tree: it may name any git directory.
    pointer_in_old_tree: bool,
}

impl CreatedByRun {
    pub(crate) fn new(granted: &[PathBuf]) -> Self {
        let is_empty =
            |folder: &&PathBuf| fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none());
        Self { empty: granted.iter().filter(is_empty).cloned().collect(), ..Self::default() }
    }

    /// A directory was made.
    pub(crate) fn add(&mut self, place: &Path, created: FileIdentity) {
        if self.directories.len() >= MAX_DIRECTORIES {
            return;
        }
        self.directories.insert(created);
        if place.file_name().is_some_and(|name| name == ".git") {
            self.repositories = true;
        }
        if place.parent().and_then(Path::file_name).is_some_and(|name| name == "worktrees") {
            self.worktrees.push(place.to_owned());
        }
    }

    /// A directory was removed: whatever gets its number was not made by this run.
    pub(crate) fn forget(&mut self, place: &Path, gone: FileIdentity) {
        if self.directories.remove(&gone) {
            self.worktrees.retain(|worktree| worktree != place);
        }
    }

    /// Returns whether a directory was made by this run, wherever it has been moved since.
    pub(crate) fn contains(&self, directory: &Path) -> bool {
        !self.directories.is_empty()
            && FileIdentity::read(directory).is_some_and(|found| self.directories.contains(&found))
    }

    /// Returns whether a directory was made by this run, or is a granted folder that was empty at the start.
    pub(crate) fn is_new_project(&self, directory: &Path) -> bool {
        self.empty.iter().any(|empty| empty == directory) || self.contains(directory)
    }

    /// Returns whether a directory lies in a working tree that was made by this run as a whole: its repository, its top, and every
    /// directory from there down.
    pub(crate) fn is_in_new_tree(&self, directory: &Path) -> bool {
        self.is_new_tree_up(directory.ancestors())
    }

    /// The same of a directory and those above it, the innermost first, as they stand now.
    pub(crate) fn is_new_tree_up(&self, directories: impl Iterator<Item = impl AsRef<Path>>) -> bool {
        let mut directories =
            directories.take_while(|at| self.repositories && self.is_new_project(at.as_ref()));
        directories.any(|top| self.contains(&top.as_ref().join(".git")))
    }

    /// A git directory was configured as the run liked, in no working tree that was there before.
    pub(super) fn note_untrusted_repository(&mut self) {
        self.untrusted_repository = true;
    }

    /// Returns whether a git directory may hold what git runs, to which no `.git` file in an old working tree may lead.
    pub(super) fn has_untrusted_repository(&self) -> bool {
        self.untrusted_repository
    }

    /// A `.git` file may be made in a working tree that was there before. What it names is written into it without another call.
    pub(super) fn note_pointer_in_old_tree(&mut self) {
        self.pointer_in_old_tree = true;
    }

    /// Returns whether each git directory may be one that git finds from an old working tree.
    pub(super) fn has_pointer_in_old_tree(&self) -> bool {
        self.pointer_in_old_tree
    }

    /// Git directories of linked worktrees that were made.
    pub(crate) fn worktrees(&self) -> &[PathBuf] {
        &self.worktrees
    }
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_gets_the_number_of_a_removed_directory_was_not_made_by_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("d");
        let identity = |at: &Path| FileIdentity::read(at).unwrap();
        for is_told in [true, false] {
            let mut created = CreatedByRun::default();
            fs::create_dir(&at).unwrap();
            let first = identity(&at);
            created.add(&at, first);
            assert!(created.contains(&at));
            fs::remove_dir(&at).unwrap();
            if is_told {
                created.forget(&at, first);
            } else {
                // Another process removed it: the clock of a file system goes in steps.
                sleep(Duration::from_millis(20));
            }
            fs::create_dir(&at).unwrap();
            assert!(!created.contains(&at), "told: {is_told}");
            fs::remove_dir(&at).unwrap();
        }
    }
}
