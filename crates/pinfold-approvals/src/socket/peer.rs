//! Authentication of a peer by the kernel's information about its process: only the user's own unconfined processes are
//! accepted.
//!
//! Process identifiers are reused, so the process is held by a pidfd while `/proc` is read.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::{PeerCredentials, PeerPidfd};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, geteuid, pidfd_open};

/// An authenticated peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    pub(super) uid: u32,
    pub(super) pid: i32,
}

/// The longest claimed name of an approver, in characters.
const MAX_NAME_CHARS: usize = 64;

impl Peer {
    /// Describes the approver: the claimed name, reduced to characters that are safe on a screen, and the kernel's
    /// information.
    pub fn describe(self, who: Option<String>) -> String {
        let claimed: String = who
            .unwrap_or_default()
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_.@/".contains(*c))
            .take(MAX_NAME_CHARS)
            .collect();
        let known = format!("uid {}, process {}", self.uid, self.pid);
        if claimed.is_empty() { known } else { format!("{claimed} ({known})") }
    }
}

/// Reason why a peer is rejected.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    /// Another user.
    #[error("you are not the user of this session")]
    OtherUser,
    /// A process in other namespaces.
    #[error("you are in other namespaces than the asking session")]
    OtherNamespaces,
    /// A process that is more confined than this one.
    #[error("you are confined: a confined process cannot answer approval requests")]
    Confined,
    /// A descendant of this process.
    #[error("you are a descendant of the asking session, which cannot answer its own approval requests")]
    Descendant,
    /// A process that cannot be inspected.
    #[error("your process cannot be identified: {0}")]
    Unknown(io::Error),
}

/// The most ancestors that are checked; a longer chain is rejected.
const MAX_ANCESTORS: usize = 512;

/// Accepts the user, or the superuser, through a process that is no more confined than this one.
pub(super) fn authenticate(stream: &UnixStream) -> Result<Peer, PeerError> {
    let unknown = |error: nix::Error| PeerError::Unknown(error.into());
    let credentials = getsockopt(stream, PeerCredentials).map_err(unknown)?;
    let peer = Peer { uid: credentials.uid(), pid: credentials.pid() };
    let me = geteuid().as_raw();
    if peer.uid != me && peer.uid != 0 {
        return Err(PeerError::OtherUser);
    }
    if u32::try_from(peer.pid) == Ok(std::process::id()) {
        return Ok(peer);
    }
    if peer.pid <= 0 {
        // A process of an outer PID namespace has no identifier here.
        return Err(PeerError::OtherNamespaces);
    }
    let pidfd = open_pidfd(stream, peer.pid).map_err(PeerError::Unknown)?;
    check_confinement(peer, me)?;
    // The process has not ended since, so everything that was read belongs to it.
    if has_ended(&pidfd).map_err(PeerError::Unknown)? {
        return Err(PeerError::Unknown(io::Error::new(io::ErrorKind::NotFound, "the process has ended")));
    }
    Ok(peer)
}

/// Opens a pidfd of the peer, so that its identifier is not reused. Before Linux 6.5 the kernel has only the
/// identifier.
fn open_pidfd(stream: &UnixStream, pid: i32) -> io::Result<OwnedFd> {
    match getsockopt(stream, PeerPidfd) {
        Ok(held) => Ok(held),
        Err(nix::Error::ENOPROTOOPT) => {
            let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::NotFound)?;
            Ok(pidfd_open(pid, PidfdFlags::empty())?)
        }
        Err(error) => Err(error.into()),
    }
}

fn has_ended(process: &impl AsFd) -> io::Result<bool> {
    let mut fds = [PollFd::new(process, PollFlags::IN)];
    Ok(poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))? > 0)
}

fn check_confinement(peer: Peer, me: u32) -> Result<(), PeerError> {
    let (theirs, ours) = (status(&peer.pid.to_string())?, status("self")?);
    if theirs.is_more_confined_than(&ours) {
        return Err(PeerError::Confined);
    }
    for kind in ["user", "pid"] {
        match (namespace(&peer.pid.to_string(), kind), namespace("self", kind)) {
            (Ok(theirs), Ok(ours)) if theirs == ours => {}
            (Ok(_), Ok(_)) => return Err(PeerError::OtherNamespaces),
            // Processes of the superuser cannot be inspected by others, and could act without permission anyway.
            (Err(_), _) if peer.uid == 0 && me != 0 => {}
            (Err(error), _) | (_, Err(error)) => return Err(PeerError::Unknown(error)),
        }
    }
    check_ancestors(theirs)
}

