//! Sessions, process groups, and the terminal that controls them.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use libc::c_int;

use super::files::open;
use super::signals::kill;
use super::{Pid, check_int};

/// The process group of a process (0: of this one); 0 when it lies outside this process namespace.
pub(crate) fn group_of(pid: Pid) -> Option<Pid> {
    // SAFETY: takes a number.
    check_int(unsafe { libc::getpgid(pid) }).ok()
}

/// The process group in the foreground of the terminal, if standard input is one and the group can be seen.
pub(crate) fn foreground() -> Option<Pid> {
    // SAFETY: takes a number; on something that is no terminal it fails.
    Some(unsafe { libc::tcgetpgrp(0) }).filter(|group| *group > 0)
}

/// Puts a process group of this session into the foreground of the terminal, from wherever we are.
pub(crate) fn set_foreground(group: Pid) {
    // SAFETY: take numbers only; on something that is no terminal they fail and change nothing.
    unsafe {
        let before = libc::signal(libc::SIGTTOU, libc::SIG_IGN);
        libc::tcsetpgrp(0, group);
        libc::signal(libc::SIGTTOU, before);
    }
}

/// Returns whether a process group is empty.
pub(crate) fn is_gone(group: Pid) -> bool {
    kill(-group, 0).is_err_and(|e| e.raw_os_error() == Some(libc::ESRCH))
}

/// Starts a new session, away from any terminal. Fails for the leader of a process group.
///
/// [setsid(2)](https://man7.org/linux/man-pages/man2/setsid.2.html)
pub(crate) fn new_session() -> io::Result<()> {
    // SAFETY: takes nothing.
    check_int(unsafe { libc::setsid() }).map(drop)
}

/// Returns whether a terminal controls the session of this process. Where that cannot be told, one may.
///
/// [tty(4)](https://man7.org/linux/man-pages/man4/tty.4.html): opening `/dev/tty` fails with `ENXIO` where there is none.
pub(crate) fn has_terminal() -> bool {
    let found = open(c"/dev/tty", libc::O_RDONLY | libc::O_NOCTTY | libc::O_NONBLOCK);
    !found.is_err_and(|error| error.raw_os_error() == Some(libc::ENXIO))
}

/// Starts a new session and makes `terminal`, which belongs to no session yet, the one that controls it.
///
/// [setsid(2)](https://man7.org/linux/man-pages/man2/setsid.2.html),
/// [TIOCSCTTY](https://man7.org/linux/man-pages/man2/TIOCSCTTY.2const.html)
pub(crate) fn new_session_at(terminal: BorrowedFd<'_>) -> io::Result<()> {
    new_session()?;
    // SAFETY: takes a number; zero means that no terminal is to be taken away from others.
    check_int(unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCSCTTY, 0 as c_int) }).map(drop)
}

/// Puts this process into a group of its own.
///
/// [setpgid(2)](https://man7.org/linux/man-pages/man2/setpgid.2.html)
pub(crate) fn lead_group() -> io::Result<()> {
    // SAFETY: takes numbers only.
    check_int(unsafe { libc::setpgid(0, 0) }).map(drop)
}

/// Puts this process into a group of its own, in the foreground of the terminal of its session.
///
/// [tcsetpgrp(3)](https://man7.org/linux/man-pages/man3/tcsetpgrp.3.html); a process that blocks SIGTTOU may do so from
/// the background.
pub(crate) fn lead_foreground(terminal: BorrowedFd<'_>) -> io::Result<()> {
    lead_group()?;
    // SAFETY: take numbers only.
    unsafe { check_int(libc::tcsetpgrp(terminal.as_raw_fd(), libc::getpid())).map(drop) }
}
