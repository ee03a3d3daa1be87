//! A folder that may not be there: for saying what would be, on a machine where it is not.
//!
//! Promise: what stands of it is held like any workspace, so that links in that part are followed; the rest is names.
//! Trap: nothing is known about what would lie in a folder that is not there. Who looks may say what he would decide;
//! a deed belongs to a line of folders that stand.

use std::io;
use std::path::{Component, Path, PathBuf};

use crate::workspace::{Ambient, Workspace, WorkspaceError};

/// A folder by its path, whether it stands or not: the nearest folder above it that stands, held, and names below.
#[derive(Clone, Debug)]
pub struct Imagined {
    pub(crate) standing: Workspace,
    /// Plain names; empty when the folder stands.
    pub(crate) below: PathBuf,
}

impl Imagined {
    /// Opens what stands of `path`, an absolute path. Links in that part are followed.
    ///
    /// # Errors
    /// [`WorkspaceError`], when the path is relative, something other than a folder stands in it, or what is missing
    /// of it is not plainly named.
    pub fn open(ambient: &Ambient, path: &Path) -> Result<Self, WorkspaceError> {
        if !path.is_absolute() {
            return Err(WorkspaceError::Relative(path.into()));
        }
        for standing in path.ancestors() {
            match Workspace::open(ambient, standing) {
                Ok(standing_held) => {
                    let below = path.strip_prefix(standing).unwrap_or(Path::new(""));
                    return Self::new(standing_held, below).ok_or_else(|| no_name(path));
                }
                Err(WorkspaceError::Io { cause, .. }) if cause.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Err(no_name(path))
    }

    fn new(standing: Workspace, below: &Path) -> Option<Self> {
        let plain = below.components().all(|part| matches!(part, Component::Normal(_)));
        plain.then(|| Self { standing, below: below.components().collect() })
    }

    /// The path: canonical as far as the folder stands.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        // Joined with nothing a path would end in a slash.
        if self.below.as_os_str().is_empty() {
            self.standing.path().to_owned()
        } else {
            self.standing.path().join(&self.below)
        }
    }

    /// Returns `true` if the folder was there.
    #[must_use]
    pub fn stands(&self) -> bool {
        self.below.as_os_str().is_empty()
    }
}

impl From<Workspace> for Imagined {
    fn from(standing: Workspace) -> Self {
        Self { standing, below: PathBuf::new() }
    }
}

fn no_name(path: &Path) -> WorkspaceError {
    let cause = io::Error::new(io::ErrorKind::NotFound, "a part of it is missing and not plainly named");
    WorkspaceError::Io { path: path.into(), cause }
}
