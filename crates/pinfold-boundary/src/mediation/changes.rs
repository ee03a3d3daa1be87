//! Changes of a run to files that run or are acted on later, noted as they happen.
//!
//! A file is looked at before its first change and once more at the end: one that ends as it was is no change. Changes by other
//! runs or by a person meanwhile are not noted.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::io::{ErrorKind, Read};
use std::ops::Bound;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use pinfold_sandbox::open_plain;

/// Files that are noted. More are only counted.
const MAX_NOTED: usize = 10_000;

/// Content is compared up to this size; a larger file that was opened for writing counts as changed.
const MAX_COMPARED: u64 = 1 << 20;

/// Noted places.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    files: BTreeMap<PathBuf, PriorState>,
    /// Directories that may have become repositories.
    repositories: BTreeSet<PathBuf>,
    /// Directories that were moved, with all that was in them.
    moved: BTreeSet<PathBuf>,
    /// Symbolic links that were made or moved: what they lead to is at their names as well.
    links: BTreeSet<PathBuf>,
    /// Operations of git that were begun.
    begun: BTreeSet<PathBuf>,
    /// Files by which git goes on with an operation that was begun before.
    continued: BTreeMap<PathBuf, PriorState>,
    /// Number of changes that were not noted.
    more: u64,
}

/// State of a path before its first change.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PriorState {
    Nothing,
    Directory,
    File {
        content: Option<u64>,
        size: u64,
        mode: u32,
    },
    Link(PathBuf),
    Other,
    /// A path that cannot be read, and may be anything.
    Unseen,
}

impl PriorState {
    fn read(place: &Path) -> Self {
        let found = match fs::symlink_metadata(place) {
            Ok(found) => found,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Self::Nothing;
            }
            Err(_) => return Self::Unseen,
        };
        let kind = found.file_type();
        if kind.is_dir() {
            Self::Directory
        } else if kind.is_symlink() {
            fs::read_link(place).map_or(Self::Other, Self::Link)
        } else if kind.is_file() {
            let content = content(place).filter(|_| found.len() <= MAX_COMPARED);
            Self::File { content, size: found.len(), mode: found.mode() & 0o7777 }
        } else {
            Self::Other
        }
    }

    /// Returns whether it is surely the same.
    fn is_still(&self, now: &Self) -> bool {
        match self {
            Self::File { content: None, .. } | Self::Other | Self::Unseen => false,
            before => before == now,
        }
    }
}

fn content(place: &Path) -> Option<u64> {
    let mut file = open_plain(place).ok()?;
    let (mut hash, mut part) = (DefaultHasher::new(), [0; 16 * 1024]);
    loop {
        match file.read(&mut part).ok()? {
            0 => return Some(hash.finish()),
            len => hash.write(part.get(..len)?),
        }
    }
}

/// Adds the state of a place, unless it was noted before. Returns how many were left out.
fn add(
    files: &mut BTreeMap<PathBuf, PriorState>,
    place: &Path,
    state: impl FnOnce(&Path) -> PriorState,
) -> u64 {
    let is_full = files.len() >= MAX_NOTED;
    match files.entry(place.to_owned()) {
        Entry::Occupied(_) => 0,
        Entry::Vacant(_) if is_full => 1,
        Entry::Vacant(free) => {
            free.insert(state(place));
            0
        }
    }
}

/// Returns whether one of these places is a directory or lies in it.
fn has_within(list: &BTreeSet<PathBuf>, directory: &Path) -> bool {
    let from = (Bound::Included(directory), Bound::Unbounded);
    list.range::<Path, _>(from).next().is_some_and(|first| first.starts_with(directory))
}

impl Changes {
    /// A file that matters is about to change.
    pub(crate) fn file(&mut self, place: &Path) {
        self.more += add(&mut self.files, place, PriorState::read);
    }

    /// A file is about to change, or to be put in place of a directory, where nothing was before the run.
    pub(crate) fn new_file(&mut self, place: &Path) {
        self.more += add(&mut self.files, place, |_| PriorState::Nothing);
    }

    /// A file is about to change by which git goes on with an unfinished operation.
    pub(crate) fn continued(&mut self, place: &Path) {
        if !self.begun.iter().any(|state| place.starts_with(state)) {
            self.more += add(&mut self.continued, place, PriorState::read);
        }
    }

