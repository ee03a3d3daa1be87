//! The person's own files: a local file of a project, and the folders of their settings and their trust.
//!
//! Promise: nothing that a repository can bring along, or that another account can write, counts as the person's word.
//! What cannot be told counts as a repository's.

use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use pinfold_paths::Ambient;
use pinfold_policy::Layer;

use super::accounts::{home_of_account, is_private_group};
use super::file::{FileTrouble, LayerFile, read_within, trouble};
use super::git_tracked::is_tracked;
use super::locations::{Locations, SettingsFile};

/// A local file of no other user: named plainly and by one name, written by this person or the superuser alone, as its
/// folder is. The files of a clone belong to the person who cloned it, so that what a repository may hold is not meant
/// here.
pub(super) fn is_own(project: &Path, file: &SettingsFile, found: &LayerFile) -> bool {
    file.layer == Layer::Local && is_own_path(&project.join(&*file.shown), found)
}

fn is_own_path(path: &Path, found: &LayerFile) -> bool {
    let folder = path.parent().map(Path::symlink_metadata);
    found.plainly_named
        && found.links == 1
        && is_written_by_me(found.owner, found.group, found.mode)
        && matches!(folder, Some(Ok(folder)) if is_written_by_me_alone(&folder))
        && !is_tracked(path)
}

fn is_written_by_me_alone(metadata: &Metadata) -> bool {
    is_written_by_me(metadata.uid(), metadata.gid(), metadata.mode())
}

/// Returns true if only this person and the superuser can write what has this owner, group and mode.
fn is_written_by_me(owner: u32, group: u32, mode: u32) -> bool {
    let me = rustix::process::geteuid().as_raw();
    (owner == me || owner == 0) && mode & 0o002 == 0 && (mode & 0o020 == 0 || is_private_group(group, me))
}

/// Returns true if a file in a project is the person's own by what holds for the local settings file, and has this
/// content. A program that keeps such a file in the project says nothing about where it came from.
#[must_use]
pub fn is_persons_own(ambient: &Ambient, project: &Path, path: &Path, content: &[u8]) -> bool {
    let (Ok(real), Ok(below)) = (project.canonicalize(), path.strip_prefix(project)) else { return false };
    let path = real.join(below);
    match read_within(ambient, &real, &path) {
        Ok(Some(found)) => found.bytes == content && is_own_path(&path, &found),
        Ok(None) | Err(_) => false,
    }
}

/// Returns true if the local settings file will be the person's own once pinfold has written it: it is, or it is not
/// there and no repository may hold it.
#[must_use]
pub fn will_be_user_owned(ambient: &Ambient, project: &Path, path: &Path, before: Option<&[u8]>) -> bool {
    match before {
        Some(before) => is_persons_own(ambient, project, path, before),
        None => !is_tracked(&really(path)),
    }
}

impl Locations {
    /// Returns true if a place lies in the project by its real path, where nothing is the person's own because of its
    /// name. What holds the home of the account has the person's own beneath it: it is no project, and is not granted
    /// unless that is said twice. A home that only the environment names has to be allowed: `HOME` can lead into a project
    /// as each other variable can.
    #[must_use]
    pub fn is_in_project(&self, place: &Path) -> bool {
        let Some(Ok(project)) = self.project.as_deref().map(Path::canonicalize) else { return false };
        let named = self.home.clone().filter(|_| self.allow_home);
        let homes = home_of_account().into_iter().chain(named);
        let mut homes = homes.filter_map(|home| home.canonicalize().ok());
        !homes.any(|home| home.starts_with(&project)) && really(place).starts_with(&project)
    }

    /// Checks, before a file is read, that its folder is not one of the project's. Where `HOME` leads into the project and
    /// nothing stands there, a home is merely worked in.
    pub(super) fn hold_apart_to_read(&self, file: &Path) -> Result<(), FileTrouble> {
        let is_below_home = self.home.as_deref().is_some_and(|home| file.starts_with(home));
        let is_absent = || file.symlink_metadata().is_err_and(|e| e.kind() == ErrorKind::NotFound);
        if is_below_home && is_absent() { Ok(()) } else { self.hold_apart(file) }
    }

    /// Checks that a folder of the person's own is not one of the project's.
    pub(super) fn hold_apart(&self, file: &Path) -> Result<(), FileTrouble> {
        let Some(folder) = file.parent() else { return Ok(()) };
        // The usual place, under a home that no variable names, may be a link into a project of the person's.
        let is_usual = home_of_account().is_some_and(|home| file.starts_with(home.join(USUAL)));
        if !self.is_in_project(folder) || is_usual {
            return Ok(());
        }
        let what = format!("{} lies in the project, where others write", really(folder).display());
        let mend = "let HOME and the XDG variables name folders outside of the project, or say --folder and --allow-home \
                    where the project is your home";
        Err(trouble(what, mend))
    }
}

/// The person's settings folder below home, where no variable names another.
const USUAL: &str = ".config/pinfold";

/// Resolves a path, with what is missing at its end as it is written.
pub(super) fn really(path: &Path) -> PathBuf {
    let found = path.ancestors().find_map(|part| Some((part, fs::canonicalize(part).ok()?)));
    let Some((part, real)) = found else { return path.to_owned() };
    path.strip_prefix(part).map_or_else(|_| real.clone(), |rest| real.join(rest))
}
