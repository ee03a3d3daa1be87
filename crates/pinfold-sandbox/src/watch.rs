//! What confined processes try to change, as it happens.
//!
//! The kernel lets the supervisor look at certain calls before they are carried out
//! ([seccomp_unotify(2)](https://man7.org/linux/man-pages/man2/seccomp_unotify.2.html)). The call then goes on
//! and meets the walls as if nobody had looked, or is refused on the spot.
//!
//! What is seen is what the caller's memory held at that moment; a program with several threads can change it
//! before the kernel reads it again. So this is eyes, not a wall: *letting a call go on* never allows anything
//! that the walls do not, and *refusing* one keeps honest programs from places that no wall can name.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use crate::sys::{self, Pid};

/// What a call would do to a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Intent {
    /// Open for writing, or cut short, what exists.
    Write,
    /// Open for writing, making the file if need be; or make a special file.
    Create,
    /// Make a directory.
    MakeDir,
    /// Remove a name.
    Remove,
    /// Take a name away by renaming.
    MoveFrom,
    /// Give a name by renaming or linking.
    MoveTo,
    /// Make a symbolic link.
    Symlink,
    /// Change mode, owner, times or attributes.
    Metadata,
    /// Connect to an address of another machine, where there is no way to it.
    Connect,
    /// Make a socket of a kind that is closed.
    Socket,
}

/// One thing that a confined process is about to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The process or thread, as numbered outside.
    pub pid: i32,
    /// What it would do.
    pub intent: Intent,
    /// Where: an absolute path, the links of its parent followed. For a socket its family, for a connection its
    /// address.
    pub place: PathBuf,
}

/// What becomes of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// It goes on and meets the walls.
    GoOn,
    /// It fails with "permission denied".
    Refuse,
}

/// Someone who is told of attempts. Called on the supervisor's thread: the process waits meanwhile.
pub trait Watcher {
    /// Says what becomes of an attempt.
    fn attempt(&mut self, attempt: &Attempt) -> Reply;
}

/// Lets everything go on and remembers nothing.
#[derive(Debug, Default)]
pub struct Blind;

impl Watcher for Blind {
    fn attempt(&mut self, _: &Attempt) -> Reply {
        Reply::GoOn
    }
}

/// The supervisor's end of the watch.
pub(crate) struct Watch {
    listener: OwnedFd,
    parents: Parents,
}

