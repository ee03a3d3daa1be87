//! The system calls, one function each: what it does, its man page, why the block is sound.
//!
//! Everything here may run between `fork` and `exec` in a process with other threads: nothing allocates, locks
//! or panics. Everything above deals in owned descriptors and ordinary results.

use std::ffi::{CStr, CString};
use std::io;
use std::mem::MaybeUninit;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::time::Duration;

use libc::{c_int, c_long, c_uint, c_ulong, c_void};

/// A process number as the kernel gives it.
pub(crate) type Pid = libc::pid_t;

fn check(rc: c_long) -> io::Result<c_long> {
    if rc < 0 { Err(io::Error::last_os_error()) } else { Ok(rc) }
}

fn check_int(rc: c_int) -> io::Result<c_int> {
    check(c_long::from(rc)).map(|_| rc)
}

/// Takes ownership of a descriptor that a system call has just returned.
fn owned(fd: c_long) -> io::Result<OwnedFd> {
    let fd = RawFd::try_from(fd).map_err(|_| io::Error::from_raw_os_error(libc::EBADF))?;
    // SAFETY: the kernel returned this descriptor to us a moment ago and no other code knows its number.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Side of a [`fork`].
pub(crate) enum Forked {
    Child,
    Parent { pid: Pid, pidfd: OwnedFd },
}

/// A new process in new namespaces (`CLONE_NEW*` flags; none makes it a plain fork).
///
/// [clone(2)](https://man7.org/linux/man-pages/man2/clone.2.html)
///
/// # Safety
/// In a process with several threads the child may only make system calls until it calls `exec`: locks that
/// other threads held stay locked for ever.
pub(crate) unsafe fn fork(namespaces: u64) -> io::Result<Forked> {
    let mut pidfd: c_int = -1;
    let flags = namespaces | u64::from((libc::CLONE_PIDFD | libc::SIGCHLD).cast_unsigned());
    // Not clone3: a run inside a run meets our own filter, which cannot see into its arguments and refuses it.
    // SAFETY: without CLONE_VM the child has its own copy of all memory, so that both sides may go on using theirs;
    // no stack means the same one; `pidfd` is valid for writing. The caller keeps to the rule for threads above.
    let rc = unsafe { libc::syscall(libc::SYS_clone, flags, 0usize, &raw mut pidfd, 0usize, 0usize) };
    match check(rc)? {
        0 => Ok(Forked::Child),
        pid => Ok(Forked::Parent {
            pid: Pid::try_from(pid).map_err(|_| io::Error::from_raw_os_error(libc::EOVERFLOW))?,
            pidfd: owned(c_long::from(pidfd))?,
        }),
    }
}

/// Runs `child` in a new process that borrows this one's memory; this one goes on when the child has become a program or
/// has ended. There is no copy to be made of what `exec` throws away a moment later.
///
/// [clone(2)](https://man7.org/linux/man-pages/man2/clone.2.html), `CLONE_VFORK`
///
/// # Safety
/// For a process that has one thread. `child` shares its memory, so it may only make system calls; what it returns is its
/// exit status. A handler of a signal that it lets through would run in that memory too.
pub(crate) unsafe fn borrow_until_exec<F: FnMut() -> c_int>(child: &mut F, flags: c_int) -> io::Result<Pid> {
    extern "C" fn enter<F: FnMut() -> c_int>(child: *mut c_void) -> c_int {
        // SAFETY: `child` is the closure given below, and its owner waits until we are done with it.
        unsafe { (*child.cast::<F>())() }
    }
    const STACK: usize = 16 * 1024;
    let mut stack = MaybeUninit::<[u8; STACK]>::uninit();
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD | flags;
    // SAFETY: the stack grows down from its end, which the C library aligns; it and the closure live until the kernel
    // lets this process go on, and by then the child uses neither.
    let pid = unsafe {
        let top = stack.as_mut_ptr().cast::<u8>().add(STACK).cast();
        libc::clone(enter::<F>, top, flags, ptr::from_mut(child).cast())
    };
    check_int(pid)
}

/// By this flag, which changes nothing for a process without a tracer, the filter knows the start of the command, at which
/// notifications are not answered yet. Of other starts it hides that they met a limit, and not the limit.
pub(crate) const UNASKED: c_int = libc::CLONE_UNTRACED;

/// Ends this process at once, with no destructors and no buffers flushed.
pub(crate) fn exit_now(code: c_int) -> ! {
    // SAFETY: `_exit` has no preconditions and does not return.
    unsafe { libc::_exit(code) }
}

/// [execve(2)](https://man7.org/linux/man-pages/man2/execve.2.html): returns only when it failed.
pub(crate) fn exec(program: &CStr, argv: &Strings, envp: &Strings) -> io::Error {
    let (program, argv, envp) = (program.as_ptr(), argv.as_ptr(), envp.as_ptr());
    // SAFETY: both arrays end in a null pointer and their strings live as long as `Strings` does. The kernel reads three
    // arguments.
    unsafe { libc::syscall(libc::SYS_execve, program, argv, envp, c_ulong::from(UNASKED_EXEC)) };
    io::Error::last_os_error()
}

/// By this fourth argument, which the kernel does not read, the filter knows the start of the command: no supervisor answers
/// yet. Of another start it hides that the process is to be followed.
pub(crate) const UNASKED_EXEC: u32 = 0x7069_6e66;

/// A null-terminated array of C strings, ready for `execve`.
pub(crate) struct Strings {
    // Never read, but the pointers below lead into it.
    _owned: Vec<CString>,
    pointers: Vec<*const libc::c_char>,
}

impl Strings {
    pub(crate) fn new(strings: Vec<CString>) -> Self {
        let pointers = strings.iter().map(|s| s.as_ptr()).chain([ptr::null()]).collect();
        Self { _owned: strings, pointers }
    }

    fn as_ptr(&self) -> *const *const libc::c_char {
        self.pointers.as_ptr()
    }
}

// SAFETY: the pointers lead into heap memory that `_owned` keeps alive and no code writes to.
unsafe impl Send for Strings {}
// SAFETY: as above; all access is reading.
unsafe impl Sync for Strings {}

/// Overwrites this process's own copy of its environment, so that `/proc/PID/environ` shows nothing.
///
/// # Safety
/// Only for a process that has one thread and no further use for its environment.
pub(crate) unsafe fn scrub_environment() {
    unsafe extern "C" {
        static mut environ: *mut *mut libc::c_char;
    }
    // SAFETY: `environ` is null or a null-terminated array of writable strings (C standard library contract);
    // one thread, so no other code reads them meanwhile.
    unsafe {
        let mut at = environ;
        while !at.is_null() && !(*at).is_null() {
            let text = *at;
            ptr::write_bytes(text, 0, libc::strlen(text));
            at = at.add(1);
        }
    }
}

/// [prctl(2)](https://man7.org/linux/man-pages/man2/prctl.2.html) for the options that take plain numbers.
pub(crate) fn prctl(option: c_int, a: c_ulong, b: c_ulong) -> io::Result<c_int> {
    // SAFETY: the options used here take numbers only; the kernel touches no memory of ours.
    check_int(unsafe { libc::prctl(option, a, b, 0 as c_ulong, 0 as c_ulong) })
}

/// Has the kernel send `signal` to this process when the thread that forked it ends.
pub(crate) fn die_with_parent(signal: c_int) -> io::Result<()> {
    prctl(libc::PR_SET_PDEATHSIG, c_ulong::from(signal.cast_unsigned()), 0).map(drop)
}

/// Gives up every capability of this process.
///
/// [capset(2)](https://man7.org/linux/man-pages/man2/capset.2.html)
pub(crate) fn drop_capabilities() -> io::Result<()> {
    // The highest number is not a constant of the ABI: drop until the kernel says there is no such one.
    for capability in 0..64 {
        if prctl(libc::PR_CAPBSET_DROP, capability, 0).is_err() {
            break;
        }
    }
    let header: [u32; 2] = [CAPABILITY_VERSION_3, 0];
    let none = [0u32; 6];
    // SAFETY: a version 3 header is followed by two triples of 32-bit words, which is what `none` holds.
    check(unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr()) }).map(drop)
}

/// The type of a resource: C libraries differ in its sign.
#[cfg(target_env = "musl")]
pub(crate) type LimitedResource = c_int;
#[cfg(not(target_env = "musl"))]
pub(crate) type LimitedResource = c_uint;

