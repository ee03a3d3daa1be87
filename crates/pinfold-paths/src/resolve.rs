//! An alleged path → `Contained | Outside | Unresolved`.
//!
//! Promise: what is held was opened beneath its root by plain names only, whatever the claim said.
//! Trap: the quick way must answer exactly like the careful one; it gives up rather than guess.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fd::AsFd;
use rustix::fs::FileType;
use rustix::io::Errno;

use crate::claim::{PathClaim, Spelling, spell};
use crate::contained::Contained;
use crate::follow::{WalkEnd, follow};
use crate::held_place::{LookupResult, Parent, Place};
use crate::outside::{Disguise, Outside};
use crate::sys;
use crate::workspace::BaseFolder;
use crate::writable_roots::WritableRoots;

/// Treatment of a link at the very end of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastLink {
    /// Go where it leads: reading, writing, editing.
    Follow,
    /// Stay with the link itself: deleting, moving. A slash behind it follows nevertheless, as in the kernel.
    Keep,
}

/// The place that a claim leads to.
#[derive(Debug)]
pub enum Resolution {
    /// Inside a writable root, and held.
    Contained(Contained),
    /// Somewhere else, and held; for reading.
    Outside(Outside),
    /// Not known, or nowhere; never acted on.
    Unresolved(Unresolved),
}

/// A claim that leads nowhere that could be held.
#[derive(Clone, Debug)]
pub struct Unresolved {
    /// Why.
    pub why: Why,
    /// The words of the claim, joined to the working directory where that was possible.
    pub asked: PathBuf,
    /// Target of a dangling link, for judging and showing.
    pub leads_to: Option<PathBuf>,
}

/// Reason why a claim leads nowhere that could be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Why {
    /// No words at all.
    #[error("the path is empty")]
    Empty,
    /// A NUL byte: the kernel would see a shorter path than a person.
    #[error("the path holds a NUL byte")]
    Nul,
    /// A name above 255 bytes, or a path far beyond what any program can use.
    #[error("the path is too long")]
    TooLong,
    /// More than 40 links, the kernel's own limit.
    #[error("the path leads through too many links")]
    LinkLoop,
    /// A link that leads to nothing; it is never created through.
    #[error("a link in the path leads to nothing")]
    Dangling,
    /// A link of procfs (`/proc/self`, `/proc/*/root`, `/dev/fd/*`): it leads to an object of a process, not to a path.
    #[error("the path leads through a link of /proc")]
    Magic,
    /// A file where a folder is needed: below it, or a slash or dot behind it.
    #[error("a file stands where the path needs a folder")]
    NotADirectory,
    /// A `..` behind something that does not exist: the kernel has no answer to it.
    #[error("the path goes up from a folder that does not exist")]
    ClimbsFromMissing,
    /// A folder on the way may not be searched.
    #[error("a folder in the path may not be searched")]
    Denied,
    /// `~` without a home.
    #[error("there is no home folder to put for `~`")]
    NoHome,
    /// `~name`: other users' homes are not looked up.
    #[error("other users' home folders are not looked up")]
    OtherUsersHome,
    /// The working directory is relative or does not exist.
    #[error("the working directory does not exist")]
    WorkingDirectory,
    /// Something on the way was swapped again and again while it was looked at.
    #[error("the path changed while it was looked at")]
    Race,
    /// Any other answer of the system (an `errno`).
    #[error("the system answers with error {0}")]
    Io(i32),
}

impl Why {
    pub(crate) fn from_errno(errno: Errno) -> Self {
        match errno {
            Errno::NAMETOOLONG => Self::TooLong,
            Errno::ACCESS | Errno::PERM => Self::Denied,
            Errno::NOTDIR => Self::NotADirectory,
            Errno::LOOP => Self::LinkLoop,
            Errno::AGAIN => Self::Race,
            other => Self::Io(other.raw_os_error()),
        }
    }
}

/// Number of fresh looks at a path that changes under our eyes.
const ATTEMPTS: usize = 8;

/// Resolves a claim; see [`WritableRoots::resolve`].
pub(crate) fn resolve(line: &WritableRoots, cwd: &Path, claim: &PathClaim, last: LastLink) -> Resolution {
    let spelling = match spell(cwd, line.home(), claim) {
        Ok(spelling) => spelling,
        Err(why) => return unresolved(why, claim.as_written().into(), None),
    };
    match quick(line, &spelling, last) {
        Some(place) => sort(line, place, spelling.path, None, None),
        None => careful(line, &spelling, last),
    }
}

fn unresolved(why: Why, asked: PathBuf, leads_to: Option<PathBuf>) -> Resolution {
    Resolution::Unresolved(Unresolved { why, asked, leads_to })
}

/// A place without its names: what [`hold`] finds.
struct HeldObject {
    base: Arc<BaseFolder>,
    inside: bool,
    parent: Parent,
    seen: LookupResult,
    crosses_mount: bool,
    must_be_folder: bool,
}

