//! Other openings of a file.

use std::io;
use std::os::fd::BorrowedFd;

use crate::sys;

/// Returns whether a regular file, held by a descriptor that only reads, is open for writing in this process or another one, or mapped
/// into memory so that it can be written.
///
/// A process that opens it for writing meanwhile waits for some microseconds; with `O_NONBLOCK` that open fails with `EWOULDBLOCK`.
///
/// # Errors
/// An error where it cannot be told: the file is another user's, no regular one, or in a file system without leases.
pub fn is_open_for_writing(file: BorrowedFd<'_>) -> io::Result<bool> {
    sys::is_open_for_writing(file)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File, OpenOptions};
    use std::os::fd::AsFd;
    use std::os::unix::fs::PermissionsExt;
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_writer_is_seen_while_it_has_the_file_open() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "text").unwrap();
        let is_open = || is_open_for_writing(File::open(&path).unwrap().as_fd()).unwrap();
        // A child that another test forks has a copy of every descriptor for a moment.
        let is_closed =
            || (0..500).any(|_| !is_open() || (thread::sleep(Duration::from_millis(10)), false).1);
        assert!(is_closed());
        let reader = File::open(&path).unwrap();
        assert!(is_closed(), "a reader is none");
        let writer = OpenOptions::new().append(true).open(&path).unwrap();
        assert!(is_open());
        drop(writer);
        assert!(is_closed());
        drop(reader);
        // A writer keeps what it has opened, whatever becomes of mode and name.
        let writer = OpenOptions::new().write(true).open(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
        assert!(is_open());
        drop(writer);
    }

    #[test]
    fn what_is_no_file_is_not_told() {
        let folder = tempfile::tempdir().unwrap();
        let error = is_open_for_writing(File::open(folder.path()).unwrap().as_fd()).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
    }
}
