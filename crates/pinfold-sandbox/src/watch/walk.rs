//! Path resolution for the caller: the parent directory held open, and the name in it.
//!
//! The walk begins at the caller's own root, working directory or descriptor and goes by its mounts, so that what is found
//! here is what the kernel would find for the caller. Links in `/proc` that stand for objects of a process are the caller's.
//!
//! [path_resolution(7)](https://man7.org/linux/man-pages/man7/path_resolution.7.html)

use std::cell::{Cell, RefCell};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, PROC_SUPER_MAGIC, ResolveFlags, fstat, fstatfs, openat, openat2,
    readlinkat, statat,
};
use rustix::io::Errno;

use super::attempt::EntryType;
use super::caller::{Beginning, CallerThread};
use super::directories::{Directories, HeldDirectory};
use super::file_call::{BaseDirectory, PathArg, Subject};
use super::held_path::{OwnDescriptors, real_path};
use super::path_text::{is_no_name, join_below, split, without_slashes};
use super::view::{MountView, has_path, view_of};
use crate::identity::FileIdentity;

/// Most links that the kernel follows.
const MAX_LINKS: usize = 40;

/// The inode of the root directory of each procfs.
const PROC_ROOT: u64 = 1;

/// The beginning of absolute paths: the root that all processes of a mediated run have.
const ROOT: Beginning = Beginning { inode: (0, 0), is_removed: false };

const HANDLE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
const DIRECTORY: OFlags = HANDLE.union(OFlags::DIRECTORY);
const PLAIN: ResolveFlags = ResolveFlags::NO_SYMLINKS.union(ResolveFlags::NO_MAGICLINKS);

/// Result of resolving a path.
#[derive(Debug)]
pub(super) enum ResolvedPath {
    /// A name in a directory, whether or not something has it.
    Entry(HeldEntry),
    /// Something that is there and was not reached by a name: `/`, `..`, an open file.
    Object(Object),
}

/// A name in a directory that is held.
#[derive(Debug)]
pub(super) struct HeldEntry {
    pub(super) parent: Rc<OwnedFd>,
    /// Without the slashes behind it, with which the kernel would follow a link.
    name: OsString,
    /// There were slashes behind it: a directory is meant.
    pub(super) means_directory: bool,
    pub(super) real: PathBuf,
    /// The view in which its directory has its path.
    view: MountView,
    /// The walk met nothing at the name. Something may be there since: a hint, on which nothing may depend.
    pub(super) seemed_missing: bool,
}

/// A file that is held by itself.
#[derive(Debug)]
pub(super) struct Object {
    pub(super) handle: OwnedFd,
    /// Its path. For an object outside of every directory the text of the kernel (`pipe:[1]`).
    pub(super) real: PathBuf,
    /// The view in which it has that path.
    view: MountView,
}

impl HeldEntry {
    /// The name for the kernel, which follows no link by it.
    pub(super) fn name(&self) -> &OsStr {
        &self.name
    }
}

impl ResolvedPath {
    /// The absolute path, free of links.
    pub(super) fn real(&self) -> &Path {
        match self {
            Self::Entry(entry) => &entry.real,
            Self::Object(object) => &object.real,
        }
    }

    /// The view in which that path leads here.
    pub(super) fn view(&self) -> MountView {
        match self {
            Self::Entry(entry) => entry.view,
            Self::Object(object) => object.view,
        }
    }

    /// Holds the file that is there now, be it a link or not.
    ///
    /// # Errors
    /// When there is none.
    pub(super) fn handle(&self) -> io::Result<OwnedFd> {
        match self {
            // It was followed, and led to none.
            Self::Entry(entry) if entry.means_directory => Err(error(libc::ENOENT)),
            Self::Entry(entry) => {
                Ok(openat(&entry.parent, &entry.name, HANDLE | OFlags::NOFOLLOW, Mode::empty())?)
            }
            Self::Object(object) => object.handle.try_clone(),
        }
    }

