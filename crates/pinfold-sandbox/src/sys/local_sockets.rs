//! Pairs of sockets, and messages with descriptors.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

use libc::{c_int, c_long};

use super::{check, check_int, owned};

/// One end of a pair of sockets for streams whose other end is gone. It is connected, so that the kernel connects and listens with it no
/// more, and it has no peer.
///
/// [socketpair(2)](https://man7.org/linux/man-pages/man2/socketpair.2.html)
pub(crate) fn lone_socket(nonblocking: bool) -> io::Result<OwnedFd> {
    let flags = libc::SOCK_CLOEXEC | if nonblocking { libc::SOCK_NONBLOCK } else { 0 };
    let mut ends: [c_int; 2] = [-1; 2];
    // SAFETY: `ends` has room for both.
    check_int(unsafe { libc::socketpair(libc::AF_UNIX, libc::SOCK_STREAM | flags, 0, ends.as_mut_ptr()) })?;
    let [one, other] = ends;
    drop(owned(other.into())?);
    owned(one.into())
}

/// A connected pair of sockets that keeps message boundaries.
pub(crate) fn socket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds: [c_int; 2] = [-1; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: `fds` has room for two descriptors.
    check_int(unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, fds.as_mut_ptr()) })?;
    Ok((owned(fds[0].into())?, owned(fds[1].into())?))
}

/// Room for one descriptor in a control message, aligned as `cmsghdr` wants it.
#[repr(C, align(8))]
struct Control([u8; 24]);

/// Sends one message, with a descriptor when there is one; never waits for room.
///
/// [unix(7)](https://man7.org/linux/man-pages/man7/unix.7.html), `SCM_RIGHTS`
pub(crate) fn send(socket: BorrowedFd<'_>, bytes: &[u8], fd: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let mut control = Control([0; 24]);
    // SAFETY: all zero is a valid `msghdr`.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    if let Some(fd) = fd {
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = size_of::<Control>() as _;
        // SAFETY: `control` is aligned and has room for one header and one descriptor (CMSG_SPACE(4) is 24).
        unsafe {
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(4) as _;
            ptr::write_unaligned(libc::CMSG_DATA(header).cast::<c_int>(), fd.as_raw_fd());
        }
    }
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    // SAFETY: everything that `message` points to lives until the call returns.
    let rc = unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const message, flags) };
    check(rc as c_long).map(drop)
}

/// Receives one message, with a descriptor when one came along. Length 0 means that the other side is gone.
pub(crate) fn receive(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<(usize, Option<OwnedFd>)> {
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let mut control = Control([0; 24]);
    // SAFETY: all zero is a valid `msghdr`.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = size_of::<Control>() as _;
    // SAFETY: everything that `message` points to lives until the call returns.
    let rc = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC) };
    let len = usize::try_from(rc).map_err(|_| io::Error::last_os_error())?;
    if message.msg_flags & libc::MSG_CTRUNC != 0 {
        // A descriptor came along, and this process may have no more.
        return Err(io::Error::from_raw_os_error(libc::EMFILE));
    }
    // SAFETY: the kernel filled `control` up to `msg_controllen`; CMSG_FIRSTHDR returns null when that is too
    // short for a header, and a rights message of this length holds one descriptor, new and ours.
    let fd = unsafe {
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        if !header.is_null()
            && (*header).cmsg_type == libc::SCM_RIGHTS
            && (*header).cmsg_len as usize >= libc::CMSG_LEN(4) as usize
        {
            Some(OwnedFd::from_raw_fd(ptr::read_unaligned(libc::CMSG_DATA(header).cast::<c_int>())))
        } else {
            None
        }
    };
    Ok((len, fd))
}
