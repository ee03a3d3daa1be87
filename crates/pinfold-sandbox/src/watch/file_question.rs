//! A file call with the places that it names: what it would do to each, and how it is done.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use rustix::fs::{FileType, ResolveFlags, fstat};

use super::attempt::{Attempt, Detail, EntryType, Intent};
use super::carry_out::{self, MayChange, OpenOutcome};
use super::file_call::{FileCall, OpenCall, RequestedChange, SET_ID};
use super::held_path::OwnDescriptors;
use super::path_text::last_component;
use super::view::MountView;
use super::walk::{HeldEntry, ResolveRestrictions, ResolvedPath, Walk};
use crate::identity::FileIdentity;
use crate::sys::Pid;

/// A call and its places, in the order of the call.
pub(super) struct FileQuestion {
    pub(super) call: FileCall,
    pub(super) places: Vec<ResolvedPath>,
    /// Names on the way to what is read that lead elsewhere.
    pub(super) passed: Vec<PathBuf>,
}

/// Result of an executed system call.
pub(super) enum CarriedOut {
    /// The call returns zero.
    Done,
    /// The call returns this descriptor.
    File(OwnedFd),
    /// An open or a lock that would wait.
    Waits,
}

impl FileQuestion {
    /// Returns the attempts of the call, one for each path.
    pub(super) fn attempts(&self, pid: Pid) -> Vec<Attempt> {
        let real = |at: usize| self.places.get(at).map(|place| place.real().to_owned()).unwrap_or_default();
        let view = |at: usize| self.places.get(at).map_or(MountView::Elsewhere, ResolvedPath::view);
        let attempt = |intent, at: usize, detail| {
            Attempt::new(pid, intent, real(at)).with_detail(detail).with_view(view(at))
        };
        let one = |intent, detail| vec![attempt(intent, 0, detail)];
        match &self.call {
            FileCall::Open(open) => match self.opening(open) {
                Intent::Create if open.is_exclusive() => one(Intent::Create, Detail::Exclusive),
                Intent::Read => vec![attempt(Intent::Read, 0, Detail::None).with_passed(self.passed.clone())],
                intent => one(intent, Detail::None),
            },
            FileCall::MakeDir { .. } => one(Intent::MakeDir, Detail::None),
            FileCall::MakeNode { .. } => one(Intent::Create, Detail::None),
            FileCall::Symlink { text, .. } => one(Intent::Symlink, Detail::LinkText(text.clone())),
            FileCall::Remove { .. } => one(Intent::Remove, Detail::None),
            FileCall::Rename { flags, .. } if flags & libc::RENAME_EXCHANGE != 0 => vec![
                attempt(Intent::MoveFrom, 0, Detail::Exchange(real(1))),
                attempt(Intent::MoveTo, 1, Detail::Exchange(real(0))),
            ],
            FileCall::Rename { .. } => vec![
                attempt(Intent::MoveFrom, 0, Detail::To(real(1))),
                attempt(Intent::MoveTo, 1, Detail::From(real(0))),
            ],
            FileCall::Link { .. } => vec![
                attempt(Intent::HardLinkSource, 0, Detail::To(real(1))),
                attempt(Intent::MoveTo, 1, Detail::HardLinkOf(real(0))),
            ],
            FileCall::Truncate { .. } => one(Intent::Write, Detail::None),
            FileCall::Access { .. } => one(Intent::Access, Detail::None),
            FileCall::Lock { .. } => one(Intent::Lock, Detail::None),
            FileCall::Change { change, .. } => one(
                Intent::Metadata,
                match change {
                    RequestedChange::Mode(mode) if *mode & SET_ID != 0 && self.is_about_file() => {
                        Detail::SetId(*mode)
                    }
                    RequestedChange::Mode(mode) => Detail::Mode(*mode),
                    RequestedChange::SetAttribute { name, .. }
                    | RequestedChange::RemoveAttribute { name } => Detail::Attribute(name.clone()),
                    RequestedChange::Owner { .. } | RequestedChange::Times(_) => Detail::None,
                },
            ),
        }
    }

    /// Looks at what has the names that the call makes, moves or removes, and says so in its attempts. Returns which directory it
    /// takes away, if it is carried out.
    pub(super) fn look(&self, attempts: &mut [Attempt]) -> Option<FileIdentity> {
        let removed = self.removes_directory();
        let mut gone = None;
        for (at, (attempt, place)) in attempts.iter_mut().zip(&self.places).enumerate() {
            if !names_entry(attempt.intent) {
                continue;
            }
            let Some((entry_type, identity)) = place.look() else { continue };
            attempt.entry_type = Some(entry_type);
            if removed == Some(at) && entry_type == EntryType::Directory {
                gone = identity;
            }
        }
        gone
    }

