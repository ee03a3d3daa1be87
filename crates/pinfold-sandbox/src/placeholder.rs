//! Names that must not appear, held for the length of a run.
//!
//! A name can only be protected by mounting on it, and mounting needs something that is there. So an empty
//! directory is made, mounted read-only inside, and removed at the end. It is a directory even where a file is
//! feared: version control takes no notice of empty directories, so that nothing changes for anybody outside.
//!
//! Several runs in one folder share a placeholder: each holds a shared lock on it, and only the last one takes
//! it away. One that a killed run left behind is known by its mode and is taken over by the next.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Readable, not writable, and with the sticky bit that nobody sets on such a directory.
const MODE: u32 = 0o1555;

/// How often making a placeholder is tried again when another run takes it away at that moment.
const TRIES: usize = 16;

/// Whether an empty directory left behind by this crate stands there.
pub fn is_placeholder(path: &Path) -> bool {
    let ours = fs::symlink_metadata(path).is_ok_and(|m| m.is_dir() && m.mode() & 0o7777 == MODE);
    ours && fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

/// Placeholders that this run holds; removed when dropped, unless another run holds them too.
#[derive(Debug, Default)]
pub(crate) struct Placeholders(Vec<(PathBuf, File)>);

impl Placeholders {
    /// Makes and holds a placeholder at each path.
    pub(crate) fn hold(paths: &[PathBuf]) -> io::Result<Self> {
        let mut held = Self::default();
        for path in paths {
            held.0.push((path.clone(), hold(path)?));
        }
        Ok(held)
    }
}

impl Drop for Placeholders {
    fn drop(&mut self) {
        for (path, lock) in self.0.drain(..).rev() {
            // Only alone: another run that shares it would lose its protection.
            if lock.try_lock().is_ok() && is_placeholder(&path) {
                let _ = fs::remove_dir(&path);
            }
        }
    }
}

fn hold(path: &Path) -> io::Result<File> {
    for _ in 0..TRIES {
        match DirBuilder::new().mode(MODE).create(path) {
            Ok(()) => fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(MODE))?,
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && is_placeholder(path) => {}
            Err(e) => return Err(e),
        }
        let Ok(directory) = File::open(path) else { continue };
        match directory.try_lock_shared() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => continue,
            Err(TryLockError::Error(e)) => return Err(e),
        }
        // It may have been removed between opening and locking.
        let (here, there) = (directory.metadata()?, fs::symlink_metadata(path));
        if there.is_ok_and(|there| (there.dev(), there.ino()) == (here.dev(), here.ino())) {
            return Ok(directory);
        }
    }
    Err(io::Error::new(io::ErrorKind::ResourceBusy, format!("`{}` keeps changing", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_goes_with_the_last_run_that_holds_it() {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join(".mcp.json");
        let first = Placeholders::hold(std::slice::from_ref(&name)).unwrap();
        let second = Placeholders::hold(std::slice::from_ref(&name)).unwrap();
        drop(first);
        assert!(is_placeholder(&name), "the second run still needs it");
        drop(second);
        assert!(!name.exists());
    }

    #[test]
    fn a_directory_of_the_person_is_never_taken_for_one() {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join(".vscode");
        fs::create_dir(&name).unwrap();
        assert!(Placeholders::hold(std::slice::from_ref(&name)).is_err());
        assert!(name.is_dir());
    }

    #[test]
    fn one_left_behind_is_taken_over_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join(".idea");
        // As after a kill: the lock is gone, the directory is not.
        Placeholders::hold(std::slice::from_ref(&name)).unwrap().0.clear();
        assert!(is_placeholder(&name));
        drop(Placeholders::hold(std::slice::from_ref(&name)).unwrap());
        assert!(!name.exists());
    }
}