/// [setrlimit(2)](https://man7.org/linux/man-pages/man2/setrlimit.2.html): soft and hard limit alike, never
/// above the hard limit that there is. For processor time the hard one is a second later, so that its end is
/// told by a signal of its own.
pub(crate) fn limit(resource: LimitedResource, value: u64) -> io::Result<()> {
    let mut now = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `now` is a valid `rlimit` for the kernel to fill.
    check_int(unsafe { libc::getrlimit(resource, &raw mut now) })?;
    let value = value.min(now.rlim_max);
    let later = u64::from(resource == libc::RLIMIT_CPU);
    let wanted = libc::rlimit { rlim_cur: value, rlim_max: value.saturating_add(later).min(now.rlim_max) };
    // SAFETY: `wanted` is read only during the call.
    check_int(unsafe { libc::setrlimit(resource, &raw const wanted) }).map(drop)
}

/// Lets this process have as many files open as its hard limit says. Returns what it had.
///
/// [setrlimit(2)](https://man7.org/linux/man-pages/man2/setrlimit.2.html), `RLIMIT_NOFILE`
pub(crate) fn allow_most_files() -> io::Result<libc::rlimit> {
    let mut now = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `now` is a valid `rlimit` for the kernel to fill.
    check_int(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut now) })?;
    restore_files(&libc::rlimit { rlim_cur: now.rlim_max, rlim_max: now.rlim_max })?;
    Ok(now)
}

/// Sets the limit on open files.
pub(crate) fn restore_files(limit: &libc::rlimit) -> io::Result<()> {
    // SAFETY: `limit` is read only during the call.
    check_int(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, limit) }).map(drop)
}

/// [open(2)](https://man7.org/linux/man-pages/man2/open.2.html) with `O_CLOEXEC`.
pub(crate) fn open(path: &CStr, flags: c_int) -> io::Result<OwnedFd> {
    // SAFETY: `path` is a C string; no flag used here needs a mode.
    owned(check_int(unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC, 0o600) })?.into())
}

/// Opens a place by a path with no link anywhere in it, for holding only.
///
/// [openat2(2)](https://man7.org/linux/man-pages/man2/openat2.2.html)
pub(crate) fn open_held(path: &CStr) -> io::Result<OwnedFd> {
    // Not O_NOFOLLOW: with it a link in the last component would be opened itself instead of refused.
    open_path(path, 0)
}

/// Opens a name, be it a link or not, by a path with no link before it, for holding only.
pub(crate) fn open_name(path: &CStr) -> io::Result<OwnedFd> {
    open_path(path, libc::O_NOFOLLOW)
}

fn open_path(path: &CStr, flags: c_int) -> io::Result<OwnedFd> {
    // SAFETY: all zero is a valid `open_how`.
    let mut how: libc::open_how = unsafe { std::mem::zeroed() };
    how.flags = u64::try_from(libc::O_PATH | libc::O_CLOEXEC | flags).unwrap_or(0);
    how.resolve = libc::RESOLVE_NO_SYMLINKS | libc::RESOLVE_NO_MAGICLINKS;
    let size = size_of::<libc::open_how>();
    // SAFETY: `path` and `how` are valid for the call, and `size` is the size of `how`.
    let rc = unsafe { libc::syscall(libc::SYS_openat2, libc::AT_FDCWD, path.as_ptr(), &raw const how, size) };
    owned(check(rc)?)
}

/// [mkdirat(2)](https://man7.org/linux/man-pages/man2/mkdir.2.html). One that exists is as good.
pub(crate) fn make_dir(path: &CStr, mode: u32) -> io::Result<()> {
    // SAFETY: `path` is a C string.
    match check_int(unsafe { libc::mkdir(path.as_ptr(), mode) }) {
        Err(e) if e.raw_os_error() != Some(libc::EEXIST) => Err(e),
        _ => Ok(()),
    }
}

/// An empty file for something to be mounted on.
pub(crate) fn make_file(path: &CStr, mode: u32) -> io::Result<()> {
    let flags = libc::O_CREAT | libc::O_CLOEXEC | libc::O_RDONLY | libc::O_NOFOLLOW;
    // SAFETY: `path` is a C string and the flags come with a mode.
    owned(check_int(unsafe { libc::open(path.as_ptr(), flags, mode) })?.into()).map(drop)
}

/// [symlink(2)](https://man7.org/linux/man-pages/man2/symlink.2.html)
pub(crate) fn make_link(target: &CStr, path: &CStr) -> io::Result<()> {
    // SAFETY: both are C strings.
    check_int(unsafe { libc::symlink(target.as_ptr(), path.as_ptr()) }).map(drop)
}

/// Renames to a name that must be free.
///
/// [renameat2(2)](https://man7.org/linux/man-pages/man2/rename.2.html), `RENAME_NOREPLACE`. Not for a child.
pub(crate) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    let invalid = |_| io::Error::from_raw_os_error(libc::EINVAL);
    let from = CString::new(from.as_os_str().as_bytes()).map_err(invalid)?;
    let to = CString::new(to.as_os_str().as_bytes()).map_err(invalid)?;
    let (here, flags) = (libc::AT_FDCWD, libc::RENAME_NOREPLACE);
    // SAFETY: both are C strings.
    check_int(unsafe { libc::renameat2(here, from.as_ptr(), here, to.as_ptr(), flags) }).map(drop)
}

/// Returns whether this user can read a file, or reach into a directory. Not for a child.
pub(crate) fn can_use_content(path: &Path) -> bool {
    can_access(path, if path.is_dir() { libc::X_OK } else { libc::R_OK })
}

/// Returns whether this user can use a place like this: `R_OK`, `W_OK`, `X_OK`.
///
/// [faccessat(2)](https://man7.org/linux/man-pages/man2/access.2.html). Not for a child.
pub(crate) fn can_access(path: &Path, how: c_int) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: `path` is a C string.
    unsafe { libc::faccessat(libc::AT_FDCWD, path.as_ptr(), how, libc::AT_EACCESS) == 0 }
}

/// Returns device and inode of a descriptor.
pub(crate) fn identity(fd: BorrowedFd<'_>) -> io::Result<(u64, u64)> {
    // SAFETY: all zero is a valid `stat` for the kernel to fill.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `stat` is valid for writing.
    check_int(unsafe { libc::fstat(fd.as_raw_fd(), &raw mut stat) })?;
    Ok((stat.st_dev, stat.st_ino))
}

/// Returns whether a held place is a directory.
pub(crate) fn is_directory(fd: BorrowedFd<'_>) -> io::Result<bool> {
    // SAFETY: all zero is a valid `stat` for the kernel to fill.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `stat` is valid for writing.
    check_int(unsafe { libc::fstat(fd.as_raw_fd(), &raw mut stat) })?;
    Ok(stat.st_mode & libc::S_IFMT == libc::S_IFDIR)
}

