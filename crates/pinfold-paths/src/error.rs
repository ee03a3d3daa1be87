//! Errors of operations on held places.

use std::io;

use rustix::io::Errno;

/// Reason why an operation did not happen. Nothing was changed unless the variant says so.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OperationError {
    /// The place is no longer what was judged: replaced, moved or removed since.
    #[error("the place changed since it was looked at")]
    Changed,
    /// The file is not in the version that the caller has seen.
    #[error("the file changed since it was read")]
    Stale,
    /// The file has more names (hard links) than the caller accepts; another one may lie elsewhere.
    #[error("the file has {0} names")]
    Shared(u64),
    /// Nothing stands there.
    #[error("no such file or folder")]
    Missing,
    /// Something stands there already.
    #[error("something stands there already")]
    Exists,
    /// A file is needed; a folder stands there, or the claim ended in a slash.
    #[error("it is a folder")]
    IsFolder,
    /// A folder is needed.
    #[error("it is not a folder")]
    NotAFolder,
    /// A link stands where a file is needed; it is not followed.
    #[error("it is a link")]
    IsLink,
    /// A FIFO, socket or device: never read, never written.
    #[error("it is a FIFO, a socket or a device")]
    Special,
    /// The operation would remove or move a root itself.
    #[error("it is the root itself")]
    Root,
    /// The folder is not empty.
    #[error("the folder is not empty")]
    NotEmpty,
    /// The operation would reach into another mount; what came before it in a tree may have been done.
    #[error("another file system is mounted there")]
    Mount,
    /// The tree is deeper than [`MAX_TREE_DEPTH`](crate::MAX_TREE_DEPTH); what came before may have been done.
    #[error("the tree is too deep")]
    TooDeep,
    /// Any other answer of the system.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl OperationError {
    /// The error number that a system call would have answered with, for a process that waits for one.
    #[must_use]
    pub fn errno(&self) -> i32 {
        let errno = match self {
            // The object that was approved is not there any more.
            Self::Changed | Self::Stale | Self::Special => Errno::ACCESS,
            Self::Shared(_) => Errno::PERM,
            Self::Missing => Errno::NOENT,
            Self::Exists => Errno::EXIST,
            Self::IsFolder => Errno::ISDIR,
            Self::NotAFolder => Errno::NOTDIR,
            Self::IsLink | Self::TooDeep => Errno::LOOP,
            Self::Root => Errno::BUSY,
            Self::NotEmpty => Errno::NOTEMPTY,
            Self::Mount => Errno::XDEV,
            Self::Io(error) => return error.raw_os_error().unwrap_or(Errno::IO.raw_os_error()),
        };
        errno.raw_os_error()
    }
}

impl From<Errno> for OperationError {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::NOENT => Self::Missing,
            Errno::EXIST => Self::Exists,
            Errno::ISDIR => Self::IsFolder,
            Errno::NOTDIR => Self::NotAFolder,
            Errno::LOOP => Self::IsLink,
            Errno::NOTEMPTY => Self::NotEmpty,
            Errno::XDEV | Errno::BUSY => Self::Mount,
            other => Self::Io(other.into()),
        }
    }
}