    fn opening(&self, open: &OpenCall) -> Intent {
        let exists = || self.places.first().is_some_and(ResolvedPath::exists);
        match open {
            open if !open.changes() => Intent::Read,
            // What is there is opened for reading alone.
            open if open.only_makes() && !open.is_exclusive() && exists() => Intent::Read,
            open if open.creates() => Intent::Create,
            _ => Intent::Write,
        }
    }

    /// Returns whether something is there that is no directory.
    fn is_about_file(&self) -> bool {
        let kind =
            |place: &ResolvedPath| Some(FileType::from_raw_mode(fstat(place.handle().ok()?).ok()?.st_mode));
        self.places.first().and_then(kind).is_some_and(|kind| kind != FileType::Directory)
    }

    /// Returns whether only its outcome, and never a path of it, can be left to the kernel: neither Landlock nor anything else keeps
    /// attributes of files.
    pub(super) fn is_about_attributes(&self) -> bool {
        matches!(self.call, FileCall::Change { .. })
    }

    /// Returns whether the call locks an open file.
    pub(super) fn is_lock(&self) -> bool {
        matches!(self.call, FileCall::Lock { .. })
    }

    /// Returns the error with which the call fails in any case, because of existing or missing files. No approver is asked,
    /// and nothing is reported.
    pub(super) fn fails_anyway(&self, attempts: &[Attempt]) -> Option<i32> {
        if self.makes_existing(attempts) {
            return Some(libc::EEXIST);
        }
        if self.removes_no_attribute() {
            return Some(libc::ENODATA);
        }
        if let Some(errno) = self.dot_entry_error().or_else(|| self.wrong_kind_error(attempts)) {
            return Some(errno);
        }
        // On a mount that is read-only the kernel would not look for it.
        let removes = matches!(self.call, FileCall::Remove { .. });
        let is_missing = |attempt: &Attempt| attempt.entry_type == Some(EntryType::Nothing);
        (removes && attempts.iter().all(is_missing)).then_some(libc::ENOENT)
    }

    /// Returns the error of a call that would remove or move `.`, `..` or `/`, which no kernel does: rename(2), rmdir(2), unlink(2).
    fn dot_entry_error(&self) -> Option<i32> {
        if self.places.iter().all(|place| matches!(place, ResolvedPath::Entry(_))) {
            return None;
        }
        match &self.call {
            FileCall::Rename { .. } => Some(libc::EBUSY),
            FileCall::Remove { directory: false, .. } => Some(libc::EISDIR),
            FileCall::Remove { at, directory: true } => Some(match last_component(&at.path) {
                b"" => libc::EBUSY,
                b"." => libc::EINVAL,
                _ => libc::ENOTEMPTY,
            }),
            _ => None,
        }
    }

    /// Returns the error of a call that would remove a directory as a file, a file as a directory, or a directory with entries, as
    /// git tries with each directory that may have become empty.
    fn wrong_kind_error(&self, attempts: &[Attempt]) -> Option<i32> {
        let FileCall::Remove { directory, .. } = &self.call else { return None };
        match (attempts.first()?.entry_type?, *directory) {
            (EntryType::Directory, false) => Some(libc::EISDIR),
            (EntryType::File | EntryType::Link, true) => Some(libc::ENOTDIR),
            (EntryType::Directory, true) => {
                self.places.first().is_some_and(carry_out::has_entries).then_some(libc::ENOTEMPTY)
            }
            (EntryType::Nothing, _) | (EntryType::File | EntryType::Link, false) => None,
        }
    }

    /// Returns whether the call would remove an attribute that is not there, as programs do that copy access control lists.
    fn removes_no_attribute(&self) -> bool {
        let FileCall::Change { change: RequestedChange::RemoveAttribute { name }, .. } = &self.call else {
            return false;
        };
        let handle = self.places.first().and_then(|place| place.handle().ok());
        handle.is_some_and(|handle| carry_out::lacks_attribute(handle.as_fd(), name))
    }

    /// Returns whether each place is a name in a directory, and none a file that is held by itself: files are moved uncounted.
    pub(super) fn names_entries_only(&self) -> bool {
        self.places.iter().all(|place| matches!(place, ResolvedPath::Entry(_)))
    }

