//! Seccomp filters and their user notifications.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;

use libc::{c_int, c_ulong};

use super::{check, check_int, ioctl_request, owned};

const WAIT_KILLABLE_RECV: c_ulong = 1 << 5;

/// The descriptor on which the questions of a filter arrive.
pub(crate) struct Listener {
    pub(crate) fd: OwnedFd,
    /// Once a question was received, nothing but the end of the asker takes it back (Linux 5.19).
    pub(crate) uninterrupted: bool,
}

/// Installs a seccomp filter. With `watched` the descriptor on which its questions arrive is returned.
///
/// [seccomp(2)](https://man7.org/linux/man-pages/man2/seccomp.2.html)
pub(crate) fn install_filter(program: &[libc::sock_filter], watched: bool) -> io::Result<Option<Listener>> {
    let Ok(len) = u16::try_from(program.len()) else {
        return Err(io::Error::from_raw_os_error(libc::E2BIG));
    };
    let program = libc::sock_fprog { len, filter: program.as_ptr().cast_mut() };
    let install = |flags: c_ulong| {
        // SAFETY: `program` describes a slice that outlives the call; the kernel copies and verifies it.
        check(unsafe {
            libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program)
        })
    };
    if !watched {
        return install(0).map(|_| None);
    }
    let listen = |flags: c_ulong| {
        let fd = install(libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | flags).and_then(owned)?;
        Ok(Some(Listener { fd, uninterrupted: flags == WAIT_KILLABLE_RECV }))
    };
    // Without it a signal may restart a call whose answer is under way; harmless where no call is carried out for it.
    listen(WAIT_KILLABLE_RECV).or_else(|_: io::Error| listen(0))
}

/// Asks that answering a question wakes the asker on the same processor: a third of the cost (Linux 6.6).
pub(crate) fn wake_in_step(listener: BorrowedFd<'_>) {
    const SECCOMP_IOCTL_NOTIF_SET_FLAGS: libc::Ioctl = ioctl_request(0x4008_2104);
    const SYNC_WAKE_UP: c_ulong = 1;
    // SAFETY: takes a number; an older kernel answers with an error, which changes nothing.
    unsafe { libc::ioctl(listener.as_raw_fd(), SECCOMP_IOCTL_NOTIF_SET_FLAGS, SYNC_WAKE_UP) };
}

/// The next question of a watched process. Blocks: poll first.
pub(crate) fn receive_notification(listener: BorrowedFd<'_>) -> io::Result<libc::seccomp_notif> {
    const SECCOMP_IOCTL_NOTIF_RECV: libc::Ioctl = ioctl_request(0xc050_2100);
    // SAFETY: all zero is what the kernel demands of the structure it fills.
    let mut question: libc::seccomp_notif = unsafe { std::mem::zeroed() };
    // SAFETY: `question` is valid for writing.
    check_int(unsafe { libc::ioctl(listener.as_raw_fd(), SECCOMP_IOCTL_NOTIF_RECV, &raw mut question) })?;
    Ok(question)
}

/// Returns whether the asker still waits, so that its process number still means the same process.
pub(crate) fn is_notification_valid(listener: BorrowedFd<'_>, id: u64) -> bool {
    const SECCOMP_IOCTL_NOTIF_ID_VALID: libc::Ioctl = ioctl_request(0x4008_2102);
    // SAFETY: reads one 64-bit word.
    unsafe { libc::ioctl(listener.as_raw_fd(), SECCOMP_IOCTL_NOTIF_ID_VALID, &raw const id) == 0 }
}

/// Response to a seccomp user notification.
#[derive(Clone, Copy)]
pub(crate) enum NotifyResponse {
    /// The call goes on as the kernel judges it.
    Continue,
    /// The call returns zero: the supervisor has executed it.
    Done,
    /// The call fails with this error number.
    Fail(c_int),
}

/// Answers a question.
pub(crate) fn answer(listener: BorrowedFd<'_>, id: u64, answer: NotifyResponse) -> io::Result<()> {
    const SECCOMP_IOCTL_NOTIF_SEND: libc::Ioctl = ioctl_request(0xc018_2101);
    const CONTINUE: u32 = 1;
    let (error, flags) = match answer {
        NotifyResponse::Continue => (0, CONTINUE),
        NotifyResponse::Done => (0, 0),
        NotifyResponse::Fail(errno) => (-errno, 0),
    };
    let response = libc::seccomp_notif_resp { id, val: 0, error, flags };
    // SAFETY: `response` is read during the call only.
    check_int(unsafe { libc::ioctl(listener.as_raw_fd(), SECCOMP_IOCTL_NOTIF_SEND, &raw const response) })
        .map(drop)
}

/// Returns whether notifications can be answered with descriptors: tried with a notification that does not exist.
pub(crate) fn hands_over(listener: BorrowedFd<'_>) -> bool {
    let answered = answer_with(listener, 0, listener, true);
    answered.is_err_and(|error| error.raw_os_error() == Some(libc::ENOENT))
}

/// Answers a question with a descriptor, which the asker gets as the result of its call, in one step (Linux 5.14).
pub(crate) fn answer_with(
    listener: BorrowedFd<'_>,
    id: u64,
    fd: BorrowedFd<'_>,
    close_on_exec: bool,
) -> io::Result<()> {
    const SECCOMP_IOCTL_NOTIF_ADDFD: libc::Ioctl = ioctl_request(0x4018_2103);
    const SEND: u32 = 2;
    #[repr(C)]
    struct AddFd {
        id: u64,
        flags: u32,
        srcfd: u32,
        newfd: u32,
        newfd_flags: u32,
    }
    let request = AddFd {
        id,
        flags: SEND,
        srcfd: fd.as_raw_fd().cast_unsigned(),
        newfd: 0,
        newfd_flags: if close_on_exec { libc::O_CLOEXEC.cast_unsigned() } else { 0 },
    };
    // SAFETY: `request` has the layout of `struct seccomp_notif_addfd` and is read during the call only.
    check_int(unsafe { libc::ioctl(listener.as_raw_fd(), SECCOMP_IOCTL_NOTIF_ADDFD, &raw const request) })
        .map(drop)
}

/// Returns whether questions of a filter can wait for their answer undisturbed by signals (Linux 5.19).
///
/// [seccomp(2)](https://man7.org/linux/man-pages/man2/seccomp.2.html): flags are looked at before the filter.
pub(crate) fn can_wait_undisturbed() -> bool {
    let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | WAIT_KILLABLE_RECV;
    // SAFETY: there is no program, which the kernel says with EFAULT, and an unknown flag with EINVAL.
    let rc =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, ptr::null::<u8>()) };
    check(rc).is_err_and(|error| error.raw_os_error() == Some(libc::EFAULT))
}
