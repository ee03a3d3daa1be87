//! Locks: files that git makes beside `config`, `index` and the like, fills, and renames over them.
//!
//! A git outside does so too while a run goes on. A process that had its lock open would keep a way to write to what that becomes,
//! and one that put another file in its place would have the git outside rename that. So a lock is touched by the run alone that
//! made it, and made by no call that could meet one of another's.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use pinfold_sandbox::{Attempt, CompletedSyscall, Detail, FileIdentity, Intent};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, openat2, unlinkat};

use super::Why;
use super::git_dir::innermost;
use super::lock_record::{self, LockRecord};
use crate::within::split;

const THEIRS: &str = "a git outside this run is about to put this file in place; if none is running, ask the user to remove it";

/// Locks that are remembered. Further ones count as those of others.
const MAX_LOCKS: usize = 4_096;

/// The locks that this run made.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    ours: HashMap<PathBuf, FileIdentity>,
    /// The directory in which supervisors meet; `None` where they cannot.
    state: Option<PathBuf>,
    /// `None` until a lock is made.
    record: Option<LockRecord>,
}

impl Locks {
    /// No locks yet. Those that runs left whose supervisor was killed are removed. `state`: the directory in which supervisors
    /// meet.
    pub(super) fn new(state: Option<&Path>) -> Self {
        state.into_iter().for_each(lock_record::remove_left);
        Self { state: state.map(Path::to_owned), ..Self::default() }
    }

    /// The reason why a change of a lock is refused.
    pub(super) fn judge(&self, attempt: &Attempt) -> Option<Why> {
        let place = attempt.place.as_path();
        let allowed = match fs::symlink_metadata(place) {
            Ok(_) => attempt.intent == Intent::Metadata || self.are_ours(place),
            Err(error) if error.kind() == io::ErrorKind::NotFound => match attempt.intent {
                Intent::Create => attempt.detail == Detail::Exclusive,
                // Something may be there by the time it is renamed.
                Intent::MoveTo => false,
                _ => true,
            },
            Err(_) => false,
        };
        (!allowed).then(|| THEIRS.to_owned())
    }

    /// Remembers a lock that was made or put there, and forgets one that is gone.
    pub(super) fn carried_out(&mut self, done: &CompletedSyscall) {
        let place = done.attempt.place.as_path();
        if !split(place).1.is_some_and(is_name) {
            return;
        }
        let made = matches!(done.attempt.intent, Intent::Create | Intent::MoveTo);
        match FileIdentity::read(place).filter(|_| made || self.ours.contains_key(place)) {
            Some(file) if self.ours.len() < MAX_LOCKS => {
                self.ours.insert(place.to_owned(), file);
                self.write_down(place, &file);
            }
            Some(_) => {}
            None => {
                self.ours.remove(place);
            }
        }
    }

    /// Without a record it stays when this supervisor is killed: a nuisance, and no more.
    fn write_down(&mut self, place: &Path, file: &FileIdentity) {
        if self.record.is_none() {
            self.record = self.state.take().and_then(|state| LockRecord::new(&state).ok());
        }
        if let Some(record) = &mut self.record {
            let _ = record.add((place, file), self.ours.iter());
        }
    }

    /// Removes those that are left, when no process of the run lives any more.
    pub(crate) fn remove_left(&self) {
        for (place, file) in &self.ours {
            remove(place, file);
        }
    }

    fn are_ours(&self, place: &Path) -> bool {
        self.ours.get(place).is_some_and(|ours| FileIdentity::read(place).as_ref() == Some(ours))
    }
}

/// Returns whether git makes a lock at `below` in a git directory: at its top or beside a reference.
pub(super) fn is_lock(git_dir: &Path, below: &Path) -> bool {
    below.file_name().is_some_and(is_name) && {
        let inner = innermost(git_dir, below);
        inner.iter().count() == 1 || inner.starts_with("refs")
    }
}

/// Removes a lock, if it is still this file. It is looked at and removed in the directory that is held meanwhile: another run in
/// the same folder may move one on its way and lay a link there.
pub(super) fn remove(place: &Path, file: &FileIdentity) {
    const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
    let (Some(parent), Some(name)) = (place.parent(), place.file_name()) else { return };
    let Ok(parent) = openat2(CWD, parent, DIRECTORY, Mode::empty(), ResolveFlags::NO_SYMLINKS) else {
        return;
    };
    if FileIdentity::read_in(parent.as_fd(), name).as_ref() == Some(file) {
        // One that stays is a nuisance, and no more.
        let _ = unlinkat(&parent, name, AtFlags::empty());
    }
}

/// Returns whether git gives such a name to a lock.
pub(super) fn is_name(name: &OsStr) -> bool {
    let name = name.as_bytes();
    name.ends_with(b".lock") || name.starts_with(b"sharedindex_")
}
