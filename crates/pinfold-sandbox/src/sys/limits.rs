//! Resource limits and capabilities.

use std::io;
use std::ptr;

use super::processes::prctl;
use super::{Pid, check, check_int};

/// Gives up every capability of this process.
///
/// [capset(2)](https://man7.org/linux/man-pages/man2/capset.2.html)
pub(crate) fn drop_capabilities() -> io::Result<()> {
    // The highest number is not a constant of the ABI: drop until the kernel says there is no such one.
    for capability in 0..64 {
        if prctl(libc::PR_CAPBSET_DROP, capability, 0).is_err() {
            break;
        }
    }
    let header: [u32; 2] = [CAPABILITY_VERSION_3, 0];
    let none = [0u32; 6];
    // SAFETY: a version 3 header is followed by two triples of 32-bit words, which is what `none` holds.
    check(unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr()) }).map(drop)
}

/// The type of a resource: C libraries differ in its sign.
#[cfg(target_env = "musl")]
pub(crate) type LimitedResource = libc::c_int;

#[cfg(not(target_env = "musl"))]
pub(crate) type LimitedResource = libc::c_uint;

/// [setrlimit(2)](https://man7.org/linux/man-pages/man2/setrlimit.2.html): soft and hard limit alike, never
/// above the hard limit that there is. For processor time the hard one is a second later, so that its end is
/// told by a signal of its own.
pub(crate) fn limit(resource: LimitedResource, value: u64) -> io::Result<()> {
    let mut now = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `now` is a valid `rlimit` for the kernel to fill.
    check_int(unsafe { libc::getrlimit(resource, &raw mut now) })?;
    let value = value.min(now.rlim_max);
    let later = u64::from(resource == libc::RLIMIT_CPU);
    let wanted = libc::rlimit { rlim_cur: value, rlim_max: value.saturating_add(later).min(now.rlim_max) };
    // SAFETY: `wanted` is read only during the call.
    check_int(unsafe { libc::setrlimit(resource, &raw const wanted) }).map(drop)
}

/// Lets this process have as many files open as its hard limit says. Returns what it had.
///
/// [setrlimit(2)](https://man7.org/linux/man-pages/man2/setrlimit.2.html), `RLIMIT_NOFILE`
pub(crate) fn allow_most_files() -> io::Result<libc::rlimit> {
    let mut now = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `now` is a valid `rlimit` for the kernel to fill.
    check_int(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut now) })?;
    restore_files(&libc::rlimit { rlim_cur: now.rlim_max, rlim_max: now.rlim_max })?;
    Ok(now)
}

/// Sets the limit on open files.
pub(crate) fn restore_files(limit: &libc::rlimit) -> io::Result<()> {
    // SAFETY: `limit` is read only during the call.
    check_int(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, limit) }).map(drop)
}

/// The capabilities of one thread: effective, permitted, inheritable, each in two halves.
#[derive(Clone, Copy)]
pub(crate) struct Capabilities([u32; 6]);

const CAPABILITY_VERSION_3: u32 = 0x2008_0522;

impl Capabilities {
    /// Returns the current capabilities of this thread.
    ///
    /// [capget(2)](https://man7.org/linux/man-pages/man2/capget.2.html)
    pub(crate) fn current() -> io::Result<Self> {
        let mut header: [u32; 2] = [CAPABILITY_VERSION_3, 0];
        let mut data = [0u32; 6];
        // SAFETY: a version 3 header is followed by two triples of 32-bit words, which is what `data` holds.
        check(unsafe { libc::syscall(libc::SYS_capget, header.as_mut_ptr(), data.as_mut_ptr()) })?;
        Ok(Self(data))
    }

    /// Returns whether there are any in effect.
    pub(crate) fn are_in_effect(self) -> bool {
        let [effective, _, _, more, ..] = self.0;
        effective != 0 || more != 0
    }

    /// Returns the set with no capability in effect; they can be raised again.
    pub(crate) fn at_rest(self) -> Self {
        let [_, permitted, inheritable, _, more, even_more] = self.0;
        Self([0, permitted, inheritable, 0, more, even_more])
    }

    /// Makes these the capabilities of this thread.
    pub(crate) fn set(self) -> io::Result<()> {
        let header: [u32; 2] = [CAPABILITY_VERSION_3, 0];
        // SAFETY: as above.
        check(unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), self.0.as_ptr()) }).map(drop)
    }
}

/// The largest file that a process may make, in bytes. Nothing where that cannot be told.
///
/// [prlimit(2)](https://man7.org/linux/man-pages/man2/prlimit.2.html), `RLIMIT_FSIZE`
pub(crate) fn largest_file(pid: Pid) -> u64 {
    let mut limit = libc::rlimit64 { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: no new limit is given; `limit` is valid for writing.
    let rc = unsafe { libc::prlimit64(pid, libc::RLIMIT_FSIZE, ptr::null(), &raw mut limit) };
    if rc == 0 { limit.rlim_cur } else { 0 }
}
