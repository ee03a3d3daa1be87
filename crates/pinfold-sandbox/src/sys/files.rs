//! Files: opening and making them, and what is known of an open one.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use libc::c_int;

use super::{check, check_int, owned};

/// [open(2)](https://man7.org/linux/man-pages/man2/open.2.html) with `O_CLOEXEC`.
pub(crate) fn open(path: &CStr, flags: c_int) -> io::Result<OwnedFd> {
    // SAFETY: `path` is a C string; no flag used here needs a mode.
    owned(check_int(unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC, 0o600) })?.into())
}

/// Opens a place by a path with no link anywhere in it, for holding only.
///
/// [openat2(2)](https://man7.org/linux/man-pages/man2/openat2.2.html)
pub(crate) fn open_held(path: &CStr) -> io::Result<OwnedFd> {
    // Not O_NOFOLLOW: with it a link in the last component would be opened itself instead of refused.
    open_path(path, 0)
}

/// Opens a name, be it a link or not, by a path with no link before it, for holding only.
pub(crate) fn open_name(path: &CStr) -> io::Result<OwnedFd> {
    open_path(path, libc::O_NOFOLLOW)
}

fn open_path(path: &CStr, flags: c_int) -> io::Result<OwnedFd> {
    // SAFETY: all zero is a valid `open_how`.
    let mut how: libc::open_how = unsafe { std::mem::zeroed() };
    how.flags = u64::try_from(libc::O_PATH | libc::O_CLOEXEC | flags).unwrap_or(0);
    how.resolve = libc::RESOLVE_NO_SYMLINKS | libc::RESOLVE_NO_MAGICLINKS;
    let size = size_of::<libc::open_how>();
    // SAFETY: `path` and `how` are valid for the call, and `size` is the size of `how`.
    let rc = unsafe { libc::syscall(libc::SYS_openat2, libc::AT_FDCWD, path.as_ptr(), &raw const how, size) };
    owned(check(rc)?)
}

/// [mkdirat(2)](https://man7.org/linux/man-pages/man2/mkdir.2.html). One that exists is as good.
pub(crate) fn make_dir(path: &CStr, mode: u32) -> io::Result<()> {
    // SAFETY: `path` is a C string.
    match check_int(unsafe { libc::mkdir(path.as_ptr(), mode) }) {
        Err(e) if e.raw_os_error() != Some(libc::EEXIST) => Err(e),
        _ => Ok(()),
    }
}

/// An empty file for something to be mounted on.
pub(crate) fn make_file(path: &CStr, mode: u32) -> io::Result<()> {
    let flags = libc::O_CREAT | libc::O_CLOEXEC | libc::O_RDONLY | libc::O_NOFOLLOW;
    // SAFETY: `path` is a C string and the flags come with a mode.
    owned(check_int(unsafe { libc::open(path.as_ptr(), flags, mode) })?.into()).map(drop)
}

/// [symlink(2)](https://man7.org/linux/man-pages/man2/symlink.2.html)
pub(crate) fn make_link(target: &CStr, path: &CStr) -> io::Result<()> {
    // SAFETY: both are C strings.
    check_int(unsafe { libc::symlink(target.as_ptr(), path.as_ptr()) }).map(drop)
}

/// Renames to a name that must be free.
///
/// [renameat2(2)](https://man7.org/linux/man-pages/man2/rename.2.html), `RENAME_NOREPLACE`. Not for a child.
pub(crate) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    let invalid = |_| io::Error::from_raw_os_error(libc::EINVAL);
    let from = CString::new(from.as_os_str().as_bytes()).map_err(invalid)?;
    let to = CString::new(to.as_os_str().as_bytes()).map_err(invalid)?;
    let (here, flags) = (libc::AT_FDCWD, libc::RENAME_NOREPLACE);
    // SAFETY: both are C strings.
    check_int(unsafe { libc::renameat2(here, from.as_ptr(), here, to.as_ptr(), flags) }).map(drop)
}

