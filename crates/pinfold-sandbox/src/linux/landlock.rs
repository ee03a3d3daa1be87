//! The file line as the kernel's access control holds it: allow-lists of places, for this process and all its
//! descendants, that nothing can lift again.
//!
//! [landlock(7)](https://man7.org/linux/man-pages/man7/landlock.7.html). What it does not govern (metadata,
//! pathname sockets, UDP) is closed by mounts and by the [filter](super::filter).

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::sys;

const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const MAKE_SOCK: u64 = 1 << 9;
const REFER: u64 = 1 << 13; // ABI 2
const TRUNCATE: u64 = 1 << 14; // ABI 3
const IOCTL_DEV: u64 = 1 << 15; // ABI 5
/// Writing to what there is.
const CONTENT: u64 = WRITE_FILE | TRUNCATE | IOCTL_DEV;
/// `REMOVE_DIR` to `MAKE_SYM`: bits 4 to 12.
const CHANGE_NAMES: u64 = 0x1ff0;

const SCOPE_ABSTRACT_SOCKETS: u64 = 1;
const SCOPE_SIGNALS: u64 = 1 << 1;

const BIND_TCP: u64 = 1;
const CONNECT_TCP: u64 = 1 << 1;

/// Access rights that a ruleset handles.
#[derive(Clone, Copy)]
pub(crate) struct HandledAccess {
    /// Writing is refused but where it is allowed.
    pub(crate) writes: bool,
    /// Reading the content of files is refused but where it is allowed. Listing directories is free: a grant
    /// to list a directory would reach everything below it.
    pub(crate) reads: bool,
    /// TCP is refused.
    pub(crate) network: bool,
}

/// A ruleset under construction.
pub(crate) struct Ruleset {
    fd: OwnedFd,
    handled: u64,
}

impl Ruleset {
    /// An empty ruleset, as strong as `version` allows.
    pub(crate) fn new(version: u32, handles: HandledAccess) -> io::Result<Self> {
        let mut files = 0;
        if handles.writes {
            files |= writing(version);
        }
        if handles.reads {
            files |= READ_FILE;
        }
        let network = if handles.network && version >= 4 { BIND_TCP | CONNECT_TCP } else { 0 };
        let scopes = if version >= 6 { SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS } else { 0 };
        let size = match version {
            ..4 => 8,
            4 | 5 => 16,
            6.. => 24,
        };
        if files | network | scopes == 0 {
            return Err(io::Error::from_raw_os_error(libc::ENOMSG));
        }
        Ok(Self { fd: sys::landlock_ruleset([files, network, scopes], size)?, handled: files })
    }

    /// Allows everything that writing means, beneath a held place. For a file: its content.
    pub(crate) fn allow_writing(&self, at: BorrowedFd<'_>) -> io::Result<()> {
        let names = if sys::is_directory(at)? { CHANGE_NAMES | REFER } else { 0 };
        self.allow(CONTENT | names, at)
    }

    /// Allows writing to existing files and devices, without changing what there is.
    pub(crate) fn allow_content(&self, at: BorrowedFd<'_>) -> io::Result<()> {
        self.allow(CONTENT, at)
    }

    /// Allows making sockets beneath a held directory.
    pub(crate) fn allow_sockets(&self, at: BorrowedFd<'_>) -> io::Result<()> {
        let access = if sys::is_directory(at)? { MAKE_SOCK } else { 0 };
        self.allow(access, at)
    }

    /// Allows reading files beneath a held place.
    pub(crate) fn allow_reading(&self, at: BorrowedFd<'_>) -> io::Result<()> {
        self.allow(READ_FILE, at)
    }

    /// `access` that makes sense only for a directory may be asked for only there.
    fn allow(&self, access: u64, at: BorrowedFd<'_>) -> io::Result<()> {
        let access = access & self.handled;
        if access == 0 { Ok(()) } else { sys::landlock_allow(self.fd.as_fd(), access, at) }
    }

    /// Allows content of a device when it exists.
    pub(crate) fn allow_device(&self, path: &CStr) -> io::Result<()> {
        match sys::open_held(path) {
            Ok(device) => self.allow_content(device.as_fd()),
            // Not there, or a link (`/dev/ptmx`) to one that is allowed by its own name.
            Err(e) if matches!(e.raw_os_error(), Some(libc::ENOENT | libc::ELOOP)) => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// Binds this process and its later descendants for good.
    pub(crate) fn restrict(self) -> io::Result<()> {
        sys::landlock_restrict(self.fd.as_fd())
    }
}

fn writing(version: u32) -> u64 {
    let mut bits = WRITE_FILE | CHANGE_NAMES;
    if version >= 2 {
        bits |= REFER;
    }
    if version >= 3 {
        bits |= TRUNCATE;
    }
    if version >= 5 {
        bits |= IOCTL_DEV;
    }
    bits
}
