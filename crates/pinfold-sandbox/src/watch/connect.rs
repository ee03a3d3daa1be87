//! Connections made by the supervisor, where programs of this machine can be reached by the path of their socket.
//!
//! Which family a descriptor has and which address is meant lie where the caller can change them while the kernel looks.
//! So no `connect` goes on: the descriptor is copied, the address read once, and the copy connected, which is the caller's
//! own socket under another number.
//!
//! Promise: what is connected to is what was found and held, seen from the caller's root; and it is a declared socket, as it
//! is found outside by a path without links, or one that lies in a file system of the run's own.

use std::collections::HashSet;
use std::ffi::{CString, OsStr};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::absolute;
use super::attempt::{Attempt, Intent, Reply, SyscallHandler};
use super::file_call::int;
use super::rights::without_capabilities;
use crate::sys::{self, NotifyResponse, Pid};

/// The longest address that the kernel takes (`struct sockaddr_storage`).
const MAX_ADDRESS_BYTES: u64 = 128;

/// Connections that wait for their other side at one time. Each is a thread here, and one of a caller that does nothing
/// else.
const MAX_WAITING: usize = 64;

/// After how long a thread that waits looks whether its caller still does.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Stack of such a thread: it makes two system calls over and over.
const STACK: usize = 64 * 1024;

/// The sockets of this machine that can be reached.
pub(crate) struct LocalSockets {
    /// Sockets, and directories whose sockets are meant: absolute and free of links.
    declared: Vec<PathBuf>,
    /// Never, whatever lies above it was declared.
    hidden: Vec<PathBuf>,
    /// The file systems that were mounted outside at the start.
    outside: HashSet<u64>,
    waiting: Arc<()>,
}

/// An address that was read.
enum Destination {
    /// An address of the run's own network, as the caller wrote it.
    Internet(Vec<u8>),
    /// A socket that was found and is held.
    Socket(OwnedFd),
}

/// Reason why nothing is connected.
enum ConnectFailure {
    /// The error of the kernel.
    Error(i32),
    /// This socket of the machine was not declared.
    Undeclared(PathBuf),
}

impl From<io::Error> for ConnectFailure {
    fn from(error: io::Error) -> Self {
        Self::Error(error.raw_os_error().unwrap_or(libc::EACCES))
    }
}

/// A notification of `connect`, with the listener for its response.
pub(super) struct ConnectQuestion<'a> {
    pub(super) listener: &'a Arc<OwnedFd>,
    pub(super) question: &'a libc::seccomp_notif,
}

impl LocalSockets {
    pub(crate) fn new(declared: Vec<PathBuf>, hidden: Vec<PathBuf>) -> io::Result<Self> {
        Ok(Self { declared, hidden, outside: mounted()?, waiting: Arc::default() })
    }

    /// Returns whether a socket is of a kind that reaches others by `connect` alone. Datagrams go to any address they name.
    pub(super) fn opens(question: &libc::seccomp_notif) -> bool {
        const KIND: u64 = 0xf;
        let [family, kind, ..] = question.data.args;
        let kinds = [libc::SOCK_STREAM, libc::SOCK_SEQPACKET];
        int(family) == libc::AF_UNIX && kinds.contains(&int(kind & KIND))
    }

