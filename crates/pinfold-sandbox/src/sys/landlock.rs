//! Landlock.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;

use libc::{c_int, c_uint, c_void};

use super::{check, owned};

/// Landlock's newest interface version that this kernel speaks; an error where it has none.
///
/// [landlock_create_ruleset(2)](https://man7.org/linux/man-pages/man2/landlock_create_ruleset.2.html)
pub(crate) fn landlock_version() -> io::Result<u32> {
    const VERSION: c_uint = 1;
    // SAFETY: a null attribute with size 0 and the version flag is how the version is asked for.
    let rc =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, ptr::null::<c_void>(), 0usize, VERSION) };
    check(rc).map(|v| u32::try_from(v).unwrap_or(0))
}

/// A new, empty Landlock ruleset that handles the given accesses (file system, network, scopes).
pub(crate) fn landlock_ruleset(handled: [u64; 3], size: usize) -> io::Result<OwnedFd> {
    let size = size.min(size_of_val(&handled));
    // SAFETY: `handled` has the layout of `struct landlock_ruleset_attr`, of which older kernels know the first
    // `size` bytes.
    let rc = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, handled.as_ptr(), size, 0 as c_uint) };
    owned(check(rc)?)
}

/// Allows `access` for everything beneath a held place.
///
/// [landlock_add_rule(2)](https://man7.org/linux/man-pages/man2/landlock_add_rule.2.html)
pub(crate) fn landlock_allow(ruleset: BorrowedFd<'_>, access: u64, at: BorrowedFd<'_>) -> io::Result<()> {
    const PATH_BENEATH: c_int = 1;
    #[repr(C, packed)]
    struct PathBeneath {
        access: u64,
        parent: i32,
    }
    let rule = PathBeneath { access, parent: at.as_raw_fd() };
    // SAFETY: `rule` has the packed layout of `struct landlock_path_beneath_attr`.
    let rc = unsafe {
        libc::syscall(
            libc::SYS_landlock_add_rule,
            ruleset.as_raw_fd(),
            PATH_BENEATH,
            &raw const rule,
            0 as c_uint,
        )
    };
    check(rc).map(drop)
}

/// Applies the ruleset to this thread and its later children. Cannot be undone.
///
/// [landlock_restrict_self(2)](https://man7.org/linux/man-pages/man2/landlock_restrict_self.2.html)
pub(crate) fn landlock_restrict(ruleset: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: takes an open descriptor and a flag word; the kernel touches no memory of ours.
    check(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0 as c_uint) })
        .map(drop)
}
