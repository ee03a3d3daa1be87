//! Directories and repositories that this run made: what it makes whole it may furnish, and the report names it.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Directories that are remembered, by device and inode. Further ones count as if they had been there before.
const MOST: usize = 1 << 21;

/// What this run made.
#[derive(Debug, Default)]
pub(crate) struct Made {
    directories: HashSet<(u64, u64)>,
    /// Granted folders in which nothing was at the start.
    empty: Vec<PathBuf>,
    /// Whether a `.git` directory was among them.
    repositories: bool,
    /// Git directories of linked worktrees.
    worktrees: Vec<PathBuf>,
}

impl Made {
    pub(crate) fn new(granted: &[PathBuf]) -> Self {
        let is_empty =
            |folder: &&PathBuf| fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none());
        Self { empty: granted.iter().filter(is_empty).cloned().collect(), ..Self::default() }
    }

    /// A directory was made.
    pub(crate) fn add(&mut self, place: &Path, file: (u64, u64)) {
        if self.directories.len() >= MOST {
            return;
        }
        self.directories.insert(file);
        if place.file_name().is_some_and(|name| name == ".git") {
            self.repositories = true;
        }
        if place.parent().and_then(Path::file_name).is_some_and(|name| name == "worktrees") {
            self.worktrees.push(place.to_owned());
        }
    }

    /// Whether a directory was made by this run, wherever it has been moved since.
    pub(crate) fn contains(&self, directory: &Path) -> bool {
        fs::symlink_metadata(directory)
            .is_ok_and(|found| self.directories.contains(&(found.dev(), found.ino())))
    }

    /// Whether a directory was made by this run, or is a granted folder that was empty at the start.
    pub(crate) fn is_new_project(&self, directory: &Path) -> bool {
        self.empty.iter().any(|empty| empty == directory) || self.contains(directory)
    }

    /// Whether a directory lies in a working tree that was made by this run as a whole, its repository included.
    pub(crate) fn is_in_new_tree(&self, directory: &Path) -> bool {
        self.repositories
            && directory.ancestors().any(|top| self.contains(&top.join(".git")) && self.is_new_project(top))
    }

    /// Git directories of linked worktrees that were made.
    pub(crate) fn worktrees(&self) -> &[PathBuf] {
        &self.worktrees
    }
}
