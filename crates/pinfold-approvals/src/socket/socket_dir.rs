//! The private directory of a user's approval sockets, verified through its descriptor.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, Dir, Mode, OFlags, fstat, openat, unlinkat};
use rustix::process::geteuid;

use super::{atomic_file, presence, registration};

/// The base directories, best first. The caller reads the environment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SocketHomes {
    /// `XDG_RUNTIME_DIR`, which lasts as long as a login.
    pub runtime: Option<PathBuf>,
    /// The directory of pinfold's state.
    pub state: Option<PathBuf>,
}

impl SocketHomes {
    /// Every directory in which sockets of this user can be. All of them are hidden from confined processes.
    pub fn paths(&self) -> Vec<PathBuf> {
        let usual = PathBuf::from(format!("/run/user/{}", geteuid().as_raw()));
        let runtime = self.runtime.iter().chain([&usual]).map(|home| home.join("pinfold"));
        let mut paths: Vec<PathBuf> = runtime.chain(self.state.iter().map(|home| home.join("run"))).collect();
        paths.dedup();
        paths
    }

    /// Creates each directory whose base exists, so that it can be hidden from processes that start now, and returns
    /// those that exist.
    pub fn create_all(&self) -> Vec<PathBuf> {
        let mut paths = self.paths();
        paths.retain(|path| path.is_dir() || create_private(path).is_ok());
        paths
    }
}

/// Reason why there is no such directory.
#[derive(Debug, thiserror::Error)]
pub enum SocketDirError {
    /// No base directory is known.
    #[error("no directory for sockets is known\nset XDG_RUNTIME_DIR or HOME")]
    NoHome,
    /// Creating or opening it failed.
    #[error("`{}`: {error}", path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// Other users can access it, or own it.
    #[error("`{}` {what}
remove it, or make it private: chmod 700", path.display())]
    NotPrivate {
        /// The directory.
        path: PathBuf,
        /// The reason.
        what: &'static str,
    },
}

/// The directory, held open.
///
/// # Invariants
/// This user owns it and no other user can enter it. Names in it are reached through the descriptor, so that it cannot
/// be replaced.
#[derive(Debug, Clone)]
pub struct SocketDir {
    fd: Arc<OwnedFd>,
    path: Arc<Path>,
}

impl SocketDir {
    /// Opens the directory in the first usable base, and creates it if needed.
    ///
    /// # Errors
    /// When there is none.
    pub fn open(homes: &SocketHomes) -> Result<Self, SocketDirError> {
        let runtime = homes.runtime.as_ref().map(|home| home.join("pinfold"));
        let state = homes.state.as_ref().map(|home| home.join("run"));
        let mut last = SocketDirError::NoHome;
        for path in runtime.into_iter().chain(state) {
            match Self::create(&path) {
                Ok(place) => return Ok(place),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Opens all directories that exist: sockets may have been created in another environment.
    pub fn all(homes: &SocketHomes) -> Vec<Self> {
        homes.paths().iter().filter_map(|path| Self::open_checked(path).ok()).collect()
    }

    fn create(path: &Path) -> Result<Self, SocketDirError> {
        let failed = |error| SocketDirError::Io { path: path.to_owned(), error };
        create_private(path).map_err(failed)?;
        Self::open_checked(path)
    }

    fn open_checked(path: &Path) -> Result<Self, SocketDirError> {
        let failed =
            |error: rustix::io::Errno| SocketDirError::Io { path: path.to_owned(), error: error.into() };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::open(path, flags, Mode::empty()).map_err(failed)?;
        let stat = fstat(&fd).map_err(failed)?;
        let not_private = |what| Err(SocketDirError::NotPrivate { path: path.to_owned(), what });
        if stat.st_uid != geteuid().as_raw() {
            return not_private("belongs to another user");
        }
        if stat.st_mode & 0o077 != 0 {
            return not_private("is accessible to other users");
        }
        Ok(Self { fd: Arc::new(fd), path: path.into() })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The names of the registered processes. Registrations of processes that have ended are removed.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let files = self.files()?;
        for file in &files {
            atomic_file::remove_stale(self, file);
        }
        let mut names: Vec<String> = files.iter().filter_map(|file| registration::name_of(file)).collect();
        names.retain(|name| !registration::remove_stale(self, name));
        names.sort();
        Ok(names)
    }

    /// Registers an approver who is watching, until the result is dropped.
    ///
    /// # Errors
    /// When the directory cannot be written.
    pub fn register_approver(&self) -> io::Result<super::ApproverPresence> {
        super::ApproverPresence::new(self.clone())
    }

    /// Returns whether an approver is watching.
    pub fn has_approver(&self) -> bool {
        presence::has_approver(self)
    }

    pub(super) fn files(&self) -> io::Result<Vec<String>> {
        let entries = Dir::read_from(&*self.fd)?;
        let name = |entry: rustix::io::Result<rustix::fs::DirEntry>| {
            Some(entry.ok()?.file_name().to_str().ok()?.to_owned())
        };
        Ok(entries.filter_map(name).collect())
    }

    /// A path to a name in the directory, independent of the directory's own path. It is short, as socket paths have to
    /// be (unix(7)).
    pub(super) fn path_of(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}/{name}", self.fd.as_raw_fd()))
    }

    pub(super) fn open_file(&self, name: &str, flags: OFlags) -> io::Result<fs::File> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        Ok(openat(&*self.fd, name, flags, Mode::RUSR | Mode::WUSR)?.into())
    }

    pub(super) fn remove(&self, name: &str) {
        // Another process may have removed it first.
        let _ = unlinkat(&*self.fd, name, AtFlags::empty());
    }
}

impl AsFd for SocketDir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Creates the directory, and pinfold's own parents of it; the base itself has to exist.
fn create_private(path: &Path) -> io::Result<()> {
    let home = path.parent().unwrap_or(path);
    if path.ends_with("run") {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(home)?;
    } else {
        check_runtime_dir(home)?;
    }
    match fs::DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        done => done,
    }
}

/// Returns whether a directory is what the variable has to name: owned by this user, and not writable by others. After
/// `su` the variable may still name another user's, and in containers a shared one.
/// [basedir](https://specifications.freedesktop.org/basedir-spec/latest/)
fn check_runtime_dir(home: &Path) -> io::Result<()> {
    let found = fs::metadata(home)?;
    if found.is_dir() && found.uid() == geteuid().as_raw() && found.mode() & 0o022 == 0 {
        Ok(())
    } else {
        Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "its parent directory is not private to this user",
        ))
    }
}
