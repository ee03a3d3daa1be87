//! A call that was held, whole and typed: nothing of it is read again from the caller's memory.
//!
//! Promise: what is not understood exactly is no operation. There is no flag that is passed over because it seems harmless.

use std::ffi::OsString;
use std::path::PathBuf;

/// A call that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Syscall {
    /// The operation.
    pub operation: FileOperation,
    /// The resolved paths of the operation, in their order, at the time of the attempt: absolute and free of links.
    pub places: Vec<PathBuf>,
    /// The calling process.
    pub caller: Caller,
}

/// The process of a system call, as the kernel described it at that moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The process or thread, as numbered outside.
    pub pid: i32,
    /// The process, as numbered outside.
    pub process: i32,
    /// The name of its executable, as [`program_of`](crate::program_of) tells it.
    pub program: OsString,
    /// Its command line, which it can change as well; cut off where it is very long.
    pub command_line: Vec<OsString>,
    /// Which mode bits what it makes does not get.
    pub umask: u32,
}

/// Operation of a system call. Paths are as the caller named them, made absolute: links and `..` are still in them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileOperation {
    /// Open for writing.
    Open(Opening),
    /// Make a directory.
    MakeDir {
        /// The path.
        at: PathBuf,
        /// Its mode, before the umask.
        mode: u32,
    },
    /// Remove what is no directory.
    Remove {
        /// The path.
        at: PathBuf,
    },
    /// Remove an empty directory.
    RemoveDir {
        /// The path.
        at: PathBuf,
    },
    /// Give another name.
    Rename {
        /// The old one.
        from: PathBuf,
        /// The new one.
        to: PathBuf,
        /// An existing file is replaced.
        replace: bool,
    },
    /// Give a file a second name.
    Link {
        /// The first one. A link in the last place stands for itself.
        from: PathBuf,
        /// The second one.
        to: PathBuf,
    },
    /// Make a symbolic link.
    Symlink {
        /// The text of the link.
        text: OsString,
        /// The path.
        at: PathBuf,
    },
    /// Cut or extend a file to a length.
    Truncate {
        /// The path.
        at: PathBuf,
        /// The length.
        length: u64,
    },
    /// Change the permission bits.
    SetMode {
        /// The path.
        at: PathBuf,
        /// The new ones: `rwx` for owner, group and others.
        mode: u32,
        /// A link in the last component is followed.
        follow: bool,
    },
    /// Change the owner.
    SetOwner {
        /// The path.
        at: PathBuf,
        /// The new user, if it changes.
        owner: Option<u32>,
        /// The new group, if it changes.
        group: Option<u32>,
        /// A link in the last component is followed.
        follow: bool,
    },
    /// Change the times.
    SetTimes {
        /// The path.
        at: PathBuf,
        /// Last access and last change.
        times: [Time; 2],
        /// A link in the last component is followed.
        follow: bool,
    },
}

impl FileOperation {
    /// The paths that it names, in their order.
    pub fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        let (first, second) = match self {
            Self::Open(Opening { at, .. })
            | Self::MakeDir { at, .. }
            | Self::Remove { at }
            | Self::RemoveDir { at }
            | Self::Symlink { at, .. }
            | Self::Truncate { at, .. }
            | Self::SetMode { at, .. }
            | Self::SetOwner { at, .. }
            | Self::SetTimes { at, .. } => (at, None),
            Self::Rename { from, to, .. } | Self::Link { from, to } => (from, Some(to)),
        };
        std::iter::once(first).chain(second)
    }
}

/// Arguments of opening a file.
#[expect(clippy::struct_excessive_bools, reason = "flags of open(2), each as it was said")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    /// The path.
    pub at: PathBuf,
    /// Open for reading.
    pub read: bool,
    /// Open for writing. Not set where the call only creates the file.
    pub write: bool,
    /// Whatever is written goes to the end.
    pub append: bool,
    /// Its content goes first.
    pub truncate: bool,
    /// Creates a missing file, with this mode before the umask.
    pub create: Option<u32>,
    /// The file must be missing.
    pub exclusive: bool,
    /// A link in the last component is followed.
    pub follow: bool,
    /// Reading and writing never wait.
    pub nonblocking: bool,
    /// Writes reach the disk before they return.
    pub sync: Option<Sync>,
    /// The descriptor ends with the program.
    pub close_on_exec: bool,
}

/// Extent of what is on the disk when a write returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sync {
    /// Content, and metadata that reading needs (`O_DSYNC`).
    Content,
    /// Everything (`O_SYNC`).
    All,
}

/// A time to set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// The present one.
    Now,
    /// None: it stays as it is.
    Kept,
    /// This one, since 1970.
    At {
        /// Seconds.
        seconds: i64,
        /// Nanoseconds.
        nanoseconds: u32,
    },
}
