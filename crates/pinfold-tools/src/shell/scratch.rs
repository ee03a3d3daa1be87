//! The directory that belongs to one session's shells and goes with them.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::temporary::{Purpose, TemporaryDirectory, clear};

/// A private directory.
#[derive(Debug)]
pub(crate) struct Scratch {
    directory: TemporaryDirectory,
    runs: AtomicU64,
}

/// Directory that one run keeps to itself; removed when dropped.
#[derive(Debug)]
pub(crate) struct RunScratch(PathBuf);

impl Scratch {
    pub(crate) fn new(base: &Path) -> io::Result<Self> {
        let directory = TemporaryDirectory::new(&[base.to_owned()], Purpose::Shells)?;
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

fn make(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

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
        let at = scratch.directory.path().to_owned();
        drop(scratch);
        assert!(!at.exists());
        assert_eq!(fs::metadata(&kept).unwrap().permissions().mode() & 0o777, 0o500);
    }
}
