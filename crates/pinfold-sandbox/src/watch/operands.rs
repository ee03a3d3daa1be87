//! Which arguments of a call are places, and what it does to them: what every watched call pays for.

use std::ffi::OsStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use super::memory;
use super::{Attempt, Intent, Parents};
use crate::sys::{self, Pid};

/// What was read of a call, once.
pub(super) struct Read {
    /// The places, in the order of the call. None: not readable, or no path.
    pub(super) places: Vec<(Intent, Option<PlaceRead>)>,
    /// What openat2 has in memory: flags, mode, how the path may go.
    pub(super) how: Option<[u64; 3]>,
    /// What a call that does nothing asks about: reading, writing, executing.
    pub(super) access: Option<i32>,
}

/// A place that a call names.
pub(super) struct PlaceRead {
    /// As it was named, made absolute; of a descriptor, the name that the kernel knows. None for a socket or an address.
    pub(super) named: Option<PathBuf>,
    /// Where it is.
    pub(super) real: PathBuf,
}

impl Read {
    /// Reads what a call names. What cannot be read is not an attempt: the kernel will not be able to read it either.
    pub(super) fn new(question: &libc::seccomp_notif, parents: &mut Parents) -> Self {
        let pid = question.pid.cast_signed();
        let args = &question.data.args;
        let number = i64::from(question.data.nr);
        let how = (number == libc::SYS_openat2).then(|| memory::words(pid, args[2])).flatten();
        let mut places = Vec::with_capacity(2);
        for (intent, from, address) in operands(number, args, how) {
            let found = match from {
                Where::Socket(kind) => Some(PlaceRead::unnamed(kind)),
                Where::Address => network_address(pid, address, args[2]).map(PlaceRead::unnamed),
                Where::Open(fd) => {
                    std::fs::read_link(format!("/proc/{pid}/fd/{fd}")).ok().map(PlaceRead::open)
                }
                Where::Directory(fd) => PlaceRead::of(pid, fd, address, intent, parents),
            };
            if let Some(place) = &found {
                parents.expect(intent, &place.real);
            }
            places.push((intent, found));
        }
        let mut read = Self { places, how, access: access(number, args) };
        if only_makes(number, args, how) {
            // There already, it is merely opened for reading.
            read.places
                .retain(|(_, place)| place.as_ref().is_some_and(|p| p.real.symlink_metadata().is_err()));
        }
        read
    }

    /// What the call would do.
    pub(super) fn attempts(&self, pid: Pid) -> impl Iterator<Item = Attempt> {
        self.places.iter().filter_map(move |(intent, place)| {
            Some(Attempt { pid, intent: *intent, place: place.as_ref()?.real.clone() })
        })
    }
}

impl PlaceRead {
    fn unnamed(real: PathBuf) -> Self {
        Self { named: None, real }
    }

    fn open(real: PathBuf) -> Self {
        Self { named: Some(real.clone()), real }
    }

    fn of(pid: Pid, directory: i32, address: u64, intent: Intent, parents: &mut Parents) -> Option<Self> {
        let named = absolute(pid, directory, &memory::text(pid, address)?)?;
        // What is below `/proc/self` is the caller's: a descriptor of its own, not the one of that number here. Where no
        // mount holds these, what is seen here is all that does.
        let is_own = named.starts_with("/proc");
        if is_own || intent == Intent::Metadata && !named.parent().is_none_or(sys::is_reached_without_magic) {
            let real = Parents::as_process(pid, &named)?;
            return Some(Self { named: Some(named), real });
        }
        let real = parents.real(&named);
        let real = match intent {
            // These go through a link in the last component.
            Intent::Write | Intent::Create | Intent::Metadata | Intent::Access => parents.followed(real),
            _ => real,
        };
        Some(Self { named: Some(named), real })
    }
}

/// A path as it was named, from the root.
pub(super) fn absolute(pid: Pid, directory: i32, path: &OsStr) -> Option<PathBuf> {
    let path = Path::new(path);
    if path.is_absolute() {
        return Some(path.to_owned());
    }
    let base = match directory {
        libc::AT_FDCWD => format!("/proc/{pid}/cwd"),
        fd => format!("/proc/{pid}/fd/{fd}"),
    };
    Some(std::fs::read_link(base).ok()?.join(path))
}

pub(super) const FCHMODAT2: i64 = 452;

/// Where the place of an operand is written.
enum Where {
    /// A path, from this directory.
    Directory(i32),
    /// What this descriptor stands for.
    Open(i32),
    Address,
    Socket(PathBuf),
}

#[expect(clippy::cast_possible_truncation, reason = "an `int` is the low 32 bits of its argument")]
pub(super) fn descriptor(argument: u64) -> i32 {
    argument as i32
}

const CHANGES: u64 = (libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC) as u64;

fn writing(flags: u64) -> Intent {
    if flags & libc::O_CREAT as u64 == 0 { Intent::Write } else { Intent::Create }
}

/// Opens that write nothing, and make the file if it is missing.
fn only_makes(number: i64, args: &[u64; 6], how: Option<[u64; 3]>) -> bool {
    let flags = match number {
        #[cfg(target_arch = "x86_64")]
        libc::SYS_open => args[1],
        libc::SYS_openat => args[2],
        libc::SYS_openat2 => how.map_or(0, |[flags, ..]| flags),
        _ => return false,
    };
    flags & CHANGES == libc::O_CREAT as u64
}

