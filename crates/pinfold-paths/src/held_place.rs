//! A place that was looked at once and is held: by the folder it stands in and a plain name.
//!
//! Promise: every deed starts at the held folder; nothing is looked up from the root again but to compare.
//! Trap: the name may come to stand for something else; so deeds compare identities and answer `Changed`.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::FileType;
use rustix::io::Errno;

use crate::directory::Directory;
use crate::error::OperationError;
use crate::sys::{self, ObjectStat, Strategy};
use crate::version::{FileId, Version};
use crate::workspace::BaseFolder;

/// Type of the object at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing, and so many of the folders above it are missing too.
    Missing {
        /// Folders to make before something can be created here.
        missing_dirs: usize,
    },
    /// A regular file.
    File {
        /// Length in bytes.
        len: u64,
        /// Names this file has; more than one means that another name, perhaps elsewhere, shows the same content.
        links: u64,
        /// Permission bits, set-id and sticky bits included.
        mode: u32,
    },
    /// A folder.
    Directory,
    /// A link that was kept, not followed.
    Link,
    /// Something that is neither read nor written.
    Special(Special),
}

/// The kinds of places that block, act or feed without end when they are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// A named pipe.
    Fifo,
    /// A Unix socket.
    Socket,
    /// A character device.
    Char,
    /// A block device.
    Block,
    /// A type this crate does not know.
    Unknown,
}

impl Kind {
    pub(crate) fn from_stat(look: &ObjectStat) -> Self {
        match look.file_type {
            FileType::RegularFile => {
                Self::File { len: look.version.len(), links: look.links, mode: look.mode }
            }
            FileType::Directory => Self::Directory,
            FileType::Symlink => Self::Link,
            FileType::Fifo => Self::Special(Special::Fifo),
            FileType::Socket => Self::Special(Special::Socket),
            FileType::CharacterDevice => Self::Special(Special::Char),
            FileType::BlockDevice => Self::Special(Special::Block),
            FileType::Unknown => Self::Special(Special::Unknown),
        }
    }
}

/// A held place, inside or outside: what is common to both, which is looking and reading.
///
/// # Invariants
/// - `parent` was opened beneath `base`, no link and no `..` on the way.
/// - `real` is `base`'s path and then plain names only; its last `missing_dirs + 1` (or one) stand below `parent`.
#[derive(Debug)]
pub struct Place {
    pub(crate) base: Arc<BaseFolder>,
    pub(crate) parent: Parent,
    pub(crate) asked: PathBuf,
    /// `None` when it is spelled like `asked`.
    pub(crate) real: Option<PathBuf>,
    pub(crate) seen: LookupResult,
    pub(crate) must_be_folder: bool,
    pub(crate) crosses_mount: bool,
    pub(crate) strategy: Strategy,
}

/// Result of a look at a name.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LookupResult {
    Missing { missing_dirs: usize },
    There(ObjectStat),
}

/// The folder that a place is held by.
#[derive(Debug)]
pub(crate) enum Parent {
    /// The base itself: nothing needed to be opened.
    Base,
    Opened(OwnedFd),
}

impl Place {
    /// The place as it was named: absolute, links kept, `.` and doubled slashes left out, `..` taken.
    /// For rules that speak of names; see also [`real`](Self::real).
    #[must_use]
    pub fn asked(&self) -> &Path {
        &self.asked
    }

    /// The path that the kernel goes: absolute, no links, no `..`.
    #[must_use]
    pub fn real(&self) -> &Path {
        self.real.as_deref().unwrap_or(&self.asked)
    }

