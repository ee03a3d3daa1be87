//! A place inside a writable root, and the deeds that change it.
//!
//! Promise: every deed acts on a plain name in a folder that is held, after looking that both are what was judged.
//! Trap: the last name is never followed, so a link put there at the last moment is replaced, not written through.

use std::ffi::OsStr;
use std::ops::Deref;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;

use crate::directory::Directory;
use crate::error::OperationError;
use crate::held_place::{Kind, LookupResult, Place};
use crate::sys;
use crate::tree;
use crate::version::Version;
use crate::workspace::{BaseFolder, Workspace};

/// A place that may be written, held by the folder it stands in and a plain name: inside a writable root, or one
/// outside that was approved.
///
/// # Invariants
/// - it was reached beneath the root's descriptor, through folders only: no link, no `..`.
///
/// Built only from what [`WritableRoots::resolve`](crate::WritableRoots::resolve) held; another constructor would void that.
#[derive(Debug)]
pub struct Contained {
    place: Place,
}

impl Deref for Contained {
    type Target = Place;

    fn deref(&self) -> &Place {
        &self.place
    }
}

/// The folder that a new name goes into.
pub(crate) enum Folder<'a> {
    Held(BorrowedFd<'a>),
    Made(OwnedFd),
}

impl AsFd for Folder<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Held(fd) => *fd,
            Self::Made(fd) => fd.as_fd(),
        }
    }
}

impl Contained {
    pub(crate) fn new(place: Place) -> Self {
        Self { place }
    }

    /// Makes this folder and the missing ones above it. `false` when it was there already.
    ///
    /// # Errors
    /// [`OperationError::NotAFolder`] when something else stands there; [`OperationError::Changed`].
    pub fn make_dirs(&self) -> Result<bool, OperationError> {
        match self.kind() {
            Kind::Missing { .. } => {}
            Kind::Directory => return Ok(false),
            Kind::File { .. } | Kind::Link | Kind::Special(_) => return Err(OperationError::NotAFolder),
        }
        self.make_folder()?;
        Ok(true)
    }

    /// Makes this folder, which must be missing, and opens the very folder that was made.
    pub(crate) fn make_folder(&self) -> Result<Directory, OperationError> {
        if !matches!(self.kind(), Kind::Missing { .. }) {
            return Err(OperationError::Exists);
        }
        let folder = self.folder_for_new()?;
        sys::make_folder(folder.as_fd(), self.name())?;
        let made = sys::open_listing(folder.as_fd(), self.name()).map_err(|_| OperationError::Changed)?;
        let look = sys::look_at(made.as_fd())?;
        Ok(Directory::new(made, look))
    }

    /// Removes a file, a link, a FIFO or a socket: the name, never what a link points to.
    ///
    /// # Errors
    /// [`OperationError::IsFolder`]; [`OperationError::Changed`] when another object stands there by now.
    pub fn remove(&self) -> Result<(), OperationError> {
        self.refuse_root()?;
        match self.kind() {
            Kind::Missing { .. } => return Err(OperationError::Missing),
            Kind::Directory => return Err(OperationError::IsFolder),
            Kind::File { .. } | Kind::Link | Kind::Special(_) => {}
        }
        self.still_held()?;
        self.look_again()?;
        Ok(sys::remove_file(self.parent(), self.name())?)
    }

    /// Removes an empty folder.
    ///
    /// # Errors
    /// [`OperationError::NotEmpty`], [`OperationError::Root`], [`OperationError::Changed`].
    pub fn remove_dir(&self) -> Result<(), OperationError> {
        self.refuse_root()?;
        self.look().ok_or(OperationError::Missing)?;
        self.still_held()?;
        self.look_again()?;
        Ok(sys::remove_folder(self.parent(), self.name())?)
    }

    /// Removes a folder with all that is in it. Links are removed, not followed; a mount inside stops the removal.
    ///
    /// # Errors
    /// [`OperationError::Mount`] and [`OperationError::TooDeep`] after part of the tree is gone; others as [`remove`](Self::remove).
    pub fn remove_tree(&self) -> Result<(), OperationError> {
        self.refuse_root()?;
        self.still_held()?;
        let top = self.open_dir()?;
        tree::empty(top)?;
        Ok(sys::remove_folder(self.parent(), self.name())?)
    }

