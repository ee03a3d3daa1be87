//! Probe of the kernel features of this machine, each tried in a child.
//!
//! Nothing is concluded from version numbers or files: a container may forbid what its kernel can do.

use std::io;
use std::os::fd::AsFd;

use crate::linux::filter::{Backing, Filter, Group};
use crate::linux::landlock::{HandledAccess, Ruleset};
use crate::linux::relay_sockets::all_local;
use crate::profile::Profile;
use crate::strength::Tier;
use crate::sys::{self, ChildExit, Forked, Listener};

/// One means of the kernel, and whether it can be had here.
#[derive(Debug)]
pub struct ProbeResult {
    /// Its name.
    pub name: &'static str,
    /// Its use.
    pub holds: &'static str,
    /// The consequence of its absence.
    pub without: &'static str,
    /// The full tier needs it.
    pub needed: bool,
    /// A detail (such as a version), or the reason why it is unavailable.
    pub result: Result<String, io::Error>,
}

/// Tries every means once. Takes a few milliseconds; leaves nothing behind.
pub fn probe() -> Vec<ProbeResult> {
    let mut findings: Vec<ProbeResult> = MEANS.iter().map(ProbedFeature::find).collect();
    findings.extend([landlock(), seccomp(), proxy()]);
    findings
}

/// The strongest tier that this machine can hold.
pub fn strongest(findings: &[ProbeResult]) -> Option<Tier> {
    let has = |name: &str| findings.iter().any(|f| f.name == name && f.result.is_ok());
    if findings.iter().filter(|f| f.needed).all(|f| f.result.is_ok()) {
        Some(Tier::Full)
    } else {
        (has("landlock") && has("seccomp")).then_some(Tier::Landlock)
    }
}

/// Something that needs namespaces, tried inside them.
struct ProbedFeature {
    name: &'static str,
    holds: &'static str,
    without: &'static str,
    needed: bool,
    namespaces: libc::c_int,
    attempt: fn() -> io::Result<()>,
}

const FILES: libc::c_int = libc::CLONE_NEWUSER | libc::CLONE_NEWNS;

const MEANS: [ProbedFeature; 7] = [
    ProbedFeature {
        name: "user namespace",
        holds: "everything below, without privileges",
        without: "only Landlock and seccomp hold",
        needed: true,
        namespaces: libc::CLONE_NEWUSER,
        attempt: || Ok(()),
    },
    ProbedFeature {
        name: "mounts",
        holds: "the file line, protected names, hidden credentials, private /tmp",
        without: "protected names and file attributes are watched, not walled",
        needed: true,
        namespaces: FILES,
        attempt: mounts,
    },
    ProbedFeature {
        name: "processes",
        holds: "processes outside are out of sight, and all inside end together",
        without: "processes outside can be seen; descendants may outlive a killed supervisor",
        needed: true,
        namespaces: FILES | libc::CLONE_NEWPID,
        attempt: || {
            let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC | libc::MS_RDONLY;
            sys::mount(c"proc", c"/proc", c"proc", flags, None)
        },
    },
    ProbedFeature {
        name: "ipc",
        holds: "shared memory, semaphores and queues are the run's own",
        without: "System V and POSIX queues are refused",
        needed: true,
        namespaces: libc::CLONE_NEWUSER | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS | libc::CLONE_NEWCGROUP,
        attempt: || Ok(()),
    },
    ProbedFeature {
        name: "network",
        holds: "no way out, and a loopback of the run's own",
        without: "sockets are refused altogether",
        needed: true,
        namespaces: libc::CLONE_NEWUSER | libc::CLONE_NEWNET,
        attempt: sys::loopback_up,
    },
    ProbedFeature {
        name: "relay",
        holds: "hosts that are allowed, and no others, for every program",
        without: "hosts can be allowed for programs that use a proxy alone",
        needed: false,
        namespaces: libc::CLONE_NEWUSER | libc::CLONE_NEWNET,
        attempt: || {
            sys::loopback_up()?;
            sys::route(&all_local(libc::AF_INET))
        },
    },
    ProbedFeature {
        name: "layers",
        holds: "package caches read shared and written privately",
        without: "package caches are private and start empty",
        needed: false,
        namespaces: FILES,
        attempt: layer,
    },
];

fn mounts() -> io::Result<()> {
    use sys::{Attributes, RDONLY};
    sys::mount(c"none", c"/", c"none", libc::MS_REC | libc::MS_PRIVATE, None)?;
    let root = sys::open_held(c"/")?;
    sys::clone_mount(root.as_fd(), true)?;
    sys::set_mount(root.as_fd(), Attributes { set: RDONLY, clear: 0 }, true)?;
    sys::mount(c"pinfold", c"/run", c"tmpfs", libc::MS_NOSUID | libc::MS_NODEV, None)
}