impl Watch {
    pub(crate) fn new(listener: OwnedFd) -> Self {
        sys::wake_in_step(listener.as_fd());
        Self { listener, parents: Parents::default() }
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// Takes one question, lets `watcher` say what becomes of it, and answers.
    pub(crate) fn answer_one(&mut self, watcher: &mut dyn Watcher) -> io::Result<()> {
        let question = match sys::next_question(self.listener.as_fd()) {
            // The asker was killed while it waited.
            Err(e) if matches!(e.raw_os_error(), Some(libc::ENOENT | libc::EINTR)) => return Ok(()),
            other => other?,
        };
        // Sockets are shown only where the filter would refuse them if nobody watched.
        let mut refused = i64::from(question.data.nr) == libc::SYS_socket;
        for attempt in self.attempts(&question) {
            refused |= watcher.attempt(&attempt) == Reply::Refuse;
        }
        match sys::answer(self.listener.as_fd(), question.id, refused.then_some(libc::EACCES)) {
            Err(e) if e.raw_os_error() == Some(libc::ENOENT) => Ok(()),
            other => other,
        }
    }

    /// What a call means. What cannot be read is not an attempt: the kernel will not be able to read it either.
    fn attempts(&mut self, question: &libc::seccomp_notif) -> Vec<Attempt> {
        let pid = question.pid.cast_signed();
        let args = &question.data.args;
        let mut found = Vec::with_capacity(2);
        for (intent, directory, path) in operands(pid, question.data.nr.into(), args) {
            let place = match directory {
                Where::Socket(family) => Some(PathBuf::from(family)),
                Where::Address => address(pid, path, args[2]),
                Where::Open(fd) => std::fs::read_link(format!("/proc/{pid}/fd/{fd}")).ok(),
                Where::Directory(fd) => self.place(pid, fd, path).map(|place| match intent {
                    // These go through a link in the last component.
                    Intent::Write | Intent::Create | Intent::Metadata => self.parents.followed(place),
                    _ => place,
                }),
            };
            if let Some(place) = &place {
                self.parents.expect(intent, place);
            }
            found.extend(place.map(|place| Attempt { pid, intent, place }));
        }
        if sys::still_asking(self.listener.as_fd(), question.id) { found } else { Vec::new() }
    }

    fn place(&mut self, pid: Pid, directory: i32, address: u64) -> Option<PathBuf> {
        let path = read_path(pid, address)?;
        let path = if path.is_absolute() {
            path
        } else {
            let base = match directory {
                libc::AT_FDCWD => format!("/proc/{pid}/cwd"),
                fd => format!("/proc/{pid}/fd/{fd}"),
            };
            std::fs::read_link(base).ok()?.join(path)
        };
        Some(self.parents.real(&path))
    }
}

const FCHMODAT2: i64 = 452;

enum Where {
    /// A path, from this directory.
    Directory(i32),
    /// What this descriptor stands for.
    Open(i32),
    Address,
    Socket(&'static str),
}

/// Which arguments of a call are places, and what it does to them.
fn operands(pid: Pid, number: i64, args: &[u64; 6]) -> Vec<(Intent, Where, u64)> {
    use Intent::{Create, MakeDir, Metadata, MoveFrom, MoveTo, Remove, Symlink, Write};
    let here = || Where::Directory(libc::AT_FDCWD);
    #[expect(clippy::cast_possible_truncation, reason = "a descriptor is the low 32 bits of its argument")]
    let fd = |i: usize| args.get(i).map_or(-1, |fd| *fd as i32);
    let at = |i: usize| Where::Directory(fd(i));
    let open = |i: usize| Where::Open(fd(i));
    let [a, b, c, d, ..] = *args;
    let writing = |flags: u64| if flags & libc::O_CREAT as u64 == 0 { Write } else { Create };
    // The times of an open file are set by utimensat without a path.
    let named_or_open = |i: usize, path: u64| if path == 0 { open(i) } else { at(i) };
    #[cfg(target_arch = "x86_64")]
    match number {
        libc::SYS_open => return vec![(writing(b), here(), a)],
        libc::SYS_creat => return vec![(Create, here(), a)],
        libc::SYS_mkdir => return vec![(MakeDir, here(), a)],
        libc::SYS_rename => return vec![(MoveFrom, here(), a), (MoveTo, here(), b)],
        libc::SYS_link => return vec![(MoveTo, here(), b)],
        libc::SYS_symlink => return vec![(Symlink, here(), b)],
        libc::SYS_unlink | libc::SYS_rmdir => return vec![(Remove, here(), a)],
        libc::SYS_chmod | libc::SYS_chown | libc::SYS_lchown | libc::SYS_utime | libc::SYS_utimes => {
            return vec![(Metadata, here(), a)];
        }
        libc::SYS_futimesat => return vec![(Metadata, named_or_open(0, b), b)],
        _ => {}
    }
    match number {
        libc::SYS_openat => vec![(writing(c), at(0), b)],
        libc::SYS_openat2 => {
            let flags = read_word(pid, c).unwrap_or(0);
            let changes = (libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC) as u64;
            if flags & changes == 0 { Vec::new() } else { vec![(writing(flags), at(0), b)] }
        }
        libc::SYS_mkdirat => vec![(MakeDir, at(0), b)],
        libc::SYS_renameat | libc::SYS_renameat2 => vec![(MoveFrom, at(0), b), (MoveTo, at(2), d)],
        libc::SYS_linkat => vec![(MoveTo, at(2), d)],
        libc::SYS_symlinkat => vec![(Symlink, at(1), c)],
        libc::SYS_unlinkat => vec![(Remove, at(0), b)],
        libc::SYS_truncate => vec![(Write, here(), a)],
        libc::SYS_fchmodat | libc::SYS_fchownat | FCHMODAT2 => vec![(Metadata, at(0), b)],
        libc::SYS_utimensat => vec![(Metadata, named_or_open(0, b), b)],
        libc::SYS_setxattr | libc::SYS_lsetxattr | libc::SYS_removexattr | libc::SYS_lremovexattr => {
            vec![(Metadata, here(), a)]
        }
        libc::SYS_fchmod | libc::SYS_fchown | libc::SYS_fsetxattr | libc::SYS_fremovexattr => {
            vec![(Metadata, open(0), 0)]
        }
        libc::SYS_connect => vec![(Intent::Connect, Where::Address, b)],
        libc::SYS_socket if a == libc::AF_UNIX as u64 => vec![(Intent::Socket, Where::Socket("unix"), 0)],
        libc::SYS_socket => vec![(Intent::Socket, Where::Socket("internet"), 0)],
        _ => Vec::new(),
    }
}

fn read_word(pid: Pid, at: u64) -> Option<u64> {
    let mut word = [0u8; 8];
    (sys::read_memory(pid, at, &mut word).ok()? == word.len()).then(|| u64::from_ne_bytes(word))
}

/// The longest path that the kernel takes, with its final NUL.
const PATH_MAX: usize = 4096;

fn read_path(pid: Pid, address: u64) -> Option<PathBuf> {
    const PAGE: u64 = 4096;
    let mut text = Vec::with_capacity(256);
    let mut at = address;
    while text.len() < PATH_MAX {
        // Never across a page in one read: the next one may not be there, and the text may end before it.
        let mut part = [0u8; 256];
        let room = usize::try_from(PAGE - at % PAGE).ok()?.min(part.len());
        let read = sys::read_memory(pid, at, part.get_mut(..room)?).ok().filter(|n| *n > 0)?;
        let part = part.get(..read)?;
        if let Some(end) = part.iter().position(|b| *b == 0) {
            text.extend_from_slice(part.get(..end)?);
            return (!text.is_empty()).then(|| PathBuf::from(OsString::from_vec(text)));
        }
        text.extend_from_slice(part);
        at += read as u64;
    }
    None
}

/// An address outside this machine, for the record. Others are the process's own business.
fn address(pid: Pid, at: u64, len: u64) -> Option<PathBuf> {
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
    let mut raw = [0u8; 28];
    let len = usize::try_from(len).ok()?.min(raw.len());
    let read = sys::read_memory(pid, at, raw.get_mut(..len)?).ok()?;
    let raw = raw.get(..read)?;
    let family = i32::from(u16::from_ne_bytes([*raw.first()?, *raw.get(1)?]));
    let port = u16::from_be_bytes([*raw.get(2)?, *raw.get(3)?]);
    let ip: IpAddr = match family {
        libc::AF_INET => Ipv4Addr::from(<[u8; 4]>::try_from(raw.get(4..8)?).ok()?).into(),
        libc::AF_INET6 => Ipv6Addr::from(<[u8; 16]>::try_from(raw.get(8..24)?).ok()?).into(),
        _ => return None,
    };
    let ip = ip.to_canonical();
    (!ip.is_loopback() && !ip.is_unspecified())
        .then(|| PathBuf::from(std::net::SocketAddr::new(ip, port).to_string()))
}

/// Where directories really are, remembered: a build makes many files in few directories.
#[derive(Default)]
struct Parents {
    known: HashMap<PathBuf, PathBuf>,
}

impl Parents {
    /// How many directories are remembered before all are forgotten.
    const MOST: usize = 4096;

