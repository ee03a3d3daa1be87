//! Mounts, and the namespace that they belong to.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;

use libc::{c_int, c_uint, c_ulong, c_void};

use super::{check, check_int, owned};

/// [mount(2)](https://man7.org/linux/man-pages/man2/mount.2.html)
pub(crate) fn mount(
    source: &CStr,
    target: &CStr,
    kind: &CStr,
    flags: c_ulong,
    data: Option<&CStr>,
) -> io::Result<()> {
    let data = data.map_or(ptr::null(), |d| d.as_ptr().cast::<c_void>());
    // SAFETY: all are C strings or null, as mount(2) allows.
    check_int(unsafe { libc::mount(source.as_ptr(), target.as_ptr(), kind.as_ptr(), flags, data) }).map(drop)
}

/// A detached copy of the mount at a held place, with everything mounted below it when `whole`.
///
/// [open_tree(2)](https://man7.org/linux/man-pages/man2/open_tree.2.html)
pub(crate) fn clone_mount(at: BorrowedFd<'_>, whole: bool) -> io::Result<OwnedFd> {
    const OPEN_TREE_CLONE: c_uint = 1;
    const AT_RECURSIVE: c_uint = 0x8000;
    let mut flags = OPEN_TREE_CLONE | libc::O_CLOEXEC.cast_unsigned() | libc::AT_EMPTY_PATH.cast_unsigned();
    if whole {
        flags |= AT_RECURSIVE;
    }
    // SAFETY: an empty path with AT_EMPTY_PATH means the descriptor itself.
    owned(check(unsafe { libc::syscall(libc::SYS_open_tree, at.as_raw_fd(), c"".as_ptr(), flags) })?)
}

/// Attaches a detached mount at a held place.
///
/// [move_mount(2)](https://man7.org/linux/man-pages/man2/move_mount.2.html)
pub(crate) fn attach_mount(tree: BorrowedFd<'_>, at: BorrowedFd<'_>) -> io::Result<()> {
    const FROM_EMPTY: c_uint = 0x4;
    const TO_EMPTY: c_uint = 0x40;
    let (tree, at) = (tree.as_raw_fd(), at.as_raw_fd());
    let flags = FROM_EMPTY | TO_EMPTY;
    // SAFETY: empty paths with the EMPTY flags mean the descriptors themselves.
    check(unsafe { libc::syscall(libc::SYS_move_mount, tree, c"".as_ptr(), at, c"".as_ptr(), flags) })
        .map(drop)
}

/// Mount attributes to set and to clear.
#[derive(Clone, Copy, Default)]
pub(crate) struct Attributes {
    pub(crate) set: u64,
    pub(crate) clear: u64,
}

pub(crate) const RDONLY: u64 = 0x1;

pub(crate) const NOSUID: u64 = 0x2;

pub(crate) const NODEV: u64 = 0x4;

/// Changes attributes of the mount at a held place, and of all below it when `whole`.
///
/// [mount_setattr(2)](https://man7.org/linux/man-pages/man2/mount_setattr.2.html)
pub(crate) fn set_mount(at: BorrowedFd<'_>, attributes: Attributes, whole: bool) -> io::Result<()> {
    const AT_RECURSIVE: c_int = 0x8000;
    let flags = libc::AT_EMPTY_PATH | if whole { AT_RECURSIVE } else { 0 };
    let attr: [u64; 4] = [attributes.set, attributes.clear, 0, 0];
    let size = size_of_val(&attr);
    // SAFETY: `attr` has the layout of `struct mount_attr` (four 64-bit words), and `size` is its size.
    let rc = unsafe {
        libc::syscall(libc::SYS_mount_setattr, at.as_raw_fd(), c"".as_ptr(), flags, attr.as_ptr(), size)
    };
    check(rc).map(drop)
}

/// Returns the mount namespace of this process.
///
/// [namespaces(7)](https://man7.org/linux/man-pages/man7/namespaces.7.html)
pub(crate) fn mount_namespace() -> io::Result<u32> {
    // SAFETY: all zero is a valid `stat` for the kernel to fill.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the path is a C string, `stat` is valid for writing.
    check_int(unsafe { libc::stat(c"/proc/self/ns/mnt".as_ptr(), &raw mut stat) })?;
    u32::try_from(stat.st_ino).map_err(|_| io::Error::from_raw_os_error(libc::EOVERFLOW))
}
