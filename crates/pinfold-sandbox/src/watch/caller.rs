//! The processes that make calls: their directories and their umask, as the kernel tells them in `/proc`.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::io::{self, Read};
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Mode, OFlags, openat, statat};
use rustix::io::Errno;

use super::file_call::BaseDirectory;
use crate::sys::{self, Pid};

/// Threads that are remembered. When there are more, all are forgotten and met anew.
const MAX_THREADS: usize = 512;

/// Bytes of the state of a thread that are read.
const MAX_STATUS: u64 = 64 * 1024;

/// Threads that made calls before, each held by its directory in `/proc`: another thread with the same number is told apart
/// by that, since nothing is found below the directory of one that has ended.
#[derive(Default)]
pub(super) struct Callers {
    known: BTreeMap<Pid, CallerThread>,
}

/// One thread.
pub(super) struct CallerThread {
    pid: Pid,
    directory: OwnedFd,
    /// `None` until it is asked for, and after a change.
    umask: Option<u32>,
    /// Its number as it and those around it see it; `None` until it is asked for.
    number: Cell<Option<Pid>>,
    /// Found alive since it made the call at hand.
    lives: Cell<bool>,
}

const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

impl Callers {
    /// The thread with this number.
    ///
    /// # Errors
    /// `ENOENT` when it is gone.
    pub(super) fn get(&mut self, pid: Pid) -> io::Result<&mut CallerThread> {
        if !self.known.contains_key(&pid) {
            if self.known.len() >= MAX_THREADS {
                self.known.clear();
            }
            let directory = rustix::fs::open(format!("/proc/{pid}"), DIRECTORY, Mode::empty())?;
            self.known.insert(
                pid,
                CallerThread {
                    pid,
                    directory,
                    umask: None,
                    number: Cell::new(None),
                    lives: Cell::new(false),
                },
            );
        }
        self.known.get_mut(&pid).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Forgets a thread: nothing is found below its directory any more, so that its number is another's by now.
    pub(super) fn forget(&mut self, pid: Pid) {
        self.known.remove(&pid);
    }

    /// Forgets every umask: one of them is about to change, and others may share it.
    pub(super) fn forget_umasks(&mut self) {
        self.known.values_mut().for_each(|caller| caller.umask = None);
    }
}

impl CallerThread {
    /// Its number in its own process namespace, by which it is found in the `/proc` that it sees.
    ///
    /// # Errors
    /// When it is gone.
    pub(super) fn number(&self) -> io::Result<Pid> {
        if let Some(number) = self.number.get() {
            return Ok(number);
        }
        let file = openat(&self.directory, "status", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        let text = io::read_to_string(std::fs::File::from(file).take(MAX_STATUS))?;
        let numbers = text.lines().find_map(|line| line.strip_prefix("NSpid:"));
        let innermost = numbers.and_then(|numbers| numbers.split_whitespace().last()?.parse().ok());
        let number = innermost.ok_or_else(|| io::Error::from_raw_os_error(libc::EPROTO))?;
        self.number.set(Some(number));
        Ok(number)
    }

    /// Begins with a call of it: whether it still lives is not known.
    pub(super) fn begin(&self) {
        self.lives.set(false);
    }

    /// The directory that a relative path starts from.
    ///
    /// # Errors
    /// `EBADF`, `ENOTDIR`.
    pub(super) fn base(&self, base: BaseDirectory) -> io::Result<OwnedFd> {
        let opened = match base {
            BaseDirectory::Cwd => openat(&self.directory, "cwd", DIRECTORY, Mode::empty()),
            BaseDirectory::Descriptor(fd) => openat(&self.directory, fd_name(fd), DIRECTORY, Mode::empty()),
        };
        opened.map_err(|error| self.missing(error))
    }

    /// Returns device and inode of the directory.
    ///
    /// # Errors
    /// `EBADF`.
    pub(super) fn identity(&self, base: BaseDirectory) -> io::Result<(u64, u64)> {
        let found = match base {
            BaseDirectory::Cwd => statat(&self.directory, c"cwd", AtFlags::empty()),
            BaseDirectory::Descriptor(fd) => statat(&self.directory, fd_name(fd), AtFlags::empty()),
        };
        self.lives.set(found.is_ok());
        found.map(|found| (found.st_dev, found.st_ino)).map_err(|error| self.missing(error))
    }

    /// Converts an error below the directory of the thread: it is gone, or has no such descriptor.
    fn missing(&self, error: Errno) -> io::Error {
        match error {
            Errno::NOENT if self.lives() => io::Error::from_raw_os_error(libc::EBADF),
            Errno::NOENT => io::Error::from_raw_os_error(libc::ESRCH),
            other => other.into(),
        }
    }

    fn lives(&self) -> bool {
        statat(&self.directory, c"cwd", AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Opens the object of one of its descriptors, of any type.
    ///
    /// # Errors
    /// `EBADF`.
    pub(super) fn open_file(&self, fd: i32) -> io::Result<OwnedFd> {
        let opened = openat(&self.directory, fd_name(fd), OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
        opened.map_err(|error| self.missing(error))
    }

    /// Copies one of its descriptors, which is the same open file.
    ///
    /// # Errors
    /// `EBADF`; `ESRCH` when it is gone; `ENOLCK` where none can be copied.
    pub(super) fn copy_file(&self, fd: i32) -> io::Result<OwnedFd> {
        sys::copied_from(self.pid, fd).map_err(|error| match error.raw_os_error() {
            Some(libc::EBADF | libc::ESRCH) => error,
            _ => io::Error::from_raw_os_error(libc::ENOLCK),
        })
    }

    /// Its root directory.
    ///
    /// # Errors
    /// When it is gone.
    pub(super) fn root(&self) -> io::Result<OwnedFd> {
        Ok(openat(&self.directory, "root", DIRECTORY, Mode::empty())?)
    }

    /// Returns the umask.
    ///
    /// # Errors
    /// `ESRCH` when it is gone.
    pub(super) fn umask(&mut self) -> io::Result<u32> {
        if let Some(umask) = self.umask {
            let lives = self.lives.get() || self.lives();
            return if lives { Ok(umask) } else { Err(io::Error::from_raw_os_error(libc::ESRCH)) };
        }
        let file = openat(&self.directory, "status", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        let mut text = [0u8; 256];
        // It is among the first lines.
        let len = std::fs::File::from(file).read(&mut text)?;
        let text = String::from_utf8_lossy(text.get(..len).unwrap_or_default()).into_owned();
        let umask = text.lines().find_map(|line| line.strip_prefix("Umask:")).map(str::trim);
        let umask = umask.and_then(|mask| u32::from_str_radix(mask, 8).ok());
        let umask = umask.ok_or_else(|| io::Error::from_raw_os_error(libc::EPROTO))?;
        self.umask = Some(umask);
        Ok(umask)
    }
}

fn fd_name(fd: i32) -> CString {
    // A number has no NUL in it.
    CString::new(format!("fd/{fd}")).unwrap_or_default()
}
