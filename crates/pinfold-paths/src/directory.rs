//! A folder open for reading: listing and walking without leaving it.
//!
//! Promise: everything is reached from the open folder by plain names; links are reported, never followed.
//! Trap: a folder found on another mount is entered like any other; compare [`Directory::same_mount`].

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Dir, FileType};

use crate::error::OperationError;
use crate::held_place::Kind;
use crate::sys::{self, ObjectStat};
use crate::version::Version;

/// A folder open for reading.
#[derive(Debug)]
pub struct Directory {
    fd: OwnedFd,
    look: ObjectStat,
}

/// One name in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// A plain name: not empty, not `.` or `..`, no slash.
    pub name: OsString,
    /// Type of the entry, as far as the listing says; `None` on file systems that do not say.
    pub kind: Option<EntryKind>,
}

/// Type of an entry as a listing gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Directory,
    /// A link.
    Link,
    /// A FIFO, socket or device.
    Special,
}

impl Directory {
    pub(crate) fn new(fd: OwnedFd, look: ObjectStat) -> Self {
        Self { fd, look }
    }

    /// The names in this folder, in the order of the file system.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn entries(
        &self,
    ) -> Result<impl Iterator<Item = Result<DirectoryEntry, OperationError>> + use<>, OperationError> {
        let dir = Dir::read_from(&self.fd)?;
        Ok(dir.filter_map(|entry| match entry {
            Ok(entry) => {
                let name = OsStr::from_bytes(entry.file_name().to_bytes());
                let plain = name != "." && name != "..";
                plain.then(|| Ok(DirectoryEntry { name: name.into(), kind: entry_kind(entry.file_type()) }))
            }
            Err(errno) => Some(Err(errno.into())),
        }))
    }

    /// Looks at a name in this folder; a link is not followed.
    ///
    /// # Errors
    /// [`OperationError::Missing`], or what the system answers.
    pub fn kind(&self, name: &OsStr) -> Result<Kind, OperationError> {
        Ok(Kind::from_stat(&self.look(name)?))
    }

    pub(crate) fn look(&self, name: &OsStr) -> Result<ObjectStat, OperationError> {
        Ok(sys::look(self.fd.as_fd(), plain(name)?)?)
    }

    pub(crate) fn fd(&self) -> rustix::fd::BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Opens a regular file in this folder for reading; never waits, never follows a link.
    ///
    /// # Errors
    /// As [`Place::open_file`](crate::Place::open_file).
    pub fn open_file(&self, name: &OsStr) -> Result<(File, Version), OperationError> {
        match self.kind(name)? {
            Kind::File { .. } => {}
            Kind::Directory => return Err(OperationError::IsFolder),
            Kind::Link => return Err(OperationError::IsLink),
            Kind::Special(_) => return Err(OperationError::Special),
            Kind::Missing { .. } => return Err(OperationError::Missing),
        }
        self.open_listed_file(name)
    }

    /// Opens a name that the listing called a regular file: one look less. Another object that has come to
    /// stand there is opened without waiting and let go at once.
    ///
    /// # Errors
    /// As [`open_file`](Self::open_file); [`OperationError::Changed`] for what is no regular file any more.
    pub fn open_listed_file(&self, name: &OsStr) -> Result<(File, Version), OperationError> {
        let file = sys::open_reading(self.fd.as_fd(), plain(name)?)?;
        let (file_type, version) = sys::stat_open(file.as_fd())?;
        if file_type == FileType::RegularFile {
            Ok((file.into(), version))
        } else {
            Err(OperationError::Changed)
        }
    }

    /// Opens a folder in this folder; a link is not followed.
    ///
    /// # Errors
    /// [`OperationError::NotAFolder`] for anything else, a link too.
    pub fn open_dir(&self, name: &OsStr) -> Result<Self, OperationError> {
        let fd = sys::open_listing(self.fd.as_fd(), plain(name)?)?;
        let look = sys::look_at(fd.as_fd())?;
        Ok(Self::new(fd, look))
    }

    /// Returns the target of a link in this folder, as written in it.
    ///
    /// # Errors
    /// When it is missing or no link.
    pub fn read_link(&self, name: &OsStr) -> Result<PathBuf, OperationError> {
        Ok(sys::read_link(self.fd.as_fd(), plain(name)?)?.into())
    }

    /// The state that the folder was in when it was opened.
    #[must_use]
    pub fn version(&self) -> Version {
        self.look.version
    }

    /// Returns `true` if both folders lie on one mount.
    #[must_use]
    pub fn same_mount(&self, other: &Self) -> bool {
        self.look.same_mount(&other.look)
    }
}

fn entry_kind(file_type: FileType) -> Option<EntryKind> {
    match file_type {
        FileType::RegularFile => Some(EntryKind::File),
        FileType::Directory => Some(EntryKind::Directory),
        FileType::Symlink => Some(EntryKind::Link),
        FileType::Fifo | FileType::Socket | FileType::CharacterDevice | FileType::BlockDevice => {
            Some(EntryKind::Special)
        }
        FileType::Unknown => None,
    }
}

/// A name that stays in its folder; anything else would be a path.
pub(crate) fn plain(name: &OsStr) -> Result<&OsStr, OperationError> {
    let bytes = name.as_bytes();
    let stays = !matches!(bytes, b"" | b"." | b"..") && !bytes.contains(&b'/') && !bytes.contains(&0);
    if stays { Ok(name) } else { Err(OperationError::Io(std::io::ErrorKind::InvalidInput.into())) }
}
