//! Look-up of a path for a decision about what is there: what cannot be looked up is not absent.
//!
//! A process that holds a directory open goes on to change it while a directory above cannot be searched, or while its path is too
//! long. A judgement by path sees nothing there then, and has to say so.

use std::fs::{self, Metadata};
use std::io::{Error, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// `PATH_MAX` of Linux.
const PATH_MAX: usize = 4_096;

/// Room for the names that are looked for beside and below a path (`.git/info/attributes`, `worktrees/NAME/commondir`).
const ROOM: usize = 512;

/// Result of a look-up.
#[derive(Debug)]
pub(crate) enum Lookup {
    Found(Metadata),
    /// Nothing has this path.
    Missing,
    /// A directory on the way cannot be searched, the path is too long, or the file system fails.
    Unknown,
}

impl Lookup {
    /// Looks up a path, and follows no link in its last component.
    pub(crate) fn find(path: &Path) -> Self {
        match fs::symlink_metadata(path) {
            Ok(found) => Self::Found(found),
            Err(error) if is_missing(&error) => Self::Missing,
            Err(_) => Self::Unknown,
        }
    }

    /// Returns whether it is certain that nothing has the path.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::Missing)
    }

    /// Returns whether it cannot be told if something has the path.
    pub(crate) fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown)
    }

    /// Returns whether the path may be that of a directory.
    pub(crate) fn may_be_directory(&self) -> bool {
        match self {
            Self::Found(found) => found.is_dir(),
            Self::Missing => false,
            Self::Unknown => true,
        }
    }
}

/// Returns whether an error says that nothing has a path.
pub(crate) fn is_missing(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Returns whether a place, or what is looked for around it, cannot be looked up.
pub(crate) fn is_out_of_sight(place: &Path) -> bool {
    is_too_long(place) || Lookup::find(place).is_unknown()
}

/// Returns whether a path, or one that is looked for around it, is too long to be looked up.
pub(crate) fn is_too_long(place: &Path) -> bool {
    place.as_os_str().len() > PATH_MAX - ROOM
}

/// Returns whether the user themselves keeps a path from being looked up, so that a run could have done it: the innermost directory
/// above that can be looked up is theirs.
pub(crate) fn is_closed_by_user(path: &Path) -> bool {
    let mut above = path.ancestors().filter_map(|above| fs::symlink_metadata(above).ok());
    above.next().is_none_or(|found| found.uid() == rustix::process::geteuid().as_raw())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_surely_missing_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "").unwrap();
        assert!(Lookup::find(&at("none")).is_missing() && Lookup::find(&at("file/none")).is_missing());
        assert!(matches!(Lookup::find(&at("file")), Lookup::Found(_)));
        let long = folder.path().join("d/".repeat(PATH_MAX / 2));
        assert!(Lookup::find(&long).is_unknown() && Lookup::find(&long).may_be_directory());
        assert!(is_out_of_sight(&folder.path().join("d".repeat(PATH_MAX - ROOM))));
        assert!(!is_out_of_sight(&at("none")) && is_closed_by_user(&at("none")));
    }
}
