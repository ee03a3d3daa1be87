//! Whole trees: removing and copying without ever going through a link.
//!
//! Promise: every folder is opened in the one above it; links are removed or copied as links.
//! Trap: a mount inside a tree is not a part of it; it stops the deed.

use std::ffi::{OsStr, OsString};

use rustix::fd::AsFd;

use crate::contained::{Contained, PERMISSION_BITS};
use crate::directory::Directory;
use crate::error::OperationError;
use crate::held_place::{Kind, Place};
use crate::sys;
use crate::version::Version;

/// Deepest tree that is removed or copied, in folders: each level holds a descriptor open, and a process has 1024.
pub const MAX_TREE_DEPTH: usize = 400;

/// One folder on the way down.
struct Level {
    folder: Directory,
    /// Its name in the folder above; empty for the top.
    name: OsString,
    left: Vec<OsString>,
}

impl Level {
    fn new(folder: Directory, name: OsString) -> Result<Self, OperationError> {
        let left = folder.entries()?.map(|entry| entry.map(|entry| entry.name)).collect::<Result<_, _>>()?;
        Ok(Self { folder, name, left })
    }
}

/// Opens the folder `name` for going down, when it lies on the same mount and not too deep.
fn descend(above: &Directory, name: &OsStr, depth: usize) -> Result<Directory, OperationError> {
    if depth >= MAX_TREE_DEPTH {
        return Err(OperationError::TooDeep);
    }
    let folder = above.open_dir(name)?;
    if folder.same_mount(above) { Ok(folder) } else { Err(OperationError::Mount) }
}

/// Removes all that is in a folder.
pub(crate) fn empty(top: Directory) -> Result<(), OperationError> {
    let mut levels = vec![Level::new(top, OsString::new())?];
    loop {
        let depth = levels.len();
        let Some(level) = levels.last_mut() else { return Ok(()) };
        let Some(name) = level.left.pop() else {
            let Some(done) = levels.pop() else { return Ok(()) };
            if let Some(above) = levels.last() {
                sys::remove_folder(above.folder.fd(), &done.name)?;
            }
            continue;
        };
        if level.folder.kind(&name)? == Kind::Directory {
            let folder = descend(&level.folder, &name, depth)?;
            levels.push(Level::new(folder, name)?);
        } else {
            sys::remove_file(level.folder.fd(), &name)?;
        }
    }
}

impl Place {
    /// Copies a file, a link (as a link) or a whole folder to a place where nothing stands.
    /// FIFOs, sockets and devices are not copied. A copied folder appears bit by bit.
    ///
    /// # Errors
    /// [`OperationError::Exists`], [`OperationError::Special`], and for folders [`OperationError::Mount`], [`OperationError::TooDeep`]
    /// with part of the copy left for the caller to see.
    pub fn copy_to(&self, to: &Contained) -> Result<(), OperationError> {
        match self.kind() {
            Kind::Missing { .. } => Err(OperationError::Missing),
            Kind::Special(_) => Err(OperationError::Special),
            Kind::File { mode, .. } => {
                let mut file = self.open_file()?;
                to.create_from(&mut file, mode).map(|_: Version| ())
            }
            Kind::Link => {
                let target = self.read_link()?;
                if !matches!(to.kind(), Kind::Missing { .. }) {
                    return Err(OperationError::Exists);
                }
                let folder = to.folder_for_new()?;
                Ok(sys::make_link(target.as_os_str(), folder.as_fd(), to.name())?)
            }
            Kind::Directory => self.copy_folder(to),
        }
    }

    fn copy_folder(&self, to: &Contained) -> Result<(), OperationError> {
        if to.real().starts_with(self.real()) {
            return Err(OperationError::Exists);
        }
        let from = self.open_dir()?;
        copy(from, to.make_folder()?)
    }
}

struct Pair {
    from: Level,
    to: Directory,
}

fn copy(from: Directory, to: Directory) -> Result<(), OperationError> {
    let mut pairs = vec![Pair { from: Level::new(from, OsString::new())?, to }];
    loop {
        let depth = pairs.len();
        let Some(pair) = pairs.last_mut() else { return Ok(()) };
        let Some(name) = pair.from.left.pop() else {
            pairs.pop();
            continue;
        };
        let (from, to) = (&pair.from.folder, &pair.to);
        match from.kind(&name)? {
            Kind::Directory => {
                let below = descend(from, &name, depth)?;
                sys::make_folder(to.fd(), &name)?;
                let made = to.open_dir(&name)?;
                pairs.push(Pair { from: Level::new(below, name)?, to: made });
            }
            Kind::Link => sys::make_link(from.read_link(&name)?.as_os_str(), to.fd(), &name)?,
            Kind::File { mode, .. } => {
                let (mut content, _) = from.open_file(&name)?;
                let mut file = sys::create_file(to.fd(), &name, mode & PERMISSION_BITS)?;
                std::io::copy(&mut content, &mut file)?;
            }
            Kind::Special(_) => return Err(OperationError::Special),
            Kind::Missing { .. } => return Err(OperationError::Changed),
        }
    }
}
