//! Directories that were looked at a moment ago for whether git would take them for a repository: a build names many files in
//! few of them, and each look is a call of the kernel. The last directory whose surroundings were looked at is kept with the result.
//!
//! An answer is believed for a moment only, and all are dropped when a call of the run makes, moves or removes what one could
//! depend on.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pinfold_policy::git_dir::is_git_dir_marker;

use crate::git::layout;
use crate::within::{is_same_text, split};

/// Lifetime of an answer: changes from outside are noticed after that.
const MOMENT: Duration = Duration::from_millis(20);

/// Answers that are kept; then all are dropped.
const MAX_CACHED: usize = 256;

/// Answers by directory.
#[derive(Debug, Default)]
pub(super) struct Layouts {
    known: RefCell<HashMap<PathBuf, (bool, Instant)>>,
    around: RefCell<Option<EnclosingGitDir>>,
}

/// The outermost git directory at or above a directory, in what was granted.
#[derive(Debug)]
struct EnclosingGitDir {
    innermost: PathBuf,
    git_dir: Option<PathBuf>,
    /// When the first of them was looked at.
    since: Instant,
}

impl Layouts {
    /// Returns the outermost directory at or above `innermost` that [serves as a git directory](layout::serves_as_git_dir).
    /// `is_granted`: the search goes no further out; always the same for one run.
    pub(super) fn outermost_git_dir(
        &self,
        innermost: &Path,
        is_granted: impl Fn(&Path) -> bool,
    ) -> Option<PathBuf> {
        let mut around = self.around.borrow_mut();
        if let Some(known) = around.as_ref()
            && is_same_text(&known.innermost, innermost)
            && known.since.elapsed() < MOMENT
        {
            return known.git_dir.clone();
        }
        let (mut git_dir, mut since) = (None, Instant::now());
        for directory in innermost.ancestors().take_while(|at| is_granted(at)) {
            let (serves, looked_at) = self.look(directory);
            since = since.min(looked_at);
            if serves {
                git_dir = Some(directory.to_owned());
            }
        }
        *around = Some(EnclosingGitDir { innermost: innermost.to_owned(), git_dir: git_dir.clone(), since });
        git_dir
    }

    /// Returns whether a directory serves as a git directory, and when it was looked at.
    fn look(&self, directory: &Path) -> (bool, Instant) {
        let mut known = self.known.borrow_mut();
        if let Some(found) = known.get(directory)
            && found.1.elapsed() < MOMENT
        {
            return *found;
        }
        let found = (layout::serves_as_git_dir(directory), Instant::now());
        if !found.0 && layout::may_serve_as_git_dir(directory) {
            return found;
        }
        if known.len() >= MAX_CACHED {
            known.clear();
        }
        known.insert(directory.to_owned(), found);
        found
    }

    /// Drops all answers when a call has named a part of a git directory, or moved a directory.
    pub(super) fn carried_out(&mut self, place: &Path, moved_directory: bool) {
        if moved_directory || split(place).1.is_some_and(is_git_dir_marker) {
            self.known.get_mut().clear();
            *self.around.get_mut() = None;
        }
    }
}
