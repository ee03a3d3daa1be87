//! A directory that is moved out of the folder: one question about all of it.
//!
//! It is never renamed, since what is below it may be changed for as long as it is there. The program is told that the place
//! lies on another file system, as `rename(2)` says it, and copies. A yes covers the copy of what was shown: these names, each
//! as what it was (a folder, a file, a link that leads there), in a tree that was not there before.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use pinfold::paths::show;
use pinfold_sandbox::{FileOperation, Opening, Syscall};

use super::removal::{MAX_LISTED_NAMES, TooMany};

/// A tree with its new place.
#[derive(Debug)]
pub(super) struct MovedTree {
    from: PathBuf,
    to: PathBuf,
    /// By their path below the tree's top, which is the empty one.
    entries: HashMap<PathBuf, Entry>,
    /// Names below the top, in the order in which they are shown: all of them.
    names: Vec<String>,
}

/// Something in a tree.
#[derive(Debug)]
struct Entry {
    kind: EntryKind,
    mode: u32,
    owner: (u32, u32),
}

#[derive(Debug, PartialEq, Eq)]
enum EntryKind {
    Folder,
    File,
    Link(OsString),
}

/// Bits of a mode that let a file be executed.
const EXECUTABLE: u32 = 0o111;

impl MovedTree {
    /// Returns whether a call moves a directory to where nothing is.
    pub(super) fn is_moved_by(call: &Syscall) -> bool {
        let is_folder = |place: &PathBuf| place.symlink_metadata().is_ok_and(|found| found.is_dir());
        let is_missing = |place: &PathBuf| place.symlink_metadata().is_err();
        matches!((&call.operation, call.places.as_slice()),
            (FileOperation::Rename { .. }, [from, to]) if is_folder(from) && is_missing(to))
    }

    /// Looks at the tree that such a call moves. Links are not followed, and nothing of another file system is looked at.
    ///
    /// # Errors
    /// When it is more than can be shown.
    pub(super) fn scan(call: &Syscall) -> Result<Self, TooMany> {
        let [from, to] = call.places.as_slice() else { return Err(TooMany) };
        let mut tree =
            Self { from: from.clone(), to: to.clone(), entries: HashMap::new(), names: Vec::new() };
        let Ok(top) = from.symlink_metadata() else { return Ok(tree) };
        tree.entries.extend(Entry::new(from, &top).map(|entry| (PathBuf::new(), entry)));
        let mut folders = vec![from.clone()];
        while let Some(folder) = folders.pop() {
            let mut found: Vec<_> = fs::read_dir(&folder).into_iter().flatten().flatten().collect();
            found.sort_by_key(fs::DirEntry::file_name);
            for entry in found {
                let (path, Ok(metadata)) = (entry.path(), entry.metadata()) else { continue };
                // A yes is for what was on the screen.
                if tree.names.len() >= MAX_LISTED_NAMES {
                    return Err(TooMany);
                }
                if metadata.is_dir() && metadata.dev() == top.dev() {
                    folders.push(path.clone());
                }
                tree.add(&path, &metadata);
            }
        }
        Ok(tree)
    }

    fn add(&mut self, path: &Path, metadata: &fs::Metadata) {
        let Ok(below) = path.strip_prefix(&self.from) else { return };
        let entry = Entry::new(path, metadata);
        let more = entry.as_ref().map(Entry::describe).unwrap_or_default();
        self.names.push(format!("{}{more}", show(below.as_os_str())));
        self.entries.extend(entry.map(|entry| (below.to_owned(), entry)));
    }

    /// Returns the names below its top.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// The places, in words.
    pub(super) fn describe(&self) -> String {
        format!("move {} to {}", self.from.display(), self.to.display())
    }

    /// Returns the part of the tree whose copy belongs at a path.
    fn entry(&self, place: &Path) -> Option<&Entry> {
        let below = place.strip_prefix(&self.to).ok()?;
        self.entries.get(below)
    }

    /// Returns whether a call renames a part of the tree to where its copy belongs. It is copied like the whole: `mv` tries this for
    /// each name.
    pub(super) fn is_renamed_in_part_by(&self, call: &Syscall) -> bool {
        let (FileOperation::Rename { .. }, [from, to]) = (&call.operation, call.places.as_slice()) else {
            return false;
        };
        let (from, to) = (from.strip_prefix(&self.from), to.strip_prefix(&self.to));
        from.is_ok() && from == to && to.is_ok_and(|below| self.entries.contains_key(below))
    }

