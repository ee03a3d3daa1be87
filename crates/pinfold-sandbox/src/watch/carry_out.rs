//! Calls of confined processes, carried out by the supervisor through the directories and files that it holds.
//!
//! The judged object is the touched one: no path is looked up again, and the kernel never reads the caller's copy of it. Each
//! call is made with the rights of the caller and no more: its user, no capability, as inside, and
//! its umask. Nothing here blocks: an open or a lock that would wait is retried beside the others.

use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{
    AtFlags, FileType, FlockOperation, Gid, Mode, OFlags, RawDir, RenameFlags, Stat, Timespec, Timestamps,
    UTIME_NOW, UTIME_OMIT, Uid, XattrFlags, chownat, fchmod, fcntl_setfl, flock, fstat, ftruncate, futimens,
    linkat, mkdirat, mknodat, openat, renameat_with, statat, symlinkat, unlinkat, utimensat,
};
use rustix::io::Errno;

use super::attempt::LinkedFile;
use super::call::Time;
use super::file_call::{OpenCall, RequestedChange, SET_ID};
use super::held_path::own_name;
use super::walk::{HeldEntry, ResolvedPath, error};

/// Returns whether a file that has other names may be changed.
pub(super) type MayChange<'a> = &'a mut dyn FnMut(LinkedFile) -> bool;

/// Result of an open.
pub(super) enum OpenOutcome {
    File(OwnedFd),
    /// The open would wait: for the other end of a pipe, or for a lease that another process holds.
    Waits,
}

/// Opens a file for writing, making it if that was asked for. It is cut when it is known which file it is.
pub(super) fn open(place: &ResolvedPath, call: &OpenCall, may: MayChange<'_>) -> io::Result<OpenOutcome> {
    let wanted = OFlags::from_bits_retain(call.flags.cast_unsigned());
    if is_missing_directory(place) {
        return Err(error(if call.creates() { libc::EISDIR } else { libc::ENOENT }));
    }
    if let Some(file) = make_new(place, call, wanted)? {
        return Ok(OpenOutcome::File(file));
    }
    // A link in the last component was followed before, and none put there since is. Nothing here waits, and no terminal
    // becomes the supervisor's.
    let flags = (wanted - OFlags::TRUNC) | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let mode = if wanted.intersects(OFlags::CREATE | OFlags::TMPFILE) {
        Mode::from_raw_mode(call.mode)
    } else {
        Mode::empty()
    };
    let opened = match place {
        ResolvedPath::Entry(entry) => openat(&entry.parent, entry.name(), flags | OFlags::NOFOLLOW, mode),
        ResolvedPath::Object(held) => reopen(held.handle.as_fd(), flags, mode),
    };
    let file = match opened {
        Ok(file) => file,
        Err(Errno::NXIO | Errno::AGAIN) if !wanted.contains(OFlags::NONBLOCK) => {
            return Ok(OpenOutcome::Waits);
        }
        Err(error) => return Err(error.into()),
    };
    if call.is_written() {
        let found = fstat(&file)?;
        ask_if_linked(place, &found, may)?;
        if wanted.contains(OFlags::TRUNC) && is_regular(&found) {
            cut(&file, wanted)?;
        }
    }
    if !wanted.contains(OFlags::NONBLOCK) {
        // What was opened for reading too would not have waited.
        let status = wanted.intersection(
            OFlags::APPEND | OFlags::DIRECT | OFlags::NOATIME | OFlags::from_bits_retain(O_ASYNC),
        );
        fcntl_setfl(&file, status)?;
    }
    Ok(OpenOutcome::File(file))
}

/// Returns whether a path that has slashes behind it was left a name: it leads to no directory. What is opened or made at such a path is
/// no file.
fn is_missing_directory(place: &ResolvedPath) -> bool {
    matches!(place, ResolvedPath::Entry(entry) if entry.means_directory)
}