/// Returns whether this user can read a file, or reach into a directory. Not for a child.
pub(crate) fn can_use_content(path: &Path) -> bool {
    can_access(path, if path.is_dir() { libc::X_OK } else { libc::R_OK })
}

/// Returns whether this user can use a place like this: `R_OK`, `W_OK`, `X_OK`.
///
/// [faccessat(2)](https://man7.org/linux/man-pages/man2/access.2.html). Not for a child.
pub(crate) fn can_access(path: &Path, how: c_int) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: `path` is a C string.
    unsafe { libc::faccessat(libc::AT_FDCWD, path.as_ptr(), how, libc::AT_EACCESS) == 0 }
}

/// Returns device and inode of a descriptor.
pub(crate) fn identity(fd: BorrowedFd<'_>) -> io::Result<(u64, u64)> {
    // SAFETY: all zero is a valid `stat` for the kernel to fill.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `stat` is valid for writing.
    check_int(unsafe { libc::fstat(fd.as_raw_fd(), &raw mut stat) })?;
    Ok((stat.st_dev, stat.st_ino))
}

/// Returns whether a held place is a directory.
pub(crate) fn is_directory(fd: BorrowedFd<'_>) -> io::Result<bool> {
    // SAFETY: all zero is a valid `stat` for the kernel to fill.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `stat` is valid for writing.
    check_int(unsafe { libc::fstat(fd.as_raw_fd(), &raw mut stat) })?;
    Ok(stat.st_mode & libc::S_IFMT == libc::S_IFDIR)
}

