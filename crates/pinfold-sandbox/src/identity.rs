//! Identity of a file, distinct also from a later file with the same inode number.

use std::ffi::OsStr;
use std::fmt;
use std::os::fd::BorrowedFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Statx, StatxFlags, statx};

/// A file by its device, its inode and the time at which it was made. A file system gives the number of an inode to another file
/// when the first one is gone; both were not made at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileIdentity {
    device: (u32, u32),
    inode: u64,
    born: (i64, u32),
}

impl FileIdentity {
    /// Reads the identity of the file at a path; links are not followed. `None` where there is no file, and where the file
    /// system has no birth time, without which an inode number can be reused unnoticed.
    pub fn read(path: &Path) -> Option<Self> {
        Self::new(&statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, Self::WANTED).ok()?)
    }

    /// Reads the identity of the file of this name in a directory that is held; links are not followed. `None` as for
    /// [`Self::read`].
    pub fn read_in(directory: BorrowedFd<'_>, name: &OsStr) -> Option<Self> {
        Self::new(&statx(directory, name, AtFlags::SYMLINK_NOFOLLOW, Self::WANTED).ok()?)
    }

    /// A file that is held.
    pub(crate) fn from_descriptor(file: BorrowedFd<'_>) -> Option<Self> {
        Self::new(&statx(file, c"", AtFlags::EMPTY_PATH, Self::WANTED).ok()?)
    }

    /// Reads what [`Display`](fmt::Display) writes. `None` of any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let numbers: Vec<&str> = text.split(':').collect();
        let [major, minor, inode, seconds, nanoseconds] = numbers.as_slice() else { return None };
        Some(Self {
            device: (major.parse().ok()?, minor.parse().ok()?),
            inode: inode.parse().ok()?,
            born: (seconds.parse().ok()?, nanoseconds.parse().ok()?),
        })
    }

    /// Looks at the file of this name in a directory, a link for itself: its type, and which one it is.
    pub(crate) fn look(
        directory: BorrowedFd<'_>,
        name: &OsStr,
    ) -> rustix::io::Result<(FileType, Option<Self>)> {
        let wanted = Self::WANTED | StatxFlags::TYPE;
        statx(directory, name, AtFlags::SYMLINK_NOFOLLOW, wanted).map(|found| Self::seen(&found))
    }

    /// The same for a file that is held.
    pub(crate) fn look_held(file: BorrowedFd<'_>) -> rustix::io::Result<(FileType, Option<Self>)> {
        let wanted = Self::WANTED | StatxFlags::TYPE;
        statx(file, c"", AtFlags::EMPTY_PATH, wanted).map(|found| Self::seen(&found))
    }

    fn seen(found: &Statx) -> (FileType, Option<Self>) {
        (FileType::from_raw_mode(u32::from(found.stx_mode)), Self::new(found))
    }

    const WANTED: StatxFlags = StatxFlags::INO.union(StatxFlags::BTIME);

    fn new(found: &Statx) -> Option<Self> {
        let told = StatxFlags::from_bits_retain(found.stx_mask).contains(Self::WANTED);
        told.then_some(Self {
            device: (found.stx_dev_major, found.stx_dev_minor),
            inode: found.stx_ino,
            born: (found.stx_btime.tv_sec, found.stx_btime.tv_nsec),
        })
    }
}

/// Five numbers with colons between them: the device (two), the inode, the time at which it was made (seconds, nanoseconds).
impl fmt::Display for FileIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { device: (major, minor), inode, born: (seconds, nanoseconds) } = self;
        write!(f, "{major}:{minor}:{inode}:{seconds}:{nanoseconds}")
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::thread::sleep;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_file_keeps_its_identity_and_gives_it_to_no_other() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::create_dir(at("a")).unwrap();
        let Some(first) = FileIdentity::read(&at("a")) else { return };
        fs::rename(at("a"), at("b")).unwrap();
        assert_eq!(FileIdentity::read(&at("b")), Some(first));
        fs::remove_dir(at("b")).unwrap();
        // Most file systems give the freed number to the next one; their clock goes in steps.
        sleep(Duration::from_millis(20));
        fs::create_dir(at("c")).unwrap();
        assert_ne!(FileIdentity::read(&at("c")), Some(first));
        assert_eq!(FileIdentity::read(&at("a")), None);
        let same = FileIdentity { born: (0, 0), ..first };
        assert_ne!(same, first, "an inode number alone is no identity");
        assert_eq!(FileIdentity::parse(&first.to_string()), Some(first));
        for text in ["", "1:2:3:4", "1:2:3:4:5:6", "1:2:x:4:5", "-1:2:3:4:5"] {
            assert_eq!(FileIdentity::parse(text), None, "{text}");
        }
    }
}