/// [write(2)](https://man7.org/linux/man-pages/man2/write.2.html), once; a short write is an error.
pub(crate) fn write_all(fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<()> {
    // SAFETY: pointer and length are those of one slice.
    let rc = unsafe { libc::write(fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) };
    match usize::try_from(rc) {
        Ok(n) if n == bytes.len() => Ok(()),
        Ok(_) => Err(io::Error::from_raw_os_error(libc::EIO)),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

/// [chdir(2)](https://man7.org/linux/man-pages/man2/chdir.2.html)
pub(crate) fn change_dir(path: &CStr) -> io::Result<()> {
    // SAFETY: `path` is a C string.
    check_int(unsafe { libc::chdir(path.as_ptr()) }).map(drop)
}

/// Marks every descriptor from `first` on as closed at `exec`.
///
/// [close_range(2)](https://man7.org/linux/man-pages/man2/close_range.2.html)
pub(crate) fn close_on_exec_from(first: c_uint) -> io::Result<()> {
    const CLOEXEC: c_uint = 1 << 2;
    // SAFETY: changes descriptor flags only.
    check(unsafe { libc::syscall(libc::SYS_close_range, first, c_uint::MAX, CLOEXEC) }).map(drop)
}

/// [mount(2)](https://man7.org/linux/man-pages/man2/mount.2.html)
pub(crate) fn mount(
    source: &CStr,
    target: &CStr,
    kind: &CStr,
    flags: c_ulong,
    data: Option<&CStr>,
) -> io::Result<()> {
    let data = data.map_or(ptr::null(), |d| d.as_ptr().cast::<c_void>());
    // SAFETY: all are C strings or null, as mount(2) allows.
    check_int(unsafe { libc::mount(source.as_ptr(), target.as_ptr(), kind.as_ptr(), flags, data) }).map(drop)
}

/// A detached copy of the mount at a held place, with everything mounted below it when `whole`.
///
/// [open_tree(2)](https://man7.org/linux/man-pages/man2/open_tree.2.html)
pub(crate) fn clone_mount(at: BorrowedFd<'_>, whole: bool) -> io::Result<OwnedFd> {
    const OPEN_TREE_CLONE: c_uint = 1;
    const AT_RECURSIVE: c_uint = 0x8000;
    let mut flags = OPEN_TREE_CLONE | libc::O_CLOEXEC.cast_unsigned() | libc::AT_EMPTY_PATH.cast_unsigned();
    if whole {
        flags |= AT_RECURSIVE;
    }
    // SAFETY: an empty path with AT_EMPTY_PATH means the descriptor itself.
    owned(check(unsafe { libc::syscall(libc::SYS_open_tree, at.as_raw_fd(), c"".as_ptr(), flags) })?)
}

/// Attaches a detached mount at a held place.
///
/// [move_mount(2)](https://man7.org/linux/man-pages/man2/move_mount.2.html)
pub(crate) fn attach_mount(tree: BorrowedFd<'_>, at: BorrowedFd<'_>) -> io::Result<()> {
    const FROM_EMPTY: c_uint = 0x4;
    const TO_EMPTY: c_uint = 0x40;
    let (tree, at) = (tree.as_raw_fd(), at.as_raw_fd());
    let flags = FROM_EMPTY | TO_EMPTY;
    // SAFETY: empty paths with the EMPTY flags mean the descriptors themselves.
    check(unsafe { libc::syscall(libc::SYS_move_mount, tree, c"".as_ptr(), at, c"".as_ptr(), flags) })
        .map(drop)
}

/// Mount attributes to set and to clear.
#[derive(Clone, Copy, Default)]
pub(crate) struct Attributes {
    pub(crate) set: u64,
    pub(crate) clear: u64,
}

pub(crate) const RDONLY: u64 = 0x1;
pub(crate) const NOSUID: u64 = 0x2;
pub(crate) const NODEV: u64 = 0x4;

/// Changes attributes of the mount at a held place, and of all below it when `whole`.
///
/// [mount_setattr(2)](https://man7.org/linux/man-pages/man2/mount_setattr.2.html)
pub(crate) fn set_mount(at: BorrowedFd<'_>, attributes: Attributes, whole: bool) -> io::Result<()> {
    const AT_RECURSIVE: c_int = 0x8000;
    let flags = libc::AT_EMPTY_PATH | if whole { AT_RECURSIVE } else { 0 };
    let attr: [u64; 4] = [attributes.set, attributes.clear, 0, 0];
    let size = size_of_val(&attr);
    // SAFETY: `attr` has the layout of `struct mount_attr` (four 64-bit words), and `size` is its size.
    let rc = unsafe {
        libc::syscall(libc::SYS_mount_setattr, at.as_raw_fd(), c"".as_ptr(), flags, attr.as_ptr(), size)
    };
    check(rc).map(drop)
}

/// A request of [ioctl(2)](https://man7.org/linux/man-pages/man2/ioctl.2.html): 32 bits, whose type C libraries differ in.
#[allow(
    clippy::cast_possible_wrap,
    clippy::cast_lossless,
    reason = "the bits count, in a type that differs by target"
)]
const fn ioctl_request(bits: u32) -> libc::Ioctl {
    bits as libc::Ioctl
}

/// Brings the loopback interface of this network namespace up.
///
/// [netdevice(7)](https://man7.org/linux/man-pages/man7/netdevice.7.html)
pub(crate) fn loopback_up() -> io::Result<()> {
    const SIOCSIFFLAGS: libc::Ioctl = ioctl_request(0x8914);
    // SAFETY: takes numbers only.
    let rc = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    let socket = owned(check_int(rc)?.into())?;
    // SAFETY: all zero is a valid `ifreq`.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = libc::c_char::from_ne_bytes([*from]);
    }
    request.ifr_ifru.ifru_flags = i16::try_from(libc::IFF_UP | libc::IFF_RUNNING).unwrap_or(0);
    // SAFETY: SIOCSIFFLAGS reads one `ifreq`, which `request` is.
    check_int(unsafe { libc::ioctl(socket.as_raw_fd(), SIOCSIFFLAGS, &raw const request) }).map(drop)
}

/// Sends one request about routes in this network namespace and waits for its answer. `message` asks for one
/// (`NLM_F_ACK`).
///
/// [rtnetlink(7)](https://man7.org/linux/man-pages/man7/rtnetlink.7.html)
pub(crate) fn route(message: &[u8]) -> io::Result<()> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    // SAFETY: takes numbers only.
    let rc = unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE) };
    let socket = owned(check_int(rc)?.into())?;
    // SAFETY: the kernel reads `message`, which lives until the call returns. A netlink socket that is not connected
    // sends to the kernel.
    let sent = unsafe { libc::send(socket.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
    check(sent as c_long)?;
    let mut answer = [0u8; 256];
    // SAFETY: `answer` has room for as many bytes as are asked for.
    let len = unsafe { libc::recv(socket.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), 0) };
    check(len as c_long)?;
    // A header of 16 bytes (its kind at 4), then an error number, 0 for done.
    let malformed = || io::Error::from_raw_os_error(libc::EPROTO);
    let kind = answer.get(4..6).and_then(|kind| kind.try_into().ok()).map(u16::from_ne_bytes);
    let errno = answer.get(16..20).and_then(|errno| errno.try_into().ok()).map(i32::from_ne_bytes);
    match (kind.map(i32::from), errno) {
        (Some(libc::NLMSG_ERROR), Some(0)) if len >= 20 => Ok(()),
        (Some(libc::NLMSG_ERROR), Some(errno)) if len >= 20 => {
            Err(io::Error::from_raw_os_error(errno.saturating_neg()))
        }
        _ => Err(malformed()),
    }
}

/// A socket that takes what is sent to an address: connections, or else datagrams, of which it is told where each was
/// sent to.
///
/// [ip(7)](https://man7.org/linux/man-pages/man7/ip.7.html),
/// [ipv6(7)](https://man7.org/linux/man-pages/man7/ipv6.7.html)
pub(crate) fn listen(at: SocketAddr, stream: bool) -> io::Result<OwnedFd> {
    const WAITING: c_int = 4096;
    let socket = internet_socket(at, stream)?;
    if at.is_ipv6() {
        set_option(socket.as_fd(), libc::IPPROTO_IPV6, libc::IPV6_V6ONLY)?;
    }
    match (stream, at.is_ipv6()) {
        (true, _) => {}
        (false, true) => set_option(socket.as_fd(), libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO)?,
        (false, false) => set_option(socket.as_fd(), libc::IPPROTO_IP, libc::IP_PKTINFO)?,
    }
    let (address, len) = Address::from_socket_addr(at);
    // SAFETY: `address` has room for either version, `len` is the size of this one, and both live until the call returns.
    check_int(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), len) })?;
    if stream {
        // SAFETY: takes numbers only.
        check_int(unsafe { libc::listen(socket.as_raw_fd(), WAITING) })?;
    }
    Ok(socket)
}

/// Opens a raw socket that receives only ICMP errors about datagrams without a receiver.
///
/// [raw(7)](https://man7.org/linux/man-pages/man7/raw.7.html),
/// [RFC 3542](https://www.rfc-editor.org/rfc/rfc3542#section-3.2)
pub(crate) fn unreachable_datagrams(v6: bool) -> io::Result<OwnedFd> {
    // "Destination unreachable" is kind 3 in version 4 and 1 in version 6; a bit that is set keeps its kind away.
    const FILTER: c_int = 1;
    let (family, protocol, level) = if v6 {
        (libc::AF_INET6, libc::IPPROTO_ICMPV6, libc::IPPROTO_ICMPV6)
    } else {
        (libc::AF_INET, libc::IPPROTO_ICMP, libc::IPPROTO_RAW)
    };
    let kept_away: [u32; 8] = [if v6 { !(1 << 1) } else { !(1 << 3) }, !0, !0, !0, !0, !0, !0, !0];
    let words = if v6 { kept_away.len() } else { 1 };
    let len = libc::socklen_t::try_from(words * size_of::<u32>()).unwrap_or(0);
    // SAFETY: takes numbers only.
    let rc = unsafe { libc::socket(family, libc::SOCK_RAW | libc::SOCK_CLOEXEC, protocol) };
    let socket = owned(check_int(rc)?.into())?;
    // SAFETY: the kernel reads `len` bytes of `kept_away`, which is as long and lives until the call returns.
    let rc = unsafe { libc::setsockopt(socket.as_raw_fd(), level, FILTER, kept_away.as_ptr().cast(), len) };
    check_int(rc)?;
    Ok(socket)
}

