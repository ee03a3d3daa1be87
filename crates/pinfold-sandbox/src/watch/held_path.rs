//! Paths of files that are held open, as the kernel has them (proc(5), `/proc/PID/fd`).

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use rustix::fs::{Mode, OFlags, readlinkat};
use rustix::path::DecInt;

/// The directory of this process's descriptors, held: by it the path of one is read in two thirds of the time.
#[derive(Debug, Default)]
pub(super) struct OwnDescriptors(Option<OwnedFd>);

impl OwnDescriptors {
    /// Holds it for the process that calls this, and for no child of it.
    pub(super) fn open() -> Self {
        Self(
            rustix::fs::open(
                "/proc/self/fd",
                OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
                Mode::empty(),
            )
            .ok(),
        )
    }

    /// Returns the path of a held file, as the kernel has it.
    ///
    /// # Errors
    /// As for [`real_path`].
    pub(super) fn read_path(&self, held: BorrowedFd<'_>) -> io::Result<PathBuf> {
        let Some(own) = &self.0 else { return real_path(held) };
        let text = readlinkat(own, DecInt::from_fd(held), Vec::with_capacity(256))?;
        Ok(PathBuf::from(OsString::from_vec(text.into_bytes())))
    }
}

/// Returns the path of a held file, as the kernel has it.
///
/// # Errors
/// `ENOENT` for a directory that was removed: nothing can be made in it.
pub(super) fn real_path(held: BorrowedFd<'_>) -> io::Result<PathBuf> {
    let text = rustix::fs::readlink(own_name(held), Vec::with_capacity(256))?;
    Ok(PathBuf::from(OsString::from_vec(text.into_bytes())))
}

/// The path by which a held file can be opened again.
pub(super) fn own_name(held: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", held.as_raw_fd())
}
