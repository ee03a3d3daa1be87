//! Presence: a locked file tells processes that have not asked yet that an approver is watching.

use std::fs::File;
use std::io;

use rustix::fs::OFlags;

use super::atomic_file;
use super::secret::AccessSecret;
use super::socket_dir::SocketDir;

const PREFIX: &str = "here-";

/// The presence of an approver, until dropped.
#[derive(Debug)]
pub struct ApproverPresence {
    dir: SocketDir,
    name: String,
    file: File,
}

impl ApproverPresence {
    pub(super) fn new(dir: SocketDir) -> io::Result<Self> {
        let name = format!("{PREFIX}{}", AccessSecret::new()?.short());
        let file = atomic_file::create(&dir, &name, |_| Ok(()))?;
        Ok(Self { dir, name, file })
    }
}

impl Drop for ApproverPresence {
    fn drop(&mut self) {
        self.dir.remove(&self.name);
        let _ = self.file.unlock();
    }
}

/// Returns whether an approver is watching. Files of dead processes are removed.
pub(super) fn has_approver(dir: &SocketDir) -> bool {
    let files = dir.files().unwrap_or_default();
    files.iter().filter(|name| name.starts_with(PREFIX)).any(|name| is_locked(dir, name))
}

fn is_locked(dir: &SocketDir, name: &str) -> bool {
    let Ok(file) = dir.open_file(name, OFlags::RDWR) else { return false };
    // A shared lock, so that two processes that check at once do not mistake each other for an approver.
    if file.try_lock_shared().is_err() {
        return true;
    }
    // The name is random and never reused, so it is still the name of this file.
    dir.remove(name);
    let _ = file.unlock();
    false
}