    /// Returns device and inode of the current file.
    pub(super) fn identity(&self) -> Option<(u64, u64)> {
        let found = match self {
            Self::Entry(entry) => statat(&entry.parent, &entry.name, AtFlags::SYMLINK_NOFOLLOW),
            Self::Object(object) => fstat(&object.handle),
        };
        found.ok().map(|found| (found.st_dev, found.st_ino))
    }

    /// Returns whether the path is a name of this file: device and inode. That of an entry is.
    pub(super) fn is_name_of(&self, inode: (u64, u64)) -> bool {
        match self {
            Self::Entry(_) => true,
            Self::Object(object) => statat(rustix::fs::CWD, &object.real, AtFlags::SYMLINK_NOFOLLOW)
                .is_ok_and(|found| (found.st_dev, found.st_ino) == inode),
        }
    }

    /// Returns the identity of the current file, which no later file has.
    pub(super) fn lasting_identity(&self) -> Option<FileIdentity> {
        match self {
            Self::Entry(entry) => FileIdentity::read_in(entry.parent.as_fd(), &entry.name),
            Self::Object(object) => FileIdentity::from_descriptor(object.handle.as_fd()),
        }
    }

    /// Returns whether it still has its path, as far as what is held tells. `own`: the descriptors of this process.
    pub(super) fn is_path_unchanged(&self, own: &OwnDescriptors) -> bool {
        match self {
            Self::Entry(entry) => own
                .read_path(entry.parent.as_fd())
                .is_ok_and(|parent| Some(parent.as_path()) == entry.real.parent()),
            Self::Object(object) => {
                own.read_path(object.handle.as_fd()).is_ok_and(|real| real == object.real)
            }
        }
    }

    /// Looks at what is there: its kind, and where that can be told which file it is. `None`: it cannot be looked at.
    pub(super) fn look(&self) -> Option<(EntryType, Option<FileIdentity>)> {
        let looked = match self {
            Self::Entry(entry) => FileIdentity::look(entry.parent.as_fd(), entry.name()),
            Self::Object(object) => FileIdentity::look_held(object.handle.as_fd()),
        };
        match looked {
            Ok((FileType::Directory, identity)) => Some((EntryType::Directory, identity)),
            Ok((FileType::Symlink, identity)) => Some((EntryType::Link, identity)),
            Ok((_, identity)) => Some((EntryType::File, identity)),
            Err(Errno::NOENT) => Some((EntryType::Nothing, None)),
            Err(_) => None,
        }
    }

    /// Returns whether both are names in one directory, held by one handle.
    pub(super) fn is_beside(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Entry(one), Self::Entry(other)) => Rc::ptr_eq(&one.parent, &other.parent),
            _ => false,
        }
    }

    /// Returns whether something is there.
    pub(super) fn exists(&self) -> bool {
        self.identity().is_some()
    }
}

/// One walk for one caller.
pub(super) struct Walk<'a> {
    pub(super) root: &'a OwnedFd,
    pub(super) caller: &'a CallerThread,
    /// The supervisor carries out what is allowed.
    pub(super) mediated: bool,
    /// None where others than the supervisor change what lies on the way, and where no turn keeps other supervisors from that.
    pub(super) known: Option<&'a RefCell<Directories>>,
    /// Directory in which a path of this walk began: both paths of a rename mostly begin at one place.
    pub(super) began: Cell<Option<(BaseDirectory, Beginning)>>,
    /// Names that led elsewhere. None where nothing is judged by them.
    pub(super) passed: Option<&'a RefCell<Vec<PathBuf>>>,
}

/// Restrictions of openat2(2) on a path.
#[derive(Clone, Copy, Default)]
pub(super) struct ResolveRestrictions {
    pub(super) links: bool,
    pub(super) magic_links: bool,
    pub(super) mounts: bool,
}