/// Makes the file of an open, where none seems to be. `None`: one is there all the same, or none is to be made. What was just made is a
/// plain file without content and with one name, whose open waits for nothing: there is nothing more to look at.
fn make_new(place: &ResolvedPath, call: &OpenCall, wanted: OFlags) -> io::Result<Option<OwnedFd>> {
    let ResolvedPath::Entry(entry) = place else { return Ok(None) };
    if !call.creates() || call.is_unnamed() || !(entry.seemed_missing || call.is_exclusive()) {
        return Ok(None);
    }
    let new = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
    match openat(&entry.parent, entry.name(), (wanted - OFlags::TRUNC) | new, Mode::from_raw_mode(call.mode))
    {
        Err(Errno::EXIST) if !call.is_exclusive() => Ok(None),
        made => Ok(Some(made?)),
    }
}

/// Cuts a file as `O_TRUNC` does, which works on what is opened for reading too.
fn cut(file: &OwnedFd, wanted: OFlags) -> io::Result<()> {
    const FOR_WRITING: OFlags =
        OFlags::WRONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);
    if wanted.intersects(OFlags::WRONLY | OFlags::RDWR) {
        return Ok(ftruncate(file, 0)?);
    }
    Ok(ftruncate(reopen(file.as_fd(), FOR_WRITING, Mode::empty())?, 0)?)
}

fn is_regular(found: &Stat) -> bool {
    FileType::from_raw_mode(found.st_mode) == FileType::RegularFile
}

/// Asks about a file that has other names than the one by which it is changed.
///
/// # Errors
/// `EPERM` where it may not be changed.
fn ask_if_linked(place: &ResolvedPath, found: &Stat, may: MayChange<'_>) -> io::Result<()> {
    #[allow(clippy::useless_conversion, reason = "the type differs between machines")]
    let names = u64::from(found.st_nlink);
    let inode = (found.st_dev, found.st_ino);
    // An open file may have lost the name by which it was opened, and keep others.
    let has_others = || names > 1 || names == 1 && !place.is_name_of(inode);
    if !is_regular(found) || !has_others() || may(LinkedFile { inode, names }) {
        Ok(())
    } else {
        Err(error(libc::EPERM))
    }
}

const O_ASYNC: u32 = libc::O_ASYNC.cast_unsigned();

fn reopen(held: BorrowedFd<'_>, flags: OFlags, mode: Mode) -> rustix::io::Result<OwnedFd> {
    if flags.contains(OFlags::CREATE | OFlags::EXCL) && !flags.contains(OFlags::TMPFILE) {
        return Err(Errno::EXIST);
    }
    rustix::fs::open(own_name(held), flags - OFlags::CREATE - OFlags::NOFOLLOW, mode)
}

/// The entry that a call makes, removes or moves.
///
/// # Errors
/// `errno` where the path names none: `/`, `..`, an open file.
fn entry(place: &ResolvedPath, errno: i32) -> io::Result<&HeldEntry> {
    match place {
        ResolvedPath::Entry(entry) => Ok(entry),
        ResolvedPath::Object(_) => Err(error(errno)),
    }
}

/// The entry that a call makes which makes no directory.
///
/// # Errors
/// As for [`entry`]; `ENOENT` where the path has slashes behind it.
fn new_entry(place: &ResolvedPath) -> io::Result<&HeldEntry> {
    match entry(place, libc::EEXIST)? {
        entry if entry.means_directory => Err(error(libc::ENOENT)),
        entry => Ok(entry),
    }
}

fn is_directory(entry: &HeldEntry) -> bool {
    statat(&entry.parent, entry.name(), AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Directory)
}

/// Makes a directory.
pub(super) fn make_dir(place: &ResolvedPath, mode: u32) -> io::Result<()> {
    let entry = entry(place, libc::EEXIST)?;
    Ok(mkdirat(&entry.parent, entry.name(), Mode::from_raw_mode(mode))?)
}

/// Returns whether mknod(2) makes a file of this mode.
pub(super) fn is_node(mode: u32) -> bool {
    const KINDS: [u32; 6] = [0, libc::S_IFREG, libc::S_IFIFO, libc::S_IFSOCK, libc::S_IFCHR, libc::S_IFBLK];
    KINDS.contains(&(mode & libc::S_IFMT))
}

/// Makes a file, a pipe or a socket; never a device.
pub(super) fn make_node(place: &ResolvedPath, mode: u32, device: u64) -> io::Result<()> {
    let entry = new_entry(place)?;
    let kind = match mode & libc::S_IFMT {
        0 | libc::S_IFREG => FileType::RegularFile,
        libc::S_IFIFO => FileType::Fifo,
        libc::S_IFSOCK => FileType::Socket,
        _ => return Err(error(libc::EPERM)),
    };
    Ok(mknodat(&entry.parent, entry.name(), kind, Mode::from_raw_mode(mode & !libc::S_IFMT), device)?)
}