/// [write(2)](https://man7.org/linux/man-pages/man2/write.2.html), once; a short write is an error.
pub(crate) fn write_all(fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<()> {
    // SAFETY: pointer and length are those of one slice.
    let rc = unsafe { libc::write(fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) };
    match usize::try_from(rc) {
        Ok(n) if n == bytes.len() => Ok(()),
        Ok(_) => Err(io::Error::from_raw_os_error(libc::EIO)),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

/// [chdir(2)](https://man7.org/linux/man-pages/man2/chdir.2.html)
pub(crate) fn change_dir(path: &CStr) -> io::Result<()> {
    // SAFETY: `path` is a C string.
    check_int(unsafe { libc::chdir(path.as_ptr()) }).map(drop)
}

/// Returns device and inode at a path of plain names below a held directory; a link in the last component counts itself. Mounts
/// are crossed, as the view has them that the directory belongs to.
///
/// [openat2(2)](https://man7.org/linux/man-pages/man2/openat2.2.html). Not for a child.
pub(crate) fn identity_below(directory: BorrowedFd<'_>, path: &Path) -> io::Result<(u64, u64)> {
    if path.as_os_str().is_empty() {
        return identity(directory);
    }
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: all zero is a valid `open_how`.
    let mut how: libc::open_how = unsafe { std::mem::zeroed() };
    how.flags = u64::try_from(libc::O_PATH | libc::O_CLOEXEC | libc::O_NOFOLLOW).unwrap_or(0);
    how.resolve = libc::RESOLVE_NO_SYMLINKS | libc::RESOLVE_NO_MAGICLINKS | libc::RESOLVE_BENEATH;
    let (directory, size) = (directory.as_raw_fd(), size_of::<libc::open_how>());
    // SAFETY: `path` and `how` are valid for the call, and `size` is the size of `how`.
    let rc = unsafe { libc::syscall(libc::SYS_openat2, directory, path.as_ptr(), &raw const how, size) };
    identity(owned(check(rc)?)?.as_fd())
}

/// Gives this thread a umask, a root and a working directory of its own, which were those of the process.
///
/// [unshare(2)](https://man7.org/linux/man-pages/man2/unshare.2.html), `CLONE_FS`
pub(crate) fn own_umask() -> io::Result<()> {
    // SAFETY: takes a number.
    check_int(unsafe { libc::unshare(libc::CLONE_FS) }).map(drop)
}

/// Sets which mode bits new files do not get; returns what it was.
pub(crate) fn umask(mask: u32) -> u32 {
    // SAFETY: takes a number, cannot fail.
    unsafe { libc::umask(mask) }
}

/// Returns whether what is done with an open file never waits.
///
/// [fcntl(2)](https://man7.org/linux/man-pages/man2/fcntl.2.html), `O_NONBLOCK`
pub(crate) fn never_waits(fd: BorrowedFd<'_>) -> io::Result<bool> {
    // SAFETY: takes numbers.
    let flags = check_int(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFL) })?;
    Ok(flags & libc::O_NONBLOCK != 0)
}

/// The name of what stands at a path, seen from a root that no `..` and no link leaves; links of processes are not
/// followed.
///
/// [openat2(2)](https://man7.org/linux/man-pages/man2/openat2.2.html), `RESOLVE_IN_ROOT`. Not for a child.
pub(crate) fn open_name_in(root: BorrowedFd<'_>, path: &Path) -> io::Result<OwnedFd> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: all zero is a valid `open_how`.
    let mut how: libc::open_how = unsafe { std::mem::zeroed() };
    how.flags = u64::try_from(libc::O_PATH | libc::O_CLOEXEC).unwrap_or(0);
    how.resolve = libc::RESOLVE_IN_ROOT | libc::RESOLVE_NO_MAGICLINKS;
    let (root, size) = (root.as_raw_fd(), size_of::<libc::open_how>());
    // SAFETY: `path` and `how` are valid for the call, and `size` is the size of `how`.
    let rc = unsafe { libc::syscall(libc::SYS_openat2, root, path.as_ptr(), &raw const how, size) };
    owned(check(rc)?)
}

/// Returns whether a held file lies in a file system in memory.
///
/// [fstatfs(2)](https://man7.org/linux/man-pages/man2/fstatfs.2.html)
pub(crate) fn is_in_memory(fd: BorrowedFd<'_>) -> io::Result<bool> {
    // SAFETY: all zero is a valid `statfs` for the kernel to fill.
    let mut found: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: `found` is valid for writing.
    check_int(unsafe { libc::fstatfs(fd.as_raw_fd(), &raw mut found) })?;
    // C libraries differ in the sign of the type.
    Ok(found.f_type.to_ne_bytes() == libc::TMPFS_MAGIC.to_ne_bytes())
}

/// Returns whether nothing can be written where a held file is mounted.
///
/// [statvfs(3)](https://man7.org/linux/man-pages/man3/statvfs.3.html)
pub(crate) fn is_read_only(fd: BorrowedFd<'_>) -> io::Result<bool> {
    Ok(rustix::fs::fstatvfs(fd)?.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY))
}

/// Returns whether a regular file is open for writing, by any process: a lease for reading is not given then. One that is given is
/// returned at once. A process that opens the file for writing in between waits for that moment, and the kernel says so to this process
/// by a signal, which is chosen to be one without effect.
///
/// [fcntl(2)](https://man7.org/linux/man-pages/man2/fcntl.2.html), "Leases"
///
/// # Errors
/// `EACCES` when the file is another user's, `EINVAL` when it is no regular one or its file system has no leases.
pub(crate) fn is_open_for_writing(file: BorrowedFd<'_>) -> io::Result<bool> {
    /// `asm-generic/fcntl.h`; the `libc` crate lacks it.
    const F_SETSIG: c_int = 10;
    let fd = file.as_raw_fd();
    // SAFETY: takes numbers. The signal without it is SIGIO, which ends a process.
    check_int(unsafe { libc::fcntl(fd, F_SETSIG, libc::SIGURG) })?;
    // SAFETY: takes numbers.
    match check_int(unsafe { libc::fcntl(fd, libc::F_SETLEASE, libc::F_RDLCK) }) {
        Ok(_) => {
            // SAFETY: takes numbers.
            check_int(unsafe { libc::fcntl(fd, libc::F_SETLEASE, libc::F_UNLCK) })?;
            Ok(false)
        }
        Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => Ok(true),
        Err(error) => Err(error),
    }
}