/// Returns the source address of a datagram to `to`; an error where there is no route. Nothing is sent.
pub(crate) fn way_to(to: SocketAddr) -> io::Result<IpAddr> {
    let socket = internet_socket(to, false)?;
    let (address, len) = Address::from_socket_addr(to);
    // SAFETY: as in `listen`. Connecting a socket for datagrams only looks for a route.
    check_int(unsafe { libc::connect(socket.as_raw_fd(), (&raw const address).cast(), len) })?;
    let mut own = Address::none();
    let mut len = libc::socklen_t::try_from(size_of::<Address>()).unwrap_or(0);
    // SAFETY: `own` has room for `len` bytes, and both live until the call returns.
    let rc = unsafe { libc::getsockname(socket.as_raw_fd(), (&raw mut own).cast(), &raw mut len) };
    check_int(rc)?;
    Ok(own.ip(to.is_ipv6()))
}

/// A socket for connections or datagrams, of the version of an address.
///
/// [socket(2)](https://man7.org/linux/man-pages/man2/socket.2.html)
pub(crate) fn internet_socket(of: SocketAddr, stream: bool) -> io::Result<OwnedFd> {
    let family = if of.is_ipv6() { libc::AF_INET6 } else { libc::AF_INET };
    let kind = if stream { libc::SOCK_STREAM } else { libc::SOCK_DGRAM };
    // SAFETY: takes numbers only.
    let rc = unsafe { libc::socket(family, kind | libc::SOCK_CLOEXEC, 0) };
    owned(check_int(rc)?.into())
}

fn set_option(socket: BorrowedFd<'_>, level: c_int, option: c_int) -> io::Result<()> {
    let on: c_int = 1;
    let len = libc::socklen_t::try_from(size_of::<c_int>()).unwrap_or(0);
    // SAFETY: reads one `c_int`, which `on` is.
    let rc = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const on).cast(), len) };
    check_int(rc).map(drop)
}

/// An address as the kernel has it. Both begin with the family, so that either can be told from it.
#[repr(C)]
union Address {
    v4: libc::sockaddr_in,
    v6: libc::sockaddr_in6,
}

impl Address {
    fn from_socket_addr(at: SocketAddr) -> (Self, libc::socklen_t) {
        let (address, len) = match at {
            SocketAddr::V4(at) => {
                let v4 = libc::sockaddr_in {
                    sin_family: FAMILY_V4,
                    sin_port: at.port().to_be(),
                    sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(at.ip().octets()) },
                    sin_zero: [0; 8],
                };
                (Self { v4 }, size_of::<libc::sockaddr_in>())
            }
            SocketAddr::V6(at) => {
                let v6 = libc::sockaddr_in6 {
                    sin6_family: FAMILY_V6,
                    sin6_port: at.port().to_be(),
                    sin6_flowinfo: 0,
                    sin6_addr: libc::in6_addr { s6_addr: at.ip().octets() },
                    sin6_scope_id: 0,
                };
                (Self { v6 }, size_of::<libc::sockaddr_in6>())
            }
        };
        (address, libc::socklen_t::try_from(len).unwrap_or(0))
    }

    fn none() -> Self {
        Self::from_socket_addr(SocketAddr::from(([0; 16], 0))).0
    }

    /// The address, of the version that the socket has which said it.
    fn ip(&self, is_v6: bool) -> IpAddr {
        // SAFETY: every byte of it is set, and any bytes are valid for both.
        unsafe {
            if is_v6 {
                IpAddr::from(self.v6.sin6_addr.s6_addr)
            } else {
                IpAddr::from(self.v4.sin_addr.s_addr.to_ne_bytes())
            }
        }
    }
}

const FAMILY_V4: libc::sa_family_t = 2;
const FAMILY_V6: libc::sa_family_t = 10;

/// Landlock's newest interface version that this kernel speaks; an error where it has none.
///
/// [landlock_create_ruleset(2)](https://man7.org/linux/man-pages/man2/landlock_create_ruleset.2.html)
pub(crate) fn landlock_version() -> io::Result<u32> {
    const VERSION: c_uint = 1;
    // SAFETY: a null attribute with size 0 and the version flag is how the version is asked for.
    let rc =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, ptr::null::<c_void>(), 0usize, VERSION) };
    check(rc).map(|v| u32::try_from(v).unwrap_or(0))
}

/// A new, empty Landlock ruleset that handles the given accesses (file system, network, scopes).
pub(crate) fn landlock_ruleset(handled: [u64; 3], size: usize) -> io::Result<OwnedFd> {
    let size = size.min(size_of_val(&handled));
    // SAFETY: `handled` has the layout of `struct landlock_ruleset_attr`, of which older kernels know the first
    // `size` bytes.
    let rc = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, handled.as_ptr(), size, 0 as c_uint) };
    owned(check(rc)?)
}

/// Allows `access` for everything beneath a held place.
///
/// [landlock_add_rule(2)](https://man7.org/linux/man-pages/man2/landlock_add_rule.2.html)
pub(crate) fn landlock_allow(ruleset: BorrowedFd<'_>, access: u64, at: BorrowedFd<'_>) -> io::Result<()> {
    const PATH_BENEATH: c_int = 1;
    #[repr(C, packed)]
    struct PathBeneath {
        access: u64,
        parent: i32,
    }
    let rule = PathBeneath { access, parent: at.as_raw_fd() };
    // SAFETY: `rule` has the packed layout of `struct landlock_path_beneath_attr`.
    let rc = unsafe {
        libc::syscall(
            libc::SYS_landlock_add_rule,
            ruleset.as_raw_fd(),
            PATH_BENEATH,
            &raw const rule,
            0 as c_uint,
        )
    };
    check(rc).map(drop)
}

/// Applies the ruleset to this thread and its later children. Cannot be undone.
///
/// [landlock_restrict_self(2)](https://man7.org/linux/man-pages/man2/landlock_restrict_self.2.html)
pub(crate) fn landlock_restrict(ruleset: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: takes an open descriptor and a flag word; the kernel touches no memory of ours.
    check(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0 as c_uint) })
        .map(drop)
}

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
pub(crate) fn next_question(listener: BorrowedFd<'_>) -> io::Result<libc::seccomp_notif> {
    const SECCOMP_IOCTL_NOTIF_RECV: libc::Ioctl = ioctl_request(0xc050_2100);
    // SAFETY: all zero is what the kernel demands of the structure it fills.
    let mut question: libc::seccomp_notif = unsafe { std::mem::zeroed() };
    // SAFETY: `question` is valid for writing.
    check_int(unsafe { libc::ioctl(listener.as_raw_fd(), SECCOMP_IOCTL_NOTIF_RECV, &raw mut question) })?;
    Ok(question)
}

/// Returns whether the asker still waits, so that its process number still means the same process.
pub(crate) fn still_asking(listener: BorrowedFd<'_>, id: u64) -> bool {
    const SECCOMP_IOCTL_NOTIF_ID_VALID: libc::Ioctl = ioctl_request(0x4008_2102);
    // SAFETY: reads one 64-bit word.
    unsafe { libc::ioctl(listener.as_raw_fd(), SECCOMP_IOCTL_NOTIF_ID_VALID, &raw const id) == 0 }
}

/// Response to a seccomp user notification.
#[derive(Clone, Copy)]
pub(crate) enum NotifyResponse {
    /// The call goes on as the kernel judges it.
    GoOn,
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
        NotifyResponse::GoOn => (0, CONTINUE),
        NotifyResponse::Done => (0, 0),
        NotifyResponse::Fail(errno) => (-errno, 0),
    };
    let response = libc::seccomp_notif_resp { id, val: 0, error, flags };
    // SAFETY: `response` is read during the call only.
    check_int(unsafe { libc::ioctl(listener.as_raw_fd(), SECCOMP_IOCTL_NOTIF_SEND, &raw const response) })
        .map(drop)
}