/// The way for ordinary claims: no `..`, no link on the way, every folder there. Two system calls.
/// `None` is no verdict: the careful way decides.
fn quick(line: &WritableRoots, spelling: &Spelling, last: LastLink) -> Option<HeldObject> {
    if spelling.climbs || spelling.must_be_folder {
        return None;
    }
    let held = hold(line, &spelling.path, 0, false).ok()?;
    match &held.seen {
        LookupResult::There(look) if look.file_type == FileType::Symlink && last == LastLink::Follow => None,
        LookupResult::There(_) | LookupResult::Missing { .. } => Some(held),
    }
}

/// Walks as the kernel would, then holds what was found; again when something moved in between.
fn careful(line: &WritableRoots, spelling: &Spelling, last: LastLink) -> Resolution {
    for _ in 0..ATTEMPTS {
        let reached = match follow(line, spelling, last) {
            Ok(reached) => reached,
            Err(end) if end.why == Why::Race => continue,
            Err(end) => return unresolved(end.why, spelling.path.clone(), end.leads_to),
        };
        match hold(line, &reached.real, reached.missing_dirs, reached.must_be_folder) {
            Ok(held) if held.agrees_with(&reached) => {
                return sort(line, held, reached.asked, Some(reached.real), reached.left);
            }
            Ok(_) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV | Errno::AGAIN) => {}
            Err(errno) => return unresolved(Why::from_errno(errno), spelling.path.clone(), None),
        }
    }
    unresolved(Why::Race, spelling.path.clone(), None)
}

impl HeldObject {
    /// Returns `true` if the held object is of the type that the walk met: no link slipped in, nothing appeared where nothing was.
    fn agrees_with(&self, found: &WalkEnd) -> bool {
        match (&self.seen, found.file_type) {
            (LookupResult::There(look), Some(file_type)) => look.file_type == file_type,
            (LookupResult::Missing { .. }, None) => true,
            (LookupResult::There(_), None) | (LookupResult::Missing { .. }, Some(_)) => false,
        }
    }
}

/// Opens the folder that holds `real` (plain names only, absolute) beneath the root that covers it, or beneath `/`.
fn hold(
    line: &WritableRoots,
    real: &Path,
    missing_dirs: usize,
    must_be_folder: bool,
) -> Result<HeldObject, Errno> {
    let root = line.root_of(real);
    let base = root.map_or_else(|| line.slash(), |root| &root.workspace.base);
    let (folder, first) = split(base.relative(real).unwrap_or(Path::new("")), missing_dirs);
    let parent = if folder.as_os_str().is_empty() {
        Parent::Base
    } else {
        Parent::Opened(sys::open_folder(base.fd(), folder, line.strategy())?)
    };
    let fd = match &parent {
        Parent::Base => base.fd(),
        Parent::Opened(fd) => fd.as_fd(),
    };
    let (seen, look) = match first.map(|name| sys::look(fd, name)) {
        // The root itself.
        None => (LookupResult::There(*base.look()), *base.look()),
        Some(Ok(look)) => (LookupResult::There(look), look),
        Some(Err(Errno::NOENT)) => (LookupResult::Missing { missing_dirs }, sys::look_at(fd)?),
        Some(Err(errno)) => return Err(errno),
    };
    let crosses_mount = !look.same_mount(base.look());
    Ok(HeldObject {
        base: Arc::clone(base),
        inside: root.is_some(),
        parent,
        seen,
        crosses_mount,
        must_be_folder,
    })
}

/// Splits plain names into the folders that stand and the first name below them; no name for the base itself.
/// By bytes: taking components apart costs as much as a system call.
fn split(below: &Path, missing_dirs: usize) -> (&Path, Option<&OsStr>) {
    let bytes = below.as_os_str().as_bytes();
    if bytes.is_empty() {
        return (below, None);
    }
    let mut from_the_end = bytes.rsplitn(missing_dirs + 2, |byte| *byte == b'/');
    let first = from_the_end.nth(missing_dirs);
    (Path::new(OsStr::from_bytes(from_the_end.next().unwrap_or_default())), first.map(OsStr::from_bytes))
}

fn sort(
    line: &WritableRoots,
    held: HeldObject,
    asked: PathBuf,
    real: Option<PathBuf>,
    left: Option<Disguise>,
) -> Resolution {
    let real = real.filter(|real| *real != asked);
    let place = Place {
        base: held.base,
        parent: held.parent,
        asked,
        real,
        seen: held.seen,
        must_be_folder: held.must_be_folder,
        crosses_mount: held.crosses_mount,
        strategy: line.strategy(),
    };
    if held.inside {
        Resolution::Contained(Contained::new(place))
    } else {
        Resolution::Outside(Outside::new(place, left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folders_that_stand_are_split_from_the_first_name_below() {
        for (below, missing_dirs, folder, first) in [
            ("", 0, "", None),
            ("a", 0, "", Some("a")),
            ("a/b", 0, "a", Some("b")),
            ("a/b", 1, "", Some("a")),
            ("a/b/c/d", 0, "a/b/c", Some("d")),
            ("a/b/c/d", 2, "a", Some("b")),
            ("a/b/c/d", 3, "", Some("a")),
        ] {
            let (folder_got, first_got) = split(Path::new(below), missing_dirs);
            assert_eq!(
                (folder_got, first_got),
                (Path::new(folder), first.map(OsStr::new)),
                "{below} {missing_dirs}"
            );
        }
    }
}