    /// Moves what stands here to `to`, making missing folders there. A link is moved as a link.
    /// With `overwrite` a file or link at `to` gives way; a folder never does.
    ///
    /// # Errors
    /// [`OperationError::Exists`], [`OperationError::Mount`] across file systems (copy and remove instead), [`OperationError::Changed`].
    pub fn rename_to(&self, to: &Self, overwrite: bool) -> Result<(), OperationError> {
        self.refuse_root()?;
        to.refuse_root()?;
        self.look().ok_or(OperationError::Missing)?;
        self.still_held()?;
        self.look_again()?;
        let from = (self.parent(), self.name());
        match to.kind() {
            Kind::Missing { .. } => {
                let is_folder = self.kind() == Kind::Directory;
                if to.must_be_folder() && !is_folder {
                    return Err(OperationError::IsFolder);
                }
                let folder = to.folder_for_new()?;
                Ok(sys::rename_new(from, (folder.as_fd(), to.name()))?)
            }
            Kind::Directory => Err(OperationError::Exists),
            Kind::File { .. } | Kind::Link | Kind::Special(_) if !overwrite => Err(OperationError::Exists),
            Kind::Special(_) => Err(OperationError::Special),
            Kind::File { .. } | Kind::Link => {
                to.still_held()?;
                to.look_again()?;
                Ok(sys::rename_over(from, (to.parent(), to.name()))?)
            }
        }
    }

    /// Sets the permission bits (`rwx` for owner, group and others; nothing else) of a file or folder.
    /// A file with several names is refused: all of them would change, wherever they lie.
    ///
    /// # Errors
    /// [`OperationError::Shared`], [`OperationError::IsLink`], [`OperationError::Special`], [`OperationError::Changed`].
    pub fn set_mode(&self, mode: u32) -> Result<(), OperationError> {
        self.still_held()?;
        let mode = mode & PERMISSION_BITS;
        if self.kind() == Kind::Directory {
            return Ok(sys::set_mode(self.open_dir()?.fd(), mode)?);
        }
        let file = self.open_file()?;
        match sys::look_at(file.as_fd())?.links {
            0 | 1 => {}
            links => return Err(OperationError::Shared(links)),
        }
        Ok(sys::set_mode(file.as_fd(), mode)?)
    }

    /// This folder as a workspace of its own, for a scope that lies inside.
    ///
    /// # Errors
    /// [`OperationError::NotAFolder`], [`OperationError::Changed`].
    pub(crate) fn to_workspace(&self, like: &Workspace) -> Result<Workspace, OperationError> {
        let listing = self.open_dir()?;
        let base = BaseFolder::new(sys::reopen_folder(listing.fd())?, self.real().into())?;
        Ok(Workspace { base: base.into(), slash: like.slash.clone() })
    }

    pub(crate) fn refuse_root(&self) -> Result<(), OperationError> {
        if self.is_root() { Err(OperationError::Root) } else { Ok(()) }
    }

    /// The folder for a new name, with the missing folders made; each is entered as the folder just made, or as one
    /// that another process made meanwhile, never through a link.
    pub(crate) fn folder_for_new(&self) -> Result<Folder<'_>, OperationError> {
        self.still_held()?;
        let LookupResult::Missing { missing_dirs } = self.seen else {
            return Ok(Folder::Held(self.parent()));
        };
        let mut folder = Folder::Held(self.parent());
        for name in self.missing_folders(missing_dirs) {
            match sys::make_folder(folder.as_fd(), name) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
            let made = sys::open_child_folder(folder.as_fd(), name).map_err(|_| OperationError::Changed)?;
            let (there, above) = (sys::look_at(made.as_fd())?, sys::look_at(folder.as_fd())?);
            if !there.same_mount(&above) {
                return Err(OperationError::Changed);
            }
            folder = Folder::Made(made);
        }
        Ok(folder)
    }

    fn missing_folders(&self, missing_dirs: usize) -> impl Iterator<Item = &OsStr> {
        let names: Vec<&OsStr> = self.relative().iter().collect();
        let last = names.len().saturating_sub(1);
        let first = last.saturating_sub(missing_dirs);
        names.into_iter().skip(first).take(last - first)
    }

    /// The state of what stands at the name now; for results after a deed.
    pub(crate) fn version_of(file: BorrowedFd<'_>) -> Result<Version, OperationError> {
        Ok(sys::stat_open(file)?.1)
    }
}

/// Bits of a mode that a caller may set: reading, writing, executing. Set-id bits would lend the owner's rights to others.
pub(crate) const PERMISSION_BITS: u32 = 0o777;
