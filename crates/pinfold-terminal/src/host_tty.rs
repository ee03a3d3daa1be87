//! The terminal at which the person sits.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError, Weak};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, read, write};
use rustix::process::getpgrp;
use rustix::termios::{
    OptionalActions, Termios, ioctl_tiocexcl, ioctl_tiocnxcl, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr,
};

use crate::screen::{CANCEL, LEAVE, SHOW_CURSOR, UNMARK_PASTE};
use crate::surface::TerminalSize;

/// Longest wait of a panicking thread for a terminal.
const LAST_TIMEOUT: Duration = Duration::from_millis(100);

/// The terminal that controls this process, as it was found.
#[derive(Debug)]
pub(crate) struct HostTty {
    terminal: OwnedFd,
    before: Termios,
    is_raw: AtomicBool,
    /// A dialog has the screen.
    is_aside: AtomicBool,
}

impl HostTty {
    /// Opens it and changes nothing; `None` when there is none, or this process is not in its foreground.
    pub(crate) fn open() -> io::Result<Option<Arc<Self>>> {
        // A file description of our own, so that non-blocking mode does not reach other openers of the terminal.
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let terminal = match open("/dev/tty", flags, Mode::empty()) {
            Ok(terminal) => terminal,
            Err(Errno::NXIO | Errno::NOENT | Errno::NODEV | Errno::ACCESS) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let before = tcgetattr(&terminal)?;
        let (is_raw, is_aside) = (AtomicBool::new(false), AtomicBool::new(false));
        let person = Arc::new(Self { terminal, before, is_raw, is_aside });
        if !person.is_in_foreground()? {
            return Ok(None);
        }
        remember(&person);
        Ok(Some(person))
    }

    /// Returns the original settings.
    pub(crate) fn settings(&self) -> &Termios {
        &self.before
    }

    /// Returns `true` if this process is in the foreground process group; an error when the terminal is gone.
    pub(crate) fn is_in_foreground(&self) -> io::Result<bool> {
        match tcgetpgrp(&self.terminal) {
            Ok(group) => Ok(group == getpgrp()),
            // No foreground group: for a moment, when a group has ended.
            Err(Errno::OPNOTSUPP) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the size. A terminal that does not know has the size of the first ones.
    pub(crate) fn size(&self) -> TerminalSize {
        let found = tcgetwinsize(&self.terminal).ok().map(|found| (found.ws_row, found.ws_col));
        match found {
            Some((rows @ 1.., columns @ 1..)) => TerminalSize { rows, columns },
            Some(_) | None => TerminalSize { rows: 24, columns: 80 },
        }
    }

    /// Has every byte as it is typed, and every byte shown as it is written.
    pub(crate) fn make_raw(&self) -> io::Result<()> {
        let mut raw = self.before.clone();
        raw.make_raw();
        // What was typed before stays.
        tcsetattr(&self.terminal, OptionalActions::Now, &raw)?;
        self.is_raw.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Restores the original settings. A failure has no reader: the terminal is gone then.
    pub(crate) fn restore(&self) {
        if self.is_raw.swap(false, Ordering::Relaxed) {
            let _ = tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
        }
    }

    /// Forgets the settings: the terminal belongs to another process now.
    pub(crate) fn forget(&self) {
        self.is_raw.store(false, Ordering::Relaxed);
    }

    /// Sets whether other processes are kept from opening it. A process with `CAP_SYS_ADMIN` always can.
    pub(crate) fn set_exclusive(&self, exclusive: bool) -> io::Result<()> {
        let done = if exclusive { ioctl_tiocexcl(&self.terminal) } else { ioctl_tiocnxcl(&self.terminal) };
        Ok(done?)
    }

    /// Remembers whether a dialog has the screen.
    pub(crate) fn set_aside(&self, is_aside: bool) {
        self.is_aside.store(is_aside, Ordering::Relaxed);
    }

    /// Returns typed bytes, without waiting; `None` when there are none, an empty list when it is gone.
    pub(crate) fn read(&self) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = [0u8; 4096];
        match read(&self.terminal, &mut bytes) {
            Ok(count) => Ok(Some(bytes.iter().copied().take(count).collect())),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            // The error too when another process has the foreground.
            Err(Errno::IO) if self.is_in_foreground().is_ok() => Ok(None),
            Err(Errno::IO) => Ok(Some(Vec::new())),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes what can be written at once; zero when that is nothing.
    pub(crate) fn write_some(&self, bytes: &[u8]) -> io::Result<usize> {
        match write(&self.terminal, bytes) {
            Ok(count) => Ok(count),
            Err(Errno::AGAIN | Errno::INTR) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes all, for as long as that takes but no longer than `timeout`.
    pub(crate) fn write(&self, mut bytes: &[u8], timeout: Duration) -> io::Result<()> {
        let end = Instant::now() + timeout;
        while !bytes.is_empty() {
            let count = self.write_some(bytes)?;
            bytes = bytes.get(count..).unwrap_or_default();
            if count == 0 && !self.await_room(end)? {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        Ok(())
    }

    /// Waits until something can be written; false when nothing can before `end`.
    pub(crate) fn await_room(&self, end: Instant) -> io::Result<bool> {
        let left = end.saturating_duration_since(Instant::now());
        let wait = Timespec::try_from(left).ok();
        let mut fds = [PollFd::new(&self.terminal, PollFlags::OUT)];
        match poll(&mut fds, wait.as_ref()) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::INTR) => Ok(!left.is_zero()),
            Err(error) => Err(error.into()),
        }
    }

    /// Puts it back in a hurry.
    fn rescue(&self) {
        if self.is_aside.swap(false, Ordering::Relaxed) {
            let back = format!("{CANCEL}{UNMARK_PASTE}{LEAVE}{SHOW_CURSOR}");
            let _ = self.write(back.as_bytes(), LAST_TIMEOUT);
        }
        self.restore();
    }
}

impl AsFd for HostTty {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.terminal.as_fd()
    }
}

/// Remembers the terminal for a panic. A panic that ends the process drops nothing, and the terminal would be left without
/// echo.
fn remember(person: &Arc<HostTty>) {
    static OPEN: Mutex<Vec<Weak<HostTty>>> = Mutex::new(Vec::new());
    static HOOK: Once = Once::new();
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    open.retain(|other| other.strong_count() > 0);
    open.push(Arc::downgrade(person));
    drop(open);
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |what| {
            if cfg!(panic = "abort")
                && let Ok(open) = OPEN.try_lock()
            {
                open.iter().filter_map(Weak::upgrade).for_each(|person| person.rescue());
            }
            before(what);
        }));
    });
}
