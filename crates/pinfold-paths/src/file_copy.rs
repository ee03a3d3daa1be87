//! A file's content as it was looked at, and a new file with just that content at another name.
//!
//! Promise: what gets the name is what was read, even while a process has the first file open: it is another file, of which
//! no process has a descriptor. Trap: what names cannot carry stays behind: further names, extended attributes, an owner
//! that this process may not give.

use std::io::Read;
use std::path::Path;

use rustix::fd::AsFd;
use rustix::fs::{CWD, FileType, Timestamps};

use crate::contained::{Contained, PERMISSION_BITS};
use crate::error::OperationError;
use crate::held_place::Kind;
use crate::in_place::{SetTime, names_at_most};
use crate::replace::Staged;
use crate::sys;
use crate::version::FileId;

/// The content, the permission bits and the times of a file, at one moment.
#[derive(Clone, Debug)]
pub struct Copied {
    bytes: Vec<u8>,
    mode: u32,
    times: [SetTime; 2],
    id: FileId,
}

impl Copied {
    /// Reads the file at an absolute path: to be shown, and given a name as it was shown. It is held by nothing, so that
    /// only what was read is ever used. Never follows a link in the last place, never waits.
    ///
    /// # Errors
    /// [`OperationError::Mount`] for a file of more than `most` bytes: as if it lay elsewhere, where a name is not given but
    /// content is copied. [`OperationError::Special`] for what is no file, and what opening answers.
    pub fn read(path: &Path, most: u64) -> Result<Self, OperationError> {
        let file = sys::open_reading(CWD, path.as_os_str())?;
        let (file_type, version) = sys::stat_open(file.as_fd())?;
        if file_type != FileType::RegularFile {
            return Err(OperationError::Special);
        }
        let look = sys::look_at(file.as_fd())?;
        let times = sys::times_of(file.as_fd())?;
        let mut bytes = Vec::new();
        // One more than it may have: it may have grown meanwhile.
        std::fs::File::from(file).take(most.saturating_add(1)).read_to_end(&mut bytes)?;
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > most {
            return Err(OperationError::Mount);
        }
        Ok(Self { bytes, mode: look.mode & PERMISSION_BITS, times, id: version.id() })
    }

    /// The content.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The permission bits.
    #[must_use]
    pub fn mode(&self) -> u32 {
        self.mode
    }
}

impl Contained {
    /// Gives the name `to` to a new file with the content that was read here, and takes the name here away. With
    /// `overwrite` a file or link there gives way. `max_names` as for [`rename_in_place`](Self::rename_in_place).
    ///
    /// # Errors
    /// [`OperationError::Changed`] when it was another file that was read, or another one stands at either place by now; as
    /// [`rename_in_place`](Self::rename_in_place).
    pub fn rename_copied(
        &self,
        to: &Self,
        copied: &Copied,
        overwrite: bool,
        max_names: Option<u64>,
    ) -> Result<(), OperationError> {
        match self.kind() {
            Kind::File { .. } if self.id() == Some(copied.id) => {}
            Kind::Missing { .. } => return Err(OperationError::Missing),
            Kind::File { .. } | Kind::Directory | Kind::Link | Kind::Special(_) => {
                return Err(OperationError::Changed);
            }
        }
        let gives_way = to.gives_way(overwrite)?;
        if self.id() == to.id() {
            // Two names of one file: the kernel leaves both.
            return Ok(());
        }
        self.ordinary()?;
        to.ordinary()?;
        names_at_most(self.look_again()?.links, max_names)?;
        let staged = Staged::write(to.parent(), &mut copied.bytes.as_slice(), copied.mode)?;
        let file = staged.file();
        // Of which the umask has taken bits away.
        sys::set_mode(file, copied.mode)?;
        let [access, change] = copied.times.map(sys::time);
        sys::set_times(file, &Timestamps { last_access: access, last_modification: change })?;
        let there = (to.parent(), to.name());
        if gives_way {
            names_at_most(to.look_again()?.links, max_names)?;
            sys::rename_over(staged.name_in_folder(), there)?;
        } else {
            sys::rename_new(staged.name_in_folder(), there)?;
        }
        // It has its name. That another file came to stand here meanwhile takes nothing from that.
        let _ = self.remove();
        Ok(())
    }

    /// Returns `true` if an existing entry here gives way to a file.
    fn gives_way(&self, overwrite: bool) -> Result<bool, OperationError> {
        self.refuse_root()?;
        if self.must_be_folder() {
            return Err(OperationError::NotAFolder);
        }
        match self.kind() {
            Kind::Missing { missing_dirs: 0 } => Ok(false),
            Kind::Missing { .. } => Err(OperationError::Missing),
            Kind::Directory => Err(OperationError::IsFolder),
            Kind::Special(_) => Err(OperationError::Special),
            Kind::File { .. } | Kind::Link if overwrite => Ok(true),
            Kind::File { .. } | Kind::Link => Err(OperationError::Exists),
        }
    }
}
