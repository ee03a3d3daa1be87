//! Changes of a child to its mount namespace, as a list of steps allocated before the fork.
//!
//! The list is data so that the child need not allocate, so that its order can be read and tested, and so that
//! a failure can be told as "this step, this path". Every place is opened with no link in its whole path and
//! mounted through the descriptor.

use std::ffi::{CStr, CString};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::sys::{self, Attributes, NODEV, NOSUID, RDONLY};

/// A detached mount, kept between two steps.
pub(crate) type Slot = usize;

/// One step.
#[derive(Debug)]
pub(crate) enum MountStep {
    /// Makes the mounts private, so that no change propagates outside.
    Unshare,
    /// Takes a copy of what is mounted at `at`, to be attached later. Other file systems mounted below it come
    /// along read-only: they are not part of what was granted. `is` is the file that was judged.
    Take {
        at: CString,
        writable: bool,
        is: Option<(u64, u64)>,
        slot: Slot,
    },
    /// Everything becomes read-only.
    ReadOnlyAll,
    /// Remounts a path and the mounts below it read-only.
    ReadOnly(CString),
    /// Remounts a path read-only, but not the mounts on top of it.
    Seal(CString),
    /// A memory file system.
    Memory {
        at: CString,
        options: CString,
    },
    /// The processes of this process namespace.
    Processes,
    /// Terminals of this run's own.
    Terminals(CString),
    /// A directory read shared and written privately.
    Layer {
        at: CString,
        options: CString,
    },
    MakeDir(CString, u32),
    MakeFile(CString, u32),
    MakeLink {
        target: CString,
        at: CString,
    },
    /// Attaches what was taken.
    Attach {
        slot: Slot,
        at: CString,
    },
    /// Attaches a copy over a hidden path. One in a private directory of another user, which the supervisor cannot reach, is
    /// skipped: processes inside have fewer rights still. So is one that is gone, unless processes inside could put it back.
    Hide {
        slot: Slot,
        at: CString,
        may_be_gone: bool,
    },
    /// Mounts a link over a name, which may be a link itself.
    CoveringLink {
        link: CString,
        at: CString,
    },
    /// A mount of its own on the very same place, which so cannot be renamed, removed or replaced.
    Pin {
        at: CString,
        read_only: bool,
    },
}

impl MountStep {
    /// Carries the step out.
    pub(crate) fn perform(&self, slots: &mut [Option<OwnedFd>]) -> io::Result<()> {
        match self {
            Self::Unshare => sys::mount(c"none", c"/", c"none", libc::MS_REC | libc::MS_PRIVATE, None),
            Self::Take { at, writable, is, slot } => put(slots, *slot, take(at, *writable, *is)?),
            Self::ReadOnlyAll => read_only(c"/"),
            Self::ReadOnly(at) => read_only(at),
            Self::Seal(at) => {
                sys::set_mount(sys::open_held(at)?.as_fd(), Attributes { set: RDONLY, clear: 0 }, false)
            }
            Self::Memory { at, options } => {
                sys::mount(c"pinfold", at, c"tmpfs", libc::MS_NOSUID | libc::MS_NODEV, Some(options))
            }
            Self::Processes => {
                let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC | libc::MS_RDONLY;
                sys::mount(c"proc", c"/proc", c"proc", flags, None)
            }
            Self::Terminals(at) => {
                let options = c"newinstance,ptmxmode=0666,mode=620";
                sys::mount(c"devpts", at, c"devpts", libc::MS_NOSUID | libc::MS_NOEXEC, Some(options))
            }
            Self::Layer { at, options } => {
                sys::mount(c"pinfold", at, c"overlay", libc::MS_NOSUID | libc::MS_NODEV, Some(options))
            }
            Self::MakeDir(at, mode) => sys::make_dir(at, *mode),
            Self::MakeFile(at, mode) => sys::make_file(at, *mode),
            Self::MakeLink { target, at } => sys::make_link(target, at),
            Self::Attach { slot, at } => attach(slots, *slot, sys::open_held(at)?.as_fd()),
            Self::Hide { slot, at, may_be_gone } => match sys::open_held(at) {
                Err(error) if error.raw_os_error() == Some(libc::EACCES) => Ok(()),
                Err(error) if *may_be_gone && error.raw_os_error() == Some(libc::ENOENT) => Ok(()),
                opened => attach(slots, *slot, opened?.as_fd()),
            },
            Self::CoveringLink { link, at } => {
                let tree = sys::clone_mount(sys::open_name(link)?.as_fd(), false)?;
                sys::attach_mount(tree.as_fd(), sys::open_name(at)?.as_fd())
            }
            Self::Pin { at, read_only } => pin(at, *read_only),
        }
    }
}

