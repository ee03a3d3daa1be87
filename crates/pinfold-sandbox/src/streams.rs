//! Standard streams: what a command is handed, and what stays outside behind a pipe.
//!
//! A descriptor is more than the bytes that go through it. A socket can be connected to another peer, a directory leads to
//! everything below it, a file has a mode, an owner and, by `/proc/self/fd`, a second way of being opened. So a command is
//! handed pipes, terminals and the like, through which nothing but bytes can go, and files where a supervisor judges what is
//! done to them. Bytes of anything else pass through a pipe; what carries no bytes is refused.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{FileType, OFlags, fcntl_getfl, fstat, fstatfs, major, minor};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::net::sockopt::{socket_domain, socket_type};
use rustix::net::{AddressFamily, SocketType, getpeername};
use rustix::termios::isatty;

use crate::passing::Passing;
use crate::sys;

const NAMES: [&str; 3] = ["standard input", "standard output", "standard error"];

/// Access of a command to a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StreamAccess {
    /// Handed over: it passes bytes alone, or its other uses are judged.
    Handed,
    /// Bytes go through it, and it could be used for more.
    Passed,
    /// Refused, with its type: it passes no bytes.
    Refused(&'static str),
}

/// A stream that no command can be started with.
#[derive(Debug)]
pub(crate) struct Unusable {
    /// The stream.
    pub(crate) stream: &'static str,
    pub(crate) error: io::Error,
}

/// Makes the streams of a command from those that it was given, or else from those of this process. Copies are looked at
/// and handed over, so that nothing can come in their place.
///
/// `files_are_judged`: a supervisor judges what is done to a file, by whatever descriptor.
///
/// # Errors
/// When a stream is nothing that bytes go through, or no descriptor is to be had.
pub(crate) fn prepare(
    given: [Option<OwnedFd>; 3],
    files_are_judged: bool,
) -> Result<([Option<OwnedFd>; 3], Passing), Unusable> {
    let mut passing = Passing::default();
    let mut streams = [None, None, None];
    for (number, ((stream, given), name)) in streams.iter_mut().zip(given).zip(NAMES).enumerate() {
        let taken = take(number, given).and_then(|taken| Ok((kind(taken.as_fd(), files_are_judged)?, taken)));
        let handed = taken.and_then(|(kind, taken)| match kind {
            StreamAccess::Handed => Ok(taken),
            StreamAccess::Passed if number == 0 => passing.input(taken),
            StreamAccess::Passed => passing.output(taken),
            StreamAccess::Refused(what) => {
                let error = format!("it is {what}; redirect it to a file, a pipe or a terminal");
                Err(io::Error::new(io::ErrorKind::InvalidInput, error))
            }
        });
        *stream = Some(handed.map_err(|error| Unusable { stream: name, error })?);
    }
    Ok((streams, passing))
}

/// A descriptor of the run's own, above those that are replaced in the child. A stream that is closed is empty.
fn take(number: usize, given: Option<OwnedFd>) -> io::Result<OwnedFd> {
    const FIRST: i32 = 3;
    let copied = match (given, number) {
        (Some(given), _) if given.as_raw_fd() >= FIRST => return Ok(given),
        (Some(given), _) => fcntl_dupfd_cloexec(given, FIRST),
        (None, 0) => fcntl_dupfd_cloexec(io::stdin(), FIRST),
        (None, 1) => fcntl_dupfd_cloexec(io::stdout(), FIRST),
        (None, _) => fcntl_dupfd_cloexec(io::stderr(), FIRST),
    };
    match copied {
        Err(Errno::BADF) => {
            let empty = File::options().read(true).write(true).open("/dev/null")?;
            Ok(fcntl_dupfd_cloexec(empty, FIRST)?)
        }
        copied => Ok(copied?),
    }
}

