//! Deeds as a process does them: into the file itself, not beside it and swapped in.
//!
//! Promise: each is done to the object that was judged, or not at all; nothing is cut short before it is known to be
//! that object. The kernel's own file systems, where writing is a command, are refused. Trap: a file that was opened for writing stays writable for every process that got the descriptor, wherever its name
//! goes later.

use std::ffi::OsStr;
use std::fs::File;

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{FileType, OFlags, Timestamps};
use rustix::io::Errno;

use crate::contained::{Contained, PERMISSION_BITS};
use crate::error::OperationError;
use crate::held_place::Kind;
use crate::replace::temp_name;
use crate::sys;

/// Options for opening a file in place.
#[expect(clippy::struct_excessive_bools, reason = "flags of open(2), each as it was said")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Opening {
    /// For reading.
    pub read: bool,
    /// For writing.
    pub write: bool,
    /// Whatever is written goes to the end.
    pub append: bool,
    /// Its content goes first.
    pub truncate: bool,
    /// Creates a missing file with this mode, of which the umask takes bits away.
    pub create: Option<u32>,
    /// Fails if the file exists (`O_EXCL`).
    pub exclusive: bool,
    /// Reading and writing never wait.
    pub nonblocking: bool,
    /// Writes reach the disk before the call returns (`O_SYNC`).
    pub sync: bool,
    /// And so is what is needed to read it again, but nothing more.
    pub content_sync: bool,
}

impl Opening {
    /// The flags for opening the file. Content goes later, when it is known to be the right file's.
    fn flags(self) -> OFlags {
        let mut flags = match (self.read, self.write) {
            (_, false) => OFlags::RDONLY,
            (false, true) => OFlags::WRONLY,
            (true, true) => OFlags::RDWR,
        };
        flags.set(OFlags::APPEND, self.append);
        flags.set(OFlags::SYNC, self.sync);
        flags.set(OFlags::DSYNC, self.content_sync || self.sync);
        flags
    }
}

/// The new owner; `None` leaves it as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    /// The user.
    pub user: Option<u32>,
    /// The group.
    pub group: Option<u32>,
}

/// A time to be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetTime {
    /// The present one.
    Now,
    /// None: it stays.
    Kept,
    /// This one, since 1970.
    At {
        /// Seconds.
        seconds: i64,
        /// And nanoseconds, fewer than a second has.
        nanoseconds: u32,
    },
}

impl Contained {
    /// Opens the file that was judged, or makes it where nothing stood. Missing folders are not made. Never waits, never
    /// goes through a link, never opens what is no file.
    ///
    /// # Errors
    /// [`OperationError::Changed`] when another object stands there by now, or one where nothing stood.
    pub fn open_in_place(&self, how: Opening) -> Result<File, OperationError> {
        if self.must_be_folder() {
            return Err(OperationError::IsFolder);
        }
        match (self.kind(), how.create) {
            (Kind::Missing { missing_dirs: 0 }, Some(mode)) => self.make_in_place(how, mode),
            (Kind::Missing { .. }, _) => Err(OperationError::Missing),
            (Kind::File { .. }, _) if how.exclusive => Err(OperationError::Exists),
            (Kind::File { .. }, _) => self.open_judged(how),
            (Kind::Directory, _) => Err(OperationError::IsFolder),
            (Kind::Link, _) => Err(OperationError::IsLink),
            (Kind::Special(_), _) => Err(OperationError::Special),
        }
    }

    fn make_in_place(&self, how: Opening, mode: u32) -> Result<File, OperationError> {
        self.ordinary()?;
        let file = match sys::make_in_place(self.parent(), self.name(), how.flags(), mode & PERMISSION_BITS) {
            // It appeared meanwhile: an exclusive creation fails, and another one did not see it.
            Err(Errno::EXIST) if how.exclusive => return Err(OperationError::Exists),
            Err(Errno::EXIST) => return Err(OperationError::Changed),
            other => other?,
        };
        sys::set_nonblocking(file.as_fd(), how.nonblocking)?;
        Ok(file.into())
    }