/// Checks that this process is not an ancestor.
fn check_ancestors(mut status: ProcessConfinement) -> Result<(), PeerError> {
    let me = i32::try_from(std::process::id()).unwrap_or(0);
    for _ in 0..MAX_ANCESTORS {
        match status.parent {
            parent if parent == me => return Err(PeerError::Descendant),
            parent if parent <= 1 => return Ok(()),
            parent => status = self::status(&parent.to_string())?,
        }
    }
    Err(PeerError::Unknown(io::Error::new(io::ErrorKind::InvalidData, "it has too many ancestors")))
}

/// The confinement of a process, from `/proc/PID/status`.
/// [proc_pid_status(5)](https://man7.org/linux/man-pages/man5/proc_pid_status.5.html)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ProcessConfinement {
    parent: i32,
    no_new_privileges: bool,
    filtered: bool,
    filters: u64,
}

impl ProcessConfinement {
    fn parse(text: &str) -> Option<Self> {
        let lines = text.lines().filter_map(|line| line.split_once(':'));
        let fields: HashMap<&str, &str> = lines.map(|(name, value)| (name, value.trim())).collect();
        Some(Self {
            parent: fields.get("PPid")?.parse().ok()?,
            no_new_privileges: *fields.get("NoNewPrivs")? != "0",
            filtered: *fields.get("Seccomp")? != "0",
            // Since Linux 5.9; before that a filtered process has an unknown number, at least one.
            filters: fields.get("Seccomp_filters").and_then(|count| count.parse().ok()).unwrap_or(0),
        })
    }

    /// None of these restrictions can be removed, so every descendant of a confined process has them.
    fn is_more_confined_than(&self, other: &Self) -> bool {
        (self.no_new_privileges && !other.no_new_privileges)
            || (self.filtered && !other.filtered)
            || self.filters > other.filters
    }
}

fn status(process: &str) -> Result<ProcessConfinement, PeerError> {
    let text = fs::read_to_string(format!("/proc/{process}/status")).map_err(PeerError::Unknown)?;
    let unclear =
        || PeerError::Unknown(io::Error::new(io::ErrorKind::InvalidData, "its status is not clear"));
    ProcessConfinement::parse(&text).ok_or_else(unclear)
}

fn namespace(process: &str, kind: &str) -> io::Result<PathBuf> {
    fs::read_link(format!("/proc/{process}/ns/{kind}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = "Name:\tx\nPPid:\t7\nNoNewPrivs:\t0\nSeccomp:\t0\nSeccomp_filters:\t0\n";

    #[test]
    fn whoever_took_on_a_limit_more_is_more_confined() {
        let plain = ProcessConfinement::parse(PLAIN).unwrap();
        assert_eq!(plain.parent, 7);
        assert!(!plain.is_more_confined_than(&plain));
        for (from, to) in [
            ("NoNewPrivs:\t0", "NoNewPrivs:\t1"),
            ("Seccomp:\t0", "Seccomp:\t2"),
            ("Seccomp_filters:\t0", "Seccomp_filters:\t1"),
        ] {
            let confined = ProcessConfinement::parse(&PLAIN.replace(from, to)).unwrap();
            assert!(
                confined.is_more_confined_than(&plain) && !plain.is_more_confined_than(&confined),
                "{to}"
            );
        }
    }

    #[test]
    fn what_cannot_be_read_is_no_status() {
        for missing in ["PPid", "NoNewPrivs", "Seccomp:"] {
            let lines: Vec<&str> = PLAIN.lines().filter(|line| !line.starts_with(missing)).collect();
            assert_eq!(ProcessConfinement::parse(&lines.join("\n")), None, "{missing}");
        }
    }

    #[test]
    fn this_process_is_let_in_and_its_children_are_not() {
        let (here, there) = UnixStream::pair().unwrap();
        assert!(authenticate(&here).is_ok());
        drop(there);
        let child = std::process::Command::new("sleep").arg("10").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let judged = check_confinement(Peer { uid: geteuid().as_raw(), pid }, geteuid().as_raw());
        let mut child = child;
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(matches!(judged, Err(PeerError::Descendant)), "{judged:?}");
    }
}
