//! Directories that belong to one process alone and go with it.
//!
//! They stand in a directory of the user's own, each with a lock for as long as its process lives: what a killed one left
//! behind is known by the missing lock, and taken away by the next process that makes one.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use pinfold_sandbox::open_without_waiting;
use tempfile::Builder;

/// A directory without a lock that is younger may belong to a process that is just making it.
const NEWBORN: Duration = Duration::from_mins(1);

/// Purpose of a directory: the beginning of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// One run.
    Run,
    /// The shells of a session.
    Shells,
}

impl Purpose {
    const ALL: [Self; 2] = [Self::Run, Self::Shells];

    fn prefix(self) -> &'static str {
        match self {
            Self::Run => "run-",
            Self::Shells => "shells-",
        }
    }
}

/// A private directory. Removed when dropped, whatever commands made of the rights in it.
#[derive(Debug)]
pub struct TemporaryDirectory {
    path: PathBuf,
    _lock: Option<File>,
}

impl TemporaryDirectory {
    /// Makes one in the first of `homes` that can be written.
    ///
    /// # Errors
    /// When none can.
    pub fn new(homes: &[PathBuf], purpose: Purpose) -> io::Result<Self> {
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for home in homes {
            match Self::create_in(home, purpose) {
                Ok(made) => return Ok(made),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn create_in(home: &Path, purpose: Purpose) -> io::Result<Self> {
        let Some(own) = own_directory(home) else {
            // Another user has that name, which does no harm but that nothing is cleared up.
            let path = Builder::new().prefix("pinfold-").tempdir_in(home)?.keep();
            return Ok(Self { path, _lock: None });
        };
        let path = Builder::new().prefix(purpose.prefix()).tempdir_in(&own)?.keep();
        let lock = File::open(&path).inspect_err(|_| clear(&path))?;
        // No other process knows this directory yet.
        let _ = lock.try_lock_shared();
        clear_up(&own);
        Ok(Self { path, _lock: Some(lock) })
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl AsRef<Path> for TemporaryDirectory {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        clear(&self.path);
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

/// Takes away what killed processes left behind.
fn clear_up(own: &Path) {
    let Ok(entries) = fs::read_dir(own) else { return };
    let is_ours =
        |name: &[u8]| Purpose::ALL.iter().any(|purpose| name.starts_with(purpose.prefix().as_bytes()));
    for entry in entries.flatten().filter(|entry| is_ours(entry.file_name().as_encoded_bytes())) {
        let old = entry.metadata().and_then(|m| m.modified()).ok().and_then(|t| t.elapsed().ok());
        if old.is_none_or(|age| age < NEWBORN) {
            continue;
        }
        if let Ok(left) = open_without_waiting(&entry.path())
            && left.try_lock().is_ok()
        {
            clear(&entry.path());
        }
    }
}

/// Removes a tree of ours. A command may have closed directories in it; no process of theirs lives any more.
pub(crate) fn clear(path: &Path) {
    if fs::remove_dir_all(path).is_err() {
        open_up(path);
        // What still stays is left to what cleans temporary directories.
        let _ = fs::remove_dir_all(path);
    }
}

fn open_up(top: &Path) {
    let mut waiting = vec![top.to_owned()];
    while let Some(directory) = waiting.pop() {
        let _ = fs::set_permissions(&directory, Permissions::from_mode(0o700));
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        // The type of the entry itself: a link is never followed.
        let directories = entries.flatten().filter(|e| e.file_type().is_ok_and(|kind| kind.is_dir()));
        waiting.extend(directories.map(|entry| entry.path()));
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn what_a_killed_process_left_goes_and_what_lives_stays() {
        let home = tempfile::tempdir().expect("a directory");
        let homes = [home.path().join("none"), home.path().to_owned()];
        let living = TemporaryDirectory::new(&homes, Purpose::Run).expect("the second home serves");
        let own = living.path().parent().expect("it stands in the user's own").to_owned();
        let left = ["run-left", "shells-left"].map(|name| own.join(name));
        for at in &left {
            // A command closed what it made.
            fs::create_dir_all(at.join("tmp/closed/more")).expect("a directory");
            fs::set_permissions(at.join("tmp/closed"), Permissions::from_mode(0o000)).expect("a mode");
        }
        let long_ago = SystemTime::now() - NEWBORN * 2;
        for path in left.iter().map(PathBuf::as_path).chain([living.path()]) {
            File::open(path).and_then(|f| f.set_modified(long_ago)).expect("times can be set");
        }
        for other in ["run-newborn", "shells-newborn", "other"] {
            fs::create_dir(own.join(other)).expect("a directory");
        }
        let next = TemporaryDirectory::new(&homes, Purpose::Shells).expect("another");
        assert!(left.iter().all(|at| !at.exists()) && living.path().exists());
        assert!(["run-newborn", "shells-newborn", "other"].iter().all(|other| own.join(other).exists()));
        let gone = next.path().to_owned();
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
        let private = TemporaryDirectory::new(&[home.path().to_owned()], Purpose::Run);
        assert_eq!(private.expect("another name serves").path().parent(), Some(home.path()));
    }
}