/// One end of a pair of sockets for streams whose other end is gone. It is connected, so that the kernel connects and listens with it no
/// more, and it has no peer.
///
/// [socketpair(2)](https://man7.org/linux/man-pages/man2/socketpair.2.html)
pub(crate) fn lone_socket(nonblocking: bool) -> io::Result<OwnedFd> {
    let flags = libc::SOCK_CLOEXEC | if nonblocking { libc::SOCK_NONBLOCK } else { 0 };
    let mut ends: [c_int; 2] = [-1; 2];
    // SAFETY: `ends` has room for both.
    check_int(unsafe { libc::socketpair(libc::AF_UNIX, libc::SOCK_STREAM | flags, 0, ends.as_mut_ptr()) })?;
    let [one, other] = ends;
    drop(owned(other.into())?);
    owned(one.into())
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

/// Returns the mount namespace of this process.
///
/// [namespaces(7)](https://man7.org/linux/man-pages/man7/namespaces.7.html)
pub(crate) fn mount_namespace() -> io::Result<u32> {
    // SAFETY: all zero is a valid `stat` for the kernel to fill.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the path is a C string, `stat` is valid for writing.
    check_int(unsafe { libc::stat(c"/proc/self/ns/mnt".as_ptr(), &raw mut stat) })?;
    u32::try_from(stat.st_ino).map_err(|_| io::Error::from_raw_os_error(libc::EOVERFLOW))
}

/// Returns device and inode at a path of plain names below a held directory; a link in the last component counts itself. Mounts
/// are crossed, as the view has them that the directory belongs to.
///
/// [openat2(2)](https://man7.org/linux/man-pages/man2/openat2.2.html). Not for a child.
pub(crate) fn identity_below(directory: BorrowedFd<'_>, path: &Path) -> io::Result<(u64, u64)> {
    if path.as_os_str().is_empty() {
        return identity(directory);
    }
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: all zero is a valid `open_how`.
    let mut how: libc::open_how = unsafe { std::mem::zeroed() };
    how.flags = u64::try_from(libc::O_PATH | libc::O_CLOEXEC | libc::O_NOFOLLOW).unwrap_or(0);
    how.resolve = libc::RESOLVE_NO_SYMLINKS | libc::RESOLVE_NO_MAGICLINKS | libc::RESOLVE_BENEATH;
    let (directory, size) = (directory.as_raw_fd(), size_of::<libc::open_how>());
    // SAFETY: `path` and `how` are valid for the call, and `size` is the size of `how`.
    let rc = unsafe { libc::syscall(libc::SYS_openat2, directory, path.as_ptr(), &raw const how, size) };
    identity(owned(check(rc)?)?.as_fd())
}

/// Gives this thread a umask, a root and a working directory of its own, which were those of the process.
///
/// [unshare(2)](https://man7.org/linux/man-pages/man2/unshare.2.html), `CLONE_FS`
pub(crate) fn own_umask() -> io::Result<()> {
    // SAFETY: takes a number.
    check_int(unsafe { libc::unshare(libc::CLONE_FS) }).map(drop)
}

/// The capabilities of one thread: effective, permitted, inheritable, each in two halves.
#[derive(Clone, Copy)]
pub(crate) struct Capabilities([u32; 6]);

const CAPABILITY_VERSION_3: u32 = 0x2008_0522;

impl Capabilities {
    /// Returns the current capabilities of this thread.
    ///
    /// [capget(2)](https://man7.org/linux/man-pages/man2/capget.2.html)
    pub(crate) fn current() -> io::Result<Self> {
        let mut header: [u32; 2] = [CAPABILITY_VERSION_3, 0];
        let mut data = [0u32; 6];
        // SAFETY: a version 3 header is followed by two triples of 32-bit words, which is what `data` holds.
        check(unsafe { libc::syscall(libc::SYS_capget, header.as_mut_ptr(), data.as_mut_ptr()) })?;
        Ok(Self(data))
    }

    /// Returns whether there are any in effect.
    pub(crate) fn are_in_effect(self) -> bool {
        let [effective, _, _, more, ..] = self.0;
        effective != 0 || more != 0
    }

    /// Returns the set with no capability in effect; they can be raised again.
    pub(crate) fn at_rest(self) -> Self {
        let [_, permitted, inheritable, _, more, even_more] = self.0;
        Self([0, permitted, inheritable, 0, more, even_more])
    }

    /// Makes these the capabilities of this thread.
    pub(crate) fn set(self) -> io::Result<()> {
        let header: [u32; 2] = [CAPABILITY_VERSION_3, 0];
        // SAFETY: as above.
        check(unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), self.0.as_ptr()) }).map(drop)
    }
}

/// The largest file that a process may make, in bytes. Nothing where that cannot be told.
///
/// [prlimit(2)](https://man7.org/linux/man-pages/man2/prlimit.2.html), `RLIMIT_FSIZE`
pub(crate) fn largest_file(pid: Pid) -> u64 {
    let mut limit = libc::rlimit64 { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: no new limit is given; `limit` is valid for writing.
    let rc = unsafe { libc::prlimit64(pid, libc::RLIMIT_FSIZE, ptr::null(), &raw mut limit) };
    if rc == 0 { limit.rlim_cur } else { 0 }
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

/// Reads memory of another process into `buffer`; returns how much could be read.
///
/// [process_vm_readv(2)](https://man7.org/linux/man-pages/man2/process_vm_readv.2.html)
pub(crate) fn read_memory(pid: Pid, address: u64, buffer: &mut [u8]) -> io::Result<usize> {
    read_memory_parts(pid, [(address, buffer)])
}

/// Reads several parts of the memory of another process in one call, each into its buffer, up to the first that is not there;
/// returns how much could be read of all.
///
/// [process_vm_readv(2)](https://man7.org/linux/man-pages/man2/process_vm_readv.2.html)
pub(crate) fn read_memory_parts<const N: usize>(pid: Pid, parts: [(u64, &mut [u8]); N]) -> io::Result<usize> {
    const NOTHING: libc::iovec = libc::iovec { iov_base: ptr::null_mut(), iov_len: 0 };
    let (mut local, mut remote) = ([NOTHING; N], [NOTHING; N]);
    for ((address, buffer), (local, remote)) in parts.into_iter().zip(local.iter_mut().zip(&mut remote)) {
        let Ok(address) = usize::try_from(address) else {
            return Err(io::Error::from_raw_os_error(libc::EFAULT));
        };
        *local = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        *remote = libc::iovec { iov_base: ptr::without_provenance_mut(address), iov_len: buffer.len() };
    }
    let count = N as c_ulong;
    // SAFETY: each of `local` describes a buffer that is borrowed for this call; `remote` are addresses in the other process,
    // checked by the kernel.
    let rc = unsafe { libc::process_vm_readv(pid, local.as_ptr(), count, remote.as_ptr(), count, 0) };
    usize::try_from(rc).map_err(|_| io::Error::last_os_error())
}

/// A connected pair of sockets that keeps message boundaries.
pub(crate) fn socket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds: [c_int; 2] = [-1; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: `fds` has room for two descriptors.
    check_int(unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, fds.as_mut_ptr()) })?;
    Ok((owned(fds[0].into())?, owned(fds[1].into())?))
}

/// Room for one descriptor in a control message, aligned as `cmsghdr` wants it.
#[repr(C, align(8))]
struct Control([u8; 24]);

/// Sends one message, with a descriptor when there is one; never waits for room.
///
/// [unix(7)](https://man7.org/linux/man-pages/man7/unix.7.html), `SCM_RIGHTS`
pub(crate) fn send(socket: BorrowedFd<'_>, bytes: &[u8], fd: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let mut control = Control([0; 24]);
    // SAFETY: all zero is a valid `msghdr`.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    if let Some(fd) = fd {
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = size_of::<Control>() as _;
        // SAFETY: `control` is aligned and has room for one header and one descriptor (CMSG_SPACE(4) is 24).
        unsafe {
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(4) as _;
            ptr::write_unaligned(libc::CMSG_DATA(header).cast::<c_int>(), fd.as_raw_fd());
        }
    }
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    // SAFETY: everything that `message` points to lives until the call returns.
    let rc = unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const message, flags) };
    check(rc as c_long).map(drop)
}

