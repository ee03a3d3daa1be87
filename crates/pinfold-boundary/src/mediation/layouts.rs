//! Directories that were looked at a moment ago for whether git would take them for a repository: a build names many files in
//! few of them, and each look is a call of the kernel.
//!
//! An answer is believed for a moment only, and all are dropped when a call of the run makes, moves or removes what one could
//! depend on.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::git::layout;

/// Lifetime of an answer: changes from outside are noticed after that.
const MOMENT: Duration = Duration::from_millis(20);

/// Answers that are kept; then all are dropped.
const MOST: usize = 256;

/// Answers by directory.
#[derive(Debug, Default)]
pub(super) struct Layouts {
    known: RefCell<HashMap<PathBuf, (bool, Instant)>>,
}

impl Layouts {
    /// Returns whether a directory [serves as a git directory](layout::serves_as_git_dir).
    pub(super) fn serves_as_git_dir(&self, directory: &Path) -> bool {
        let mut known = self.known.borrow_mut();
        if let Some((answer, since)) = known.get(directory)
            && since.elapsed() < MOMENT
        {
            return *answer;
        }
        let answer = layout::serves_as_git_dir(directory);
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(directory.to_owned(), (answer, Instant::now()));
        answer
    }

    /// Drops all answers when a call has named a part of a git directory, or moved a directory.
    pub(super) fn carried_out(&mut self, place: &Path, moved_directory: bool) {
        if moved_directory || place.file_name().is_some_and(layout::is_part_of_bare) {
            self.known.get_mut().clear();
        }
    }
}
