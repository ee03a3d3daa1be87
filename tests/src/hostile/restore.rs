//! Trees that are made once and put back as they were: only what has been touched is made anew.
//!
//! Nothing here is relied on: who puts a tree back looks at it again, and copies it whole where it is not what it was.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, utimensat};

use super::snapshot::{Content, Entry, Snapshot};

/// Copies a tree with modes, owners, times and second names.
///
/// # Panics
/// When it cannot be copied.
pub(super) fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").arg(from).arg(to).status();
    assert!(copied.is_ok_and(|status| status.success()), "{} can be copied", from.display());
}

/// Takes a tree away, whatever its modes are.
pub(super) fn remove(tree: &Path) {
    let Ok(meta) = fs::symlink_metadata(tree) else { return };
    if !meta.is_dir() {
        drop(fs::remove_file(tree));
        return;
    }
    if meta.permissions().mode() & 0o700 != 0o700 {
        drop(fs::set_permissions(tree, fs::Permissions::from_mode(0o700)));
    }
    for entry in fs::read_dir(tree).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove(&entry.path());
        } else {
            drop(fs::remove_file(entry.path()));
        }
    }
    drop(fs::remove_dir(tree));
}

/// Puts a tree back as it was seen once, with files of a copy that nothing has touched.
///
/// # Errors
/// When something of it cannot be removed or made.
pub(super) fn put_back(top: &Path, was: &Snapshot, original: &Path) -> io::Result<()> {
    let is = was.again(top);
    let mut work = Work { top, was, is: &is, original, touched: BTreeSet::new() };
    work.open()?;
    work.remove()?;
    work.make()?;
    work.settle()
}

struct Work<'a> {
    top: &'a Path,
    was: &'a Snapshot,
    is: &'a Snapshot,
    original: &'a Path,
    /// Directories in which names were made or removed.
    touched: BTreeSet<&'a Path>,
}

impl<'a> Work<'a> {
    /// Whether what stands at a path can stay there. Of a directory the rest is [settled](Self::settle).
    fn stays(&self, path: &Path) -> bool {
        self.was.get(path).zip(self.is.get(path)).is_some_and(|(was, is)| {
            if was.is_dir() || is.is_dir() { was.is_dir() && is.is_dir() } else { was.is_untouched(is) }
        })
    }

    fn touch(&mut self, path: &'a Path) {
        self.touched.extend(path.parent());
    }

    /// Opens what its mode has closed.
    fn open(&self) -> io::Result<()> {
        let mut closed = self.is.entries().filter(|(_, entry)| entry.is_dir() && entry.mode & 0o700 != 0o700);
        closed.try_for_each(|(path, _)| fs::set_permissions(path, fs::Permissions::from_mode(0o700)))
    }

    fn remove(&mut self) -> io::Result<()> {
        let is = self.is;
        for (path, entry) in is.entries().rev() {
            if !self.stays(path) {
                if entry.is_dir() { fs::remove_dir(path) } else { fs::remove_file(path) }?;
                self.touch(path);
            }
        }
        Ok(())
    }

    fn make(&mut self) -> io::Result<()> {
        let was = self.was;
        let several = was.entries().filter(|(_, entry)| entry.links > 1 && !entry.is_dir());
        let mut made: HashMap<(u64, u64), &Path> =
            several.filter(|(path, _)| self.stays(path)).map(|(path, entry)| (entry.place, path)).collect();
        for (path, entry) in was.entries() {
            if self.stays(path) {
                continue;
            }
            self.touch(path);
            match &entry.content {
                Content::Directory => {
                    fs::create_dir(path)?;
                    self.touched.insert(path);
                }
                _ if made.contains_key(&entry.place) => {
                    made.get(&entry.place).map_or(Ok(()), |first| fs::hard_link(first, path))?;
                }
                Content::Link(to) => {
                    symlink(to, path)?;
                    furnish(path, entry)?;
                }
                Content::File(_) => {
                    fs::copy(self.original(path), path)?;
                    furnish(path, entry)?;
                }
                Content::Special(kind) => return Err(io::Error::other(format!("a {kind} in a world"))),
            }
            if !entry.is_dir() && entry.links > 1 {
                made.entry(entry.place).or_insert(path);
            }
        }
        Ok(())
    }

