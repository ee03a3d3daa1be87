//! That a person watches, told to processes that have not begun to ask yet: a file with a lock.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;

use rustix::fs::{AtFlags, OFlags, statat};

use super::place::Place;
use super::secret::Secret;

const PREFIX: &str = "here-";

/// A person is here, as long as this lives.
#[derive(Debug)]
pub struct Presence {
    place: Place,
    name: String,
    file: File,
}

impl Presence {
    pub(super) fn new(place: Place) -> io::Result<Self> {
        let name = format!("{PREFIX}{}", Secret::new()?.short());
        let file = place.open_file(&name, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)?;
        file.try_lock()?;
        Ok(Self { place, name, file })
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.place.remove(&self.name);
        let _ = self.file.unlock();
    }
}

/// Whether somebody is here. What somebody left behind who is gone is taken away.
pub(super) fn is_anybody_in(place: &Place) -> bool {
    let files = place.files().unwrap_or_default();
    files.iter().filter(|name| name.starts_with(PREFIX)).any(|name| is_held(place, name))
}

fn is_held(place: &Place, name: &str) -> bool {
    let Ok(file) = place.open_file(name, OFlags::RDWR) else { return false };
    if file.try_lock().is_err() {
        return true;
    }
    // One that was made just now is not locked yet; it is looked at again.
    let Ok(held) = file.metadata() else { return false };
    let fresh = held.modified().ok().and_then(|at| at.elapsed().ok()).is_none_or(|age| age.as_secs() < 5);
    let named = statat(place, name, AtFlags::SYMLINK_NOFOLLOW).ok();
    if !fresh && named.is_some_and(|named| (held.dev(), held.ino()) == (named.st_dev, named.st_ino)) {
        place.remove(name);
    }
    let _ = file.unlock();
    false
}