impl Walk<'_> {
    /// The entry that a path names; a link in the last component stands for itself.
    ///
    /// # Errors
    /// As the kernel fails: `ENOENT`, `ENOTDIR`, `EACCES`, `ELOOP`, …
    pub(super) fn entry(&self, arg: &PathArg, closed: ResolveRestrictions) -> io::Result<ResolvedPath> {
        let path = arg.path.as_bytes();
        if path.is_empty() {
            return Err(error(libc::ENOENT));
        }
        let (above, name) = split(path);
        if is_no_name(name) {
            let base = if path.first() == Some(&b'/') {
                self.root.try_clone()?
            } else {
                self.caller.base(arg.base)?
            };
            return self.object(self.directory(&base, (path, b""), closed, &mut 0)?.0);
        }
        let parent = self.parent(arg.base, (above, name), closed)?;
        Ok(entry(&parent, name))
    }

    /// The directory in which a call names something.
    fn parent(
        &self,
        base: BaseDirectory,
        (above, name): (&[u8], &[u8]),
        closed: ResolveRestrictions,
    ) -> io::Result<HeldDirectory> {
        let absolute = above.first() == Some(&b'/');
        let walk = |from: Option<(u64, u64)>| {
            let base = if absolute { self.root.try_clone()? } else { self.caller.base(base)? };
            let (handle, plain) = self.directory(&base, (above, name), closed, &mut 0)?;
            // From the root down, without a link, there is no way out of the view.
            let held = if absolute && plain { in_view_of_run(handle) } else { self.held(handle) };
            // Another thread may have set the working directory since it was looked at.
            let is_kept = plain && (absolute || identity(base.as_fd()) == from);
            Ok((held?, is_kept))
        };
        let Some(known) = self.known.filter(|_| !closed.mounts) else {
            return Ok(walk(None)?.0);
        };
        let from = if absolute { ROOT } else { self.beginning(base)? };
        known.borrow_mut().get(from, above, || walk(Some(from.inode)))
    }

    /// Looks at the directory in which a relative path begins.
    fn beginning(&self, base: BaseDirectory) -> io::Result<Beginning> {
        if let Some((_, found)) = self.began.get().filter(|(known, _)| *known == base) {
            return Ok(found);
        }
        let found = self.caller.look(base)?;
        self.began.set(Some((base, found)));
        Ok(found)
    }

    /// Resolves a path with a link in the last component followed. A dangling link resolves to the missing name.
    ///
    /// # Errors
    /// As for [`Self::entry`].
    pub(super) fn followed(&self, arg: &PathArg, closed: ResolveRestrictions) -> io::Result<ResolvedPath> {
        let place = self.entry(arg, closed)?;
        self.follow(place, closed)
    }

    /// Resolves a path to what is there, a link in the last component for itself. One with slashes behind it is followed all the same.
    ///
    /// # Errors
    /// As for [`Self::entry`].
    pub(super) fn unfollowed(&self, arg: &PathArg, closed: ResolveRestrictions) -> io::Result<ResolvedPath> {
        match self.entry(arg, closed)? {
            ResolvedPath::Entry(entry) if entry.means_directory => {
                self.follow(ResolvedPath::Entry(entry), closed)
            }
            other => Ok(other),
        }
    }

    /// The file that a call names.
    ///
    /// # Errors
    /// As for [`Self::entry`]; `EBADF`.
    pub(super) fn subject(&self, subject: &Subject) -> io::Result<ResolvedPath> {
        match subject {
            Subject::Path { arg, follow: true } => self.followed(arg, ResolveRestrictions::default()),
            Subject::Path { arg, follow: false } => self.unfollowed(arg, ResolveRestrictions::default()),
            Subject::Descriptor(fd) => self.object(self.caller.open_file(*fd)?),
        }
    }

    /// The open file of a descriptor itself, and not the file in it opened once more.
    ///
    /// # Errors
    /// As for [`CallerThread::copy_file`].
    pub(super) fn open_file(&self, fd: i32) -> io::Result<ResolvedPath> {
        self.object(self.caller.copy_file(fd)?)
    }

    fn resolve_relative(
        &self,
        base: &OwnedFd,
        path: &[u8],
        closed: ResolveRestrictions,
        links: &mut usize,
    ) -> io::Result<ResolvedPath> {
        let (above, name) = split(path);
        if is_no_name(name) {
            return self.object(self.directory(base, (path, b""), closed, links)?.0);
        }
        Ok(entry(&self.held(self.directory(base, (above, name), closed, links)?.0)?, name))
    }

    /// The directory at a path below `base`, from the root where the path begins there; and whether no link was on the way.
    /// `behind`: what is named in it.
    fn directory(
        &self,
        base: &OwnedFd,
        (path, behind): (&[u8], &[u8]),
        closed: ResolveRestrictions,
        links: &mut usize,
    ) -> io::Result<(OwnedFd, bool)> {
        let (base, path) = match path.iter().position(|byte| *byte != b'/') {
            // Only slashes, or nothing.
            None if path.is_empty() => return Ok((base.try_clone()?, true)),
            None => return Ok((self.root.try_clone()?, true)),
            Some(0) => (base, path),
            Some(at) => (self.root, path.get(at..).unwrap_or_default()),
        };
        // Nearly always there is no link on the way: one call for any depth.
        let how = if closed.mounts { PLAIN | ResolveFlags::NO_XDEV } else { PLAIN };
        match openat2(base, path, DIRECTORY, Mode::empty(), how) {
            Err(Errno::LOOP) if !closed.links => {
                Ok((self.step_by_step(base.try_clone()?, (path, behind), closed, links)?, false))
            }
            other => Ok((other?, true)),
        }
    }

    fn step_by_step(
        &self,
        base: OwnedFd,
        (path, behind): (&[u8], &[u8]),
        closed: ResolveRestrictions,
        links: &mut usize,
    ) -> io::Result<OwnedFd> {
        let components =
            |path: &[u8]| path.split(|byte| *byte == b'/').rev().map(<[u8]>::to_vec).collect::<Vec<_>>();
        let mut ahead = components(path);
        let mut at = base;
        while let Some(name) = ahead.pop() {
            match name.as_slice() {
                b"" | b"." => continue,
                b".." => {
                    if !self.is_root(at.as_fd()) {
                        at = openat2(&at, "..", DIRECTORY, Mode::empty(), PLAIN)?;
                    }
                    continue;
                }
                _ => {}
            }
            let next = openat(&at, name.as_slice(), HANDLE | OFlags::NOFOLLOW, Mode::empty())?;
            if FileType::from_raw_mode(fstat(&next)?.st_mode) != FileType::Symlink {
                at = next;
                continue;
            }
            *links += 1;
            if *links > MAX_LINKS {
                return Err(error(libc::ELOOP));
            }
            may_follow(at.as_fd(), next.as_fd())?;
            if let Some(found) = self.follow_magic_link(&at, &name, closed)? {
                at = found;
                continue;
            }
            let text = readlinkat(&next, "", Vec::new())?.into_bytes();
            if text.is_empty() {
                return Err(error(libc::ENOENT));
            }
            let rest = ahead.iter().rev().map(Vec::as_slice).chain([behind]);
            self.pass(|| Ok(join_below(real_path(at.as_fd())?.join(OsStr::from_bytes(&name)), rest)))?;
            if text.first() == Some(&b'/') {
                at = self.root.try_clone()?;
            }
            ahead.extend(components(&text));
        }
        if FileType::from_raw_mode(fstat(&at)?.st_mode) == FileType::Directory {
            Ok(at)
        } else {
            Err(error(libc::ENOTDIR))
        }
    }

    /// Follows a link in `/proc` for the caller. `None`: it is a path like any other.
    fn follow_magic_link(
        &self,
        at: &OwnedFd,
        name: &[u8],
        closed: ResolveRestrictions,
    ) -> io::Result<Option<OwnedFd>> {
        if !is_procfs(at.as_fd()) {
            return Ok(None);
        }
        if fstat(at)?.st_ino == PROC_ROOT {
            return match name {
                // In the `/proc` that it was looked for in, whose `..` is the caller's.
                b"self" | b"thread-self" => {
                    let number = self.caller.number()?.to_string();
                    Ok(Some(openat(at, number, DIRECTORY | OFlags::NOFOLLOW, Mode::empty())?))
                }
                _ => Ok(None),
            };
        }
        if closed.magic_links {
            return Err(error(libc::ELOOP));
        }
        // Followed by the kernel: what it stands for is no path.
        Ok(Some(openat(at, name, HANDLE, Mode::empty())?))
    }

    /// Follows a resolved path, if it is a link.
    ///
    /// # Errors
    /// As for [`Self::entry`].
    pub(super) fn follow(
        &self,
        place: ResolvedPath,
        closed: ResolveRestrictions,
    ) -> io::Result<ResolvedPath> {
        let mut links = 0;
        let mut place = place;
        loop {
            let ResolvedPath::Entry(mut at) = place else { return Ok(place) };
            if at.means_directory {
                return match self.directory(&at.parent, (at.name.as_bytes(), b""), closed, &mut links) {
                    Ok((handle, _)) => self.object(handle),
                    Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(ResolvedPath::Entry(at)),
                    Err(error) => Err(error),
                };
            }
            let text = match readlinkat(&at.parent, &at.name, Vec::new()) {
                // No link, or nothing.
                Err(error @ (Errno::INVAL | Errno::NOENT)) => {
                    at.seemed_missing = error == Errno::NOENT;
                    return Ok(ResolvedPath::Entry(at));
                }
                other => other?.into_bytes(),
            };
            links += 1;
            if closed.links || links > MAX_LINKS {
                return Err(error(libc::ELOOP));
            }
            let link = openat(&at.parent, &at.name, HANDLE | OFlags::NOFOLLOW, Mode::empty())?;
            may_follow(at.parent.as_fd(), link.as_fd())?;
            if let Some(found) = self.follow_magic_link(&at.parent, at.name.as_bytes(), closed)? {
                return self.resolve_magic_link(&at.parent, found);
            }
            if text.is_empty() {
                return Err(error(libc::ENOENT));
            }
            self.pass(|| Ok(at.real.clone()))?;
            place = self.resolve_relative(&at.parent, &text, closed, &mut links)?;
        }
    }

    /// Notes a name that leads elsewhere.
    fn pass(&self, name: impl FnOnce() -> io::Result<PathBuf>) -> io::Result<()> {
        if let Some(passed) = self.passed {
            passed.borrow_mut().push(name()?);
        }
        Ok(())
    }

    /// Notes the names that lead elsewhere on a way which the kernel alone went. Where this walk goes another way none are known: something
    /// has changed since.
    fn pass_constrained(&self, base: BorrowedFd<'_>, arg: &PathArg, resolve: ResolveFlags, follow: bool) {
        let Some(passed) = self.passed else { return };
        let Ok(top) = base.try_clone_to_owned() else { return };
        let root = if resolve.contains(ResolveFlags::IN_ROOT) { &top } else { self.root };
        let walk = Walk { root, known: None, began: Cell::default(), passed: Some(passed), ..*self };
        let closed = ResolveRestrictions { magic_links: true, ..ResolveRestrictions::default() };
        let _ = if follow { walk.followed(arg, closed) } else { walk.unfollowed(arg, closed) };
    }

    /// A directory that was reached by any way.
    fn held(&self, handle: OwnedFd) -> io::Result<HeldDirectory> {
        let found = in_view_of_run(handle)?;
        let view = self.view(found.handle.as_fd(), &found.real);
        Ok(HeldDirectory { view, ..found })
    }

    /// A file that was reached by any way.
    fn object(&self, handle: OwnedFd) -> io::Result<ResolvedPath> {
        let real = real_path(handle.as_fd())?;
        let view = self.view(handle.as_fd(), &real);
        Ok(ResolvedPath::Object(Object { handle, real, view }))
    }

    /// The file that a link in a directory of a process stands for. One without a path is the run's own only where the caller itself
    /// has it: it cannot be told whose another process is.
    fn resolve_magic_link(&self, directory: &OwnedFd, found: OwnedFd) -> io::Result<ResolvedPath> {
        let mut place = self.object(found)?;
        if let ResolvedPath::Object(object) = &mut place
            && !has_path(&object.real)
            && !real_path(directory.as_fd())?.starts_with(format!("/proc/{}", self.caller.number()?))
        {
            object.view = MountView::Elsewhere;
        }
        Ok(place)
    }

    fn view(&self, held: BorrowedFd<'_>, real: &Path) -> MountView {
        // Elsewhere nothing is carried out.
        if self.mediated { view_of(self.root, held, real) } else { MountView::Run }
    }

    /// Holds what a path below a directory leads to under the rules of openat2(2) that say how it may go.
    ///
    /// # Errors
    /// As the kernel fails.
    pub(super) fn constrained(
        &self,
        base: BorrowedFd<'_>,
        arg: &PathArg,
        resolve: ResolveFlags,
        follow: bool,
    ) -> io::Result<ResolvedPath> {
        self.pass_constrained(base, arg, resolve, follow);
        let path = arg.path.as_os_str();
        let last = if follow { HANDLE } else { HANDLE | OFlags::NOFOLLOW };
        match openat2(base, path, last, Mode::empty(), resolve) {
            Ok(handle) => return self.object(handle),
            Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        let (above, name) = split(path.as_bytes());
        if is_no_name(name) {
            return Err(error(libc::ENOENT));
        }
        let above = if above.is_empty() { b"." } else { above };
        let handle = openat2(base, above, DIRECTORY, Mode::empty(), resolve)?;
        Ok(entry(&self.held(handle)?, name))
    }

    fn is_root(&self, directory: BorrowedFd<'_>) -> bool {
        identity(directory).is_some_and(|at| Some(at) == identity(self.root.as_fd()))
    }
}