/// Renames. `elsewhere`: the same two directories as they are mounted outside, for places that only the mounts inside keep
/// apart.
pub(super) fn rename(
    from: &ResolvedPath,
    to: &ResolvedPath,
    flags: u32,
    elsewhere: impl FnOnce(&HeldEntry, &HeldEntry) -> Option<(OwnedFd, OwnedFd)>,
) -> io::Result<()> {
    let (from, to) = (entry(from, libc::EBUSY)?, entry(to, libc::EBUSY)?);
    if flags & libc::RENAME_WHITEOUT != 0 {
        return Err(error(libc::EINVAL));
    }
    // The kernel gets their names without the slashes that say so. Only an exchange says it of each for itself.
    let exchanges = flags & libc::RENAME_EXCHANGE != 0;
    let means_directory = from.means_directory || to.means_directory && !exchanges;
    if means_directory && !is_directory(from) || exchanges && to.means_directory && !is_directory(to) {
        return Err(error(libc::ENOTDIR));
    }
    let flags = RenameFlags::from_bits_retain(flags);
    match renameat_with(&from.parent, from.name(), &to.parent, to.name(), flags) {
        Err(Errno::XDEV) => {
            let (from_parent, to_parent) = elsewhere(from, to).ok_or_else(|| error(libc::EXDEV))?;
            Ok(renameat_with(from_parent, from.name(), to_parent, to.name(), flags)?)
        }
        other => Ok(other?),
    }
}

/// Renames a file as far as others can see: its name goes, and the other one is that of a new file with this content, and
/// with its mode and time. git tells by the time of its index which files could have changed unseen since. Nothing is
/// synchronized: git asks for that only where it is configured.
pub(super) fn replace(from: &ResolvedPath, to: &ResolvedPath, flags: u32, content: &[u8]) -> io::Result<()> {
    let (from, to) = (entry(from, libc::EBUSY)?, entry(to, libc::EBUSY)?);
    if flags != 0 {
        return Err(error(libc::EINVAL));
    }
    if from.means_directory || to.means_directory {
        return Err(error(libc::ENOTDIR));
    }
    let before = statat(&from.parent, from.name(), AtFlags::SYMLINK_NOFOLLOW)?;
    let mode = Mode::from_raw_mode(before.st_mode & 0o777);
    let name = being_written(to.name());
    let make = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = std::fs::File::from(openat(&to.parent, &name, make, mode)?);
    let renamed = file.write_all(content).and_then(|()| {
        // The umask is the supervisor's own.
        fchmod(&file, mode)?;
        futimens(&file, &modified_at(&before))?;
        Ok(renameat_with(&to.parent, &name, &to.parent, to.name(), RenameFlags::empty())?)
    });
    if renamed.is_err() {
        let _ = unlinkat(&to.parent, &name, AtFlags::empty());
    }
    renamed?;
    Ok(unlinkat(&from.parent, from.name(), AtFlags::empty())?)
}

const BEING_WRITTEN: &str = ".pinfold-";

/// A name for a file that [`replace`] writes. No process inside can know it, and a handler can tell it.
fn being_written(name: &OsStr) -> OsString {
    let number = RandomState::new().build_hasher().finish();
    let mut written = name.to_owned();
    written.push(format!("{BEING_WRITTEN}{number:016x}"));
    written
}

/// Returns whether a name is one that a file has while the supervisor of a run writes it, before it takes the place of another: a process
/// of another run that opened it could write to it afterwards.
pub fn is_being_written(name: &OsStr) -> bool {
    let name = name.as_bytes();
    let end = name.len().checked_sub(BEING_WRITTEN.len() + 16).and_then(|at| name.get(at..));
    end.and_then(|end| end.strip_prefix(BEING_WRITTEN.as_bytes()))
        .is_some_and(|number| number.iter().all(u8::is_ascii_hexdigit))
}

