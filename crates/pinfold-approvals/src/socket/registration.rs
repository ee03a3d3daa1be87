//! The registration of a process: a locked file with a secret, and a socket beside it.
//!
//! The file is locked as long as the process lives, so that files of a killed process are recognized by the missing
//! lock. The holder of the lock owns both names.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixListener;

use rustix::fs::{AtFlags, Mode, OFlags, chmodat, statat};

use super::atomic_file;
use super::secret::AccessSecret;
use super::socket_dir::SocketDir;

/// The most alternative names that are tried.
const MAX_NAMES: u32 = 64;
/// The longest name, in bytes; with an extension it has to fit into a file name.
const MAX_NAME: usize = 64;

/// A registered name.
#[derive(Debug)]
pub(super) struct SocketRegistration {
    dir: SocketDir,
    name: String,
    key: File,
}

impl SocketRegistration {
    /// Registers `wanted`, or a similar free name, and listens there.
    pub(super) fn new(
        dir: &SocketDir,
        wanted: &str,
        secret: &AccessSecret,
    ) -> io::Result<(Self, UnixListener)> {
        let wanted = safe_name(wanted);
        for turn in 0..MAX_NAMES {
            let name = if turn == 0 { wanted.clone() } else { format!("{wanted}.{turn}") };
            match Self::named(dir, &name, secret) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                done => return done,
            }
        }
        Err(io::Error::new(io::ErrorKind::AddrInUse, format!("every name like `{wanted}` is in use")))
    }

    fn named(dir: &SocketDir, name: &str, secret: &AccessSecret) -> io::Result<(Self, UnixListener)> {
        remove_stale(dir, name);
        let key = atomic_file::create(dir, &key_of(name), |key| key.write_all(secret.as_str().as_bytes()))?;
        let registration = Self { dir: dir.clone(), name: name.to_owned(), key };
        let socket = socket_of(name);
        dir.remove(&socket);
        let listener = UnixListener::bind(dir.path_of(&socket))?;
        chmodat(dir, &socket, Mode::RUSR | Mode::WUSR, AtFlags::empty())?;
        Ok((registration, listener))
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for SocketRegistration {
    fn drop(&mut self) {
        self.dir.remove(&socket_of(&self.name));
        self.dir.remove(&key_of(&self.name));
        // Explicitly: a process that is just being forked may hold a copy of the descriptor.
        let _ = self.key.unlock();
    }
}

pub(super) fn key_of(name: &str) -> String {
    format!("{name}.key")
}

pub(super) fn socket_of(name: &str) -> String {
    format!("{name}.sock")
}

/// The name that a file of the directory registers.
pub(super) fn name_of(file: &str) -> Option<String> {
    file.strip_suffix(".key").filter(|name| *name == safe_name(name)).map(str::to_owned)
}

/// Removes the registration of a dead process. `true` when there is no such registration any more.
pub(super) fn remove_stale(dir: &SocketDir, name: &str) -> bool {
    let key = match dir.open_file(&key_of(name), OFlags::RDWR) {
        Ok(key) => key,
        Err(error) => return error.kind() == io::ErrorKind::NotFound,
    };
    if key.try_lock().is_err() {
        return false;
    }
    // The name may belong to a newer file of another process by now.
    let same = key.metadata().ok().zip(statat(dir, key_of(name), AtFlags::SYMLINK_NOFOLLOW).ok());
    if same.is_some_and(|(held, named)| (held.dev(), held.ino()) == (named.st_dev, named.st_ino)) {
        dir.remove(&socket_of(name));
        dir.remove(&key_of(name));
    }
    let _ = key.unlock();
    true
}

/// Reduces a name to letters, digits and a few marks that are safe in file names and on screens.
fn safe_name(name: &str) -> String {
    let kept = name.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' });
    let kept: String = kept.take(MAX_NAME).collect();
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
            assert_eq!(safe_name(said), name);
        }
        assert!(safe_name(&"x".repeat(1000)).len() <= MAX_NAME);
        assert_eq!(name_of("a.key").as_deref(), Some("a"));
        assert_eq!(name_of("a.sock"), None);
        assert_eq!(name_of(".key"), None);
    }
}