    /// Returns whether the call may give a directory another path.
    pub(super) fn moves_directory(&self, attempts: &[Attempt]) -> bool {
        let is_none = |attempt: &Attempt| {
            matches!(attempt.entry_type, Some(EntryType::Nothing | EntryType::File | EntryType::Link))
        };
        matches!(self.call, FileCall::Rename { .. }) && !attempts.iter().all(is_none)
    }

    /// Returns whether each place has the path by which it was walked to.
    pub(super) fn is_path_unchanged(&self, own: &OwnDescriptors) -> bool {
        match self.places.as_slice() {
            [first, second] if first.is_beside(second) => first.is_path_unchanged(own),
            places => places.iter().all(|place| place.is_path_unchanged(own)),
        }
    }

    /// Returns whether the call makes a name that is there, and may not be. `mkdir -p` counts on being told so.
    fn makes_existing(&self, attempts: &[Attempt]) -> bool {
        let seen = |at: usize| attempts.get(at).and_then(|attempt| attempt.entry_type);
        let there = |at: usize| match seen(at) {
            Some(entry_type) => entry_type != EntryType::Nothing,
            None => self.places.get(at).is_some_and(ResolvedPath::exists),
        };
        match &self.call {
            FileCall::MakeDir { .. } => there(0),
            FileCall::MakeNode { mode, .. } => carry_out::is_node(*mode) && there(0),
            FileCall::Symlink { text, .. } => !text.is_empty() && there(0),
            FileCall::Link { .. } => there(0) && there(1),
            FileCall::Rename { flags, .. } => {
                let names = self.places.iter().all(|place| matches!(place, ResolvedPath::Entry(_)));
                *flags == libc::RENAME_NOREPLACE && names && there(0) && there(1)
            }
            FileCall::Open(open) => {
                let is_name = |entry: &HeldEntry| !entry.means_directory;
                let named = matches!(self.places.first(), Some(ResolvedPath::Entry(entry)) if is_name(entry));
                open.is_exclusive() && named && there(0)
            }
            FileCall::Remove { .. }
            | FileCall::Truncate { .. }
            | FileCall::Change { .. }
            | FileCall::Access { .. }
            | FileCall::Lock { .. } => false,
        }
    }

    /// Returns the index of the path whose directory, if it is one, the call removes or replaces.
    fn removes_directory(&self) -> Option<usize> {
        match &self.call {
            FileCall::Remove { directory: true, .. } => Some(0),
            FileCall::Rename { flags, .. } if flags & libc::RENAME_EXCHANGE == 0 => Some(1),
            _ => None,
        }
    }

    /// Returns whether the call changes a file or a name.
    pub(super) fn changes(&self) -> bool {
        match &self.call {
            FileCall::Open(open) => open.changes(),
            FileCall::Access { .. } | FileCall::Lock { .. } => false,
            _ => true,
        }
    }

    /// Returns whether the caller's umask counts.
    pub(super) fn makes(&self) -> bool {
        match &self.call {
            FileCall::Open(open) => open.creates() || open.is_unnamed(),
            FileCall::MakeDir { .. } | FileCall::MakeNode { .. } => true,
            FileCall::Rename { .. }
            | FileCall::Link { .. }
            | FileCall::Symlink { .. }
            | FileCall::Remove { .. }
            | FileCall::Truncate { .. }
            | FileCall::Change { .. }
            | FileCall::Access { .. }
            | FileCall::Lock { .. } => false,
        }
    }

    /// Carries the call out.
    ///
    /// # Errors
    /// As the kernel fails.
    pub(super) fn carry_out(
        &self,
        content: Option<Vec<u8>>,
        largest_file: impl FnOnce() -> u64,
        may: MayChange<'_>,
    ) -> io::Result<CarriedOut> {
        let missing = || io::Error::from_raw_os_error(libc::ENOENT);
        let first = self.places.first().ok_or_else(missing)?;
        let second = || self.places.get(1).ok_or_else(missing);
        match &self.call {
            FileCall::Open(open) => {
                return Ok(match carry_out::open(first, open, may)? {
                    OpenOutcome::File(file) => CarriedOut::File(file),
                    OpenOutcome::Waits => CarriedOut::Waits,
                });
            }
            FileCall::MakeDir { mode, .. } => carry_out::make_dir(first, *mode),
            FileCall::MakeNode { mode, device, .. } => carry_out::make_node(first, *mode, *device),
            FileCall::Rename { flags, .. } => match content {
                Some(content) => carry_out::replace(first, second()?, *flags, &content),
                None => carry_out::rename(first, second()?, *flags, outside),
            },
            FileCall::Link { .. } => carry_out::link(first, second()?, outside),
            FileCall::Symlink { text, .. } => carry_out::symlink(text, first),
            FileCall::Remove { directory, .. } => carry_out::remove(first, *directory),
            FileCall::Truncate { length, .. } => carry_out::truncate(first, *length, largest_file(), may),
            FileCall::Change { change, .. } => carry_out::change(first, change, may),
            FileCall::Lock { waits, .. } => {
                return match carry_out::lock(first)? {
                    true => Ok(CarriedOut::Done),
                    false if *waits => Ok(CarriedOut::Waits),
                    false => Err(io::Error::from_raw_os_error(libc::EWOULDBLOCK)),
                };
            }
            FileCall::Access { .. } => Err(io::Error::from_raw_os_error(libc::ENOSYS)),
        }?;
        Ok(CarriedOut::Done)
    }