    /// Type of the object when it was looked at.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match &self.seen {
            LookupResult::Missing { missing_dirs } => Kind::Missing { missing_dirs: *missing_dirs },
            LookupResult::There(look) => Kind::from_stat(look),
        }
    }

    /// Identity of the object when it was looked at.
    #[must_use]
    pub fn id(&self) -> Option<FileId> {
        self.version().map(Version::id)
    }

    /// In which state the object was.
    #[must_use]
    pub fn version(&self) -> Option<Version> {
        self.look().map(|look| look.version)
    }

    pub(crate) fn look(&self) -> Option<&ObjectStat> {
        match &self.seen {
            LookupResult::Missing { .. } => None,
            LookupResult::There(look) => Some(look),
        }
    }

    /// Returns `true` if the place lies on another mount than the root it was reached from; for places outside: than `/`.
    #[must_use]
    pub fn crosses_mount(&self) -> bool {
        self.crosses_mount
    }

    /// The claim ended in a slash, `.` or `..`: nothing but a folder may be made of it.
    #[must_use]
    pub fn must_be_folder(&self) -> bool {
        self.must_be_folder
    }

    /// The root itself, that is a place without a name of its own.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.relative().as_os_str().is_empty()
    }

    /// Returns `true` if any folder on the way takes `A` and `a` for one name, so that guards must compare without case.
    /// Costs some system calls per folder: ask when the exact comparison found nothing but a folded one would.
    /// A folder that cannot be asked counts as folding.
    #[must_use]
    pub fn folds_case(&self) -> bool {
        if sys::folds_case(self.base.fd()) {
            return true;
        }
        let mut at: Option<OwnedFd> = None;
        for name in &self.held_folders() {
            let folder = at.as_ref().map_or(self.base.fd(), AsFd::as_fd);
            match sys::open_child_folder(folder, name) {
                Ok(next) if sys::folds_case(next.as_fd()) => return true,
                Ok(next) => at = Some(next),
                Err(_) => return true,
            }
        }
        false
    }

    /// The plain names below the base.
    pub(crate) fn relative(&self) -> &Path {
        self.base.relative(self.real()).unwrap_or(Path::new(""))
    }

    /// The last name; `.` for the root itself.
    pub(crate) fn name(&self) -> &OsStr {
        let below = self.relative().as_os_str().as_bytes();
        // By bytes, as the path is plain names with single slashes: taking components apart costs as much as a system call.
        match below.rsplit(|byte| *byte == b'/').next() {
            None | Some(b"") => OsStr::new("."),
            Some(name) => OsStr::from_bytes(name),
        }
    }

    /// The folder that stands, and holds the rest.
    pub(crate) fn parent(&self) -> BorrowedFd<'_> {
        match &self.parent {
            Parent::Base => self.base.fd(),
            Parent::Opened(fd) => fd.as_fd(),
        }
    }

    /// Names of the folders between the base and the last one that exists.
    fn held_folders(&self) -> Vec<OsString> {
        let missing = match self.seen {
            LookupResult::Missing { missing_dirs } => missing_dirs,
            LookupResult::There(_) => 0,
        };
        let names: Vec<_> = self.relative().iter().map(OsString::from).collect();
        let keep = names.len().saturating_sub(missing + 1);
        names.into_iter().take(keep).collect()
    }

    /// Opens the folder that holds this place once more from the base and compares: a folder that was moved,
    /// or replaced by a link, since the look makes the deed fail.
    pub(crate) fn still_held(&self) -> Result<(), OperationError> {
        let Parent::Opened(held) = &self.parent else { return Ok(()) };
        let path: PathBuf = self.held_folders().iter().collect();
        let again =
            sys::open_folder(self.base.fd(), &path, self.strategy).map_err(|_| OperationError::Changed)?;
        let (again, held) = (sys::look_at(again.as_fd())?, sys::look_at(held.as_fd())?);
        if again.version.id() == held.version.id() && again.same_mount(&held) {
            Ok(())
        } else {
            Err(OperationError::Changed)
        }
    }

    /// Looks again at the name, which must still stand for the same object of the same type.
    pub(crate) fn look_again(&self) -> Result<ObjectStat, OperationError> {
        let before = self.look().ok_or(OperationError::Missing)?;
        let now = match sys::look(self.parent(), self.name()) {
            Err(Errno::NOENT) => return Err(OperationError::Changed),
            other => other?,
        };
        let same = now.version.id() == before.version.id() && now.file_type == before.file_type;
        if same { Ok(now) } else { Err(OperationError::Changed) }
    }

    /// Opens the file for reading. Never waits, never opens a FIFO, socket or device, never follows a link.
    ///
    /// # Errors
    /// [`OperationError::Changed`] when the name stands for another object by now.
    pub fn open_file(&self) -> Result<File, OperationError> {
        self.open_file_with_version().map(|(file, _)| file)
    }

    /// Opens the file, and returns the state that it is in.
    ///
    /// # Errors
    /// As [`open_file`](Self::open_file).
    pub fn open_file_with_version(&self) -> Result<(File, Version), OperationError> {
        match self.kind() {
            Kind::File { .. } if self.must_be_folder => return Err(OperationError::NotAFolder),
            Kind::File { .. } => {}
            Kind::Missing { .. } => return Err(OperationError::Missing),
            Kind::Directory => return Err(OperationError::IsFolder),
            Kind::Link => return Err(OperationError::IsLink),
            Kind::Special(_) => return Err(OperationError::Special),
        }
        let file = match sys::open_reading(self.parent(), self.name()) {
            Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => return Err(OperationError::Changed),
            other => other?,
        };
        let (file_type, version) = sys::stat_open(file.as_fd())?;
        if file_type != FileType::RegularFile || Some(version.id()) != self.id() {
            return Err(OperationError::Changed);
        }
        Ok((File::from(file), version))
    }

    /// Opens the folder for listing and walking.
    ///
    /// # Errors
    /// [`OperationError::NotAFolder`], or [`OperationError::Changed`] when the name stands for another object by now.
    pub fn open_dir(&self) -> Result<Directory, OperationError> {
        match self.kind() {
            Kind::Directory => {}
            Kind::Missing { .. } => return Err(OperationError::Missing),
            Kind::File { .. } | Kind::Link | Kind::Special(_) => return Err(OperationError::NotAFolder),
        }
        let folder = match sys::open_listing(self.parent(), self.name()) {
            Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR) => return Err(OperationError::Changed),
            other => other?,
        };
        let look = sys::look_at(folder.as_fd())?;
        if Some(look.version.id()) == self.id() {
            Ok(Directory::new(folder, look))
        } else {
            Err(OperationError::Changed)
        }
    }

    /// Returns the target of a kept link, as written in it.
    ///
    /// # Errors
    /// When it is no link, or none any more.
    pub fn read_link(&self) -> Result<PathBuf, OperationError> {
        if self.kind() != Kind::Link {
            return Err(OperationError::Io(std::io::ErrorKind::InvalidInput.into()));
        }
        self.look_again()?;
        Ok(sys::read_link(self.parent(), self.name())?.into())
    }
}
