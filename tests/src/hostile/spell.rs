//! Spellings: the ways in which a call can tell the kernel one place.

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, open};

use super::program::Way;
use super::world_path::{Roots, WorldPath, relative};

/// A place as the kernel is told it: a path from a directory.
pub(super) struct Spelled {
    directory: Option<OwnedFd>,
    /// The path that goes with the descriptor.
    pub(super) path: PathBuf,
}

impl Spelled {
    /// The descriptor that the path starts from.
    pub(super) fn directory(&self) -> BorrowedFd<'_> {
        self.directory.as_ref().map_or(CWD, AsFd::as_fd)
    }

    /// A path for calls that take no descriptor.
    pub(super) fn whole(&self) -> PathBuf {
        self.directory.as_ref().map_or_else(|| self.path.clone(), |fd| of_descriptor(fd).join(&self.path))
    }

    fn path(path: PathBuf) -> Self {
        Self { directory: None, path }
    }
}

/// The path of a descriptor of this process.
pub(super) fn of_descriptor(fd: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", fd.as_raw_fd()))
}

/// What was opened earlier, and the place that it had then.
pub(super) type Slots = BTreeMap<u8, (WorldPath, OwnedFd)>;

/// Spells a place. A way that is not possible there, as where the directory cannot be opened, falls back to the path
/// from the root. `link` is a name for the way through a link.
pub(super) fn spell(place: &WorldPath, way: Way, roots: &Roots, slots: &Slots, link: &Path) -> Spelled {
    let whole = roots.path(place);
    let (Some(parent), Some(name)) = (whole.parent(), whole.file_name()) else { return Spelled::path(whole) };
    let directory = || open(parent, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).ok();
    match way {
        Way::Absolute => Spelled::path(whole),
        Way::Relative => Spelled::path(relative(&roots.folder, &whole)),
        Way::Dots => Spelled::path(with_dots(parent).join(name)),
        Way::Directory => match directory() {
            Some(fd) => Spelled { directory: Some(fd), path: name.into() },
            None => Spelled::path(whole),
        },
        // The descriptor has to stay open for as long as the path is used.
        Way::ProcDirectory => match directory() {
            Some(fd) => Spelled { path: of_descriptor(&fd).join(name), directory: Some(fd) },
            None => Spelled::path(whole),
        },
        Way::ProcWorking => Spelled::path(Path::new("/proc/self/cwd").join(relative(&roots.folder, &whole))),
        Way::ThroughLink => {
            let made = std::os::unix::fs::symlink(parent, link).is_ok()
                || fs::read_link(link).is_ok_and(|to| to == parent);
            Spelled::path(if made { link.join(name) } else { whole })
        }
        Way::Opened(slot) => {
            match slots.get(&slot).and_then(|(top, fd)| Some((place.within(top)?, fd.try_clone().ok()?))) {
                Some((below, fd)) if !below.is_empty() => Spelled { path: below.into(), directory: Some(fd) },
                _ => Spelled::path(whole),
            }
        }
    }
}

/// `/a/b` as `/a/b/../b/.`
fn with_dots(directory: &Path) -> PathBuf {
    match directory.file_name() {
        Some(name) => directory.join("..").join(name).join("."),
        None => directory.to_owned(),
    }
}

/// Where the last name of a path is really: its directory without links, and the name. `follow`: where a link of that
/// name leads.
pub(super) fn real(spelled: &Spelled, follow: bool) -> Option<PathBuf> {
    let path = &spelled.path;
    let directory = |path: &Path| {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(spelled.directory(), path, flags, Mode::empty()).ok()?;
        fs::read_link(of_descriptor(&fd)).ok()
    };
    // `.` and `..` are directories without a name of their own.
    let Some(name) = path.file_name() else { return directory(path) };
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let at = directory(parent)?.join(name);
    if !follow || !fs::symlink_metadata(&at).is_ok_and(|meta| meta.is_symlink()) {
        return Some(at);
    }
    fs::canonicalize(&at).ok().or_else(|| {
        let target = at.parent()?.join(fs::read_link(&at).ok()?);
        Some(fs::canonicalize(target.parent()?).ok()?.join(target.file_name()?))
    })
}
