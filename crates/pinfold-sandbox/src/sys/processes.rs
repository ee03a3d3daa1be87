//! Processes: starting, ending, waiting for them, and what the kernel tells of them.

use std::ffi::{CStr, CString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::ptr;

use libc::{c_int, c_long, c_uint, c_ulong, c_void};

use super::files::open;
use super::signals::kill;
use super::{Pid, check, check_int, ioctl_request, owned};

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