fn entry(parent: &HeldDirectory, name: &[u8]) -> ResolvedPath {
    let plain = without_slashes(name);
    ResolvedPath::Entry(HeldEntry {
        parent: Rc::clone(&parent.handle),
        name: OsStr::from_bytes(plain).to_owned(),
        means_directory: plain.len() < name.len(),
        real: parent.join(plain),
        view: parent.view,
        seemed_missing: false,
    })
}

/// Device and inode of what is held.
fn identity(held: BorrowedFd<'_>) -> Option<(u64, u64)> {
    fstat(held).ok().map(|found| (found.st_dev, found.st_ino))
}

fn in_view_of_run(handle: OwnedFd) -> io::Result<HeldDirectory> {
    let real = real_path(handle.as_fd())?.into();
    Ok(HeldDirectory { handle: Rc::new(handle), real, view: MountView::Run })
}

/// In a directory where all may write and none removes what is another's, links of others are not followed
/// ([proc_sys_fs(5)](https://man7.org/linux/man-pages/man5/proc_sys_fs.5.html), `protected_symlinks`).
fn may_follow(directory: BorrowedFd<'_>, link: BorrowedFd<'_>) -> io::Result<()> {
    let shared = Mode::SVTX | Mode::WOTH;
    let (directory, link) = (fstat(directory)?, fstat(link)?);
    let trusted = [rustix::process::geteuid().as_raw(), directory.st_uid].contains(&link.st_uid);
    if Mode::from_raw_mode(directory.st_mode).contains(shared) && !trusted {
        Err(error(libc::EACCES))
    } else {
        Ok(())
    }
}

fn is_procfs(held: BorrowedFd<'_>) -> bool {
    fstatfs(held).is_ok_and(|found| found.f_type == PROC_SUPER_MAGIC)
}

pub(super) fn error(errno: i32) -> io::Error {
    io::Error::from_raw_os_error(errno)
}
