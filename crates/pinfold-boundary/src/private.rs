//! The directory that belongs to one run.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// A directory that is there for as long as this lives.
type DirectoryGuard = Box<dyn AsRef<Path> + Send + Sync>;

/// A directory that belongs to one run. One that can be made [later](Private::later) is made when something is first
/// kept in it, since most runs keep nothing.
#[derive(Clone, Default)]
pub struct Private(Arc<PrivateKind>);

#[derive(Default)]
enum PrivateKind {
    /// There is none: nothing can be kept.
    #[default]
    Nowhere,
    /// A directory that is there, and that its owner removes.
    There(PathBuf),
    Later {
        make: Box<dyn Fn() -> io::Result<DirectoryGuard> + Send + Sync>,
        made: OnceLock<DirectoryGuard>,
    },
}

impl Private {
    /// A directory that exists already, and that its owner removes after the run.
    pub fn existing(directory: impl Into<PathBuf>) -> Self {
        Self(Arc::new(PrivateKind::There(directory.into())))
    }

    /// A directory that `make` makes when it is needed. What it returns is dropped with the last copy of this handle.
    pub fn later<D>(make: impl Fn() -> io::Result<D> + Send + Sync + 'static) -> Self
    where
        D: AsRef<Path> + Send + Sync + 'static,
    {
        let make = Box::new(move || make().map(|made| Box::new(made) as DirectoryGuard));
        Self(Arc::new(PrivateKind::Later { make, made: OnceLock::new() }))
    }

    /// Returns its path; creates it on demand.
    ///
    /// # Errors
    /// When it cannot be made, or when there is none.
    pub fn path(&self) -> io::Result<&Path> {
        match &*self.0 {
            PrivateKind::Nowhere => {
                Err(io::Error::new(io::ErrorKind::NotFound, "no private directory was named"))
            }
            PrivateKind::There(path) => Ok(path),
            PrivateKind::Later { make, made } => {
                if let Some(made) = made.get() {
                    return Ok((**made).as_ref());
                }
                let fresh = make()?;
                Ok((**made.get_or_init(|| fresh)).as_ref())
            }
        }
    }
}

impl fmt::Debug for Private {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match &*self.0 {
            PrivateKind::Nowhere => None,
            PrivateKind::There(path) => Some(path.as_path()),
            PrivateKind::Later { made, .. } => made.get().map(|made| (**made).as_ref()),
        };
        f.debug_tuple("Private").field(&place).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn it_is_made_when_it_is_needed_and_goes_with_the_last_handle() {
        let base = tempfile::tempdir().unwrap();
        let (at, count) = (base.path().to_owned(), || fs::read_dir(base.path()).unwrap().count());
        let private = Private::later(move || tempfile::tempdir_in(&at));
        assert_eq!(count(), 0);
        let copy = private.clone();
        let path = private.path().unwrap().to_owned();
        assert_eq!((path.as_path(), count()), (copy.path().unwrap(), 1));
        drop(private);
        assert!(path.is_dir());
        drop(copy);
        assert_eq!(count(), 0);
        assert!(Private::default().path().is_err());
    }
}