/// Receives one message, with a descriptor when one came along. Length 0 means that the other side is gone.
pub(crate) fn receive(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<(usize, Option<OwnedFd>)> {
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let mut control = Control([0; 24]);
    // SAFETY: all zero is a valid `msghdr`.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = size_of::<Control>() as _;
    // SAFETY: everything that `message` points to lives until the call returns.
    let rc = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC) };
    let len = usize::try_from(rc).map_err(|_| io::Error::last_os_error())?;
    if message.msg_flags & libc::MSG_CTRUNC != 0 {
        // A descriptor came along, and this process may have no more.
        return Err(io::Error::from_raw_os_error(libc::EMFILE));
    }
    // SAFETY: the kernel filled `control` up to `msg_controllen`; CMSG_FIRSTHDR returns null when that is too
    // short for a header, and a rights message of this length holds one descriptor, new and ours.
    let fd = unsafe {
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        if !header.is_null()
            && (*header).cmsg_type == libc::SCM_RIGHTS
            && (*header).cmsg_len as usize >= libc::CMSG_LEN(4) as usize
        {
            Some(OwnedFd::from_raw_fd(ptr::read_unaligned(libc::CMSG_DATA(header).cast::<c_int>())))
        } else {
            None
        }
    };
    Ok((len, fd))
}

/// Returns whether the other end of a socket is gone, without waiting.
pub(crate) fn hung_up(socket: BorrowedFd<'_>) -> bool {
    let mut one = [0u8; 1];
    let flags = libc::MSG_PEEK | libc::MSG_DONTWAIT;
    // SAFETY: `one` has room for one byte.
    unsafe { libc::recv(socket.as_raw_fd(), one.as_mut_ptr().cast(), 1, flags) == 0 }
}

/// Waits until one of `fds` is ready or `timeout` has passed; returns the events of each.
///
/// [poll(2)](https://man7.org/linux/man-pages/man2/poll.2.html)
pub(crate) fn poll<const N: usize>(fds: [RawFd; N], timeout: Option<i32>) -> io::Result<[i16; N]> {
    let mut list = fds.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    // SAFETY: `list` has N entries; a negative descriptor is passed over by the kernel.
    let rc = unsafe { libc::poll(list.as_mut_ptr(), N as libc::nfds_t, timeout.unwrap_or(-1)) };
    match check_int(rc) {
        Err(e) if e.raw_os_error() != Some(libc::EINTR) => Err(e),
        Err(_) => Ok([0; N]),
        Ok(_) => Ok(list.map(|p| p.revents)),
    }
}

/// A set of signals.
#[derive(Clone, Copy)]
pub(crate) struct Signals(libc::sigset_t);

impl Signals {
    pub(crate) fn from_list(list: &[c_int]) -> Self {
        // SAFETY: `sigemptyset` makes any memory a valid set; signal numbers out of range are refused.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            for &signal in list {
                libc::sigaddset(&raw mut set, signal);
            }
            Self(set)
        }
    }

    pub(crate) fn all() -> Self {
        // SAFETY: as above.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigfillset(&raw mut set);
            Self(set)
        }
    }

    /// Blocks these signals in this thread; returns what was blocked before.
    pub(crate) fn block(&self) -> io::Result<Self> {
        self.change(libc::SIG_BLOCK)
    }

    /// Lets these signals through in this thread; returns what was blocked before.
    pub(crate) fn unblock(&self) -> io::Result<Self> {
        self.change(libc::SIG_UNBLOCK)
    }

    /// Makes these the blocked signals of this thread.
    pub(crate) fn restore(&self) -> io::Result<()> {
        self.change(libc::SIG_SETMASK).map(drop)
    }

    fn change(&self, how: c_int) -> io::Result<Self> {
        let mut before = Self::from_list(&[]);
        // SAFETY: both sets are valid.
        match unsafe { libc::pthread_sigmask(how, &raw const self.0, &raw mut before.0) } {
            0 => Ok(before),
            e => Err(io::Error::from_raw_os_error(e)),
        }
    }

    /// Waits for one of these (blocked) signals.
    pub(crate) fn wait(&self) -> io::Result<Signal> {
        // SAFETY: all zero is a valid `siginfo_t` for the kernel to fill.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        // SAFETY: both are valid.
        let number = check_int(unsafe { libc::sigwaitinfo(&raw const self.0, &raw mut info) })?;
        Ok(Signal { number, sent_by_process: info.si_code <= 0 })
    }

    /// A descriptor on which these (blocked) signals can be read.
    pub(crate) fn descriptor(&self) -> io::Result<OwnedFd> {
        // SAFETY: the set is valid; -1 asks for a new descriptor.
        let rc = unsafe { libc::signalfd(-1, &raw const self.0, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        owned(check_int(rc)?.into())
    }
}

/// A signal that arrived.
pub(crate) struct Signal {
    pub(crate) number: c_int,
    /// Sent with kill(2) or its kind, not by a terminal or the kernel.
    pub(crate) sent_by_process: bool,
}

/// The next signal of a [`Signals::descriptor`], if there is one.
pub(crate) fn read_signal(fd: BorrowedFd<'_>) -> Option<Signal> {
    // SAFETY: all zero is a valid `signalfd_siginfo`.
    let mut info: libc::signalfd_siginfo = unsafe { std::mem::zeroed() };
    let size = size_of::<libc::signalfd_siginfo>();
    // SAFETY: `info` has room for `size` bytes.
    let rc = unsafe { libc::read(fd.as_raw_fd(), (&raw mut info).cast(), size) };
    (usize::try_from(rc).ok()? == size)
        .then(|| Signal { number: info.ssi_signo.cast_signed(), sent_by_process: info.ssi_code <= 0 })
}

/// Gives a signal back its default action, which a child inherits.
pub(crate) fn default_action(signal: c_int) {
    // SAFETY: sets a disposition; SIG_DFL is always valid.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

/// Ignores a signal. A program that is started inherits that.
pub(crate) fn ignore(signal: c_int) {
    // SAFETY: sets a disposition; SIG_IGN is always valid.
    unsafe { libc::signal(signal, libc::SIG_IGN) };
}

/// [kill(2)](https://man7.org/linux/man-pages/man2/kill.2.html)
pub(crate) fn kill(pid: Pid, signal: c_int) -> io::Result<()> {
    // SAFETY: takes numbers only.
    check_int(unsafe { libc::kill(pid, signal) }).map(drop)
}

/// Sends a signal to exactly the process that the descriptor stands for.
///
/// [pidfd_send_signal(2)](https://man7.org/linux/man-pages/man2/pidfd_send_signal.2.html)
pub(crate) fn signal(process: BorrowedFd<'_>, signal: c_int) -> io::Result<()> {
    let none = ptr::null::<c_void>();
    // SAFETY: a null siginfo means the same as kill(2).
    let rc =
        unsafe { libc::syscall(libc::SYS_pidfd_send_signal, process.as_raw_fd(), signal, none, 0 as c_uint) };
    check(rc).map(drop)
}

/// The end of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChildExit {
    Exited(c_int),
    Signalled(c_int),
}

/// Reaps a child (-1: any); `None` when `wait` is false and none has ended. A child that asked to be traced by its parent
/// (`PTRACE_TRACEME`) is reported here at each of its stops, which are no ends: it goes on without a tracer.
///
/// [waitpid(2)](https://man7.org/linux/man-pages/man2/waitpid.2.html)
pub(crate) fn reap(pid: Pid, wait: bool) -> io::Result<Option<(Pid, ChildExit)>> {
    let mut status: c_int = 0;
    let flags = if wait { 0 } else { libc::WNOHANG };
    loop {
        // SAFETY: `status` is valid for writing.
        match check_int(unsafe { libc::waitpid(pid, &raw mut status, flags) }) {
            Err(e) if e.raw_os_error() == Some(libc::EINTR) => {}
            Err(e) => return Err(e),
            Ok(0) => return Ok(None),
            Ok(pid) if libc::WIFSIGNALED(status) => {
                return Ok(Some((pid, ChildExit::Signalled(libc::WTERMSIG(status)))));
            }
            Ok(pid) if libc::WIFEXITED(status) => {
                return Ok(Some((pid, ChildExit::Exited(libc::WEXITSTATUS(status)))));
            }
            Ok(pid) => let_go(pid, libc::WSTOPSIG(status)),
        }
    }
}

/// Ends the tracing of a stopped child. The signal that it stopped for takes effect as if it were not traced, but for the
/// trap by which the kernel tells a tracer of `execve`.
///
/// [ptrace(2)](https://man7.org/linux/man-pages/man2/ptrace.2.html)
fn let_go(pid: Pid, signal: c_int) {
    let signal = if signal == libc::SIGTRAP { 0 } else { c_long::from(signal) };
    // SAFETY: takes numbers. An error says that it was killed meanwhile, or is not traced by this process.
    unsafe { libc::ptrace(libc::PTRACE_DETACH, pid, 0 as c_long, signal) };
}

/// Returns whether this child has been stopped since it was last asked, and by which signal.
///
/// [waitid(2)](https://man7.org/linux/man-pages/man2/waitid.2.html)
pub(crate) fn stopped_by(pid: Pid) -> Option<c_int> {
    // SAFETY: all zero is a valid `siginfo_t`; with WNOHANG it stays so when nothing has happened.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let flags = libc::WSTOPPED | libc::WNOHANG;
    // SAFETY: `info` is valid for writing.
    check_int(unsafe { libc::waitid(libc::P_PID, pid.cast_unsigned(), &raw mut info, flags) }).ok()?;
    // SAFETY: after waitid(2) these fields are filled, or zero.
    let (who, signal) = unsafe { (info.si_pid(), info.si_status()) };
    (who == pid).then_some(signal)
}

/// Stops this process, or all of its group, by `signal` until it is continued. In an orphaned process group, which no shell could
/// continue, the kernel does nothing when `signal` is one of a terminal.
pub(crate) fn stop(signal: c_int, group: bool) -> io::Result<()> {
    let before = Signals::from_list(&[signal]).unblock()?;
    // SAFETY: both take numbers.
    unsafe { if group { libc::kill(0, signal) } else { libc::raise(signal) } };
    before.restore()
}

/// Continues this process after a while, if it is stopped then; dropped, it does not.
///
/// [timer_create(2)](https://man7.org/linux/man-pages/man2/timer_create.2.html)
pub(crate) struct Alarm(libc::timer_t);

impl Alarm {
    pub(crate) fn arm(wait: Duration) -> io::Result<Self> {
        // SAFETY: all zero is a valid `sigevent`.
        let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
        event.sigev_notify = libc::SIGEV_SIGNAL;
        event.sigev_signo = libc::SIGCONT;
        let mut timer: libc::timer_t = ptr::null_mut();
        // SAFETY: both are valid.
        check_int(unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) })?;
        let alarm = Self(timer);
        // Zero would mean never.
        let wait = wait.max(Duration::from_millis(1));
        // SAFETY: all zero is a valid `itimerspec`.
        let mut when: libc::itimerspec = unsafe { std::mem::zeroed() };
        when.it_value.tv_sec = i64::try_from(wait.as_secs()).unwrap_or(i64::MAX);
        when.it_value.tv_nsec = wait.subsec_nanos().into();
        // SAFETY: the timer exists, `when` is valid.
        check_int(unsafe { libc::timer_settime(alarm.0, 0, &raw const when, ptr::null_mut()) })?;
        Ok(alarm)
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        // SAFETY: the timer exists and no other code has it.
        unsafe { libc::timer_delete(self.0) };
    }
}

