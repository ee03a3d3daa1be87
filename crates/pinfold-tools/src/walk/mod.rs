//! Looks through a tree by handles, several folders at a time.
//!
//! Every folder is opened in the one above it, so a folder that is swapped for a link is not entered, links are
//! never followed, and nothing but folders and regular files is opened. What git ignores is passed over.
//!
//! Trap: folders come in no particular order; the caller sorts results.

mod ignores;

use std::ffi::{OsStr, OsString};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use ignore::Match;
use ignore::overrides::Override;
use ignore::types::Types;
use pinfold::paths::{Directory, DirectoryEntry, EntryKind, Kind};
use pinfold::{ExcludedEntries, ReadTarget};

use ignores::Ignores;

/// Entries looked at before a walk is cut short: the largest repositories have a fifth of it.
const MAX_ENTRIES: usize = 5_000_000;
/// Threads at most; beyond, the disk is the limit.
const MAX_THREADS: usize = 8;
/// Folders below folders: each level may hold a descriptor open.
const DEEPEST: usize = 400;

/// An entry that a walk met.
pub(crate) struct WalkedEntry<'a> {
    /// Path of it, for names and patterns.
    pub(crate) path: &'a Path,
    /// The open folder it stands in.
    pub(crate) folder: &'a Directory,
    /// Its name there.
    pub(crate) name: &'a OsStr,
    /// A file or a link; folders and special files are not shown to visitors.
    pub(crate) kind: EntryKind,
}

/// Filter of names to pass over, besides those that git ignores.
#[derive(Default)]
pub(crate) struct NameFilter {
    pub(crate) globs: Option<Override>,
    pub(crate) types: Option<Types>,
}

/// Tally of a walk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Entries looked at.
    pub(crate) entries: usize,
    /// Folders that could not be opened.
    pub(crate) unreadable: usize,
    /// The walk ended before all was seen.
    pub(crate) cut: bool,
}

/// Walks below `top`, which `target` holds. Each thread gets a visitor of its own; one that answers `false` ends the walk.
pub(crate) fn walk<V, M>(target: &ReadTarget, top: Directory, filter: &NameFilter, visitor: M) -> Tally
where
    M: Fn() -> V + Sync,
    V: FnMut(&WalkedEntry<'_>) -> bool,
{
    let ignores = Arc::new(ignores::ancestor_rules(target));
    let first = Job { folder: FolderHandle::Top(top), path: target.real().to_owned(), ignores, depth: 0 };
    let queue = Queue {
        state: Mutex::new(WalkState { jobs: vec![first], busy: 0, tally: Tally::default() }),
        changed: Condvar::new(),
    };
    let left_out = target.left_out();
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS);
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|| work(&queue, filter, &left_out, visitor()));
        }
        work(&queue, filter, &left_out, visitor());
    });
    queue.lock().tally
}

/// A folder that waits to be looked through.
struct Job {
    folder: FolderHandle,
    path: PathBuf,
    ignores: Arc<Ignores>,
    depth: usize,
}

enum FolderHandle {
    Top(Directory),
    In { above: Arc<Directory>, name: OsString },
}

impl FolderHandle {
    fn open(self) -> Option<Directory> {
        match self {
            Self::Top(folder) => Some(folder),
            Self::In { above, name } => above.open_dir(&name).ok(),
        }
    }
}

struct Queue {
    state: Mutex<WalkState>,
    changed: Condvar,
}

