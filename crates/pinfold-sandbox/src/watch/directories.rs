//! Directories that were walked to a moment ago: a build makes many files in few of them.
//!
//! An entry is believed for a moment only, and dropped when a call moves, removes or replaces anything on its way: within a
//! mediated run nothing else does. Only paths without links are kept, so that the path of an entry is its way.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Lifetime of an entry: changes from outside are noticed after that.
const MOMENT: Duration = Duration::from_millis(20);

/// Entries that are kept; then all are dropped.
const MOST: usize = 64;

/// A directory that is held, with its path.
#[derive(Clone, Debug)]
pub(super) struct HeldDirectory {
    pub(super) handle: Rc<OwnedFd>,
    pub(super) real: Rc<Path>,
}

/// Directories by where the walk began and the path that it took from there.
#[derive(Debug, Default)]
pub(super) struct Directories {
    known: HashMap<Way, (HeldDirectory, Instant)>,
}

/// The beginning of a walk (device and inode), and the path from there.
type Way = ((u64, u64), Vec<u8>);

impl Directories {
    /// The directory at the end of a way, walked to by `walk` unless that was done a moment ago.
    ///
    /// # Errors
    /// Those of `walk`.
    pub(super) fn get(
        &mut self,
        from: (u64, u64),
        path: &[u8],
        walk: impl FnOnce() -> io::Result<(HeldDirectory, bool)>,
    ) -> io::Result<HeldDirectory> {
        let way = (from, path.to_vec());
        if let Some((found, since)) = self.known.get(&way)
            && since.elapsed() < MOMENT
        {
            return Ok(found.clone());
        }
        let (found, plain) = walk()?;
        if plain {
            if self.known.len() >= MOST {
                self.known.clear();
            }
            self.known.insert(way, (found.clone(), Instant::now()));
        }
        Ok(found)
    }

    /// Drops what lies at or below a place.
    pub(super) fn forget(&mut self, place: &Path) {
        self.known.retain(|_, (known, _)| !known.real.starts_with(place));
    }
}

impl HeldDirectory {
    pub(super) fn join(&self, name: &[u8]) -> PathBuf {
        use std::os::unix::ffi::OsStrExt;
        self.real.join(std::ffi::OsStr::from_bytes(name))
    }
}
