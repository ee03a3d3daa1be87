//! Opening a folder beneath another without `openat2`: one component at a time, links never followed.
//!
//! Promise: what comes back was reached through folders only, each looked up in the one before it.
//! Trap: `..` would climb out, so anything but a plain name is refused.

use std::path::{Component, Path};

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;

/// Opens `relative` beneath `base`; a link anywhere in it is an error (`ENOTDIR`), as is any `..` (`EXDEV`).
pub(super) fn open_folder(base: BorrowedFd<'_>, relative: &Path) -> Result<OwnedFd, Errno> {
    let mut at: Option<OwnedFd> = None;
    for component in relative.components() {
        let Component::Normal(name) = component else { return Err(Errno::XDEV) };
        let next = super::open_child_folder(at.as_ref().map_or(base, AsFd::as_fd), name)?;
        at = Some(next);
    }
    // No component at all: no name either.
    at.ok_or(Errno::NOENT)
}
