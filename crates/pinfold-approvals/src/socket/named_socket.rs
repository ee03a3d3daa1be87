//! A socket at a path that the user chose, in a private directory.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, chmodat, fstat, statat, unlinkat};
use rustix::process::geteuid;

/// The longest path of a socket, in bytes. [unix(7)](https://man7.org/linux/man-pages/man7/unix.7.html)
const MAX_PATH: usize = 107;

/// Reason why there is no socket at a path.
#[derive(Debug, thiserror::Error)]
pub enum NamedSocketError {
    /// The path is not valid for a socket.
    #[error("{0}")]
    Name(&'static str),
    /// Other users could replace it.
    #[error(
        "its directory {0}\nchoose a path in a directory that only you can write, such as $XDG_RUNTIME_DIR"
    )]
    Folder(&'static str),
    /// Another file is at the path.
    #[error("{0}\nchoose another path, or remove it")]
    Taken(&'static str),
    /// The system's error.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A socket at its path. Dropping it removes the socket.
#[derive(Debug)]
pub struct NamedSocket {
    folder: File,
    name: PathBuf,
    identity: (u64, u64),
}

impl NamedSocket {
    /// Listens at a path. A socket that a dead process left there is removed first.
    ///
    /// # Errors
    /// [`NamedSocketError`] says what is wrong with the path.
    pub fn listen(path: &Path) -> Result<(Self, UnixListener), NamedSocketError> {
        if path.as_os_str().len() > MAX_PATH {
            return Err(NamedSocketError::Name("it is longer than 107 bytes, the limit for sockets"));
        }
        let name =
            path.file_name().map(PathBuf::from).ok_or(NamedSocketError::Name("it has no file name"))?;
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let folder = folder(parent.unwrap_or(Path::new(".")))?;
        // Serializes processes that start at the same time.
        folder.lock()?;
        let listener = listener(&folder, &name);
        let _ = folder.unlock();
        let (listener, identity) = listener?;
        Ok((Self { folder, name, identity }, listener))
    }
}

impl Drop for NamedSocket {
    fn drop(&mut self) {
        if identity(&self.folder, &self.name).is_ok_and(|now| now == self.identity) {
            let _ = unlinkat(&self.folder, &self.name, AtFlags::empty());
        }
    }
}

/// Opens a directory that this user owns and no other user can write.
fn folder(path: &Path) -> Result<File, NamedSocketError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = File::from(rustix::fs::open(path, flags, Mode::empty()).map_err(io::Error::from)?);
    let found = fstat(&folder).map_err(io::Error::from)?;
    if found.st_uid != geteuid().as_raw() {
        return Err(NamedSocketError::Folder("belongs to another user"));
    }
    if found.st_mode & 0o022 != 0 {
        return Err(NamedSocketError::Folder("is writable by other users"));
    }
    Ok(folder)
}

fn listener(folder: &File, name: &Path) -> Result<(UnixListener, (u64, u64)), NamedSocketError> {
    let reach = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd())).join(name);
    match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(rustix::io::Errno::NOENT) => {}
        Err(error) => return Err(io::Error::from(error).into()),
        Ok(there) if FileType::from_raw_mode(there.st_mode) != FileType::Socket => {
            return Err(NamedSocketError::Taken("another file is there"));
        }
        Ok(_) => match UnixStream::connect(&reach) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                unlinkat(folder, name, AtFlags::empty()).map_err(io::Error::from)?;
            }
            Ok(_) | Err(_) => return Err(NamedSocketError::Taken("another process listens there")),
        },
    }
    let listener = UnixListener::bind(&reach)?;
    chmodat(folder, name, Mode::RUSR | Mode::WUSR, AtFlags::empty()).map_err(io::Error::from)?;
    Ok((listener, identity(folder, name)?))
}

fn identity(folder: &File, name: &Path) -> io::Result<(u64, u64)> {
    let found = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok((found.st_dev, found.st_ino))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn private() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    #[test]
    fn it_is_for_one_person_and_goes_with_who_listens() {
        let folder = private();
        let path = folder.path().join("s");
        let (named, _listener) = NamedSocket::listen(&path).unwrap();
        assert_eq!(fs::symlink_metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(matches!(NamedSocket::listen(&path), Err(NamedSocketError::Taken(_))), "somebody answers");
        assert!(UnixStream::connect(&path).is_ok(), "and still does");
        drop(named);
        assert!(!path.exists());
    }

    #[test]
    fn what_a_dead_process_left_is_taken_away_and_nothing_else_is() {
        let folder = private();
        let path = folder.path().join("s");
        drop(UnixListener::bind(&path).unwrap());
        // A child that another test is starting may hold a copy of the descriptor until it is another program.
        while UnixStream::connect(&path).is_ok() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert!(NamedSocket::listen(&path).is_ok());
        for make in [
            |path: &Path| fs::write(path, "x"),
            |path: &Path| symlink("/nowhere", path),
            |path: &Path| fs::create_dir(path),
        ] {
            let path = private().keep().join("s");
            make(&path).unwrap();
            assert!(matches!(NamedSocket::listen(&path), Err(NamedSocketError::Taken(_))));
            assert!(fs::symlink_metadata(&path).is_ok(), "it stays");
            fs::remove_dir_all(path.parent().unwrap()).unwrap();
        }
    }

    #[test]
    fn what_another_put_in_its_place_is_not_taken_away() {
        let folder = private();
        let path = folder.path().join("s");
        let (named, _listener) = NamedSocket::listen(&path).unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, "theirs").unwrap();
        drop(named);
        assert!(path.exists());
    }

    #[test]
    fn a_folder_that_others_can_write_is_none() {
        let folder = private();
        for mode in [0o770, 0o707, 0o1777] {
            fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
            assert!(
                matches!(NamedSocket::listen(&folder.path().join("s")), Err(NamedSocketError::Folder(_))),
                "{mode:o}"
            );
        }
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        assert!(NamedSocket::listen(&folder.path().join("s")).is_ok());
        assert!(matches!(
            NamedSocket::listen(&folder.path().join("x".repeat(120))),
            Err(NamedSocketError::Name(_))
        ));
        assert!(matches!(NamedSocket::listen(&folder.path().join("gone/s")), Err(NamedSocketError::Io(_))));
        assert!(matches!(NamedSocket::listen(Path::new("/")), Err(NamedSocketError::Name(_))));
    }
}
