//! Files with several names (hard links), which are changed in place by one of them.
//!
//! Package managers link what they install to a store that all projects share, and a clone on one machine its objects to the
//! repository it was made from. What is written by a name in the folder would be read there. So such a file changes only where each
//! of its names is one by which this run could change it.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use pinfold_sandbox::{Attempt, Intent, LinkedFile};

use super::{Mediator, Visit, WalkOutcome, walk};
use crate::boundary::Boundary;

/// The names in what is granted, by device and inode, of every file that has several.
type Names = HashMap<(u64, u64), Vec<PathBuf>>;

/// Result of one look around, taken when it was first needed.
#[derive(Debug, Default)]
pub(super) struct LinkedFiles {
    names: Option<Names>,
    /// The run has given names since.
    is_stale: bool,
}

impl LinkedFiles {
    /// Notes that the run has linked or moved something.
    pub(super) fn names_changed(&mut self) {
        self.is_stale = true;
    }

    /// All names of a file. `None` where not all of them were found in what is granted.
    fn names_of(&mut self, granted: &[PathBuf], file: LinkedFile) -> Option<Vec<PathBuf>> {
        if let Some(names) = &self.names {
            let found = those_of(names, file);
            // A file with one name is asked about when it lost the one by which it was opened.
            if found.is_some() || !self.is_stale && file.names > 1 {
                return found;
            }
        }
        self.is_stale = false;
        those_of(self.names.insert(look_around(granted, file)), file)
    }
}

/// The names that a file still has, if they are all of them. How many it has is read again with each: another run may have given it one
/// while this one looked around.
fn those_of(names: &Names, file: LinkedFile) -> Option<Vec<PathBuf>> {
    let count_by = |at: &Path| {
        let found = fs::symlink_metadata(at).ok()?;
        ((found.dev(), found.ino()) == file.inode).then(|| found.nlink())
    };
    let (found, counts): (Vec<PathBuf>, Vec<u64>) =
        names.get(&file.inode)?.iter().filter_map(|at| Some((at.clone(), count_by(at)?))).unzip();
    let is_all = |count: u64| count == file.names && count == found.len() as u64;
    (!counts.is_empty() && counts.into_iter().all(is_all)).then_some(found)
}

/// Every name of this file, and of each that has several. A tree that cannot be looked at whole has none.
fn look_around(granted: &[PathBuf], file: LinkedFile) -> Names {
    let mut names = Names::new();
    // What was added below another one would be counted twice.
    let tops =
        granted.iter().filter(|top| !granted.iter().any(|other| other != *top && top.starts_with(other)));
    for top in tops {
        let walked = walk(top, |at, kind| {
            if kind.is_file()
                && let Ok(found) = fs::symlink_metadata(at)
                && let inode = (found.dev(), found.ino())
                && (found.nlink() > 1 || inode == file.inode)
            {
                names.entry(inode).or_default().push(at.to_owned());
            }
            Visit::Enter
        });
        if walked != WalkOutcome::Everything {
            return Names::new();
        }
    }
    names
}

impl Mediator {
    /// Returns whether a file with several names may be changed by one of them.
    pub(crate) fn can_change_linked(
        &mut self,
        boundary: &Boundary,
        attempt: &Attempt,
        file: LinkedFile,
    ) -> bool {
        let Some(names) = self.linked_files.names_of(boundary.granted(), file) else { return false };
        names.into_iter().all(|place| {
            let write = Attempt::new(attempt.pid, Intent::Write, place);
            boundary.denies_changing(&write.place).is_none() && self.judge(boundary, &write).is_none()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_another_run_gave_during_the_look_is_counted() {
        let place = tempfile::tempdir().unwrap();
        let (inside, outside) = (place.path().join("inside"), place.path().join("outside"));
        for at in [&inside, &outside] {
            fs::create_dir(at).unwrap();
        }
        fs::write(inside.join("one"), "").unwrap();
        fs::hard_link(inside.join("one"), inside.join("two")).unwrap();
        let found = fs::metadata(inside.join("one")).unwrap();
        let file = LinkedFile { inode: (found.dev(), found.ino()), names: found.nlink() };
        let names = look_around(std::slice::from_ref(&inside), file);
        assert_eq!(those_of(&names, file).map(|names| names.len()), Some(2), "the control");
        // As many were found as there were when it was opened, and there is one more by now.
        fs::hard_link(inside.join("one"), outside.join("three")).unwrap();
        assert_eq!(those_of(&names, file), None);
    }
}