fn attach(slots: &[Option<OwnedFd>], slot: Slot, at: BorrowedFd<'_>) -> io::Result<()> {
    let missing = || io::Error::from_raw_os_error(libc::EBADF);
    let tree = slots.get(slot).and_then(Option::as_ref).ok_or_else(missing)?;
    sys::attach_mount(tree.as_fd(), at)
}

fn put(slots: &mut [Option<OwnedFd>], slot: Slot, tree: OwnedFd) -> io::Result<()> {
    *slots.get_mut(slot).ok_or_else(|| io::Error::from_raw_os_error(libc::EBADF))? = Some(tree);
    Ok(())
}

fn take(at: &CStr, writable: bool, is: Option<(u64, u64)>) -> io::Result<OwnedFd> {
    let place = sys::open_held(at)?;
    if is.is_some_and(|judged| sys::identity(place.as_fd()).ok() != Some(judged)) {
        // Another file stands there now than the one that was judged.
        return Err(io::Error::from_raw_os_error(libc::ESTALE));
    }
    let is_read_only = writable && sys::is_read_only(place.as_fd())?;
    let tree = sys::clone_mount(place.as_fd(), true)?;
    if writable {
        sys::set_mount(tree.as_fd(), Attributes { set: RDONLY | NOSUID, clear: 0 }, true)?;
        // A mount that is read-only outside stays so: it cannot be made writable inside, and writing fails as it does outside.
        if !is_read_only {
            sys::set_mount(tree.as_fd(), Attributes { set: 0, clear: RDONLY }, false)?;
        }
    }
    Ok(tree)
}

fn read_only(at: &CStr) -> io::Result<()> {
    let place = sys::open_held(at)?;
    sys::set_mount(place.as_fd(), Attributes { set: RDONLY | NOSUID, clear: 0 }, true)
}

fn pin(at: &CStr, read_only: bool) -> io::Result<()> {
    let place = sys::open_held(at)?;
    let tree = sys::clone_mount(place.as_fd(), true)?;
    if read_only {
        sys::set_mount(tree.as_fd(), Attributes { set: RDONLY | NOSUID | NODEV, clear: 0 }, true)?;
    }
    sys::attach_mount(tree.as_fd(), place.as_fd())
}

/// Describes the step and its path for error messages.
impl fmt::Display for MountStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = |path: &CString| path.to_string_lossy().into_owned();
        match self {
            Self::Unshare => write!(f, "parting from the mounts outside"),
            Self::Take { at: path, writable: true, .. } => write!(f, "granting `{}`", at(path)),
            Self::Take { at: path, .. } => write!(f, "keeping `{}` visible", at(path)),
            Self::ReadOnlyAll => write!(f, "making the file system read-only"),
            Self::ReadOnly(path) | Self::Seal(path) => write!(f, "making `{}` read-only", at(path)),
            Self::Memory { at: path, .. } => write!(f, "mounting memory at `{}`", at(path)),
            Self::Processes => write!(f, "mounting `/proc`"),
            Self::Terminals(path) => write!(f, "mounting terminals at `{}`", at(path)),
            Self::Layer { at: path, .. } => write!(f, "layering `{}`", at(path)),
            Self::MakeDir(path, _) | Self::MakeFile(path, _) | Self::MakeLink { at: path, .. } => {
                write!(f, "making `{}`", at(path))
            }
            Self::Attach { at: path, .. } => write!(f, "mounting at `{}`", at(path)),
            Self::Hide { at: path, .. } => write!(f, "hiding `{}`", at(path)),
            Self::CoveringLink { at: path, .. } => write!(f, "leading away from `{}`", at(path)),
            Self::Pin { at: path, read_only: true } => write!(f, "protecting `{}`", at(path)),
            Self::Pin { at: path, .. } => write!(f, "pinning `{}`", at(path)),
        }
    }
}