/// The process group of a process (0: of this one); 0 when it lies outside this process namespace.
pub(crate) fn group_of(pid: Pid) -> Option<Pid> {
    // SAFETY: takes a number.
    check_int(unsafe { libc::getpgid(pid) }).ok()
}

/// The process group in the foreground of the terminal, if standard input is one and the group can be seen.
pub(crate) fn foreground() -> Option<Pid> {
    // SAFETY: takes a number; on something that is no terminal it fails.
    Some(unsafe { libc::tcgetpgrp(0) }).filter(|group| *group > 0)
}

/// Puts a process group of this session into the foreground of the terminal, from wherever we are.
pub(crate) fn set_foreground(group: Pid) {
    // SAFETY: take numbers only; on something that is no terminal they fail and change nothing.
    unsafe {
        let before = libc::signal(libc::SIGTTOU, libc::SIG_IGN);
        libc::tcsetpgrp(0, group);
        libc::signal(libc::SIGTTOU, before);
    }
}

/// Returns whether a process group is empty.
pub(crate) fn is_gone(group: Pid) -> bool {
    kill(-group, 0).is_err_and(|e| e.raw_os_error() == Some(libc::ESRCH))
}

/// The first argument of a raw system call made to see whether it is refused (self-test, doctor).
pub(crate) fn raw(number: c_long, args: [c_ulong; 3]) -> io::Result<c_long> {
    let [first, second, third] = args;
    // SAFETY: used only with arguments that are numbers or null, for calls that the kernel answers with an error
    // or that have no effect on our memory.
    check(unsafe { libc::syscall(number, first, second, third) })
}

/// The effective user and group of this process.
pub(crate) fn effective_ids() -> (u32, u32) {
    // SAFETY: no preconditions, cannot fail.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

/// The number of this process.
pub(crate) fn own_pid() -> Pid {
    // SAFETY: no preconditions, cannot fail.
    unsafe { libc::getpid() }
}

/// The number of the parent, 0 when it is outside this process namespace.
pub(crate) fn parent_pid() -> Pid {
    // SAFETY: no preconditions, cannot fail.
    unsafe { libc::getppid() }
}

/// The list of the children of this thread, to be read as often as needed: [proc_tid_children(5)](https://man7.org/linux/man-pages/man5/proc_tid_children.5.html).
pub(crate) fn children() -> io::Result<OwnedFd> {
    open(c"/proc/thread-self/children", libc::O_RDONLY)
}

/// Kills every child in the list; false when there is none left.
///
/// Reads it into a buffer on the stack, so that it may run after a fork.
pub(crate) fn kill_children(list: BorrowedFd<'_>) -> bool {
    let mut text = [0u8; 4096];
    // SAFETY: pointer and length are those of `text`.
    let read = unsafe { libc::pread(list.as_raw_fd(), text.as_mut_ptr().cast(), text.len(), 0) };
    let Some(text) = usize::try_from(read).ok().and_then(|n| text.get(..n)) else { return false };
    let mut any = false;
    // The last number may be cut off at the end of the buffer; it is found in the next round.
    for number in text.split_inclusive(|b| *b == b' ') {
        let Some(digits) = number.strip_suffix(b" ") else { continue };
        let pid = digits
            .iter()
            .fold(0, |n: Pid, d| n.saturating_mul(10).saturating_add(Pid::from(d.wrapping_sub(b'0'))));
        if pid > 1 {
            any = true;
            let _ = kill(pid, libc::SIGKILL);
        }
    }
    any
}

/// Makes `fd` this process's descriptor number `number` (standard input, output or error).
pub(crate) fn place(fd: BorrowedFd<'_>, number: RawFd) -> io::Result<()> {
    // SAFETY: both are descriptor numbers; dup2 on the same number is a no-op that keeps close-on-exec, hence
    // the fcntl.
    unsafe {
        if fd.as_raw_fd() == number {
            check_int(libc::fcntl(number, libc::F_SETFD, 0)).map(drop)
        } else {
            check_int(libc::dup2(fd.as_raw_fd(), number)).map(drop)
        }
    }
}

/// Sets which mode bits new files do not get; returns what it was.
pub(crate) fn umask(mask: u32) -> u32 {
    // SAFETY: takes a number, cannot fail.
    unsafe { libc::umask(mask) }
}

/// Moves `fd` to `number`, `next` to the number after that, and closes every descriptor above. The only ones left there
/// are returned.
pub(crate) fn keep_only_below(
    number: RawFd,
    fd: BorrowedFd<'_>,
    next: Option<BorrowedFd<'_>>,
) -> io::Result<(OwnedFd, Option<OwnedFd>)> {
    // Out of the way first: it may stand where the other is going to.
    let next = match next {
        // SAFETY: takes numbers, and returns a descriptor that is ours.
        Some(next) => Some(owned(
            check_int(unsafe { libc::fcntl(next.as_raw_fd(), libc::F_DUPFD_CLOEXEC, number + 2) })?.into(),
        )?),
        None => None,
    };
    if fd.as_raw_fd() != number {
        // SAFETY: both are descriptor numbers. Whatever stood at `number` belonged to another owner, which, in
        // the forked child that calls this, will never use or close it.
        check_int(unsafe { libc::dup3(fd.as_raw_fd(), number, libc::O_CLOEXEC) })?;
    }
    let mut last = number;
    if let Some(next) = &next {
        last += 1;
        // SAFETY: as above.
        check_int(unsafe { libc::dup3(next.as_raw_fd(), last, libc::O_CLOEXEC) })?;
    }
    let moved = next.is_some();
    drop(next);
    // SAFETY: as above, for all others.
    check(unsafe {
        libc::syscall(libc::SYS_close_range, last.cast_unsigned() + 1, c_uint::MAX, 0 as c_uint)
    })?;
    Ok((owned(number.into())?, if moved { Some(owned(last.into())?) } else { None }))
}

/// Starts a new session, away from any terminal. Fails for the leader of a process group.
///
/// [setsid(2)](https://man7.org/linux/man-pages/man2/setsid.2.html)
pub(crate) fn new_session() -> io::Result<()> {
    // SAFETY: takes nothing.
    check_int(unsafe { libc::setsid() }).map(drop)
}

/// Returns whether a terminal controls the session of this process. Where that cannot be told, one may.
///
/// [tty(4)](https://man7.org/linux/man-pages/man4/tty.4.html): opening `/dev/tty` fails with `ENXIO` where there is none.
pub(crate) fn has_terminal() -> bool {
    let found = open(c"/dev/tty", libc::O_RDONLY | libc::O_NOCTTY | libc::O_NONBLOCK);
    !found.is_err_and(|error| error.raw_os_error() == Some(libc::ENXIO))
}

/// Starts a new session and makes `terminal`, which belongs to no session yet, the one that controls it.
///
/// [setsid(2)](https://man7.org/linux/man-pages/man2/setsid.2.html),
/// [TIOCSCTTY](https://man7.org/linux/man-pages/man2/TIOCSCTTY.2const.html)
pub(crate) fn new_session_at(terminal: BorrowedFd<'_>) -> io::Result<()> {
    new_session()?;
    // SAFETY: takes a number; zero means that no terminal is to be taken away from others.
    check_int(unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCSCTTY, 0 as c_int) }).map(drop)
}

