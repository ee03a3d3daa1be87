//! Names that must not appear, held for the length of a run.
//!
//! A name can only be protected by mounting on it, and mounting needs something that is there. So an empty
//! directory is made, mounted read-only inside, and removed at the end. It is a directory even where a file is
//! feared: version control takes no notice of empty directories, so that nothing changes for anybody outside.
//!
//! Where a directory would disturb those who read the name, a file with harmless content takes its place.
//!
//! Several runs in one folder share a placeholder: each holds a shared lock on it, and only the last one takes
//! it away. One that a killed run left behind is known by its mode and is taken over by the next.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::profile::StandIn;

/// Readable, not writable, and with the sticky bit that nobody sets on such a directory.
const MODE: u32 = 0o1555;

/// The same for a file.
const FILE_MODE: u32 = 0o1444;

/// How often making a placeholder is tried again when another run takes it away at that moment.
const TRIES: usize = 16;

/// Whether an empty directory left behind by this crate stands there.
pub fn is_placeholder(path: &Path) -> bool {
    let ours = fs::symlink_metadata(path).is_ok_and(|m| m.is_dir() && m.mode() & 0o7777 == MODE);
    ours && fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

/// Whether a file left behind by this crate stands there. One that is empty is still being written by another run.
pub fn is_stand_in(path: &Path, content: &[u8]) -> bool {
    let ours = fs::symlink_metadata(path).is_ok_and(|m| m.is_file() && m.mode() & 0o7777 == FILE_MODE);
    let mut found = Vec::new();
    let limit = content.len() as u64 + 1;
    ours && File::open(path).and_then(|f| f.take(limit).read_to_end(&mut found)).is_ok()
        && (found.is_empty() || found == content)
}

/// Placeholders that this run holds; removed when dropped, unless another run holds them too.
#[derive(Debug, Default)]
pub(crate) struct Placeholders(Vec<(Name, File)>);

/// One name that is held.
#[derive(Debug, Clone)]
enum Name {
    Directory(PathBuf),
    File(StandIn),
}

impl Placeholders {
    /// Makes and holds a placeholder at each path, and a file at each name that needs one.
    pub(crate) fn hold(absent: &[PathBuf], stand_ins: &[StandIn]) -> io::Result<Self> {
        let mut held = Self::default();
        let directories = absent.iter().cloned().map(Name::Directory);
        for name in directories.chain(stand_ins.iter().cloned().map(Name::File)) {
            let lock = name.hold()?;
            held.0.push((name, lock));
        }
        Ok(held)
    }
}

impl Drop for Placeholders {
    fn drop(&mut self) {
        for (name, lock) in self.0.drain(..).rev() {
            // Only alone: another run that shares it would lose its protection.
            if lock.try_lock().is_ok() && name.is_ours() {
                let _ = match &name {
                    Name::Directory(path) => fs::remove_dir(path),
                    Name::File(file) => fs::remove_file(&file.path),
                };
            }
        }
    }
}

impl Name {
    fn path(&self) -> &Path {
        match self {
            Self::Directory(path) => path,
            Self::File(file) => &file.path,
        }
    }

    fn is_ours(&self) -> bool {
        match self {
            Self::Directory(path) => is_placeholder(path),
            Self::File(file) => is_stand_in(&file.path, file.content),
        }
    }

    fn make(&self) -> io::Result<()> {
        match self {
            Self::Directory(path) => {
                DirBuilder::new().mode(MODE).create(path)?;
                fs::set_permissions(path, Permissions::from_mode(MODE))
            }
            Self::File(file) => {
                let mut made =
                    OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(&file.path)?;
                made.set_permissions(Permissions::from_mode(FILE_MODE))?;
                made.write_all(file.content)
            }
        }
    }

    fn hold(&self) -> io::Result<File> {
        let path = self.path();
        for _ in 0..TRIES {
            match self.make() {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && self.is_ours() => {}
                made => made?,
            }
            let Ok(held) = File::open(path) else { continue };
            match held.try_lock_shared() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => continue,
                Err(TryLockError::Error(e)) => return Err(e),
            }
            // It may have been removed between opening and locking.
            let (here, there) = (held.metadata()?, fs::symlink_metadata(path));
            if there.is_ok_and(|there| (there.dev(), there.ino()) == (here.dev(), here.ino())) {
                return Ok(held);
            }
        }
        Err(io::Error::new(io::ErrorKind::ResourceBusy, format!("`{}` keeps changing", path.display())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_goes_with_the_last_run_that_holds_it() {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join(".mcp.json");
        let first = Placeholders::hold(std::slice::from_ref(&name), &[]).unwrap();
        let second = Placeholders::hold(std::slice::from_ref(&name), &[]).unwrap();
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
        assert!(Placeholders::hold(std::slice::from_ref(&name), &[]).is_err());
        assert!(name.is_dir());
    }

    #[test]
    fn one_left_behind_is_taken_over_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join(".idea");
        // As after a kill: the lock is gone, the directory is not.
        Placeholders::hold(std::slice::from_ref(&name), &[]).unwrap().0.clear();
        assert!(is_placeholder(&name));
        drop(Placeholders::hold(std::slice::from_ref(&name), &[]).unwrap());
        assert!(!name.exists());
    }

    #[test]
    fn a_file_holds_a_name_that_a_directory_would_disturb() {
        let folder = tempfile::tempdir().unwrap();
        let name = StandIn { path: folder.path().join("commondir"), content: b".\n" };
        let hold = || Placeholders::hold(&[], std::slice::from_ref(&name));
        let (first, second) = (hold().unwrap(), hold().unwrap());
        drop(first);
        assert_eq!(fs::read(&name.path).unwrap(), b".\n");
        drop(second);
        assert!(!name.path.exists());
        fs::write(&name.path, "../elsewhere").unwrap();
        assert!(hold().is_err(), "a file of the person is never taken for one");
        assert!(name.path.exists());
    }
}
