//! A name in the directory: a file with a lock and a secret, and a socket beside it.
//!
//! The lock is on the file with the secret for as long as the process lives, so what a killed process left behind is
//! known by the missing lock. Whoever holds the lock owns both names.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixListener;

use rustix::fs::{AtFlags, Mode, OFlags, chmodat, statat};

use super::draft;
use super::place::Place;
use super::secret::Secret;

/// How often another name is tried.
const MOST_NAMES: u32 = 64;
/// The longest name; it also has to fit into a file name with what is put behind it.
const LONGEST: usize = 64;

/// A name that belongs to this process.
#[derive(Debug)]
pub(super) struct Seat {
    place: Place,
    name: String,
    key: File,
}

impl Seat {
    /// Takes `wanted`, or a name like it that is free, and listens there.
    pub(super) fn take(place: &Place, wanted: &str, secret: &Secret) -> io::Result<(Self, UnixListener)> {
        let wanted = plain(wanted);
        for turn in 0..MOST_NAMES {
            let name = if turn == 0 { wanted.clone() } else { format!("{wanted}.{turn}") };
            match Self::named(place, &name, secret) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                done => return done,
            }
        }
        Err(io::Error::new(io::ErrorKind::AddrInUse, format!("every name like `{wanted}` is taken")))
    }

    fn named(place: &Place, name: &str, secret: &Secret) -> io::Result<(Self, UnixListener)> {
        clear_if_left(place, name);
        let key = draft::publish(place, &key_of(name), |key| key.write_all(secret.text().as_bytes()))?;
        let seat = Self { place: place.clone(), name: name.to_owned(), key };
        let socket = socket_of(name);
        place.remove(&socket);
        let listener = UnixListener::bind(place.reach(&socket))?;
        chmodat(place, &socket, Mode::RUSR | Mode::WUSR, AtFlags::empty())?;
        Ok((seat, listener))
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.place.remove(&socket_of(&self.name));
        self.place.remove(&key_of(&self.name));
        // By word: a process that is just being started may hold a copy of the descriptor.
        let _ = self.key.unlock();
    }
}

pub(super) fn key_of(name: &str) -> String {
    format!("{name}.key")
}

pub(super) fn socket_of(name: &str) -> String {
    format!("{name}.sock")
}

/// The name that a file of the directory stands for.
pub(super) fn name_of(file: &str) -> Option<String> {
    file.strip_suffix(".key").filter(|name| *name == plain(name)).map(str::to_owned)
}

/// Takes away what a process left behind that lives no more. `true` when there is nothing of that name any more.
pub(super) fn clear_if_left(place: &Place, name: &str) -> bool {
    let key = match place.open_file(&key_of(name), OFlags::RDWR) {
        Ok(key) => key,
        Err(error) => return error.kind() == io::ErrorKind::NotFound,
    };
    if key.try_lock().is_err() {
        return false;
    }
    // The name may belong to a newer file by now, which is somebody else's.
    let same = key.metadata().ok().zip(statat(place, key_of(name), AtFlags::SYMLINK_NOFOLLOW).ok());
    if same.is_some_and(|(held, named)| (held.dev(), held.ino()) == (named.st_dev, named.st_ino)) {
        place.remove(&socket_of(name));
        place.remove(&key_of(name));
    }
    let _ = key.unlock();
    true
}

/// A name of letters, digits and a few marks, which no file system and no screen takes for anything else.
fn plain(name: &str) -> String {
    let kept = name.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' });
    let kept: String = kept.take(LONGEST).collect();
    let kept = kept.trim_start_matches('.');
    if kept.is_empty() { "session".to_owned() } else { kept.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain() {
        for (said, name) in [
            ("call-12", "call-12"),
            ("../../etc/x", "-..-etc-x"),
            ("", "session"),
            ("...", "session"),
            ("a b\u{202e}\n", "a-b--"),
        ] {
            assert_eq!(plain(said), name);
        }
        assert!(plain(&"x".repeat(1000)).len() <= LONGEST);
        assert_eq!(name_of("a.key").as_deref(), Some("a"));
        assert_eq!(name_of("a.sock"), None);
        assert_eq!(name_of(".key"), None);
    }
}
