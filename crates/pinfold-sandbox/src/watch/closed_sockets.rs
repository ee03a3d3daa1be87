//! Sockets of this machine in a run that reaches none of them.
//!
//! The path is in `connect`, not in `socket`. So that a refusal can name it, `socket` is answered with an end of a pair whose
//! other end is gone: the kernel connects and listens with it nowhere, whatever the address in memory says by then, and every
//! process of a run can make such an end by itself (`socketpair`). Then `connect` and `bind` are refused by their path.
//! [unix(7)](https://man7.org/linux/man-pages/man7/unix.7.html)
//!
//! Promise: what is handed out reaches nothing. No answer depends on what stands at a path.

use std::ffi::OsStr;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::absolute;
use super::attempt::{Attempt, Intent, SyscallHandler};
use super::connect::{ConnectQuestion, answer_if_there};
use super::file_call::int;
use crate::sys::{self, NotifyResponse, Pid};

/// The longest address that the kernel takes (`struct sockaddr_un`).
const MAX_ADDRESS_BYTES: u64 = 110;

/// Returns whether a call wants a socket that can be handed out. Its arguments are in registers. Datagrams go to any address that
/// they name, and some kernels let go of the lost end of a pair for packets, which connects anew then: neither is handed out.
pub(super) fn makes(question: &libc::seccomp_notif) -> bool {
    /// The bits of the second argument that are no flags.
    const TYPE: u64 = 0xf;
    let [family, kind, protocol, ..] = question.data.args;
    i64::from(question.data.nr) == libc::SYS_socket
        && int(family) == libc::AF_UNIX
        && int(kind & TYPE) == libc::SOCK_STREAM
        && [0, libc::PF_UNIX].contains(&int(protocol))
}

/// Answers with a socket that reaches nothing.
pub(super) fn hand_out(asked: &ConnectQuestion<'_>) -> io::Result<()> {
    let [_, kind, ..] = asked.question.data.args;
    let id = asked.question.id;
    let has = |flag: i32| int(kind) & flag == flag;
    let handed = sys::lone_socket(has(libc::SOCK_NONBLOCK))
        .and_then(|lone| sys::answer_with(asked.listener.as_fd(), id, lone.as_fd(), has(libc::SOCK_CLOEXEC)));
    match handed {
        Ok(()) => Ok(()),
        Err(error) => {
            let errno = error.raw_os_error().unwrap_or(libc::ENOBUFS);
            answer_if_there(asked.listener, id, NotifyResponse::Fail(errno))
        }
    }
}

/// Refuses a `connect` or `bind` to a socket of this machine, and tells of it. False, and no answer, where the address is of
/// another family.
pub(super) fn refuse(
    asked: &ConnectQuestion<'_>,
    intent: Intent,
    handler: &mut dyn SyscallHandler,
) -> io::Result<bool> {
    let pid = asked.question.pid.cast_signed();
    let [_, at, len, ..] = asked.question.data.args;
    let Some(place) = socket_path(pid, at, len) else { return Ok(false) };
    // Else its number may mean another process by now.
    if sys::is_notification_valid(asked.listener.as_fd(), asked.question.id) {
        handler.attempt(&Attempt::new(pid, intent, place));
        answer_if_there(asked.listener, asked.question.id, NotifyResponse::Fail(libc::EACCES))?;
    }
    Ok(true)
}

/// The socket that an address of `AF_UNIX` names: an absolute path, or `@` and an abstract name.
fn socket_path(pid: Pid, at: u64, len: u64) -> Option<PathBuf> {
    let mut address = vec![0; usize::try_from(len.min(MAX_ADDRESS_BYTES)).ok()?];
    let read = sys::read_memory(pid, at, &mut address).ok()?;
    address.truncate(read);
    let (family, name) = address.split_first_chunk::<2>()?;
    if i32::from(u16::from_ne_bytes(*family)) != libc::AF_UNIX {
        return None;
    }
    match name.split_first() {
        Some((0, name)) => Some(format!("@{}", name.escape_ascii()).into()),
        // The kernel chooses an abstract name.
        None => Some("@".into()),
        Some(_) => {
            let path = OsStr::from_bytes(name.split(|byte| *byte == 0).next().unwrap_or_default());
            Some(absolute(pid, libc::AT_FDCWD, path).unwrap_or_else(|| Path::new(".").join(path)))
        }
    }
}