/// What a call asks about that only asks.
fn access(number: i64, args: &[u64; 6]) -> Option<i32> {
    let mode = match number {
        #[cfg(target_arch = "x86_64")]
        libc::SYS_access => args[1],
        libc::SYS_faccessat | libc::SYS_faccessat2 => args[2],
        _ => return None,
    };
    Some(descriptor(mode) & (libc::R_OK | libc::W_OK | libc::X_OK))
}

/// The places among the arguments of a call.
fn operands(number: i64, args: &[u64; 6], how: Option<[u64; 3]>) -> Vec<(Intent, Where, u64)> {
    use Intent::{Access, Create, MakeDir, Metadata, MoveFrom, MoveTo, Remove, Symlink, Write};
    let here = || Where::Directory(libc::AT_FDCWD);
    let fd = |i: usize| args.get(i).map_or(-1, |fd| descriptor(*fd));
    let at = |i: usize| Where::Directory(fd(i));
    let open = |i: usize| Where::Open(fd(i));
    let [a, b, c, d, ..] = *args;
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
        libc::SYS_access => return vec![(Access, here(), a)],
        libc::SYS_futimesat => return vec![(Metadata, named_or_open(0, b), b)],
        _ => {}
    }
    match number {
        libc::SYS_openat => vec![(writing(c), at(0), b)],
        libc::SYS_openat2 => {
            let flags = how.map_or(0, |[flags, ..]| flags);
            if flags & CHANGES == 0 { Vec::new() } else { vec![(writing(flags), at(0), b)] }
        }
        libc::SYS_mkdirat => vec![(MakeDir, at(0), b)],
        libc::SYS_renameat | libc::SYS_renameat2 => vec![(MoveFrom, at(0), b), (MoveTo, at(2), d)],
        libc::SYS_linkat => vec![(MoveTo, at(2), d)],
        libc::SYS_symlinkat => vec![(Symlink, at(1), c)],
        libc::SYS_unlinkat => vec![(Remove, at(0), b)],
        libc::SYS_truncate => vec![(Write, here(), a)],
        libc::SYS_fchmodat | libc::SYS_fchownat | FCHMODAT2 => vec![(Metadata, at(0), b)],
        libc::SYS_faccessat | libc::SYS_faccessat2 => vec![(Access, at(0), b)],
        libc::SYS_utimensat => vec![(Metadata, named_or_open(0, b), b)],
        libc::SYS_setxattr | libc::SYS_lsetxattr | libc::SYS_removexattr | libc::SYS_lremovexattr => {
            vec![(Metadata, here(), a)]
        }
        libc::SYS_fchmod | libc::SYS_fchown | libc::SYS_fsetxattr | libc::SYS_fremovexattr => {
            vec![(Metadata, open(0), 0)]
        }
        libc::SYS_connect => vec![(Intent::Connect, Where::Address, b)],
        libc::SYS_socket => vec![(Intent::Socket, Where::Socket(kind_of_socket(a, b)), 0)],
        _ => Vec::new(),
    }
}

/// What a kind of socket is called: by its family, and raw ones of the internet by that.
fn kind_of_socket(family: u64, kind: u64) -> PathBuf {
    const KIND: u64 = 0xf;
    let name = match (descriptor(family), descriptor(kind & KIND)) {
        (libc::AF_INET | libc::AF_INET6, libc::SOCK_RAW) => "raw",
        (libc::AF_INET | libc::AF_INET6, _) => "internet",
        (libc::AF_UNIX, _) => "unix",
        (libc::AF_NETLINK, _) => "netlink",
        (libc::AF_PACKET, _) => "packet",
        (libc::AF_VSOCK, _) => "vsock",
        (libc::AF_ALG, _) => "alg",
        (libc::AF_BLUETOOTH, _) => "bluetooth",
        (libc::AF_CAN, _) => "can",
        (libc::AF_KEY, _) => "key",
        (libc::AF_RDS, _) => "rds",
        (libc::AF_TIPC, _) => "tipc",
        (libc::AF_XDP, _) => "xdp",
        (other, _) => return format!("family {other}").into(),
    };
    name.into()
}

fn network_address(pid: Pid, at: u64, len: u64) -> Option<PathBuf> {
    network_place(&address(pid, at, len)?)
}

/// The bytes of an address of the internet, read once.
pub(super) fn address(pid: Pid, at: u64, len: u64) -> Option<Vec<u8>> {
    let mut raw = vec![0; usize::try_from(len).ok()?.min(size_of::<libc::sockaddr_in6>())];
    let read = sys::read_memory(pid, at, &mut raw).ok()?;
    raw.truncate(read);
    Some(raw)
}

/// An address outside this machine, for the record. Others are the process's own business.
pub(super) fn network_place(raw: &[u8]) -> Option<PathBuf> {
    let to = internet_address(raw)?;
    (!to.ip().is_loopback() && !to.ip().is_unspecified()).then(|| PathBuf::from(to.to_string()))
}

/// An address of the internet as the kernel takes it (`struct sockaddr_in`, `sockaddr_in6`).
pub(super) fn internet_address(raw: &[u8]) -> Option<SocketAddr> {
    let family = i32::from(u16::from_ne_bytes([*raw.first()?, *raw.get(1)?]));
    let port = u16::from_be_bytes([*raw.get(2)?, *raw.get(3)?]);
    let ip: IpAddr = match family {
        libc::AF_INET => Ipv4Addr::from(<[u8; 4]>::try_from(raw.get(4..8)?).ok()?).into(),
        libc::AF_INET6 => Ipv6Addr::from(<[u8; 16]>::try_from(raw.get(8..24)?).ok()?).into(),
        _ => return None,
    };
    Some(SocketAddr::new(ip.to_canonical(), port))
}
