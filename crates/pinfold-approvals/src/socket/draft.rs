//! Files that are made under a name for which nobody looks, so that whoever finds them by their own name finds them
//! locked and whole.

use std::fs::File;
use std::io;
use std::time::Duration;

use rustix::fs::{OFlags, RenameFlags, renameat_with};

use super::place::Place;
use super::secret::Secret;

const PREFIX: &str = "new-";

/// How long it takes at most until a draft has its own name. One that is older was left behind.
const MOST: Duration = Duration::from_mins(1);

/// Makes a file with a lock, has it written, and gives it its name, unless that is taken (`AlreadyExists`).
pub(super) fn publish(
    place: &Place,
    name: &str,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<File> {
    let draft = format!("{PREFIX}{}", Secret::new()?.short());
    let mut file = place.open_file(&draft, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)?;
    let made = file
        .try_lock()
        .map_err(io::Error::from)
        .and_then(|()| write(&mut file))
        .and_then(|()| Ok(renameat_with(place, &draft, place, name, RenameFlags::NOREPLACE)?));
    match made {
        Ok(()) => Ok(file),
        Err(error) => {
            place.remove(&draft);
            Err(error)
        }
    }
}

/// Takes away what somebody left behind who was killed while they made it.
pub(super) fn clear_if_left(place: &Place, file: &str) {
    if !file.starts_with(PREFIX) {
        return;
    }
    let made = place.open_file(file, OFlags::RDONLY).and_then(|file| file.metadata()?.modified());
    if made.is_ok_and(|made| made.elapsed().is_ok_and(|age| age > MOST)) {
        place.remove(file);
    }
}