    /// Carries out a `connect`, here or on a thread where it may have to wait, and answers it.
    pub(super) fn connect(
        &self,
        asked: &ConnectQuestion<'_>,
        handler: &mut dyn SyscallHandler,
    ) -> io::Result<()> {
        let (pid, id) = (asked.question.pid.cast_signed(), asked.question.id);
        let [number, address, len, ..] = asked.question.data.args;
        let answer = |answer| answer_if_there(asked.listener, id, answer);
        let copy = sys::copied_from(pid, int(number));
        let meant = copy.map_err(ConnectFailure::from).and_then(|socket| {
            let meant = self.read_destination(pid, &socket, (address, len))?;
            Ok((socket, meant))
        });
        // Else its number may have meant another process.
        if !sys::is_notification_valid(asked.listener.as_fd(), id) {
            return Ok(());
        }
        let (socket, meant) = match meant {
            Ok(found) => found,
            Err(ConnectFailure::Error(errno)) => return answer(NotifyResponse::Fail(errno)),
            Err(ConnectFailure::Undeclared(place)) => {
                handler.attempt(&Attempt::new(pid, Intent::Connect, place));
                return answer(NotifyResponse::Fail(libc::EACCES));
            }
        };
        if let Destination::Internet(address) = &meant
            && let Some(place) = super::address::network_place(address)
            && handler.attempt(&Attempt::new(pid, Intent::Connect, place)) == Reply::Refuse
        {
            return answer(NotifyResponse::Fail(libc::EACCES));
        }
        let call = Connecting { socket, meant, listener: Arc::clone(asked.listener), id };
        if sys::never_waits(call.socket.as_fd()).unwrap_or(false) {
            return call.carry_out();
        }
        // One is held here.
        if Arc::strong_count(&self.waiting) > MAX_WAITING {
            return answer(NotifyResponse::Fail(libc::EAGAIN));
        }
        let place = Arc::clone(&self.waiting);
        let wait = move || {
            // An error says that the run is over.
            let _ = call.carry_out();
            drop(place);
        };
        // Without a thread the call is dropped, which answers nothing.
        match thread::Builder::new().name("pinfold-connect".into()).stack_size(STACK).spawn(wait) {
            Ok(_) => Ok(()),
            Err(_) => answer(NotifyResponse::Fail(libc::EAGAIN)),
        }
    }

    fn read_destination(
        &self,
        pid: Pid,
        socket: &OwnedFd,
        (at, len): (u64, u64),
    ) -> Result<Destination, ConnectFailure> {
        let family = sys::family(socket.as_fd())?;
        let len = usize::try_from(len.min(MAX_ADDRESS_BYTES)).unwrap_or_default();
        let mut address = vec![0; len];
        if sys::read_memory(pid, at, &mut address)? != len {
            return Err(ConnectFailure::Error(libc::EFAULT));
        }
        match family {
            libc::AF_INET | libc::AF_INET6 => Ok(Destination::Internet(address)),
            libc::AF_UNIX => self.socket(pid, &address).map(Destination::Socket),
            // Nothing connects these, and what they reach is the kernel.
            _ => Err(ConnectFailure::Error(libc::EACCES)),
        }
    }

    /// The socket that an address of `AF_UNIX` names.
    /// [unix(7)](https://man7.org/linux/man-pages/man7/unix.7.html)
    fn socket(&self, pid: Pid, address: &[u8]) -> Result<OwnedFd, ConnectFailure> {
        let (Some(family), Some(name)) = (address.first_chunk::<2>(), address.get(2..)) else {
            return Err(ConnectFailure::Error(libc::EINVAL));
        };
        if i32::from(u16::from_ne_bytes(*family)) != libc::AF_UNIX || name.is_empty() {
            return Err(ConnectFailure::Error(libc::EINVAL));
        }
        let path = name.split(|byte| *byte == 0).next().unwrap_or_default();
        if path.is_empty() {
            let name = name.escape_ascii().to_string();
            return Err(ConnectFailure::Undeclared(format!("@{}", name.trim_start_matches("\\x00")).into()));
        }
        self.find(pid, OsStr::from_bytes(path))
    }

    /// Finds a socket as the caller would, and what may be connected to in its place.
    fn find(&self, pid: Pid, path: &OsStr) -> Result<OwnedFd, ConnectFailure> {
        let named = absolute(pid, libc::AT_FDCWD, path).ok_or(ConnectFailure::Error(libc::ENOENT))?;
        // Its links lead every process elsewhere, and no socket lies there.
        if named.starts_with("/proc") {
            return Err(ConnectFailure::Undeclared(named));
        }
        let root = sys::open(
            &CString::new(format!("/proc/{pid}/root")).map_err(io::Error::from)?,
            libc::O_PATH | libc::O_DIRECTORY,
        )?;
        let opened = without_capabilities(|| sys::open_name_in(root.as_fd(), &named))?;
        let seen = opened.map(File::from).map_err(|error| match error.raw_os_error() {
            // Through a link of /proc.
            Some(libc::ELOOP | libc::EXDEV) => ConnectFailure::Undeclared(named.clone()),
            _ => error.into(),
        })?;
        if !seen.metadata()?.file_type().is_socket() {
            return Err(ConnectFailure::Error(libc::ECONNREFUSED));
        }
        if self.is_the_runs_own(&seen)? {
            return Ok(seen.into());
        }
        let place = fs::read_link(held_name(&seen))?;
        if !self.is_declared(&place) {
            return Err(ConnectFailure::Undeclared(place));
        }
        // As it is outside: the view inside may be older than the daemon.
        let path = CString::new(place.as_os_str().as_bytes()).map_err(io::Error::from)?;
        let outside = File::from(without_capabilities(|| sys::open_held(&path))??);
        if !outside.metadata()?.file_type().is_socket() {
            return Err(ConnectFailure::Error(libc::ECONNREFUSED));
        }
        Ok(outside.into())
    }

