//! Signals and timers.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;
use std::time::Duration;

use libc::{c_int, c_uint, c_void};

use super::{Pid, check, check_int, owned};

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