    /// A file or directory that may be a repository by now.
    pub(crate) fn repository(&mut self, place: &Path) {
        self.repositories.insert(place.to_owned());
    }

    /// A symbolic link is about to be put at a place. Installations make more among dependencies than are noted, and it matters only
    /// once it is moved out of them.
    pub(crate) fn link(&mut self, place: &Path, is_among_dependencies: bool) {
        if self.links.len() < MAX_NOTED {
            self.links.insert(place.to_owned());
        } else if !is_among_dependencies {
            self.more += 1;
        }
    }

    /// An operation of git was begun.
    pub(crate) fn begun(&mut self, state: &Path) {
        self.begun.insert(state.to_owned());
    }

    /// Directories were moved, all in one step: what was noted in them is where they went by now.
    pub(crate) fn moved(&mut self, moves: &[(&Path, &Path)]) {
        let at = |place: &Path| {
            moves.iter().find_map(|(from, to)| place.strip_prefix(from).ok().map(|below| to.join(below)))
        };
        let inside: Vec<PathBuf> = self.files.keys().filter_map(|place| at(place)).collect();
        for place in inside {
            self.files.entry(place).or_insert(PriorState::Nothing);
        }
        for list in [&mut self.repositories, &mut self.moved, &mut self.links, &mut self.begun] {
            // Most have nothing there, and there may be many links.
            if !moves.iter().any(|(from, _)| has_within(list, from)) {
                continue;
            }
            *list = std::mem::take(list).into_iter().map(|place| at(&place).unwrap_or(place)).collect();
        }
        self.moved.extend(moves.iter().map(|(_, to)| (*to).to_owned()));
    }

    /// Files that are not as they were.
    pub(crate) fn changed(&self) -> impl Iterator<Item = &PathBuf> {
        self.files
            .iter()
            .filter(|(place, before)| !before.is_still(&PriorState::read(place)))
            .map(|(place, _)| place)
    }

    /// Returns whether a file or link was noted, and is what it was.
    pub(crate) fn is_unchanged(&self, place: &Path) -> bool {
        let noted = self.files.get(place);
        let is_whole = |before: &&PriorState| matches!(before, PriorState::File { .. } | PriorState::Link(_));
        noted.filter(is_whole).is_some_and(|before| before.is_still(&PriorState::read(place)))
    }

    /// Returns the directories that may be repositories.
    pub(crate) fn repositories(&self) -> impl Iterator<Item = &PathBuf> {
        self.repositories.iter()
    }

    /// Directories that were moved and are still there.
    pub(crate) fn directories(&self) -> impl Iterator<Item = &PathBuf> {
        self.moved.iter()
    }

    /// Symbolic links that were made or moved.
    pub(crate) fn links(&self) -> impl Iterator<Item = &PathBuf> {
        self.links.iter()
    }

    /// Operations that were begun and not ended, and the changed files of earlier ones.
    pub(crate) fn unfinished(&self) -> impl Iterator<Item = &PathBuf> {
        let is_there = |now: &PriorState| *now != PriorState::Nothing;
        let begun = self.begun.iter().filter(move |state| is_there(&PriorState::read(state)));
        let continued = self.continued.iter().filter(move |(place, before)| {
            let now = PriorState::read(place);
            is_there(&now) && !before.is_still(&now)
        });
        begun.chain(continued.map(|(place, _)| place))
    }

    /// Returns the number of changes that were not noted.
    pub(crate) fn more(&self) -> u64 {
        self.more
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_in_exchanged_directories_goes_with_each() {
        let (one, other) = (Path::new("/f/one"), Path::new("/f/other"));
        for moves in [[(one, other), (other, one)], [(other, one), (one, other)]] {
            let mut changes = Changes::default();
            changes.repository(&one.join(".git"));
            changes.link(&other.join("link"), false);
            changes.moved(&moves);
            assert!(changes.repositories().eq([&other.join(".git")]), "{changes:?}");
            assert!(changes.links().eq([&one.join("link")]), "{changes:?}");
            assert!(changes.directories().eq([one, other]), "{changes:?}");
        }
    }
}
