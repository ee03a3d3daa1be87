//! Knowing a file again: which object it is, and whether it is still as it was.
//!
//! Promise: equal versions mean the same object, untouched as far as the kernel's clocks can tell.
//! Trap: before Linux 6.13 those clocks tick every few milliseconds; a change of equal length within one tick is not seen.

/// Identity of an object on a device; a name may come to stand for another object, an identity does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId {
    dev: u64,
    ino: u64,
}

impl FileId {
    pub(crate) const fn new(dev: u64, ino: u64) -> Self {
        Self { dev, ino }
    }

    /// The device: major number in the upper 32 bits, minor number in the lower.
    #[must_use]
    pub const fn dev(self) -> u64 {
        self.dev
    }

    /// The inode number on that device.
    #[must_use]
    pub const fn ino(self) -> u64 {
        self.ino
    }
}

/// One state of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Version {
    id: FileId,
    mtime_ns: i64,
    ctime_ns: i64,
    len: u64,
}

impl Version {
    pub(crate) const fn new(id: FileId, mtime_ns: i64, ctime_ns: i64, len: u64) -> Self {
        Self { id, mtime_ns, ctime_ns, len }
    }

    /// Identity of the object that this is a state of.
    #[must_use]
    pub const fn id(self) -> FileId {
        self.id
    }

    /// Last change of the content, in nanoseconds since 1970.
    #[must_use]
    pub const fn modified_ns(self) -> i64 {
        self.mtime_ns
    }

    /// Last change of content or attributes, in nanoseconds since 1970.
    #[must_use]
    pub const fn changed_ns(self) -> i64 {
        self.ctime_ns
    }

    /// Length in bytes.
    #[expect(clippy::len_without_is_empty, reason = "the length of a file, not of a collection")]
    #[must_use]
    pub const fn len(self) -> u64 {
        self.len
    }

    /// Returns `true` for the same object with the same content; attributes, names and links may have changed.
    pub(crate) fn same_content(self, other: Self) -> bool {
        self.id == other.id && self.mtime_ns == other.mtime_ns && self.len == other.len
    }
}