fn kind(stream: BorrowedFd<'_>, files_are_judged: bool) -> io::Result<StreamAccess> {
    if fcntl_getfl(stream)?.contains(OFlags::PATH) {
        return Ok(StreamAccess::Refused("a path that was not opened"));
    }
    let found = fstat(stream)?;
    Ok(match FileType::from_raw_mode(found.st_mode) {
        FileType::Fifo | FileType::RegularFile => of_file(file_system(stream)?, files_are_judged),
        FileType::CharacterDevice => of_device(stream, found.st_rdev),
        FileType::BlockDevice => StreamAccess::Passed,
        FileType::Socket => of_socket(stream)?,
        FileType::Directory => StreamAccess::Refused("a directory"),
        FileType::Symlink | FileType::Unknown => StreamAccess::Refused("nothing that bytes go through"),
    })
}

/// The kind of its file system, by magic number: [statfs(2)](https://man7.org/linux/man-pages/man2/statfs.2.html).
fn file_system(stream: BorrowedFd<'_>) -> io::Result<u32> {
    // Some of the numbers fill 32 bits, and the field is signed on some machines.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "magic numbers are 32 bits")]
    Ok(fstatfs(stream)?.f_type as u32)
}

fn of_file(file_system: u32, files_are_judged: bool) -> StreamAccess {
    const PIPES: u32 = 0x5049_5045;
    // Namespaces and processes as files.
    const HANDLES: [u32; 2] = [0x6e73_6673, 0x5049_4446];
    // What reads and writes like a file there acts on the kernel: proc, sys, cgroup (1 and 2), debug, trace, security,
    // config, bpf, selinux, efivars.
    const INTERFACES: [u32; 11] = [
        0x9fa0,
        0x6265_6572,
        0x0027_e0eb,
        0x6367_7270,
        0x6462_6720,
        0x7472_6163,
        0x7363_6673,
        0x6265_6570,
        0xcafe_4a11,
        0xf97c_ff8c,
        0xde5e_81e4,
    ];
    match file_system {
        PIPES => StreamAccess::Handed,
        handle if HANDLES.contains(&handle) => StreamAccess::Refused("a handle of the kernel"),
        interface if INTERFACES.contains(&interface) => StreamAccess::Passed,
        _ if files_are_judged => StreamAccess::Handed,
        _ => StreamAccess::Passed,
    }
}

/// Terminals, and those that only take or give bytes. The other side of a pseudo-terminal types into it.
fn of_device(stream: BorrowedFd<'_>, device: u64) -> StreamAccess {
    // null, zero, full, random, urandom: admin-guide/devices.txt of the kernel.
    const PLAIN: [u32; 5] = [3, 5, 7, 8, 9];
    const OTHER_SIDE: (u32, u32) = (5, 2);
    match (major(device), minor(device)) {
        (1, number) if PLAIN.contains(&number) => StreamAccess::Handed,
        OTHER_SIDE => StreamAccess::Passed,
        _ if isatty(stream) => StreamAccess::Handed,
        _ => StreamAccess::Passed,
    }
}

/// A connected stream of this machine can be connected to nothing else; one of the network can, and its options lead its
/// packets elsewhere.
fn of_socket(stream: BorrowedFd<'_>) -> io::Result<StreamAccess> {
    let connected = getpeername(stream).is_ok();
    Ok(match (socket_domain(stream)?, socket_type(stream)?) {
        (AddressFamily::UNIX, SocketType::STREAM | SocketType::SEQPACKET) if connected => {
            StreamAccess::Handed
        }
        (_, SocketType::STREAM) if connected => StreamAccess::Passed,
        _ => StreamAccess::Refused("a socket that is no connected stream"),
    })
}

/// Returns whether two descriptors stand for one file or socket.
pub(crate) fn same(one: BorrowedFd<'_>, other: BorrowedFd<'_>) -> bool {
    matches!((sys::identity(one), sys::identity(other)), (Ok(one), Ok(other)) if one == other)
}
