//! Deeds in place of a process that waits for its call: as the kernel would have done them, answered as it would.

use std::ffi::OsStr;
use std::fs::File;

use pinfold_paths::{Copied, Kind, Opening, OperationError, Owner, SetTime};

use super::{WriteTarget, failure};
use crate::outcome::Failure;

/// Checks that the content has one name: a file with others would go on to be changed, or to show, elsewhere.
const ONE_NAME: Option<u64> = Some(1);

impl WriteTarget {
    /// Returns true if the place lies inside the line; else an approver consented to it.
    pub fn is_inside(&self) -> bool {
        self.inside
    }

    /// The deed that did not happen, in words for the record.
    pub fn failed(&self, error: &OperationError) -> Failure {
        failure(&self.shown(), error)
    }

    /// Opens the file itself, or makes it where nothing stood.
    ///
    /// # Errors
    /// As the place answers.
    pub fn open_in_place(&self, how: Opening) -> Result<File, OperationError> {
        self.place.open_in_place(how)
    }

    /// Makes one folder with a mode.
    ///
    /// # Errors
    /// As the place answers.
    pub fn make_dir_in_place(&self, mode: u32) -> Result<(), OperationError> {
        self.place.make_dir(mode)
    }

    /// Makes a link that holds `text`.
    ///
    /// # Errors
    /// As the place answers.
    pub fn make_link_in_place(&self, text: &OsStr) -> Result<(), OperationError> {
        self.place.make_link(text)
    }

    /// Removes what is no folder.
    ///
    /// # Errors
    /// As the place answers.
    pub fn remove_in_place(&self) -> Result<(), OperationError> {
        if self.place.must_be_folder() {
            return Err(OperationError::NotAFolder);
        }
        self.place.remove()?;
        self.shared.seen.forget(self.place.real());
        Ok(())
    }

    /// Removes an empty folder.
    ///
    /// # Errors
    /// As the place answers.
    pub fn remove_dir_in_place(&self) -> Result<(), OperationError> {
        match self.place.kind() {
            Kind::Missing { .. } | Kind::Directory => self.place.remove_dir(),
            Kind::File { .. } | Kind::Link | Kind::Special(_) => Err(OperationError::NotAFolder),
        }
    }

    /// Gives what stands here the name `to`. Across the line nothing goes but a file, and none that has another name.
    ///
    /// # Errors
    /// As the place answers.
    pub fn rename_in_place(&self, to: &Self, overwrite: bool) -> Result<(), OperationError> {
        let across = self.inside != to.inside;
        if across && !matches!(self.place.kind(), Kind::File { .. }) {
            // A process that works in a folder would take its rights along, or bring in what it holds; a link would lead where
            // nobody was told.
            return Err(OperationError::Mount);
        }
        let max_names = if across { ONE_NAME } else { None };
        self.place.rename_in_place(&to.place, overwrite, max_names)?;
        self.shared.seen.forget(self.place.real());
        self.shared.seen.forget(to.place.real());
        Ok(())
    }

    /// Gives the name `to` to a new file with the content that was read here before, and takes the name here away: so
    /// that a process which has the file open here does not have that one.
    ///
    /// # Errors
    /// As the place answers.
    pub fn rename_copied_in_place(
        &self,
        to: &Self,
        copied: &Copied,
        overwrite: bool,
    ) -> Result<(), OperationError> {
        let max_names = if self.inside == to.inside { None } else { ONE_NAME };
        self.place.rename_copied(&to.place, copied, overwrite, max_names)?;
        self.shared.seen.forget(self.place.real());
        self.shared.seen.forget(to.place.real());
        Ok(())
    }

    /// Gives the file here a second name. Never across the line: what is changed under one name would be changed under
    /// the other.
    ///
    /// # Errors
    /// As the place answers.
    pub fn link_in_place(&self, to: &Self) -> Result<(), OperationError> {
        if self.inside || to.inside {
            return Err(OperationError::Mount);
        }
        self.place.link_to(&to.place)
    }

    /// Cuts or extends the file.
    ///
    /// # Errors
    /// As the place answers.
    pub fn set_length_in_place(&self, length: u64) -> Result<(), OperationError> {
        self.place.set_length(length)
    }

    /// Sets the permission bits.
    ///
    /// # Errors
    /// As the place answers; for a file with several names, all of which would change.
    pub fn set_mode_in_place(&self, mode: u32) -> Result<(), OperationError> {
        self.place.set_mode(mode)
    }

    /// Gives it to an owner.
    ///
    /// # Errors
    /// As the place answers.
    pub fn set_owner_in_place(&self, owner: Owner) -> Result<(), OperationError> {
        self.place.set_owner(owner)
    }

    /// Sets its times.
    ///
    /// # Errors
    /// As the place answers.
    pub fn set_times_in_place(&self, access: SetTime, change: SetTime) -> Result<(), OperationError> {
        self.place.set_times(access, change)
    }
}
