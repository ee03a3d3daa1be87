//! Views: the processes for which the path of a held file leads to it.
//!
//! The kernel tells the path of a file by the mounts in which it was opened, and those need not be the run's: a descriptor that was
//! handed over, or a way through `/proc`, leads into the mounts of the machine or of others. There `/tmp` is another place. So it is not
//! the path that says whose a file is, but the path together with the mount that is found by it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, StatxFlags, fstat, openat2, statx};

/// The view in which a path leads to the file that is held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MountView {
    /// The one that the run has.
    #[default]
    Run,
    /// The one that processes outside have.
    Machine,
    /// Neither.
    Elsewhere,
}

/// Returns the view in which `real` leads to what is held. What lies in no directory (a pipe, a socket) is of the run that has it.
/// `root`: the root directory of the run.
pub(super) fn view_of(root: &OwnedFd, held: BorrowedFd<'_>, real: &Path) -> MountView {
    if !real.is_absolute() {
        return MountView::Run;
    }
    let Some(mount) = mount_of(held) else { return MountView::Elsewhere };
    if leads_to(mount, root.as_fd(), real) {
        MountView::Run
    } else if rustix::fs::open("/", DIRECTORY, Mode::empty())
        .is_ok_and(|outside| leads_to(mount, outside.as_fd(), real))
    {
        MountView::Machine
    } else if is_memory_file(held, real) {
        MountView::Run
    } else {
        MountView::Elsewhere
    }
}

const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Returns whether a path, or where nothing is there the nearest directory above, lies on a mount. Links are not followed: those of a
/// directory in one view would lead on in the other.
fn leads_to(mount: u64, root: BorrowedFd<'_>, real: &Path) -> bool {
    let plain = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    real.ancestors()
        .find_map(|at| {
            let below = at.strip_prefix("/").ok().filter(|below| !below.as_os_str().is_empty());
            openat2(root, below.unwrap_or(Path::new(".")), flags, Mode::empty(), plain).ok()
        })
        .is_some_and(|found| mount_of(found.as_fd()) == Some(mount))
}

/// The number of the mount on which a file is held, which no other mount of the machine has meanwhile.
fn mount_of(held: BorrowedFd<'_>) -> Option<u64> {
    let found = statx(held, c"", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID).ok()?;
    let told = StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::MNT_ID);
    told.then_some(found.stx_mnt_id)
}

/// Returns whether the text of the kernel for a held file is a path: that of a pipe, of a socket or of a file of `memfd_create(2)` is none.
pub(super) fn has_path(real: &Path) -> bool {
    real.is_absolute() && !real.as_os_str().as_encoded_bytes().starts_with(MEMORY_FILE)
}

const MEMORY_FILE: &[u8] = b"/memfd:";

/// Returns whether a file never had a name, and so lies in no view.
fn is_memory_file(held: BorrowedFd<'_>, real: &Path) -> bool {
    !has_path(real) && fstat(held).is_ok_and(|found| found.st_nlink == 0)
}