fn layer() -> io::Result<()> {
    sys::mount(c"pinfold", c"/run", c"tmpfs", libc::MS_NOSUID | libc::MS_NODEV, None)?;
    for directory in [c"/run/lower", c"/run/upper", c"/run/work", c"/run/merged"] {
        sys::make_dir(directory, 0o755)?;
    }
    let options = c"lowerdir=/run/lower,upperdir=/run/upper,workdir=/run/work,userxattr";
    sys::mount(c"pinfold", c"/run/merged", c"overlay", 0, Some(options))
}

impl ProbedFeature {
    fn find(&self) -> ProbeResult {
        let result = self.attempt().map(|()| String::new());
        let &Self { name, holds, without, needed, .. } = self;
        ProbeResult { name, holds, without, needed, result }
    }

    fn attempt(&self) -> io::Result<()> {
        let (uid, gid) = sys::effective_ids();
        let (uid, gid) = (format!("{uid} {uid} 1"), format!("{gid} {gid} 1"));
        in_child(u64::from(self.namespaces.cast_unsigned()), || {
            for (path, text) in [
                (c"/proc/self/setgroups", "deny"),
                (c"/proc/self/uid_map", &uid),
                (c"/proc/self/gid_map", &gid),
            ] {
                sys::write_all(sys::open(path, libc::O_WRONLY)?.as_fd(), text.as_bytes())?;
            }
            (self.attempt)()
        })
    }
}

fn landlock() -> ProbeResult {
    let handles = HandledAccess { writes: true, reads: false, network: false };
    let version = sys::landlock_version();
    let result = version.and_then(|version| {
        in_child(0, || {
            sys::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0)?;
            Ruleset::new(version, handles)?.restrict()
        })?;
        Ok(format!("version {version}"))
    });
    ProbeResult {
        name: "landlock",
        holds: "the file line, a second time; sockets and signals to programs outside",
        without: "mounts alone hold the file line",
        needed: false,
        result,
    }
}

fn seccomp() -> ProbeResult {
    let install = |watched: bool| {
        let mut filter = Filter::new(&Profile::default(), Backing::Namespaces, Group::Shared);
        if !watched {
            filter.drop_notifications();
        }
        in_child(0, || {
            sys::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0)?;
            sys::install_filter(filter.code(), watched).map(drop::<Option<Listener>>)
        })
    };
    let result = install(true).map(|()| "watched".to_owned()).or_else(|error| match error.raw_os_error() {
        Some(libc::EBUSY) => {
            install(false).map(|()| "not watched: a program above watches already".to_owned())
        }
        _ => Err(error),
    });
    ProbeResult {
        name: "seccomp",
        holds: "sockets to daemons, kernel interfaces with a record of holes",
        without: "these are open",
        needed: true,
        result,
    }
}

/// Returns whether the supervisor can hand out sockets in answer to a question, and read what is asked.
fn proxy() -> ProbeResult {
    let filter = Filter::new(&Profile::default(), Backing::Landlock, Group::Shared);
    let failed = io::Error::from_raw_os_error;
    let result = in_child(0, || {
        let (here, mut read) = ([1_u8], [0]);
        sys::read_memory(sys::own_pid(), here.as_ptr().addr() as u64, &mut read)?;
        sys::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0)?;
        let listener = sys::install_filter(filter.code(), true)?.ok_or_else(|| failed(libc::EBUSY))?;
        if sys::hands_over(listener.fd.as_fd()) { Ok(()) } else { Err(failed(libc::EOPNOTSUPP)) }
    });
    ProbeResult {
        name: "proxy",
        holds: "without a network of its own: hosts that are allowed, for programs that use a proxy",
        without: "without a network of its own no host can be allowed",
        needed: false,
        result: result.map(|()| String::new()),
    }
}

/// Runs something in a child that ends with it. Only system calls: there may be other threads.
fn in_child(namespaces: u64, attempt: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    // SAFETY: the child makes system calls only and ends.
    match unsafe { sys::fork(namespaces) }? {
        Forked::Child => sys::exit_now(match attempt() {
            Ok(()) => 0,
            Err(error) => error.raw_os_error().filter(|e| (1..=255).contains(e)).unwrap_or(libc::EIO),
        }),
        Forked::Parent { pid, .. } => match sys::reap(pid, true)? {
            Some((_, ChildExit::Exited(0))) => Ok(()),
            Some((_, ChildExit::Exited(errno))) => Err(io::Error::from_raw_os_error(errno)),
            _ => Err(io::Error::from_raw_os_error(libc::ECHILD)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probing_leaves_this_process_as_it_was() {
        let findings = probe();
        assert!(findings.len() >= 8);
        assert_eq!(sys::prctl(libc::PR_GET_NO_NEW_PRIVS, 0, 0).unwrap(), 0);
        std::fs::write(std::env::temp_dir().join("pinfold-probe-test"), "x").unwrap();
        std::fs::remove_file(std::env::temp_dir().join("pinfold-probe-test")).unwrap();
    }
}