/// The time of the last change of a file, to be given to another.
fn modified_at(file: &Stat) -> Timestamps {
    Timestamps { last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_NOW }, ..times_of(file) }
}

/// The times that a file has.
#[allow(clippy::useless_conversion, reason = "the types differ between machines")]
fn times_of(file: &Stat) -> Timestamps {
    Timestamps {
        last_access: Timespec {
            tv_sec: file.st_atime.into(),
            tv_nsec: file.st_atime_nsec.cast_signed().into(),
        },
        last_modification: Timespec {
            tv_sec: file.st_mtime.into(),
            tv_nsec: file.st_mtime_nsec.cast_signed().into(),
        },
    }
}

/// Gives a file a second name. The first may be a link itself.
pub(super) fn link(
    from: &ResolvedPath,
    to: &ResolvedPath,
    elsewhere: impl FnOnce(&HeldEntry, &HeldEntry) -> Option<(OwnedFd, OwnedFd)>,
) -> io::Result<()> {
    let to = new_entry(to)?;
    match from {
        ResolvedPath::Entry(from) => {
            match linkat(&from.parent, from.name(), &to.parent, to.name(), AtFlags::empty()) {
                Err(Errno::XDEV) => {
                    let (from_parent, to_parent) = elsewhere(from, to).ok_or_else(|| error(libc::EXDEV))?;
                    Ok(linkat(from_parent, from.name(), to_parent, to.name(), AtFlags::empty())?)
                }
                other => Ok(other?),
            }
        }
        ResolvedPath::Object(from) => {
            let name = own_name(from.handle.as_fd());
            Ok(linkat(rustix::fs::CWD, name, &to.parent, to.name(), AtFlags::SYMLINK_FOLLOW)?)
        }
    }
}

/// Makes a symbolic link.
pub(super) fn symlink(text: &OsStr, place: &ResolvedPath) -> io::Result<()> {
    let entry = new_entry(place)?;
    Ok(symlinkat(text, &entry.parent, entry.name())?)
}

/// Removes a name.
pub(super) fn remove(place: &ResolvedPath, directory: bool) -> io::Result<()> {
    let entry = entry(place, if directory { libc::ENOTEMPTY } else { libc::EISDIR })?;
    if entry.means_directory && !directory {
        return Err(error(if is_directory(entry) { libc::EISDIR } else { libc::ENOTDIR }));
    }
    let flags = if directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
    Ok(unlinkat(&entry.parent, entry.name(), flags)?)
}

