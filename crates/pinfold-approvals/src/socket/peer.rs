//! Who is at the other end, by the kernel's word: only the person, and nothing that pinfold confines.
//!
//! Trap: a number of a process can be used again. The process is held by a descriptor while it is looked at, so that
//! what is read belongs to whoever connected.

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

/// Whoever connected, and was let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    pub(super) uid: u32,
    pub(super) pid: i32,
}

/// The longest name that whoever answers gives themselves.
const LONGEST_WHO: usize = 64;

impl Peer {
    /// Who answered: what the kernel says, and what they call themselves, without anything that a screen could be fooled by.
    pub fn called(self, who: Option<String>) -> String {
        let told: String = who
            .unwrap_or_default()
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_.@/".contains(*c))
            .take(LONGEST_WHO)
            .collect();
        let known = format!("uid {}, process {}", self.uid, self.pid);
        if told.is_empty() { known } else { format!("{told} ({known})") }
    }
}

/// Why somebody is not let in.
#[derive(Debug, thiserror::Error)]
pub enum NotAdmitted {
    /// Somebody else.
    #[error("you are not the person whose session this is")]
    OtherUser,
    /// A process that lives elsewhere.
    #[error("you live in other namespaces than the session that asks")]
    OtherNamespaces,
    /// A process that can do less than this one.
    #[error("you are confined, and whoever is confined does not answer questions")]
    Confined,
    /// A process that was started from here.
    #[error("you were started by the session that asks, and it does not answer its own questions")]
    Descendant,
    /// A process of which too little is known.
    #[error("who you are cannot be found out: {0}")]
    Unknown(io::Error),
}

/// The most ancestors that are looked at. More is not to be understood.
const MOST_ANCESTORS: usize = 512;

/// Lets in the person, or the superuser, through a process that is no more confined than this one.
pub(super) fn admit(stream: &UnixStream) -> Result<Peer, NotAdmitted> {
    let unknown = |error: nix::Error| NotAdmitted::Unknown(error.into());
    let credentials = getsockopt(stream, PeerCredentials).map_err(unknown)?;
    let peer = Peer { uid: credentials.uid(), pid: credentials.pid() };
    let me = geteuid().as_raw();
    if peer.uid != me && peer.uid != 0 {
        return Err(NotAdmitted::OtherUser);
    }
    if u32::try_from(peer.pid) == Ok(std::process::id()) {
        return Ok(peer);
    }
    if peer.pid <= 0 {
        // A process of an outer namespace has no number here.
        return Err(NotAdmitted::OtherNamespaces);
    }
    let held = held(stream, peer.pid).map_err(NotAdmitted::Unknown)?;
    judge(peer, me)?;
    // Whatever was read was read of a process that has not ended since.
    if has_ended(&held).map_err(NotAdmitted::Unknown)? {
        return Err(NotAdmitted::Unknown(io::Error::new(io::ErrorKind::NotFound, "the process has ended")));
    }
    Ok(peer)
}

/// The process that connected, so that its number stays its own. Before Linux 6.5 the kernel tells only the number.
fn held(stream: &UnixStream, pid: i32) -> io::Result<OwnedFd> {
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

fn judge(peer: Peer, me: u32) -> Result<(), NotAdmitted> {
    let (theirs, ours) = (status(&peer.pid.to_string())?, status("self")?);
    if theirs.is_more_confined_than(&ours) {
        return Err(NotAdmitted::Confined);
    }
    for kind in ["user", "pid"] {
        match (namespace(&peer.pid.to_string(), kind), namespace("self", kind)) {
            (Ok(theirs), Ok(ours)) if theirs == ours => {}
            (Ok(_), Ok(_)) => return Err(NotAdmitted::OtherNamespaces),
            // The superuser's processes cannot be looked into by others, and need not ask to be let in anywhere.
            (Err(_), _) if peer.uid == 0 && me != 0 => {}
            (Err(error), _) | (_, Err(error)) => return Err(NotAdmitted::Unknown(error)),
        }
    }
    not_ours(theirs)
}

/// Walks up from a process: none of its ancestors may be this one.
fn not_ours(mut status: Status) -> Result<(), NotAdmitted> {
    let me = i32::try_from(std::process::id()).unwrap_or(0);
    for _ in 0..MOST_ANCESTORS {
        match status.parent {
            parent if parent == me => return Err(NotAdmitted::Descendant),
            parent if parent <= 1 => return Ok(()),
            parent => status = self::status(&parent.to_string())?,
        }
    }
    Err(NotAdmitted::Unknown(io::Error::new(io::ErrorKind::InvalidData, "it has too many ancestors")))
}

/// What `/proc/PID/status` says about confinement.
/// [proc_pid_status(5)](https://man7.org/linux/man-pages/man5/proc_pid_status.5.html)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Status {
    parent: i32,
    no_new_privileges: bool,
    filtered: bool,
    filters: u64,
}

impl Status {
    fn parse(text: &str) -> Option<Self> {
        let lines = text.lines().filter_map(|line| line.split_once(':'));
        let fields: HashMap<&str, &str> = lines.map(|(name, value)| (name, value.trim())).collect();
        Some(Self {
            parent: fields.get("PPid")?.parse().ok()?,
            no_new_privileges: *fields.get("NoNewPrivs")? != "0",
            filtered: *fields.get("Seccomp")? != "0",
            // Since Linux 5.9; one that is filtered has at least one.
            filters: fields.get("Seccomp_filters").and_then(|count| count.parse().ok()).unwrap_or(0),
        })
    }

    /// Each of these can be taken on and never be put off, so every descendant of what is confined shows them.
    fn is_more_confined_than(&self, other: &Self) -> bool {
        (self.no_new_privileges && !other.no_new_privileges)
            || (self.filtered && !other.filtered)
            || self.filters > other.filters
    }
}

fn status(process: &str) -> Result<Status, NotAdmitted> {
    let text = fs::read_to_string(format!("/proc/{process}/status")).map_err(NotAdmitted::Unknown)?;
    let unclear =
        || NotAdmitted::Unknown(io::Error::new(io::ErrorKind::InvalidData, "its status is not clear"));
    Status::parse(&text).ok_or_else(unclear)
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
        let plain = Status::parse(PLAIN).unwrap();
        assert_eq!(plain.parent, 7);
        assert!(!plain.is_more_confined_than(&plain));
        for (from, to) in [
            ("NoNewPrivs:\t0", "NoNewPrivs:\t1"),
            ("Seccomp:\t0", "Seccomp:\t2"),
            ("Seccomp_filters:\t0", "Seccomp_filters:\t1"),
        ] {
            let confined = Status::parse(&PLAIN.replace(from, to)).unwrap();
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
            assert_eq!(Status::parse(&lines.join("\n")), None, "{missing}");
        }
    }

    #[test]
    fn this_process_is_let_in_and_its_children_are_not() {
        let (here, there) = UnixStream::pair().unwrap();
        assert!(admit(&here).is_ok());
        drop(there);
        let child = std::process::Command::new("sleep").arg("10").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let judged = judge(Peer { uid: geteuid().as_raw(), pid }, geteuid().as_raw());
        let mut child = child;
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(matches!(judged, Err(NotAdmitted::Descendant)), "{judged:?}");
    }
}