    fn open_judged(&self, how: Opening) -> Result<File, OperationError> {
        self.ordinary()?;
        let file = match sys::open_in_place(self.parent(), self.name(), how.flags()) {
            Err(Errno::NOENT | Errno::LOOP | Errno::NXIO | Errno::ISDIR) => {
                return Err(OperationError::Changed);
            }
            other => other?,
        };
        let (file_type, version) = sys::stat_open(file.as_fd())?;
        if file_type != FileType::RegularFile || Some(version.id()) != self.id() {
            return Err(OperationError::Changed);
        }
        if sys::is_of_the_kernel(file.as_fd()) {
            return Err(OperationError::Special);
        }
        if how.truncate {
            sys::set_length(file.as_fd(), 0)?;
        }
        sys::set_nonblocking(file.as_fd(), how.nonblocking)?;
        Ok(file.into())
    }

    /// Makes one folder with a mode, of which the umask takes bits away. Those above it must be there.
    ///
    /// # Errors
    /// [`OperationError::Exists`], [`OperationError::Missing`], [`OperationError::Changed`].
    pub fn make_dir(&self, mode: u32) -> Result<(), OperationError> {
        self.nothing_stands()?;
        self.ordinary()?;
        Ok(sys::make_folder_with(self.parent(), self.name(), mode & PERMISSION_BITS)?)
    }

    /// Makes a link that holds `text`, whatever that leads to.
    ///
    /// # Errors
    /// [`OperationError::Exists`], [`OperationError::Missing`], [`OperationError::Changed`].
    pub fn make_link(&self, text: &OsStr) -> Result<(), OperationError> {
        self.nothing_stands()?;
        if self.must_be_folder() {
            return Err(OperationError::Missing);
        }
        self.ordinary()?;
        Ok(sys::make_link(text, self.parent(), self.name())?)
    }

    /// Gives the file a second name, where nothing stands.
    ///
    /// # Errors
    /// [`OperationError::Changed`] when it was another file that got the name; it has lost it again then.
    pub fn link_to(&self, to: &Self) -> Result<(), OperationError> {
        match self.kind() {
            Kind::File { .. } => {}
            Kind::Missing { .. } => return Err(OperationError::Missing),
            Kind::Directory => return Err(OperationError::IsFolder),
            Kind::Link => return Err(OperationError::IsLink),
            Kind::Special(_) => return Err(OperationError::Special),
        }
        to.nothing_stands()?;
        if to.must_be_folder() {
            return Err(OperationError::Missing);
        }
        self.ordinary()?;
        to.ordinary()?;
        self.look_again()?;
        let (from, there) = ((self.parent(), self.name()), (to.parent(), to.name()));
        sys::link(from, there)?;
        if sys::look(there.0, there.1).is_ok_and(|look| Some(look.version.id()) == self.id()) {
            return Ok(());
        }
        let _ = sys::remove_file(there.0, there.1);
        Err(OperationError::Changed)
    }

    /// Gives what stands here the name `to`, whose folder must be there. With `overwrite` a file or link there gives way.
    ///
    /// A file or a link goes by way of a random name in the other folder, and is looked at there: a process that can
    /// change names here has no say any more in what gets the new one. `max_names`: the most names (hard links) that
    /// what moves, and what gives way, may have; the others would go on to show it, and to change it.
    ///
    /// # Errors
    /// [`OperationError::Changed`] when another object stood here; it stands here again then. [`OperationError::Shared`].
    pub fn rename_in_place(
        &self,
        to: &Self,
        overwrite: bool,
        max_names: Option<u64>,
    ) -> Result<(), OperationError> {
        self.refuse_root()?;
        to.refuse_root()?;
        self.look().ok_or(OperationError::Missing)?;
        let is_folder = self.kind() == Kind::Directory;
        if self.must_be_folder() && !is_folder {
            return Err(OperationError::NotAFolder);
        }
        let gives_way = match to.kind() {
            Kind::Missing { missing_dirs: 0 } if to.must_be_folder() && !is_folder => {
                return Err(OperationError::NotAFolder);
            }
            Kind::Missing { missing_dirs: 0 } => false,
            Kind::Missing { .. } => return Err(OperationError::Missing),
            Kind::Directory => return Err(OperationError::Exists),
            Kind::Special(_) => return Err(OperationError::Special),
            Kind::File { .. } | Kind::Link if !overwrite => return Err(OperationError::Exists),
            Kind::File { .. } | Kind::Link if is_folder => return Err(OperationError::NotAFolder),
            Kind::File { .. } | Kind::Link => true,
        };
        if self.id() == to.id() {
            // Two names of one file: the kernel leaves both.
            return Ok(());
        }
        self.ordinary()?;
        to.ordinary()?;
        self.look_again()?;
        let (from, there) = ((self.parent(), self.name()), (to.parent(), to.name()));
        if is_folder {
            return Ok(sys::rename_new(from, there)?);
        }
        let aside = temp_name();
        let waiting = (to.parent(), aside.as_os_str());
        sys::rename_new(from, waiting)?;
        let moved = self.is_what_moved(waiting, max_names).and_then(|()| {
            if gives_way {
                let there = to.look_again()?;
                names_at_most(there.links, max_names)?;
            }
            Ok(())
        });
        let named = moved.and_then(|()| {
            Ok(if gives_way { sys::rename_over(waiting, there) } else { sys::rename_new(waiting, there) }?)
        });
        if named.is_err() {
            // The name that a reader would look for; where it was taken meanwhile the file stays beside it.
            let _ = sys::rename_new(waiting, from);
        }
        named
    }

