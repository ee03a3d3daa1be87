//! A few attempts to get out, made by the first process inside before it starts the command.
//!
//! A part of the sandbox that does not hold stops the start. Each attempt is harmless when it succeeds: it opens, it asks, it
//! never writes.

use std::ffi::CString;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::profile::{Network, Profile, Writes};
use crate::sys;

/// One attempt that must fail.
#[derive(Debug)]
pub(crate) enum Probe {
    /// A nameless file can be made in a directory outside the line.
    WriteIn(CString),
    /// A nameless file can be made in a folder in which only the supervisor makes any.
    WriteUnmediated(CString),
    /// A socket to daemons outside can be had.
    UnixSocket,
    /// A new user namespace, with all its capabilities, can be had.
    UserNamespace,
    /// Text can be typed into the terminal.
    TypeIntoTerminal,
    /// A program could still gain privileges at `exec`.
    NewPrivileges,
    /// Something sent to this address would leave. No host has it, and nothing is sent.
    Leave(SocketAddr),
}

/// Addresses for documents, which no host has, and a port that discards.
/// [RFC 5737](https://www.rfc-editor.org/rfc/rfc5737), [RFC 3849](https://www.rfc-editor.org/rfc/rfc3849)
const NOBODY: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1))];
const DISCARD: u16 = 9;

impl Probe {
    pub(crate) fn all(profile: &Profile, full: bool) -> Vec<Self> {
        let mut probes = vec![Self::NewPrivileges, Self::TypeIntoTerminal];
        if !profile.openings.unix_sockets {
            probes.push(Self::UnixSocket);
        }
        if profile.network != Network::Host {
            probes.extend(NOBODY.map(|nobody| Self::Leave(SocketAddr::new(nobody, DISCARD))));
        }
        if !profile.openings.user_namespaces {
            probes.push(Self::UserNamespace);
        }
        if profile.writes != Writes::Anywhere {
            probes.extend(outside(profile, full).into_iter().map(Self::WriteIn));
        }
        if let (Some(mediation), Writes::Beneath(places)) = (&profile.mediated, &profile.writes) {
            let is_shared = |place: &&PathBuf| !mediation.own.iter().any(|own| place.starts_with(own));
            let folder = places.iter().find(is_shared);
            probes.extend(
                folder
                    .and_then(|place| CString::new(place.as_os_str().as_bytes()).ok())
                    .map(Self::WriteUnmediated),
            );
        }
        probes
    }

    /// Returns whether the attempt is about a place rather than a system call. Such ones need no filter, and are made before
    /// it stands: each would have to be let through by the supervisor.
    pub(crate) fn is_about_files(&self) -> bool {
        matches!(self, Self::WriteIn(_) | Self::WriteUnmediated(_))
    }

    /// Makes the attempt. An error means that the attempt succeeded: the sandbox does not hold.
    pub(crate) fn run(&self) -> io::Result<()> {
        let held = match self {
            Self::WriteIn(directory) | Self::WriteUnmediated(directory) => {
                sys::open(directory, libc::O_TMPFILE | libc::O_WRONLY).is_err()
            }
            Self::UnixSocket => {
                let (unix, stream) = (libc::AF_UNIX as libc::c_ulong, libc::SOCK_STREAM as libc::c_ulong);
                sys::raw(libc::SYS_socket, [unix, stream, 0]).is_err()
            }
            Self::UserNamespace => {
                let flag = libc::CLONE_NEWUSER as libc::c_ulong;
                sys::raw(libc::SYS_unshare, [flag, 0, 0]).is_err()
            }
            Self::TypeIntoTerminal => {
                // No such descriptor, so that nothing is typed: the filter answers EPERM before that is seen.
                let none = libc::c_ulong::MAX;
                let answer = sys::raw(libc::SYS_ioctl, [none, libc::TIOCSTI as libc::c_ulong, 0]);
                answer.err().and_then(|e| e.raw_os_error()) == Some(libc::EPERM)
            }
            Self::NewPrivileges => sys::prctl(libc::PR_GET_NO_NEW_PRIVS, 0, 0)? == 1,
            // Either there is no way, or it ends at this end.
            Self::Leave(to) => sys::way_to(*to).map_or(true, |from| from == to.ip() || from.is_loopback()),
        };
        if held { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EPERM)) }
    }

    /// Describes the hole that a success of this attempt shows.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::WriteIn(directory) => {
                format!(
                    "a file could be made in `{}`, outside the workspace boundary",
                    directory.to_string_lossy()
                )
            }
            Self::WriteUnmediated(directory) => {
                format!("a process could write in `{}` without the supervisor", directory.to_string_lossy())
            }
            Self::UnixSocket => "a socket to programs outside could be opened".into(),
            Self::UserNamespace => "a new user namespace could be made".into(),
            Self::TypeIntoTerminal => "text could be typed into the terminal".into(),
            Self::NewPrivileges => "a set-user-id program could gain privileges".into(),
            Self::Leave(to) => format!("a packet to {to} would leave"),
        }
    }
}

/// Directories where the caller could write, and the command must not: above the folder, and the home.
fn outside(profile: &Profile, full: bool) -> Vec<CString> {
    let granted = match &profile.writes {
        Writes::Beneath(places) => places.as_slice(),
        Writes::Nowhere | Writes::Anywhere => &[],
    };
    let home = profile.environment.iter().find(|(name, _)| name == "HOME").map(|(_, value)| Path::new(value));
    let inside = |path: &Path| {
        let covered = full && ["/tmp", "/var/tmp", "/run", "/dev"].iter().any(|c| path.starts_with(c));
        covered
            || granted.iter().any(|g| path.starts_with(g))
            || profile.layers.iter().any(|l| path.starts_with(&l.shared))
    };
    [profile.cwd.parent(), home]
        .into_iter()
        .flatten()
        .filter(|path| path.is_absolute() && !inside(path))
        .filter_map(|path| CString::new(path.as_os_str().as_bytes()).ok())
        .collect()
}
