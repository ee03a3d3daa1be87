//! That a person watches, told to processes that have not begun to ask yet: a file with a lock.

use std::fs::File;
use std::io;

use rustix::fs::OFlags;

use super::draft;
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
        let file = draft::publish(&place, &name, |_| Ok(()))?;
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
    // Shared, so that two who look at once do not take each other for a person.
    if file.try_lock_shared().is_err() {
        return true;
    }
    // The name is never used again, so it is that of this file.
    place.remove(name);
    let _ = file.unlock();
    false
}
