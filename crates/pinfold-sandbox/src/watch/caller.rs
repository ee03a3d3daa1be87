//! The processes that make calls: their directories and their umask, as the kernel tells them in `/proc`.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

use rustix::fs::{AtFlags, Mode, OFlags, Stat, openat, statat};
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
    umask: RunUmask,
}

/// The umask of the threads of a run.
///
/// Threads that share it change it for each other, and the kernel does not tell when a call that was let go on is over: once one of them has called
/// umask(2), none is remembered.
enum RunUmask {
    /// The one that the run began with, once it was asked for: no thread has changed its own yet.
    Inherited(Option<u32>),
    /// Each thread may have its own. The state of the last one that was asked about, held open.
    Changed(Option<(Pid, File)>),
}

impl Default for RunUmask {
    fn default() -> Self {
        Self::Inherited(None)
    }
}

/// One thread.
pub(super) struct CallerThread {
    pid: Pid,
    directory: OwnedFd,
    /// Its number as it and those around it see it; `None` until it is asked for.
    number: Cell<Option<Pid>>,
}

/// The directory in which a path begins, as it was when it was looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beginning {
    /// Device and inode.
    pub(super) inode: (u64, u64),
    /// It has no name any more: another directory may have the one that it had.
    pub(super) is_removed: bool,
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
            self.known.insert(pid, CallerThread { pid, directory, number: Cell::new(None) });
        }
        self.known.get_mut(&pid).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Forgets a thread: nothing is found below its directory any more, so that its number is another's by now.
    pub(super) fn forget(&mut self, pid: Pid) {
        self.known.remove(&pid);
    }

    /// Notes that a thread is about to change its umask, which others may share.
    pub(super) fn note_umask_call(&mut self) {
        if matches!(self.umask, RunUmask::Inherited(_)) {
            self.umask = RunUmask::Changed(None);
        }
    }

    /// Returns the umask that a thread has now.
    ///
    /// # Errors
    /// `ESRCH` when it is gone.
    pub(super) fn umask(&mut self, pid: Pid) -> io::Result<u32> {
        if let RunUmask::Inherited(Some(umask)) = self.umask {
            return Ok(umask);
        }
        if let RunUmask::Changed(Some((known, status))) = &self.umask
            && *known == pid
            && let Ok(umask) = read_umask(status)
        {
            return Ok(umask);
        }
        let status = self.get(pid)?.open_status()?;
        let umask = read_umask(&status)?;
        self.umask = match self.umask {
            RunUmask::Inherited(_) => RunUmask::Inherited(Some(umask)),
            RunUmask::Changed(_) => RunUmask::Changed(Some((pid, status))),
        };
        Ok(umask)
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
        let text = io::read_to_string(self.open_status()?.take(MAX_STATUS))?;
        let numbers = text.lines().find_map(|line| line.strip_prefix("NSpid:"));
        let innermost = numbers.and_then(|numbers| numbers.split_whitespace().last()?.parse().ok());
        let number = innermost.ok_or_else(|| io::Error::from_raw_os_error(libc::EPROTO))?;
        self.number.set(Some(number));
        Ok(number)
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

    /// Looks at the directory that a relative path starts from.
    ///
    /// # Errors
    /// `EBADF`.
    pub(super) fn look(&self, base: BaseDirectory) -> io::Result<Beginning> {
        let found = match base {
            BaseDirectory::Cwd => statat(&self.directory, c"cwd", AtFlags::empty()),
            BaseDirectory::Descriptor(fd) => statat(&self.directory, fd_name(fd), AtFlags::empty()),
        };
        let seen =
            |found: Stat| Beginning { inode: (found.st_dev, found.st_ino), is_removed: found.st_nlink == 0 };
        found.map(seen).map_err(|error| self.missing(error))
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

    /// Opens its state. One that is read after the thread has ended gives nothing, whichever thread has its number then.
    ///
    /// # Errors
    /// `ESRCH` when it is gone.
    fn open_status(&self) -> io::Result<File> {
        match openat(&self.directory, "status", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) {
            Err(Errno::NOENT) => Err(io::Error::from_raw_os_error(libc::ESRCH)),
            opened => Ok(opened?.into()),
        }
    }
}

/// Reads the umask of a thread in its state, as it is now.
fn read_umask(status: &File) -> io::Result<u32> {
    let mut text = [0u8; 256];
    // It is among the first lines.
    let len = status.read_at(&mut text, 0)?;
    let text = String::from_utf8_lossy(text.get(..len).unwrap_or_default()).into_owned();
    let umask = text.lines().find_map(|line| line.strip_prefix("Umask:")).map(str::trim);
    let umask = umask.and_then(|mask| u32::from_str_radix(mask, 8).ok());
    umask.ok_or_else(|| io::Error::from_raw_os_error(libc::EPROTO))
}

fn fd_name(fd: i32) -> CString {
    // A number has no NUL in it.
    CString::new(format!("fd/{fd}")).unwrap_or_default()
}
