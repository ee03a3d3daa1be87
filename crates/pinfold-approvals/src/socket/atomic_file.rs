//! Atomic creation of locked files: written under a temporary name, then renamed, so that a reader never finds one
//! unlocked or partial.

use std::fs::File;
use std::io;
use std::time::Duration;

use rustix::fs::{OFlags, RenameFlags, renameat_with};

use super::secret::AccessSecret;
use super::socket_dir::SocketDir;

const PREFIX: &str = "new-";

/// The longest time for which a temporary file lives. An older one was left behind.
const MAX_AGE: Duration = Duration::from_mins(1);

/// Creates a file with a lock, writes it, and renames it to `name`, unless that exists (`AlreadyExists`).
pub(super) fn create(
    dir: &SocketDir,
    name: &str,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<File> {
    let temporary = format!("{PREFIX}{}", AccessSecret::new()?.short());
    let mut file = dir.open_file(&temporary, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)?;
    let made = file
        .try_lock()
        .map_err(io::Error::from)
        .and_then(|()| write(&mut file))
        .and_then(|()| Ok(renameat_with(dir, &temporary, dir, name, RenameFlags::NOREPLACE)?));
    match made {
        Ok(()) => Ok(file),
        Err(error) => {
            dir.remove(&temporary);
            Err(error)
        }
    }
}

/// Removes a temporary file of a process that was killed.
pub(super) fn remove_stale(dir: &SocketDir, file: &str) {
    if !file.starts_with(PREFIX) {
        return;
    }
    let made = dir.open_file(file, OFlags::RDONLY).and_then(|file| file.metadata()?.modified());
    if made.is_ok_and(|made| made.elapsed().is_ok_and(|age| age > MAX_AGE)) {
        dir.remove(file);
    }
}