    fn is_what_moved(&self, at: sys::At<'_>, max_names: Option<u64>) -> Result<(), OperationError> {
        let now = sys::look(at.0, at.1)?;
        let judged = self.look().ok_or(OperationError::Missing)?;
        if now.version.id() != judged.version.id() || now.file_type != judged.file_type {
            return Err(OperationError::Changed);
        }
        names_at_most(now.links, max_names)
    }

    /// Cuts or extends the file to a length.
    ///
    /// # Errors
    /// As [`open_in_place`](Self::open_in_place).
    pub fn set_length(&self, length: u64) -> Result<(), OperationError> {
        let file = self.open_in_place(Opening { write: true, ..Opening::default() })?;
        Ok(sys::set_length(file.as_fd(), length)?)
    }

    /// Gives the file or folder, or a link itself, to an owner.
    ///
    /// # Errors
    /// [`OperationError::Special`], [`OperationError::Changed`].
    pub fn set_owner(&self, owner: Owner) -> Result<(), OperationError> {
        self.ordinary()?;
        if self.kind() == Kind::Link {
            return Ok(sys::change_owner_of_link(self.open_link()?.as_fd(), owner.user, owner.group)?);
        }
        if self.kind() == Kind::Directory {
            return Ok(sys::change_owner(self.open_dir()?.fd(), owner.user, owner.group)?);
        }
        Ok(sys::change_owner(self.open_file()?.as_fd(), owner.user, owner.group)?)
    }

    /// Sets the times of last access and last change of the file or folder, or of a link itself.
    ///
    /// # Errors
    /// [`OperationError::Special`], [`OperationError::Changed`].
    pub fn set_times(&self, access: SetTime, change: SetTime) -> Result<(), OperationError> {
        self.ordinary()?;
        let times = Timestamps { last_access: sys::time(access), last_modification: sys::time(change) };
        if self.kind() == Kind::Link {
            return Ok(sys::set_times_of_link(self.open_link()?.as_fd(), &times)?);
        }
        if self.kind() == Kind::Directory {
            return Ok(sys::set_times(self.open_dir()?.fd(), &times)?);
        }
        Ok(sys::set_times(self.open_file()?.as_fd(), &times)?)
    }

    /// A handle of the link that was looked at.
    fn open_link(&self) -> Result<OwnedFd, OperationError> {
        let link = sys::open_link(self.parent(), self.name()).map_err(|_| OperationError::Changed)?;
        let found = sys::look_at(link.as_fd())?;
        let is_it = found.file_type == FileType::Symlink && Some(found.version.id()) == self.id();
        if is_it { Ok(link) } else { Err(OperationError::Changed) }
    }

    /// The folder is still held, and nothing of the kernel's own.
    pub(crate) fn ordinary(&self) -> Result<(), OperationError> {
        self.still_held()?;
        if sys::is_of_the_kernel(self.parent()) { Err(OperationError::Special) } else { Ok(()) }
    }

    fn nothing_stands(&self) -> Result<(), OperationError> {
        match self.kind() {
            Kind::Missing { missing_dirs: 0 } => Ok(()),
            Kind::Missing { .. } => Err(OperationError::Missing),
            Kind::File { .. } | Kind::Directory | Kind::Link | Kind::Special(_) => {
                Err(OperationError::Exists)
            }
        }
    }
}

pub(crate) fn names_at_most(names: u64, most: Option<u64>) -> Result<(), OperationError> {
    match most {
        Some(most) if names > most => Err(OperationError::Shared(names)),
        Some(_) | None => Ok(()),
    }
}