    /// How many links the kernel follows.
    const LINKS: usize = 40;

    /// Forgets everything when a call may put a link where a directory was.
    fn expect(&mut self, intent: Intent, place: &Path) {
        let moves_more_than_a_file = || std::fs::symlink_metadata(place).is_ok_and(|found| !found.is_file());
        let forget = match intent {
            Intent::Symlink => true,
            Intent::MoveFrom | Intent::MoveTo => moves_more_than_a_file(),
            Intent::Write
            | Intent::Create
            | Intent::MakeDir
            | Intent::Remove
            | Intent::Metadata
            | Intent::Connect
            | Intent::Socket => false,
        };
        if forget {
            self.known.clear();
        }
    }

    /// Where a place leads if it is a link, whether or not anything is there.
    fn followed(&mut self, mut place: PathBuf) -> PathBuf {
        for _ in 0..Self::LINKS {
            // Their links mean something else to every process.
            if ["/proc", "/dev"].iter().any(|own| place.starts_with(own)) {
                break;
            }
            let (Ok(target), Some(parent)) = (std::fs::read_link(&place), place.parent()) else { break };
            place = self.real(&parent.join(target));
        }
        place
    }

    /// The path with the links of its parent followed, as far as the parent exists outside.
    fn real(&mut self, path: &Path) -> PathBuf {
        let (Some(parent), Some(Component::Normal(name))) = (path.parent(), path.components().next_back())
        else {
            return path.to_owned();
        };
        if let Some(real) = self.known.get(parent) {
            return real.join(name);
        }
        // A directory that is not there outside is private to the run (`/tmp`), or the call will fail.
        let Ok(real) = std::fs::canonicalize(parent) else { return path.to_owned() };
        if self.known.len() >= Self::MOST {
            self.known.clear();
        }
        let place = real.join(name);
        self.known.insert(parent.to_owned(), real);
        place
    }
}
