//! The only file-system calls of this crate, one function each, by descriptor and plain name.
//!
//! Promise: nothing here follows a link, whatever strategy is used.
//! Trap: an `openat` elsewhere in the crate would be a second way in; there is none.

#[cfg(not(target_os = "linux"))]
compile_error!(
    "places are held by Linux's O_PATH descriptors; another system needs its own file beside `linux.rs`"
);

mod linux;
mod walk_by_hand;

use std::path::Path;
use std::sync::OnceLock;

use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::io::Errno;

pub(crate) use linux::*;

/// Method of opening a folder beneath another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// One `openat2(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)`; Linux 5.6 and later.
    Openat2,
    /// One `openat(O_NOFOLLOW)` per component, for kernels and containers that lack `openat2`.
    ByHand,
}

impl Strategy {
    /// The strongest strategy that this kernel really carries out; tried once per process.
    #[must_use]
    pub fn probed() -> Self {
        static PROBED: OnceLock<Strategy> = OnceLock::new();
        *PROBED.get_or_init(|| if linux::openat2_works() { Self::Openat2 } else { Self::ByHand })
    }
}

/// The kernel's limit for one path (`PATH_MAX`, the closing NUL included). Longer ones go component by component.
const PATH_MAX: usize = 4096;

/// Opens the folder `relative` (plain names only) beneath `base`, for use as a starting point, not for reading.
///
/// # Errors
/// `ELOOP` or `ENOTDIR` where a component is a link or no folder, `ENOENT` where one is missing.
pub(crate) fn open_folder(
    base: BorrowedFd<'_>,
    relative: &Path,
    strategy: Strategy,
) -> Result<OwnedFd, Errno> {
    if relative.as_os_str().is_empty() {
        return linux::reopen_folder(base);
    }
    let short = relative.as_os_str().len() < PATH_MAX;
    match strategy {
        Strategy::Openat2 if short => linux::open_folder_beneath(base, relative),
        Strategy::Openat2 | Strategy::ByHand => walk_by_hand::open_folder(base, relative),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rustix::fd::AsFd;

    use super::*;

    #[test]
    fn every_strategy_goes_down_and_never_through_a_link_or_up() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path();
        std::fs::create_dir_all(top.join("base/d/e")).unwrap();
        std::fs::write(top.join("base/f"), "x").unwrap();
        symlink("d", top.join("base/l")).unwrap();
        symlink("/", top.join("base/slash")).unwrap();
        let base = open_folder_unheld(&top.join("base")).unwrap();
        for strategy in [Strategy::probed(), Strategy::ByHand] {
            let open = |relative: &str| open_folder(base.as_fd(), Path::new(relative), strategy);
            let id = |relative: &str| look_at(open(relative).unwrap().as_fd()).unwrap().version.id();
            assert_eq!(id("d/e"), look(open("d").unwrap().as_fd(), "e".as_ref()).unwrap().version.id());
            assert_eq!(id(""), look_at(base.as_fd()).unwrap().version.id());
            for closed in
                ["l", "l/e", "slash", "slash/etc", "..", "d/../..", "/etc", "f", "f/x", "none", "none/x"]
            {
                assert!(open(closed).is_err(), "{closed} {strategy:?}");
            }
        }
    }
}
