//! Descriptors of this process, and waiting for them.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};

use libc::c_uint;

use super::{check, check_int, owned};

/// Marks every descriptor from `first` on as closed at `exec`.
///
/// [close_range(2)](https://man7.org/linux/man-pages/man2/close_range.2.html)
pub(crate) fn close_on_exec_from(first: c_uint) -> io::Result<()> {
    const CLOEXEC: c_uint = 1 << 2;
    // SAFETY: changes descriptor flags only.
    check(unsafe { libc::syscall(libc::SYS_close_range, first, c_uint::MAX, CLOEXEC) }).map(drop)
}

/// Returns whether the other end of a socket is gone, without waiting.
pub(crate) fn hung_up(socket: BorrowedFd<'_>) -> bool {
    let mut one = [0u8; 1];
    let flags = libc::MSG_PEEK | libc::MSG_DONTWAIT;
    // SAFETY: `one` has room for one byte.
    unsafe { libc::recv(socket.as_raw_fd(), one.as_mut_ptr().cast(), 1, flags) == 0 }
}

/// Waits until one of `fds` is ready or `timeout` has passed; returns the events of each.
///
/// [poll(2)](https://man7.org/linux/man-pages/man2/poll.2.html)
pub(crate) fn poll<const N: usize>(fds: [RawFd; N], timeout: Option<i32>) -> io::Result<[i16; N]> {
    let mut list = fds.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    // SAFETY: `list` has N entries; a negative descriptor is passed over by the kernel.
    let rc = unsafe { libc::poll(list.as_mut_ptr(), N as libc::nfds_t, timeout.unwrap_or(-1)) };
    match check_int(rc) {
        Err(e) if e.raw_os_error() != Some(libc::EINTR) => Err(e),
        Err(_) => Ok([0; N]),
        Ok(_) => Ok(list.map(|p| p.revents)),
    }
}

/// Makes a descriptor that is ready while one of `fds` is: to wait for it costs as much as to wait for one of them, however many there
/// are. Negative ones are passed over.
///
/// [epoll(7)](https://man7.org/linux/man-pages/man7/epoll.7.html)
pub(crate) fn ready_with<const N: usize>(fds: [RawFd; N]) -> io::Result<OwnedFd> {
    // SAFETY: takes a number.
    let set = owned(check_int(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?.into())?;
    for fd in fds.into_iter().filter(|fd| *fd >= 0) {
        let mut event = libc::epoll_event { events: libc::EPOLLIN.cast_unsigned(), u64: 0 };
        // SAFETY: `event` is read during the call only.
        check_int(unsafe { libc::epoll_ctl(set.as_raw_fd(), libc::EPOLL_CTL_ADD, fd, &raw mut event) })?;
    }
    Ok(set)
}

/// Makes `fd` this process's descriptor number `number` (standard input, output or error).
pub(crate) fn place(fd: BorrowedFd<'_>, number: RawFd) -> io::Result<()> {
    // SAFETY: both are descriptor numbers; dup2 on the same number is a no-op that keeps close-on-exec, hence
    // the fcntl.
    unsafe {
        if fd.as_raw_fd() == number {
            check_int(libc::fcntl(number, libc::F_SETFD, 0)).map(drop)
        } else {
            check_int(libc::dup2(fd.as_raw_fd(), number)).map(drop)
        }
    }
}

/// Moves `fd` to `number`, `next` to the number after that, and closes every descriptor above. The only ones left there
/// are returned.
pub(crate) fn keep_only_below(
    number: RawFd,
    fd: BorrowedFd<'_>,
    next: Option<BorrowedFd<'_>>,
) -> io::Result<(OwnedFd, Option<OwnedFd>)> {
    // Out of the way first: it may stand where the other is going to.
    let next = match next {
        // SAFETY: takes numbers, and returns a descriptor that is ours.
        Some(next) => Some(owned(
            check_int(unsafe { libc::fcntl(next.as_raw_fd(), libc::F_DUPFD_CLOEXEC, number + 2) })?.into(),
        )?),
        None => None,
    };
    if fd.as_raw_fd() != number {
        // SAFETY: both are descriptor numbers. Whatever stood at `number` belonged to another owner, which, in
        // the forked child that calls this, will never use or close it.
        check_int(unsafe { libc::dup3(fd.as_raw_fd(), number, libc::O_CLOEXEC) })?;
    }
    let mut last = number;
    if let Some(next) = &next {
        last += 1;
        // SAFETY: as above.
        check_int(unsafe { libc::dup3(next.as_raw_fd(), last, libc::O_CLOEXEC) })?;
    }
    let moved = next.is_some();
    drop(next);
    // SAFETY: as above, for all others.
    check(unsafe {
        libc::syscall(libc::SYS_close_range, last.cast_unsigned() + 1, c_uint::MAX, 0 as c_uint)
    })?;
    Ok((owned(number.into())?, if moved { Some(owned(last.into())?) } else { None }))
}
