//! An open folder: what everything else in this crate starts from.
//!
//! Promise: once open, the folder is reached by its descriptor, whatever happens to its name.
//! Trap: opening one takes all the rights of this process, so it takes an [`Ambient`] as well.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;

use crate::sys::{self, ObjectStat};

/// Says "act with all the rights of this process". Made in `main` and in tests, nowhere else.
#[derive(Debug)]
pub struct Ambient(());

impl Ambient {
    /// Claims those rights. Easy to search for, on purpose.
    #[must_use]
    pub const fn claim() -> Self {
        Self(())
    }
}

/// An open folder, canonical and held: cheap to clone, never looked up by name again.
///
/// # Invariants
/// - `path` was absolute, free of links and `..`, and led to this very folder when it was opened.
#[derive(Clone, Debug)]
pub struct Workspace {
    pub(crate) base: Arc<BaseFolder>,
    /// The root of the file system, where places outside begin.
    pub(crate) slash: Arc<BaseFolder>,
}

/// A folder that places hang below.
#[derive(Debug)]
pub(crate) struct BaseFolder {
    fd: OwnedFd,
    path: PathBuf,
    look: ObjectStat,
}

impl BaseFolder {
    pub(crate) fn new(fd: OwnedFd, path: PathBuf) -> Result<Self, Errno> {
        let look = sys::look_at(fd.as_fd())?;
        Ok(Self { fd, path, look })
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn look(&self) -> &ObjectStat {
        &self.look
    }

    /// Returns the part of `path` behind this folder's path.
    pub(crate) fn relative<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        relative_to(&self.path, path)
    }
}

/// Returns the part of `path` behind `folder`; empty for the folder itself, `None` for a path elsewhere. Both are spelled plainly
/// (single slashes, no `.` or `..`), so that comparing bytes up to a slash compares components: `/a/core-utils` is not
/// below `/a/core`.
pub(crate) fn relative_to<'a>(folder: &Path, path: &'a Path) -> Option<&'a Path> {
    let (folder, path) = (folder.as_os_str().as_bytes(), path.as_os_str().as_bytes());
    let rest = path.strip_prefix(folder)?;
    let below = match (rest.first(), folder) {
        (None, _) | (Some(_), b"/") => rest,
        (Some(b'/'), _) => rest.get(1..)?,
        (Some(_), _) => return None,
    };
    Some(Path::new(OsStr::from_bytes(below)))
}

/// Reason why a folder cannot be a workspace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    /// A relative path would depend on where this process happens to stand.
    #[error("`{}` is not an absolute path", .0.display())]
    Relative(PathBuf),
    /// A file, a device, anything but a folder.
    #[error("`{}` is not a folder", .0.display())]
    NotAFolder(PathBuf),
    /// The folder's name came to stand for another folder while it was opened.
    #[error("`{}` was replaced while it was opened", .0.display())]
    Replaced(PathBuf),
    /// Missing, unreadable, and what else the system answers.
    #[error("cannot open `{}`: {cause}", .path.display())]
    Io {
        /// The folder as it was given.
        path: PathBuf,
        /// The system's answer.
        cause: io::Error,
    },
}