    fn is_declared(&self, place: &Path) -> bool {
        let below = |list: &[PathBuf]| list.iter().any(|one| place.starts_with(one));
        below(&self.declared) && !below(&self.hidden)
    }

    /// Returns whether a held file lies in memory that is mounted nowhere outside: only the run can have made it.
    fn is_the_runs_own(&self, file: &File) -> io::Result<bool> {
        let device = file.metadata()?.dev();
        Ok(sys::is_in_memory(file.as_fd())?
            && !self.outside.contains(&device)
            && !mounted()?.contains(&device))
    }
}

/// The file systems that this process has mounted.
/// [proc_pid_mountinfo(5)](https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html)
fn mounted() -> io::Result<HashSet<u64>> {
    let device = |line: &str| {
        let (major, minor) = line.split_ascii_whitespace().nth(2)?.split_once(':')?;
        Some(libc::makedev(major.parse().ok()?, minor.parse().ok()?))
    };
    let text = fs::read_to_string("/proc/self/mountinfo")?;
    let all: Option<HashSet<u64>> = text.lines().map(device).collect();
    all.ok_or_else(|| io::Error::from_raw_os_error(libc::EPROTO))
}

fn held_name(held: &impl AsRawFd) -> String {
    format!("/proc/self/fd/{}", held.as_raw_fd())
}

/// A `connect` that was understood.
struct Connecting {
    socket: OwnedFd,
    meant: Destination,
    listener: Arc<OwnedFd>,
    id: u64,
}

impl Connecting {
    /// Connects and answers.
    fn carry_out(self) -> io::Result<()> {
        let Self { socket, meant, listener, id } = self;
        let address = match &meant {
            Destination::Internet(address) => address.clone(),
            Destination::Socket(held) => local_address(&held_name(held)),
        };
        let connected = without_capabilities(|| {
            connect(socket, &address, || sys::is_notification_valid(listener.as_fd(), id))
        });
        let answer = match connected.and_then(|connected| connected) {
            Ok(()) => NotifyResponse::Done,
            Err(error) => NotifyResponse::Fail(error.raw_os_error().unwrap_or(libc::EACCES)),
        };
        answer_if_there(&listener, id, answer)
    }
}

/// Connects a socket as its owner would: one that waits does so as long as the owner is there.
fn connect(socket: OwnedFd, address: &[u8], waits: impl Fn() -> bool) -> io::Result<()> {
    // For its timeout alone, which sockets of every family have.
    let socket = UnixStream::from(socket);
    if sys::never_waits(socket.as_fd())? || socket.write_timeout()?.is_some() {
        return sys::connect(socket.as_fd(), address);
    }
    socket.set_write_timeout(Some(LOOK_AGAIN))?;
    let connected = loop {
        let connected = sys::connect(socket.as_fd(), address);
        let again = [libc::EAGAIN, libc::EINPROGRESS, libc::EALREADY, libc::EINTR];
        let unfinished = matches!(&connected, Err(e) if e.raw_os_error().is_some_and(|e| again.contains(&e)));
        // Its owner may have made it one that never waits meanwhile.
        if !unfinished || !waits() || sys::never_waits(socket.as_fd())? {
            break connected;
        }
    };
    socket.set_write_timeout(None)?;
    connected
}

fn local_address(path: &str) -> Vec<u8> {
    let family = u16::try_from(libc::AF_UNIX).unwrap_or_default();
    [&family.to_ne_bytes()[..], path.as_bytes(), &[0]].concat()
}

/// Responds to a notification, unless its process is gone.
pub(super) fn answer_if_there(listener: &OwnedFd, id: u64, answer: NotifyResponse) -> io::Result<()> {
    match sys::answer(listener.as_fd(), id, answer) {
        Err(e) if e.raw_os_error() == Some(libc::ENOENT) => Ok(()),
        other => other,
    }
}
