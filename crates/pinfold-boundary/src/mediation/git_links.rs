//! Symbolic links in git directories: none is put there.
//!
//! git follows links when it writes (logs, references, messages, any name of a later version), so that a link would have a
//! git command outside write to any place. No table of names could keep up with that; a rule for all of them can.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use pinfold_sandbox::{Attempt, Detail, Intent};

use super::{Visit, Walked, walk};
use crate::boundary::Boundary;

/// Returns whether an attempt puts a symbolic link at its place, which lies in a git directory.
pub(super) fn plants_link(boundary: &Boundary, attempt: &Attempt) -> bool {
    match (attempt.intent, &attempt.detail) {
        (Intent::Symlink, Detail::LinkText(text)) => !is_probe(&attempt.place, text),
        _ => arrives_from(attempt).is_some_and(|from| {
            fs::symlink_metadata(from).is_ok_and(|found| found.is_symlink())
                || could_be_swapped(boundary, from, &attempt.place)
        }),
    }
}

/// Returns whether a symbolic link may lie beneath a directory.
pub(super) fn are_beneath(directory: &Path) -> bool {
    let links = |_: &Path, kind: fs::FileType| if kind.is_symlink() { Visit::Found } else { Visit::Enter };
    walk(directory, links) != Walked::Everything
}

/// The file that gets the place of the attempt for a name, or for another name.
fn arrives_from(attempt: &Attempt) -> Option<&PathBuf> {
    match (attempt.intent, &attempt.detail) {
        (Intent::MoveTo, Detail::From(from) | Detail::SecondNameOf(from))
        | (Intent::MoveTo | Intent::MoveFrom, Detail::Exchange(from)) => Some(from),
        _ => None,
    }
}

/// Whether the run can put a link in place of a file after the look at it: in its own directories it needs no supervisor to.
/// From another file system the kernel moves nothing.
fn could_be_swapped(boundary: &Boundary, from: &Path, to: &Path) -> bool {
    let device = |place: &Path| fs::symlink_metadata(place).ok().map(|found| found.dev());
    let supervised = boundary.is_within_granted(from) && !boundary.is_own(from);
    let there = device(from);
    !supervised && there.is_some() && there == to.parent().and_then(device)
}

/// Whether this is the link with which `git init` and `git clone` find out if there are links at all: `tXXXXXX`, a name that
/// git uses for nothing else, for a `testing` beside it, which cannot be a link in turn
/// ([setup.c](https://github.com/git/git/blob/v2.47.0/setup.c), `create_default_files`).
fn is_probe(place: &Path, text: &OsStr) -> bool {
    let name = place.file_name().unwrap_or_default();
    let random = name.as_bytes().strip_prefix(b"t").filter(|rest| rest.len() == 6);
    text == "testing" && name != text && random.is_some_and(|rest| rest.iter().all(u8::is_ascii_alphanumeric))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_link_of_git_init_is_made() {
        for (place, text, expected) in [
            ("/w/.git/tAb12Cd", "testing", true),
            ("/w/.git/modules/sub/tAb12Cd", "testing", true),
            ("/w/.git/tAb12Cd", "logs", false),
            ("/w/.git/tAb12Cd", "../testing", false),
            ("/w/.git/testing", "testing", false),
            ("/w/.git/COMMIT_EDITMSG", "testing", false),
            ("/w/.git/t../../x", "testing", false),
        ] {
            assert_eq!(is_probe(Path::new(place), OsStr::new(text)), expected, "{place} {text}");
        }
    }

    #[test]
    fn a_link_beneath_a_directory_is_found_at_any_depth() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a/b/c");
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("file"), "").unwrap();
        assert!(!are_beneath(folder.path()));
        std::os::unix::fs::symlink("file", deep.join("link")).unwrap();
        assert!(are_beneath(folder.path()));
        assert!(are_beneath(&folder.path().join("missing")), "what cannot be looked at may hold one");
    }
}