    /// Returns whether a call makes a part of the copy, or changes one that was made. `made`: the places that were.
    pub(super) fn covers(&self, call: &Syscall, made: &HashSet<PathBuf>) -> bool {
        let is_new = |place: &PathBuf| place.symlink_metadata().is_err();
        match (&call.operation, call.places.as_slice()) {
            (FileOperation::Link { .. }, [from, to]) => {
                let is_file = |place| self.entry(place).is_some_and(|entry| entry.kind == EntryKind::File);
                made.contains(from) && is_file(from) && is_file(to) && is_new(to)
            }
            (operation, [place]) => {
                let is_made = made.contains(place);
                self.entry(place).is_some_and(|entry| match operation {
                    FileOperation::MakeDir { .. } => entry.kind == EntryKind::Folder && is_new(place),
                    FileOperation::Symlink { text, .. } => {
                        matches!(&entry.kind, EntryKind::Link(leads) if leads == text) && is_new(place)
                    }
                    FileOperation::Open(opening) => {
                        entry.is_written_by(opening) && (is_made || is_new(place))
                    }
                    FileOperation::SetMode { mode, .. } => is_made && mode & !entry.mode == 0,
                    FileOperation::SetOwner { owner, group, .. } => {
                        is_made && entry.has_owner(*owner, *group)
                    }
                    FileOperation::Truncate { .. }
                    | FileOperation::SetTimes { .. }
                    | FileOperation::Remove { .. }
                    | FileOperation::RemoveDir { .. } => is_made,
                    FileOperation::Rename { .. } | FileOperation::Link { .. } => false,
                })
            }
            _ => false,
        }
    }

    /// Keeps in `made` what a call that it covers has made.
    pub(super) fn carried_out(&self, call: &Syscall, made: &mut HashSet<PathBuf>) {
        let Some(place) = call.places.last() else { return };
        match &call.operation {
            FileOperation::MakeDir { .. }
            | FileOperation::Symlink { .. }
            | FileOperation::Open(_)
            | FileOperation::Link { .. } => {
                if self.entry(place).is_some() {
                    made.insert(place.clone());
                }
            }
            FileOperation::Remove { .. } | FileOperation::RemoveDir { .. } => {
                made.remove(place);
            }
            FileOperation::Rename { .. }
            | FileOperation::Truncate { .. }
            | FileOperation::SetMode { .. }
            | FileOperation::SetOwner { .. }
            | FileOperation::SetTimes { .. } => {}
        }
    }
}

impl Entry {
    /// `None` for what no program copies by making it: pipes, sockets, devices.
    fn new(path: &Path, metadata: &fs::Metadata) -> Option<Self> {
        let kind = match metadata.file_type() {
            kind if kind.is_dir() => EntryKind::Folder,
            kind if kind.is_file() => EntryKind::File,
            kind if kind.is_symlink() => EntryKind::Link(fs::read_link(path).ok()?.into_os_string()),
            _ => return None,
        };
        let owner = (metadata.uid(), metadata.gid());
        Some(Self { kind, mode: metadata.mode() & 0o777, owner })
    }

    /// Returns the text that is shown beside its name.
    fn describe(&self) -> String {
        match &self.kind {
            EntryKind::Link(leads) => format!(" -> {}", show(leads)),
            EntryKind::File if self.mode & EXECUTABLE != 0 => " (executable)".to_owned(),
            EntryKind::File => String::new(),
            EntryKind::Folder => "/".to_owned(),
        }
    }

    /// Returns whether an open makes or writes the file, and makes none that can be run of one that cannot.
    fn is_written_by(&self, opening: &Opening) -> bool {
        let runs = opening.create.is_some_and(|mode| mode & EXECUTABLE & !self.mode != 0);
        self.kind == EntryKind::File && opening.write && !runs
    }

    fn has_owner(&self, owner: Option<u32>, group: Option<u32>) -> bool {
        owner.is_none_or(|owner| owner == self.owner.0) && group.is_none_or(|group| group == self.owner.1)
    }
}