/// Puts this process into a group of its own.
///
/// [setpgid(2)](https://man7.org/linux/man-pages/man2/setpgid.2.html)
pub(crate) fn lead_group() -> io::Result<()> {
    // SAFETY: takes numbers only.
    check_int(unsafe { libc::setpgid(0, 0) }).map(drop)
}

/// Puts this process into a group of its own, in the foreground of the terminal of its session.
///
/// [tcsetpgrp(3)](https://man7.org/linux/man-pages/man3/tcsetpgrp.3.html); a process that blocks SIGTTOU may do so from
/// the background.
pub(crate) fn lead_foreground(terminal: BorrowedFd<'_>) -> io::Result<()> {
    lead_group()?;
    // SAFETY: take numbers only.
    unsafe { check_int(libc::tcsetpgrp(terminal.as_raw_fd(), libc::getpid())).map(drop) }
}

/// A copy of a descriptor of another process: the same open file.
///
/// [pidfd_getfd(2)](https://man7.org/linux/man-pages/man2/pidfd_getfd.2.html)
pub(crate) fn copied_from(pid: Pid, fd: RawFd) -> io::Result<OwnedFd> {
    // A thread may have a table of its own; before Linux 6.9 only that of the process can be had.
    let thread = pidfd(pid, libc::PIDFD_THREAD).or_else(|_| pidfd(pid, 0))?;
    // SAFETY: takes numbers.
    check(unsafe { libc::syscall(libc::SYS_pidfd_getfd, thread.as_raw_fd(), fd, 0) }).and_then(owned)
}

/// A descriptor of a process.
///
/// [pidfd_open(2)](https://man7.org/linux/man-pages/man2/pidfd_open.2.html)
pub(crate) fn pidfd(pid: Pid, flags: c_uint) -> io::Result<OwnedFd> {
    // SAFETY: takes numbers.
    check(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, flags) }).and_then(owned)
}

/// `struct pidfd_info` of `linux/pidfd.h` in its first size, which later kernels still take.
#[repr(C)]
#[derive(Default)]
struct PidfdInfo {
    mask: u64,
    cgroup: u64,
    ids: [u32; 11],
    exit_code: i32,
}

/// Returns the end of the process of a descriptor, by whichever parent it was reaped; `None` until then.
///
/// `PIDFD_GET_INFO` with `PIDFD_INFO_EXIT`, Linux 6.15: `linux/pidfd.h`. It takes no rights over the process.
///
/// # Errors
/// `ESRCH` where it is gone and the kernel (before 6.15) does not say how; `ENOTTY` and others where the kernel tells nothing.
pub(crate) fn end_of(process: BorrowedFd<'_>) -> io::Result<Option<ChildExit>> {
    const PIDFD_GET_INFO: libc::Ioctl = ioctl_request(0xc040_ff0b);
    const PIDFD_INFO_EXIT: u64 = 1 << 3;
    let mut info = PidfdInfo { mask: PIDFD_INFO_EXIT, ..PidfdInfo::default() };
    // SAFETY: the request says that it takes 64 bytes, which is the size of `info`.
    check_int(unsafe { libc::ioctl(process.as_raw_fd(), PIDFD_GET_INFO, &raw mut info) })?;
    let status = info.exit_code;
    let end = if libc::WIFSIGNALED(status) {
        ChildExit::Signalled(libc::WTERMSIG(status))
    } else {
        ChildExit::Exited(libc::WEXITSTATUS(status))
    };
    Ok((info.mask & PIDFD_INFO_EXIT != 0).then_some(end))
}

/// Connects a socket to an address as the kernel writes it.
///
/// [connect(2)](https://man7.org/linux/man-pages/man2/connect.2.html)
pub(crate) fn connect(socket: BorrowedFd<'_>, address: &[u8]) -> io::Result<()> {
    let len =
        libc::socklen_t::try_from(address.len()).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
    // SAFETY: the kernel copies `len` bytes of `address`.
    check_int(unsafe { libc::connect(socket.as_raw_fd(), address.as_ptr().cast(), len) }).map(drop)
}

/// The family of a socket.
///
/// [socket(7)](https://man7.org/linux/man-pages/man7/socket.7.html), `SO_DOMAIN`
pub(crate) fn family(socket: BorrowedFd<'_>) -> io::Result<c_int> {
    let mut family: c_int = 0;
    let mut len = libc::socklen_t::try_from(size_of_val(&family)).unwrap_or_default();
    let number = socket.as_raw_fd();
    // SAFETY: `family` has room for the `len` bytes of an `int`.
    let rc = unsafe {
        libc::getsockopt(number, libc::SOL_SOCKET, libc::SO_DOMAIN, (&raw mut family).cast(), &raw mut len)
    };
    check_int(rc).map(|_| family)
}

/// Returns whether what is done with an open file never waits.
///
/// [fcntl(2)](https://man7.org/linux/man-pages/man2/fcntl.2.html), `O_NONBLOCK`
pub(crate) fn never_waits(fd: BorrowedFd<'_>) -> io::Result<bool> {
    // SAFETY: takes numbers.
    let flags = check_int(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFL) })?;
    Ok(flags & libc::O_NONBLOCK != 0)
}

/// The name of what stands at a path, seen from a root that no `..` and no link leaves; links of processes are not
/// followed.
///
/// [openat2(2)](https://man7.org/linux/man-pages/man2/openat2.2.html), `RESOLVE_IN_ROOT`. Not for a child.
pub(crate) fn open_name_in(root: BorrowedFd<'_>, path: &Path) -> io::Result<OwnedFd> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: all zero is a valid `open_how`.
    let mut how: libc::open_how = unsafe { std::mem::zeroed() };
    how.flags = u64::try_from(libc::O_PATH | libc::O_CLOEXEC).unwrap_or(0);
    how.resolve = libc::RESOLVE_IN_ROOT | libc::RESOLVE_NO_MAGICLINKS;
    let (root, size) = (root.as_raw_fd(), size_of::<libc::open_how>());
    // SAFETY: `path` and `how` are valid for the call, and `size` is the size of `how`.
    let rc = unsafe { libc::syscall(libc::SYS_openat2, root, path.as_ptr(), &raw const how, size) };
    owned(check(rc)?)
}

/// Returns whether a held file lies in a file system in memory.
///
/// [fstatfs(2)](https://man7.org/linux/man-pages/man2/fstatfs.2.html)
pub(crate) fn is_in_memory(fd: BorrowedFd<'_>) -> io::Result<bool> {
    // SAFETY: all zero is a valid `statfs` for the kernel to fill.
    let mut found: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: `found` is valid for writing.
    check_int(unsafe { libc::fstatfs(fd.as_raw_fd(), &raw mut found) })?;
    // C libraries differ in the sign of the type.
    Ok(found.f_type.to_ne_bytes() == libc::TMPFS_MAGIC.to_ne_bytes())
}

/// Returns whether nothing can be written where a held file is mounted.
///
/// [statvfs(3)](https://man7.org/linux/man-pages/man3/statvfs.3.html)
pub(crate) fn is_read_only(fd: BorrowedFd<'_>) -> io::Result<bool> {
    Ok(rustix::fs::fstatvfs(fd)?.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY))
}