/// Locks an open file for its process and those that share it. Returns whether it is locked now: another may hold it.
pub(super) fn lock(place: &ResolvedPath) -> io::Result<bool> {
    let ResolvedPath::Object(held) = place else { return Err(error(libc::EBADF)) };
    loop {
        match flock(&held.handle, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(true),
            Err(Errno::WOULDBLOCK) => return Ok(false),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Cuts or extends a file. `most`: the largest file that the caller may make.
pub(super) fn truncate(place: &ResolvedPath, length: u64, most: u64, may: MayChange<'_>) -> io::Result<()> {
    if length > most {
        return Err(error(libc::EFBIG));
    }
    if is_missing_directory(place) {
        return Err(error(libc::ENOENT));
    }
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match place {
        ResolvedPath::Entry(entry) => {
            openat(&entry.parent, entry.name(), flags | OFlags::NOFOLLOW, Mode::empty())
        }
        ResolvedPath::Object(held) => reopen(held.handle.as_fd(), flags, Mode::empty()),
    };
    match file {
        // A pipe, which has no length.
        Err(Errno::NXIO) => Err(error(libc::EINVAL)),
        file => {
            let file = file?;
            ask_if_linked(place, &fstat(&file)?, may)?;
            Ok(ftruncate(file, length)?)
        }
    }
}

/// Changes attributes of what is there.
pub(super) fn change(place: &ResolvedPath, change: &RequestedChange, may: MayChange<'_>) -> io::Result<()> {
    let handle = place.handle()?;
    let found = fstat(&handle)?;
    if is_seen_by_other_names(change, &found) {
        ask_if_linked(place, &found, may)?;
    }
    match change {
        RequestedChange::Mode(mode) => set_mode(&handle, &found, *mode),
        RequestedChange::Owner { owner, group } => {
            let (owner, group) = (owner.map(Uid::from_raw), group.map(Gid::from_raw));
            Ok(chownat(&handle, c"", owner, group, AtFlags::EMPTY_PATH)?)
        }
        RequestedChange::Times(times) => {
            let [last_access, last_modification] = times.map(timespec);
            let times = Timestamps { last_access, last_modification };
            Ok(utimensat(&handle, c"", &times, AtFlags::EMPTY_PATH)?)
        }
        RequestedChange::SetAttribute { name, value, flags } => {
            let flags = XattrFlags::from_bits(*flags).ok_or_else(|| error(libc::EINVAL))?;
            Ok(rustix::fs::setxattr(own_name(handle.as_fd()), name.as_bytes(), value, flags)?)
        }
        RequestedChange::RemoveAttribute { name } => {
            Ok(rustix::fs::removexattr(own_name(handle.as_fd()), name.as_bytes())?)
        }
    }
}

/// Returns whether a file has no attribute of this name.
pub(super) fn lacks_attribute(handle: BorrowedFd<'_>, name: &OsStr) -> bool {
    let mut nothing: [u8; 0] = [];
    let found = rustix::fs::getxattr(own_name(handle), name.as_bytes(), nothing.as_mut_slice());
    found == Err(Errno::NODATA)
}

/// Returns whether a name is that of a directory with entries. One that cannot be read counts as empty.
pub(super) fn has_entries(place: &ResolvedPath) -> bool {
    let ResolvedPath::Entry(entry) = place else { return false };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
    let Ok(directory) = openat(&entry.parent, entry.name(), flags, Mode::empty()) else { return false };
    let mut buffer = [MaybeUninit::uninit(); 2048];
    let mut entries = RawDir::new(directory, &mut buffer);
    while let Some(Ok(entry)) = entries.next() {
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            return true;
        }
    }
    false
}

/// Returns whether a change of attributes is seen by the other names of the file: one without effect is not, nor is
/// the present time, which git gives to each object that it would write again.
fn is_seen_by_other_names(change: &RequestedChange, found: &Stat) -> bool {
    match change {
        RequestedChange::Mode(mode) => mode & MODES != found.st_mode & MODES,
        RequestedChange::Owner { owner, group } => {
            owner.is_some_and(|owner| owner != found.st_uid)
                || group.is_some_and(|group| group != found.st_gid)
        }
        RequestedChange::Times([access, modification]) => {
            let now = times_of(found);
            is_another_time(*access, now.last_access) || is_another_time(*modification, now.last_modification)
        }
        RequestedChange::SetAttribute { .. } | RequestedChange::RemoveAttribute { .. } => true,
    }
}

/// Returns whether a time is neither the present one nor the one that a file has.
fn is_another_time(wanted: Time, has: Timespec) -> bool {
    match wanted {
        Time::Now | Time::Kept => false,
        at @ Time::At { .. } => timespec(at) != has,
    }
}

fn set_mode(handle: &OwnedFd, found: &Stat, mode: u32) -> io::Result<()> {
    match FileType::from_raw_mode(found.st_mode) {
        FileType::Symlink => return Err(error(libc::EOPNOTSUPP)),
        FileType::Directory => {}
        // The judgement saw nothing there, or a directory.
        _ if mode & SET_ID != 0 => return Err(error(libc::EPERM)),
        _ => {}
    }
    Ok(rustix::fs::chmod(own_name(handle.as_fd()), Mode::from_raw_mode(mode & MODES))?)
}

/// The bits of a mode; programs hand on the type from stat(2), which the kernel passes over.
const MODES: u32 = 0o7777;

fn timespec(time: Time) -> Timespec {
    match time {
        Time::Now => Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
        Time::Kept => Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        Time::At { seconds, nanoseconds } => Timespec { tv_sec: seconds, tv_nsec: nanoseconds.into() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_being_written_is_told_by_its_name() {
        for name in ["index", "config", ""] {
            assert!(is_being_written(&being_written(OsStr::new(name))), "{name}");
        }
        for name in
            ["index", "index.lock", "x.pinfold-1", "x.pinfold-0123456789abcdeg", ".pinfold-0123456789abcdef0"]
        {
            assert!(!is_being_written(OsStr::new(name)), "{name}");
        }
    }
}
