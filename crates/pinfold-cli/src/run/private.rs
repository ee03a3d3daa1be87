//! The directory that belongs to one run alone and goes with it.
//!
//! It stands in a directory of the user's own, with a lock on it for as long as the run lives: what a killed run left
//! behind is known by the missing lock, and taken away by a later one.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::{Builder, TempDir};

/// A directory without a lock that is younger may belong to a run that is just starting.
const NEWBORN: Duration = Duration::from_mins(1);

const PREFIX: &str = "run-";

/// A private directory; removed when dropped.
pub(super) struct RunDirectory {
    directory: TempDir,
    _lock: Option<File>,
}

impl RunDirectory {
    /// Makes one in the first of `homes` that can be written.
    pub(super) fn new(homes: &[PathBuf]) -> io::Result<Self> {
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for home in homes {
            match Self::below(home) {
                Ok(made) => return Ok(made),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn below(home: &Path) -> io::Result<Self> {
        let Some(own) = own_directory(home) else {
            // Somebody else has that name, which does no harm but that nobody clears up.
            return Ok(Self { directory: Builder::new().prefix("pinfold-").tempdir_in(home)?, _lock: None });
        };
        let directory = Builder::new().prefix(PREFIX).tempdir_in(&own)?;
        let lock = File::open(directory.path())?;
        // Nobody else knows this directory yet.
        let _ = lock.try_lock_shared();
        clear_up(&own);
        Ok(Self { directory, _lock: Some(lock) })
    }
}

impl AsRef<Path> for RunDirectory {
    fn as_ref(&self) -> &Path {
        self.directory.path()
    }
}

/// `pinfold-UID` in `home`, if it is this user's and closed to all others.
fn own_directory(home: &Path) -> Option<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let own = home.join(format!("pinfold-{user}"));
    let made = DirBuilder::new().mode(0o700).create(&own);
    if made.is_err_and(|e| e.kind() != io::ErrorKind::AlreadyExists) {
        return None;
    }
    let found = fs::symlink_metadata(&own).ok()?;
    (found.is_dir() && found.uid() == user && found.mode() & 0o777 == 0o700).then_some(own)
}

/// Takes away what killed runs left behind.
fn clear_up(own: &Path) {
    let Ok(entries) = fs::read_dir(own) else { return };
    for entry in entries.flatten().filter(|e| e.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes()))
    {
        let old = entry.metadata().and_then(|m| m.modified()).ok().and_then(|t| t.elapsed().ok());
        if old.is_none_or(|age| age < NEWBORN) {
            continue;
        }
        if let Ok(left) = File::open(entry.path())
            && left.try_lock().is_ok()
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn what_a_killed_run_left_goes_and_what_lives_stays() {
        let home = tempfile::tempdir().expect("a directory");
        let homes = [home.path().join("none"), home.path().to_owned()];
        let living = RunDirectory::new(&homes).expect("the second home serves");
        let own = living.as_ref().parent().expect("it stands in the user's own").to_owned();
        let left = own.join("run-left");
        fs::create_dir(&left).expect("a directory");
        let long_ago = SystemTime::now() - NEWBORN * 2;
        for path in [living.as_ref(), &left] {
            File::open(path).and_then(|f| f.set_modified(long_ago)).expect("times can be set");
        }
        fs::create_dir(own.join("run-newborn")).expect("a directory");
        let next = RunDirectory::new(&homes).expect("another");
        assert!(!left.exists() && living.as_ref().exists() && own.join("run-newborn").exists());
        let gone = next.as_ref().to_owned();
        drop(next);
        assert!(!gone.exists());
    }

    #[test]
    fn a_name_that_is_open_to_others_is_not_used() {
        let home = tempfile::tempdir().expect("a directory");
        let own = own_directory(home.path()).expect("a directory of our own");
        fs::remove_dir(&own).expect("it is empty");
        let elsewhere = tempfile::tempdir().expect("a directory");
        std::os::unix::fs::symlink(elsewhere.path(), &own).expect("a link");
        let private = RunDirectory::new(&[home.path().to_owned()]).expect("another name serves");
        assert_eq!(private.as_ref().parent(), Some(home.path()));
    }
}