struct WalkState {
    /// Taken from the end, so that few folders are open at a time.
    jobs: Vec<Job>,
    busy: usize,
    tally: Tally,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, WalkState> {
        // A visitor that panicked leaves whole jobs behind.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next folder; `None` when all is done.
    fn take(&self) -> Option<Job> {
        let mut state = self.lock();
        loop {
            if state.tally.cut {
                return None;
            }
            if let Some(job) = state.jobs.pop() {
                state.busy += 1;
                return Some(job);
            }
            if state.busy == 0 {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn finish(&self, seen: FolderContent) {
        let mut state = self.lock();
        state.busy -= 1;
        state.jobs.extend(seen.folders);
        state.tally.entries += seen.entries;
        state.tally.unreadable += usize::from(seen.unreadable);
        state.tally.cut |= seen.enough || state.tally.entries > MAX_ENTRIES;
        drop(state);
        self.changed.notify_all();
    }
}

/// Content of one folder.
#[derive(Default)]
struct FolderContent {
    folders: Vec<Job>,
    entries: usize,
    unreadable: bool,
    enough: bool,
}

fn work(
    queue: &Queue,
    filter: &NameFilter,
    left_out: &ExcludedEntries,
    mut visit: impl FnMut(&WalkedEntry<'_>) -> bool,
) {
    while let Some(job) = queue.take() {
        queue.finish(look_through(job, filter, left_out, &mut visit));
    }
}

fn look_through(
    job: Job,
    filter: &NameFilter,
    left_out: &ExcludedEntries,
    visit: &mut impl FnMut(&WalkedEntry<'_>) -> bool,
) -> FolderContent {
    let Job { folder, mut path, ignores, depth } = job;
    let mut seen = FolderContent::default();
    let Some(folder) = folder.open().map(Arc::new) else {
        return FolderContent { unreadable: true, ..seen };
    };
    let Ok(listing) = folder.entries() else {
        return FolderContent { unreadable: true, ..seen };
    };
    let entries: Vec<DirectoryEntry> = listing.filter_map(Result::ok).collect();
    seen.entries = entries.len();
    let ignores = Ignores::descend(ignores, &folder, &path, &entries);
    for DirectoryEntry { name, kind } in entries {
        let Some(kind) = kind.or_else(|| kind_of(&folder, &name)) else { continue };
        path.push(&name);
        match kind {
            EntryKind::Directory | EntryKind::File | EntryKind::Link if left_out.covers(&path) => {}
            EntryKind::Special => {}
            EntryKind::Directory => {
                if depth < DEEPEST && enters(filter, &ignores, &name, &path) {
                    let place = FolderHandle::In { above: Arc::clone(&folder), name };
                    let ignores = Arc::clone(&ignores);
                    seen.folders.push(Job { folder: place, path: path.clone(), ignores, depth: depth + 1 });
                }
            }
            EntryKind::File | EntryKind::Link => {
                if shows(filter, &ignores, &path)
                    && !visit(&WalkedEntry { path: &path, folder: &folder, name: &name, kind })
                {
                    seen.enough = true;
                    return seen;
                }
            }
        }
        path.pop();
    }
    seen
}

fn kind_of(folder: &Directory, name: &OsStr) -> Option<EntryKind> {
    match folder.kind(name).ok()? {
        Kind::File { .. } => Some(EntryKind::File),
        Kind::Directory => Some(EntryKind::Directory),
        Kind::Link => Some(EntryKind::Link),
        Kind::Special(_) => Some(EntryKind::Special),
        Kind::Missing { .. } => None,
    }
}

/// Git's own folder holds objects, not files of the project.
fn enters(filter: &NameFilter, ignores: &Ignores, name: &OsStr, path: &Path) -> bool {
    if name == ".git" {
        return false;
    }
    match filter.globs.as_ref().map(|globs| globs.matched(path, true)) {
        Some(Match::Ignore(_)) => false,
        Some(Match::Whitelist(_)) => true,
        Some(Match::None) | None => !ignores.matches(path, true),
    }
}

/// A glob that names a file outweighs an ignore file, as in ripgrep.
fn shows(filter: &NameFilter, ignores: &Ignores, path: &Path) -> bool {
    let by_glob = match filter.globs.as_ref().map(|globs| globs.matched(path, false)) {
        Some(Match::Ignore(_)) => return false,
        Some(Match::Whitelist(_)) => true,
        Some(Match::None) | None => false,
    };
    if filter.types.as_ref().is_some_and(|types| types.matched(path, false).is_ignore()) {
        return false;
    }
    by_glob || !ignores.matches(path, false)
}
