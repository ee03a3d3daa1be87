//! Operations of git that are not finished, compared between two looks: where no call was seen as it happened.

use std::fs;
use std::path::{Path, PathBuf};

use pinfold_policy::git_dir::{BISECT, UNFINISHED};

use super::layout;
use crate::snapshot::Snapshot;

/// Files of one operation that are looked at.
const MAX_FILES: usize = 4_096;

/// Files by which git remembers unfinished operations.
#[derive(Debug, Default)]
pub(crate) struct Operations {
    states: Vec<PathBuf>,
    files: Snapshot,
}

impl Operations {
    /// Looks at git directories, and at those of their worktrees.
    pub(crate) fn look(git_dirs: &[PathBuf]) -> Self {
        let mut found = Self::default();
        for directory in git_dirs.iter().flat_map(|at| layout::worktrees(at).chain([at.clone()])) {
            for state in UNFINISHED.map(|name| directory.join(name)) {
                if fs::symlink_metadata(&state).is_ok() {
                    entries(&state).for_each(|file| found.files.file(&file));
                    found.states.push(state);
                }
            }
            let is_bisect = |file: &PathBuf| {
                file.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(BISECT.as_bytes()))
            };
            entries(&directory).filter(is_bisect).for_each(|file| found.files.file(&file));
        }
        found
    }

    /// Operations of a later look that were begun meanwhile, and changed files of earlier ones.
    pub(crate) fn changed(&self, later: &Self) -> Vec<PathBuf> {
        let mut all: Vec<PathBuf> =
            later.states.iter().filter(|state| !self.states.contains(state)).cloned().collect();
        let files = self.files.changed_files(&later.files);
        let is_told = |file: &PathBuf| all.iter().any(|state| file.starts_with(state));
        let is_there = |file: &PathBuf| fs::symlink_metadata(file).is_ok();
        let more: Vec<PathBuf> = files.into_iter().filter(|file| is_there(file) && !is_told(file)).collect();
        all.extend(more);
        all
    }
}

fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(directory).into_iter().flatten().flatten().take(MAX_FILES).map(|entry| entry.path())
}
