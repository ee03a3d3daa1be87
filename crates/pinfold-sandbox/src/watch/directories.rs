//! Directories that were walked to a moment ago: a build makes many files in few of them.
//!
//! An entry is believed for a moment only, and dropped when a call moves, removes, replaces or closes anything on its way: within a
//! mediated run nothing else does. Only paths without links and without `..` are kept, so that the path of an entry is its way: a way over
//! a directory and back leads elsewhere once that directory is moved, and nothing in the path of its end says so.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::caller::Beginning;
use super::view::MountView;

/// Lifetime of an entry: changes from outside are noticed after that.
const MOMENT: Duration = Duration::from_millis(20);

/// Entries that are kept; then all are dropped.
const MAX_CACHED: usize = 64;

/// A directory that is held, with its path.
#[derive(Clone, Debug)]
pub(super) struct HeldDirectory {
    pub(super) handle: Rc<OwnedFd>,
    pub(super) real: Rc<Path>,
    /// The view in which it has that path.
    pub(super) view: MountView,
}

/// Directories by where the walk began and the path that it took from there.
#[derive(Debug, Default)]
pub(super) struct Directories {
    /// The last one that was walked to is at the end, where it is looked for first: the next call mostly names something beside.
    known: Vec<KnownDirectory>,
}

/// Directories in which relative paths begin that are opened for reading, and whether these opens are looked at.
#[derive(Debug, Default)]
pub(super) struct ReadBases {
    /// By device and inode.
    known: HashMap<(u64, u64), (bool, Instant)>,
}

impl ReadBases {
    /// Returns whether opens below a directory are looked at, as `look` says or said a moment ago.
    pub(super) fn get(&mut self, directory: (u64, u64), look: impl FnOnce() -> bool) -> bool {
        if let Some((looks, since)) = self.known.get(&directory)
            && since.elapsed() < MOMENT
        {
            return *looks;
        }
        if self.known.len() >= MAX_CACHED {
            self.known.clear();
        }
        let looks = look();
        self.known.insert(directory, (looks, Instant::now()));
        looks
    }
}

/// A directory that was walked to.
#[derive(Debug)]
struct KnownDirectory {
    /// The beginning of the walk (device and inode), and the path from there.
    from: (u64, u64),
    path: Vec<u8>,
    found: HeldDirectory,
    since: Instant,
}

impl Directories {
    /// The directory at the end of a way, walked to by `walk` unless that was done a moment ago. `walk` also says whether its result is kept.
    ///
    /// # Errors
    /// Those of `walk`.
    pub(super) fn get(
        &mut self,
        from: Beginning,
        path: &[u8],
        walk: impl FnOnce() -> io::Result<(HeldDirectory, bool)>,
    ) -> io::Result<HeldDirectory> {
        if leads_back(path) {
            return Ok(walk()?.0);
        }
        let at = self.known.iter().rposition(|known| known.from == from.inode && known.path == path);
        // A path of nothing but a name stays in the directory in which it begins, which the caller has just looked at.
        let is_there =
            |found: &HeldDirectory| if path.is_empty() { !from.is_removed } else { found.is_there() };
        if let Some(known) = at.and_then(|at| self.known.get(at))
            && known.since.elapsed() < MOMENT
            && is_there(&known.found)
        {
            return Ok(known.found.clone());
        }
        if let Some(at) = at {
            self.known.swap_remove(at);
        }
        let (found, is_kept) = walk()?;
        if is_kept {
            if self.known.len() >= MAX_CACHED {
                self.known.clear();
            }
            let since = Instant::now();
            self.known.push(KnownDirectory {
                from: from.inode,
                path: path.to_vec(),
                found: found.clone(),
                since,
            });
        }
        Ok(found)
    }

    /// Drops what lies at or below a place.
    pub(super) fn forget(&mut self, place: &Path) {
        self.known.retain(|known| !known.found.real.starts_with(place));
    }

    /// Drops what lies at, below or above a place.
    pub(super) fn forget_around(&mut self, place: &Path) {
        let is_around = |real: &Path| real.starts_with(place) || place.starts_with(real);
        self.known.retain(|known| !is_around(&known.found.real));
    }
}

/// Returns whether a path leads to the directory above one that it names.
fn leads_back(path: &[u8]) -> bool {
    path.windows(2).any(|pair| pair == b"..") && path.split(|byte| *byte == b'/').any(|name| name == b"..")
}

impl HeldDirectory {
    /// Returns whether it has not been removed: another may have its name by now.
    fn is_there(&self) -> bool {
        rustix::fs::fstat(&*self.handle).is_ok_and(|found| found.st_nlink != 0)
    }

    pub(super) fn join(&self, name: &[u8]) -> PathBuf {
        use std::os::unix::ffi::OsStrExt;
        let mut joined = PathBuf::with_capacity(self.real.as_os_str().len() + 1 + name.len());
        joined.push(&*self.real);
        joined.push(std::ffi::OsStr::from_bytes(name));
        joined
    }
}
