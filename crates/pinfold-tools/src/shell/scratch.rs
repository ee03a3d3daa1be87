//! The directory that belongs to one session's shells and goes with them.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A private directory. Removed when dropped, whatever the commands made of the rights in it.
#[derive(Debug)]
pub(crate) struct Scratch {
    directory: tempfile::TempDir,
    runs: AtomicU64,
}

/// What one run keeps to itself; removed when dropped.
#[derive(Debug)]
pub(crate) struct RunScratch(PathBuf);

impl Scratch {
    pub(crate) fn new(base: &Path) -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("pinfold-shells-").tempdir_in(base)?;
        let scratch = Self { directory, runs: AtomicU64::new(0) };
        make(&scratch.temp())?;
        Ok(scratch)
    }

    /// Temporary files of all shells: what one leaves there the next one finds.
    pub(crate) fn temp(&self) -> PathBuf {
        self.directory.path().join("tmp")
    }

    pub(crate) fn run(&self) -> io::Result<RunScratch> {
        let number = self.runs.fetch_add(1, Ordering::Relaxed);
        let path = self.directory.path().join(format!("run-{number}"));
        make(&path)?;
        Ok(RunScratch(path))
    }
}

impl RunScratch {
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for RunScratch {
    fn drop(&mut self) {
        clear(&self.0);
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        clear(self.directory.path());
    }
}

fn make(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

/// Removes a tree of ours. A command may have closed directories in it; no process of theirs lives any more.
fn clear(path: &Path) {
    if fs::remove_dir_all(path).is_err() {
        open_up(path);
        // What still stays is left to whoever cleans temporary directories.
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
    use super::*;

    #[test]
    fn it_goes_even_when_it_was_closed_and_no_link_is_followed() {
        let base = tempfile::tempdir().unwrap();
        let kept = base.path().join("kept");
        fs::create_dir(&kept).unwrap();
        fs::set_permissions(&kept, Permissions::from_mode(0o500)).unwrap();
        let scratch = Scratch::new(base.path()).unwrap();
        let closed = scratch.temp().join("a/b");
        fs::create_dir_all(closed.join("c")).unwrap();
        std::os::unix::fs::symlink(&kept, closed.join("out")).unwrap();
        fs::set_permissions(&closed, Permissions::from_mode(0o000)).unwrap();
        drop(scratch);
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 1);
        assert_eq!(fs::metadata(&kept).unwrap().permissions().mode() & 0o777, 0o500);
    }
}
