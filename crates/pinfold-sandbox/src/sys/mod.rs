//! The system calls, one function each: what it does, its man page, why the block is sound.
//!
//! Everything here may run between `fork` and `exec` in a process with other threads: nothing allocates, locks
//! or panics. Everything above deals in owned descriptors and ordinary results.

mod descriptors;
mod files;
mod internet;
mod landlock;
mod limits;
mod local_sockets;
mod mounts;
mod processes;
mod seccomp;
mod signals;
mod terminal;

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use libc::{c_int, c_long, c_ulong};

pub(crate) use self::descriptors::*;
pub(crate) use self::files::*;
pub(crate) use self::internet::*;
pub(crate) use self::landlock::*;
pub(crate) use self::limits::*;
pub(crate) use self::local_sockets::*;
pub(crate) use self::mounts::*;
pub(crate) use self::processes::*;
pub(crate) use self::seccomp::*;
pub(crate) use self::signals::*;
pub(crate) use self::terminal::*;

/// A process number as the kernel gives it.
pub(crate) type Pid = libc::pid_t;

fn check(rc: c_long) -> io::Result<c_long> {
    if rc < 0 { Err(io::Error::last_os_error()) } else { Ok(rc) }
}

fn check_int(rc: c_int) -> io::Result<c_int> {
    check(c_long::from(rc)).map(|_| rc)
}

/// Takes ownership of a descriptor that a system call has just returned.
fn owned(fd: c_long) -> io::Result<OwnedFd> {
    let fd = RawFd::try_from(fd).map_err(|_| io::Error::from_raw_os_error(libc::EBADF))?;
    // SAFETY: the kernel returned this descriptor to us a moment ago and no other code knows its number.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// A request of [ioctl(2)](https://man7.org/linux/man-pages/man2/ioctl.2.html): 32 bits, whose type C libraries differ in.
#[allow(
    clippy::cast_possible_wrap,
    clippy::cast_lossless,
    reason = "the bits count, in a type that differs by target"
)]
const fn ioctl_request(bits: u32) -> libc::Ioctl {
    bits as libc::Ioctl
}

/// Ignores a signal. A program that is started inherits that.
pub(crate) fn ignore(signal: c_int) {
    // SAFETY: sets a disposition; SIG_IGN is always valid.
    unsafe { libc::signal(signal, libc::SIG_IGN) };
}

/// The first argument of a raw system call made to see whether it is refused (self-test, doctor).
pub(crate) fn raw(number: c_long, args: [c_ulong; 3]) -> io::Result<c_long> {
    let [first, second, third] = args;
    // SAFETY: used only with arguments that are numbers or null, for calls that the kernel answers with an error
    // or that have no effect on our memory.
    check(unsafe { libc::syscall(number, first, second, third) })
}