impl Workspace {
    /// Opens an existing folder by its absolute path; links in that path are followed, here and only here.
    ///
    /// # Errors
    /// [`WorkspaceError`], when the path is relative, missing, or no folder.
    pub fn open(_: &Ambient, path: &Path) -> Result<Self, WorkspaceError> {
        if !path.is_absolute() {
            return Err(WorkspaceError::Relative(path.into()));
        }
        let io = |cause| WorkspaceError::Io { path: path.into(), cause };
        let canonical = path.canonicalize().map_err(io)?;
        let fd = match sys::open_folder_unheld(&canonical) {
            Err(Errno::NOTDIR) => return Err(WorkspaceError::NotAFolder(path.into())),
            other => other.map_err(|errno| io(errno.into()))?,
        };
        let base = BaseFolder::new(fd, canonical).map_err(|errno| io(errno.into()))?;
        let slash =
            sys::open_folder_unheld(Path::new("/")).and_then(|fd| BaseFolder::new(fd, PathBuf::from("/")));
        let slash = slash.map_err(|errno| io(errno.into()))?;
        let workspace = Self { base: Arc::new(base), slash: Arc::new(slash) };
        match workspace.looks_again() {
            Ok(true) => Ok(workspace),
            // What the machine has run out of says nothing about the folder.
            Err(errno @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM)) => Err(io(errno.into())),
            Ok(false) | Err(_) => Err(WorkspaceError::Replaced(path.into())),
        }
    }

    /// The canonical path, as it was when the folder was opened.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.base.path()
    }

    /// Identity of this folder.
    #[must_use]
    pub fn id(&self) -> crate::FileId {
        self.base.look().version.id()
    }

    /// Returns `true` if the path leads to this folder, by one look, links included: for noticing that the world moved on, not for deeds.
    pub(crate) fn stands_at_its_name(&self) -> bool {
        let below = self.path().strip_prefix("/").unwrap_or(Path::new(""));
        below.as_os_str().is_empty()
            || sys::look(self.slash.fd(), below.as_os_str()).is_ok_and(|look| look.version.id() == self.id())
    }

    /// Returns `true` if nothing of this name stands in the folder.
    pub(crate) fn lacks(&self, name: &OsStr) -> bool {
        matches!(sys::look(self.base.fd(), name), Err(Errno::NOENT))
    }

    /// Returns `true` if the canonical path, free of links, still leads to this very folder.
    #[must_use]
    pub fn stands_at_its_path(&self) -> bool {
        self.looks_again().unwrap_or(false)
    }

    fn looks_again(&self) -> Result<bool, Errno> {
        let Ok(below) = self.path().strip_prefix("/") else { return Ok(false) };
        let again = sys::open_folder(self.slash.fd(), below, sys::Strategy::probed())?;
        Ok(sys::look_at(again.as_fd())?.version.id() == self.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_is_a_folder_that_exists_by_its_canonical_path() {
        let ambient = Ambient::claim();
        let temp = tempfile::tempdir().unwrap();
        let real = temp.path().canonicalize().unwrap().join("real");
        std::fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, temp.path().join("alias")).unwrap();
        std::fs::write(temp.path().join("file"), "x").unwrap();

        assert_eq!(Workspace::open(&ambient, &temp.path().join("alias")).unwrap().path(), real);
        assert_eq!(Workspace::open(&ambient, Path::new("/")).unwrap().path(), Path::new("/"));
        let refused = |path: &Path| Workspace::open(&ambient, path).unwrap_err();
        assert!(matches!(refused(Path::new("rel")), WorkspaceError::Relative(_)));
        assert!(matches!(refused(&temp.path().join("file")), WorkspaceError::NotAFolder(_)));
        assert!(matches!(refused(&temp.path().join("none")), WorkspaceError::Io { .. }));
    }

    #[test]
    fn below_is_by_components() {
        let temp = tempfile::tempdir().unwrap();
        let core = temp.path().canonicalize().unwrap().join("core");
        std::fs::create_dir(&core).unwrap();
        let workspace = Workspace::open(&Ambient::claim(), &core).unwrap();
        let below = |path: &str| workspace.base.relative(Path::new(path)).map(Path::to_owned);
        let core = core.to_str().unwrap();
        assert_eq!(below(core).unwrap(), Path::new(""));
        assert_eq!(below(&format!("{core}/x/y")).unwrap(), Path::new("x/y"));
        for elsewhere in
            [format!("{core}-utils"), format!("{core}2/x"), format!("{core}.bak"), "/".into(), "/x".into()]
        {
            assert_eq!(below(&elsewhere), None, "{elsewhere}");
        }
        assert_eq!(workspace.slash.relative(Path::new("/")).unwrap(), Path::new(""));
        assert_eq!(workspace.slash.relative(Path::new("/x/y")).unwrap(), Path::new("x/y"));
    }

    #[test]
    fn a_replaced_folder_is_noticed() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("w");
        std::fs::create_dir(&path).unwrap();
        let workspace = Workspace::open(&Ambient::claim(), &path).unwrap();
        assert!(workspace.stands_at_its_path());
        std::fs::rename(&path, temp.path().join("moved")).unwrap();
        assert!(!workspace.stands_at_its_path());
        std::fs::create_dir(&path).unwrap();
        assert!(!workspace.stands_at_its_path());
    }
}
