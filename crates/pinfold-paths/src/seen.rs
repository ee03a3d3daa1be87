//! Record of the files that were read in this session, and of the state that each was in.
//!
//! Promise: `Fresh` means that this caller read this very state; everything else has to be read again.
//! Trap: keyed by the real path, so that a link and its target are one file.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use crate::version::Version;

/// State of a file that is about to be changed, compared with the last read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// Not read in this session.
    Unread,
    /// Unchanged since it was read.
    Fresh,
    /// Read, and another object or in another state by now.
    Changed,
}

/// The files read in one session. May be used from several threads at once.
#[derive(Debug, Default)]
pub struct SessionReads {
    files: RwLock<HashMap<PathBuf, Version>>,
}

impl SessionReads {
    /// Nothing read yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Notes that the file at this real path was read, or written by this session, in this state.
    pub fn mark(&self, real: &Path, version: Version) {
        // A panic elsewhere cannot leave the map half changed: each change is one insertion or removal.
        let mut files = self.files.write().unwrap_or_else(PoisonError::into_inner);
        match files.get_mut(real) {
            Some(known) => *known = version,
            None => drop(files.insert(real.into(), version)),
        }
    }

    /// Forgets a path, because what stood there was removed or moved away.
    pub fn forget(&self, real: &Path) {
        self.files.write().unwrap_or_else(PoisonError::into_inner).remove(real);
    }

    /// Compares the file's present state with the one that was noted.
    #[must_use]
    pub fn check(&self, real: &Path, now: Version) -> Freshness {
        match self.version(real) {
            None => Freshness::Unread,
            Some(known) if known == now => Freshness::Fresh,
            Some(_) => Freshness::Changed,
        }
    }

    /// The state that was noted, for [`Expect::version`](crate::Expect::version).
    #[must_use]
    pub fn version(&self, real: &Path) -> Option<Version> {
        self.files.read().unwrap_or_else(PoisonError::into_inner).get(real).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::version::FileId;

    fn version(ino: u64, ctime_ns: i64) -> Version {
        Version::new(FileId::new(1, ino), 5, ctime_ns, 10)
    }

    #[test]
    fn fresh_means_this_object_in_this_state() {
        let seen = SessionReads::new();
        let path = Path::new("/w/f");
        assert_eq!(seen.check(path, version(1, 1)), Freshness::Unread);
        seen.mark(path, version(1, 1));
        assert_eq!(seen.check(path, version(1, 1)), Freshness::Fresh);
        assert_eq!(seen.check(path, version(1, 2)), Freshness::Changed);
        assert_eq!(seen.check(path, version(2, 1)), Freshness::Changed);
        assert_eq!(seen.check(Path::new("/w/g"), version(1, 1)), Freshness::Unread);
        seen.mark(path, version(1, 2));
        assert_eq!(seen.check(path, version(1, 2)), Freshness::Fresh);
        seen.forget(path);
        assert_eq!(seen.check(path, version(1, 2)), Freshness::Unread);
    }

    #[test]
    fn threads_may_mark_and_check_at_once() {
        let seen = SessionReads::new();
        std::thread::scope(|threads| {
            for ino in 0..4 {
                let seen = &seen;
                threads.spawn(move || {
                    for round in 0..1000 {
                        let path = PathBuf::from(format!("/w/{ino}/{round}"));
                        seen.mark(&path, version(ino, round));
                        assert_eq!(seen.check(&path, version(ino, round)), Freshness::Fresh);
                    }
                });
            }
        });
    }
}
