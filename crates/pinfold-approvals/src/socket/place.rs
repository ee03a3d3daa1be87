//! The directory in which the sockets of one person are: theirs alone, checked by the kernel's word about it.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, Dir, Mode, OFlags, fstat, openat, unlinkat};
use rustix::process::geteuid;

use super::{draft, presence, seat};

/// Where such a directory can be, best first. Whoever reads the environment says so.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Homes {
    /// The directory for what lasts as long as a login: `XDG_RUNTIME_DIR`.
    pub runtime: Option<PathBuf>,
    /// Where pinfold keeps its state.
    pub state: Option<PathBuf>,
}

impl Homes {
    /// All places in which sockets of this person can be. None of them may be seen by what is confined.
    pub fn places(&self) -> Vec<PathBuf> {
        let usual = PathBuf::from(format!("/run/user/{}", geteuid().as_raw()));
        let runtime = self.runtime.iter().chain([&usual]).map(|home| home.join("pinfold"));
        let mut places: Vec<PathBuf> =
            runtime.chain(self.state.iter().map(|home| home.join("run"))).collect();
        places.dedup();
        places
    }

    /// Makes each of them whose home is there, so that it can be hidden from what starts now, and gives those that
    /// exist.
    pub fn made(&self) -> Vec<PathBuf> {
        let mut places = self.places();
        places.retain(|place| place.is_dir() || make(place).is_ok());
        places
    }
}

/// Why there is no such directory.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// Nobody said where.
    #[error("there is no home for sockets\nset XDG_RUNTIME_DIR or HOME")]
    NoHome,
    /// It cannot be made or opened.
    #[error("`{}`: {error}", path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// Others can write or read it, or it is somebody else's.
    #[error("`{}` {what}\ntake it away, or give it to its owner alone: chmod 700", path.display())]
    NotPrivate {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
}

/// The directory, held open.
///
/// # Invariants
/// It belongs to this user and nobody else can enter it. Names in it are reached through the descriptor, so the
/// directory cannot be swapped.
#[derive(Debug, Clone)]
pub struct Place {
    fd: Arc<OwnedFd>,
    path: Arc<Path>,
}

impl Place {
    /// Opens the first of the homes that can be had, and makes the directory if need be.
    ///
    /// # Errors
    /// When there is none.
    pub fn open(homes: &Homes) -> Result<Self, PlaceError> {
        let runtime = homes.runtime.as_ref().map(|home| home.join("pinfold"));
        let state = homes.state.as_ref().map(|home| home.join("run"));
        let mut last = PlaceError::NoHome;
        for path in runtime.into_iter().chain(state) {
            match Self::at(&path) {
                Ok(place) => return Ok(place),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Opens those that are there: sockets may have been made in another environment.
    pub fn all(homes: &Homes) -> Vec<Self> {
        homes.places().iter().filter_map(|path| Self::checked(path).ok()).collect()
    }

    fn at(path: &Path) -> Result<Self, PlaceError> {
        let failed = |error| PlaceError::Io { path: path.to_owned(), error };
        make(path).map_err(failed)?;
        Self::checked(path)
    }

    fn checked(path: &Path) -> Result<Self, PlaceError> {
        let failed = |error: rustix::io::Errno| PlaceError::Io { path: path.to_owned(), error: error.into() };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::open(path, flags, Mode::empty()).map_err(failed)?;
        let stat = fstat(&fd).map_err(failed)?;
        let not_private = |what| Err(PlaceError::NotPrivate { path: path.to_owned(), what });
        if stat.st_uid != geteuid().as_raw() {
            return not_private("belongs to somebody else");
        }
        if stat.st_mode & 0o077 != 0 {
            return not_private("can be entered by others");
        }
        Ok(Self { fd: Arc::new(fd), path: path.into() })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The names of the processes that ask here, those that have ended taken away.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let files = self.files()?;
        for file in &files {
            draft::clear_if_left(self, file);
        }
        let mut names: Vec<String> = files.iter().filter_map(|file| seat::name_of(file)).collect();
        names.retain(|name| !seat::clear_if_left(self, name));
        names.sort();
        Ok(names)
    }

    /// Says that a person is here and watches, for as long as the answer lives.
    ///
    /// # Errors
    /// When the directory cannot be written.
    pub fn be_present(&self) -> io::Result<super::Presence> {
        super::Presence::new(self.clone())
    }

    /// Whether a person is here.
    pub fn is_anybody_here(&self) -> bool {
        presence::is_anybody_in(self)
    }

    pub(super) fn files(&self) -> io::Result<Vec<String>> {
        let entries = Dir::read_from(&*self.fd)?;
        let name = |entry: rustix::io::Result<rustix::fs::DirEntry>| {
            Some(entry.ok()?.file_name().to_str().ok()?.to_owned())
        };
        Ok(entries.filter_map(name).collect())
    }

    /// A path that leads to a name here whatever the directory is called by now. It is short, as names of sockets have
    /// to be.
    pub(super) fn reach(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}/{name}", self.fd.as_raw_fd()))
    }

    pub(super) fn open_file(&self, name: &str, flags: OFlags) -> io::Result<fs::File> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        Ok(openat(&*self.fd, name, flags, Mode::RUSR | Mode::WUSR)?.into())
    }

    pub(super) fn remove(&self, name: &str) {
        // Whoever else wants it away may have been quicker.
        let _ = unlinkat(&*self.fd, name, AtFlags::empty());
    }
}

impl AsFd for Place {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Makes the directory, and those above it that are pinfold's own; the home itself is there or is not.
fn make(path: &Path) -> io::Result<()> {
    let home = path.parent().unwrap_or(path);
    if path.ends_with("run") {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(home)?;
    } else {
        is_a_runtime_directory(home)?;
    }
    match fs::DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        done => done,
    }
}

/// Whether it is what the variable has to name: a directory of this user in which nobody else makes anything. After `su`
/// the variable may still name that of somebody else, and in containers it names what all share.
/// [basedir](https://specifications.freedesktop.org/basedir-spec/latest/)
fn is_a_runtime_directory(home: &Path) -> io::Result<()> {
    let found = fs::metadata(home)?;
    if found.is_dir() && found.uid() == geteuid().as_raw() && found.mode() & 0o022 == 0 {
        Ok(())
    } else {
        Err(io::Error::new(io::ErrorKind::PermissionDenied, "its home is not this user's alone"))
    }
}
