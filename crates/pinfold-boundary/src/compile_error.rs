//! Reasons why a sandbox request cannot be compiled.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use pinfold_policy::{FolderChoice, NoProject};

/// Reason why a grant cannot be carried out.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// A place that was named cannot be resolved.
    #[error("`{}` cannot be granted: {error}", path.display())]
    Unresolved {
        /// The place as it was named.
        path: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
    /// The folder is a file.
    #[error("`{}` is not a directory", path.display())]
    NotADirectory {
        /// The place.
        path: PathBuf,
    },
    /// A place that is no folder of a person.
    #[error("`{}` is not a folder to work in: {why}", path.display())]
    NotAFolder {
        /// The place.
        path: PathBuf,
        /// Why, and what to do.
        why: NoProject,
    },
    /// A declared scope leaves nothing of the folder to work in.
    #[error("`{}` cannot be worked in: {why}", path.display())]
    OutOfScope {
        /// The folder.
        path: PathBuf,
        /// Reason that the lists give, in one clause.
        why: String,
    },
    /// A cache profile that does not exist.
    #[error("there is no cache profile `{name}`; known are: {known}")]
    UnknownCache {
        /// The name.
        name: String,
        /// All names.
        known: String,
    },
}

/// Resolves a path that was named, against `base`.
///
/// # Errors
/// When nothing is there.
pub(crate) fn resolve(base: &Path, path: &Path) -> Result<PathBuf, CompileError> {
    let joined = base.join(path);
    fs::canonicalize(&joined).map_err(|error| CompileError::Unresolved { path: path.to_owned(), error })
}

/// Resolves a folder that was named, against `base`.
///
/// # Errors
/// When nothing is there, or it is no folder to work in.
pub(crate) fn resolve_folder(
    choice: &FolderChoice,
    base: &Path,
    path: &Path,
) -> Result<PathBuf, CompileError> {
    let real = resolve(base, path)?;
    if !real.is_dir() {
        return Err(CompileError::NotADirectory { path: real });
    }
    match choice.check(&real) {
        Ok(()) => Ok(real),
        Err(why) => Err(CompileError::NotAFolder { path: real, why }),
    }
}