    fn original(&self, path: &Path) -> PathBuf {
        self.original.join(path.strip_prefix(self.top).unwrap_or(path))
    }

    /// Gives each directory the mode, owner and time that it had, after the last name was made in it.
    fn settle(&self) -> io::Result<()> {
        let is_untouched = |path: &Path, entry: &Entry| {
            !self.touched.contains(path) && self.is.get(path).is_some_and(|is| entry.is_untouched(is))
        };
        let directories = self.was.entries().rev().filter(|(_, entry)| entry.is_dir());
        let mut touched = directories.filter(|(path, entry)| !is_untouched(path, entry));
        touched.try_for_each(|(path, entry)| furnish(path, entry))
    }
}

/// Gives something that was made the owner, mode and time that it had.
fn furnish(path: &Path, entry: &Entry) -> io::Result<()> {
    lchown(path, Some(entry.owner.0), Some(entry.owner.1))?;
    if !matches!(entry.content, Content::Link(_)) {
        fs::set_permissions(path, fs::Permissions::from_mode(entry.mode))?;
    }
    let (seconds, nanoseconds) = entry.modified;
    let times = Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
        last_modification: Timespec { tv_sec: seconds, tv_nsec: nanoseconds },
    };
    Ok(utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree, a copy of it, and what it looks like.
    fn tree() -> (tempfile::TempDir, PathBuf, PathBuf, Snapshot) {
        let place = tempfile::tempdir().unwrap();
        let (original, top) = (place.path().join("original"), place.path().join("top"));
        fs::create_dir_all(original.join("d/deep")).unwrap();
        for name in ["content", "mode", "gone", "replaced", "d/deep/file", "one", "stays"] {
            fs::write(original.join(name), "x").unwrap();
        }
        fs::hard_link(original.join("one"), original.join("d/two")).unwrap();
        symlink("content", original.join("link")).unwrap();
        copy(&original, &top);
        let seen = Snapshot::of(&top);
        (place, original, top, seen)
    }

    #[test]
    fn whatever_was_done_is_undone() {
        type FileOperation = fn(&Path);
        let deeds: [FileOperation; 12] = [
            |_| {},
            |top| fs::write(top.join("content"), "y").unwrap(),
            |top| fs::set_permissions(top.join("mode"), fs::Permissions::from_mode(0o4711)).unwrap(),
            |top| fs::remove_file(top.join("gone")).unwrap(),
            |top| fs::rename(top.join("stays"), top.join("replaced")).unwrap(),
            |top| fs::rename(top.join("d"), top.join("e")).unwrap(),
            |top| fs::remove_dir_all(top.join("d")).unwrap(),
            |top| fs::remove_file(top.join("d/two")).unwrap(),
            |top| fs::hard_link(top.join("stays"), top.join("d/three")).unwrap(),
            |top| fs::set_permissions(top.join("d"), fs::Permissions::from_mode(0o0)).unwrap(),
            |top| {
                fs::remove_file(top.join("link")).unwrap();
                fs::create_dir_all(top.join("link/much/more")).unwrap();
            },
            |top| {
                fs::remove_dir_all(top.join("d")).unwrap();
                symlink(".", top.join("d")).unwrap();
            },
        ];
        for (number, deed) in deeds.iter().enumerate() {
            let (_place, original, top, was) = tree();
            deed(&top);
            put_back(&top, &was, &original).unwrap();
            assert!(was.is_same(&Snapshot::of(&top)), "{number}");
        }
    }

    #[test]
    fn a_tree_that_is_not_the_same_is_seen() {
        let (_place, _, top, was) = tree();
        assert!(was.is_same(&Snapshot::of(&top)));
        fs::remove_file(top.join("d/two")).unwrap();
        fs::copy(top.join("one"), top.join("d/two")).unwrap();
        assert!(!was.is_same(&Snapshot::of(&top)), "a copy is no second name");
    }
}