    /// The places, free of links.
    pub(super) fn real_places(&self) -> Vec<PathBuf> {
        self.places.iter().map(|place| place.real().to_owned()).collect()
    }
}

/// Returns whether an attempt is about a name: it makes, moves or removes one.
fn names_entry(intent: Intent) -> bool {
    matches!(intent, Intent::Remove | Intent::MoveFrom | Intent::MoveTo | Intent::MakeDir | Intent::Symlink)
}

/// Finds the places of a call, in its order.
///
/// # Errors
/// As the kernel fails where a path leads nowhere.
pub(super) fn places(call: &FileCall, walk: &Walk<'_>) -> io::Result<Vec<ResolvedPath>> {
    let any = ResolveRestrictions::default();
    Ok(match call {
        FileCall::Open(open) => vec![opened_place(open, walk)?],
        FileCall::MakeDir { at, .. }
        | FileCall::MakeNode { at, .. }
        | FileCall::Symlink { at, .. }
        | FileCall::Remove { at, .. } => vec![walk.entry(at, any)?],
        FileCall::Rename { from, to, .. } => vec![walk.entry(from, any)?, walk.entry(to, any)?],
        FileCall::Link { from, to } => vec![walk.subject(from)?, walk.entry(to, any)?],
        FileCall::Truncate { at, .. } | FileCall::Access { at, .. } => vec![walk.followed(at, any)?],
        FileCall::Change { of, .. } => vec![walk.subject(of)?],
        FileCall::Lock { fd, .. } => vec![walk.open_file(*fd)?],
    })
}

fn opened_place(open: &OpenCall, walk: &Walk<'_>) -> io::Result<ResolvedPath> {
    let resolve = ResolveFlags::from_bits_retain(open.resolve);
    if resolve.intersects(ResolveFlags::BENEATH | ResolveFlags::IN_ROOT) {
        // The path may not leave its directory, or takes it for the root: that the kernel knows best.
        let base = walk.caller.base(open.at.base)?;
        return walk.constrained(base.as_fd(), &open.at, resolve, open.follows());
    }
    let mounts = resolve.contains(ResolveFlags::NO_XDEV);
    let closed = ResolveRestrictions {
        // One call tells whether a mount is crossed, and only for a path without links.
        links: mounts || resolve.contains(ResolveFlags::NO_SYMLINKS),
        magic_links: !resolve.is_empty(),
        mounts,
    };
    if open.follows() || open.is_unnamed() {
        walk.followed(&open.at, closed)
    } else if open.is_exclusive() {
        walk.entry(&open.at, closed)
    } else {
        walk.unfollowed(&open.at, closed)
    }
}

/// The directories of two entries as they are mounted outside, if they are the same ones: mounts inside that hold a place
/// keep neighbours apart which are not.
fn outside(first: &HeldEntry, second: &HeldEntry) -> Option<(OwnedFd, OwnedFd)> {
    let same = |entry: &HeldEntry| {
        let flags = rustix::fs::OFlags::PATH | rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::CLOEXEC;
        let plain = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let path = entry.real.parent()?;
        let ours =
            rustix::fs::openat2(rustix::fs::CWD, path, flags, rustix::fs::Mode::empty(), plain).ok()?;
        let identity =
            |fd: BorrowedFd<'_>| rustix::fs::fstat(fd).ok().map(|found| (found.st_dev, found.st_ino));
        (identity(ours.as_fd())? == identity(entry.parent.as_fd())?).then_some(ours)
    };
    Some((same(first)?, same(second)?))
}
