//! Which guard a resolved place meets, and what lies below a folder that is taken as a whole.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use pinfold_paths::{Directory, EntryKind, Kind, MAX_TREE_DEPTH, Place};
use pinfold_policy::{Guard, GuardHit, GuardKind, Operation};

use crate::session::Shared;

/// How much of a file is searched for the words that make a credential of it. Such files are short; what is
/// longer counts as guarded.
const MARKED: u64 = 256 * 1024;

/// How many entries of a tree are looked at before it counts as guarded: about a second's worth.
const MOST_ENTRIES: usize = 1_000_000;

/// The guard that `place` meets under the name it leads to or the name it was asked for by.
pub(crate) fn of_place(shared: &Shared, place: &Place, operation: Operation) -> Option<GuardHit> {
    let by_name = |path: &Path| {
        find(shared, path, operation, false)
            // Whether the file system folds case is asked only when the answer matters.
            .or_else(|| find(shared, path, operation, true).filter(|_| place.folds_case()))
    };
    let asked = (place.asked() != place.real()).then(|| place.asked());
    let Some(guard) = by_name(place.real()).or_else(|| asked.and_then(by_name)) else {
        return completes_a_repository(place, operation);
    };
    let holds = operation.writes() || holds_marker(guard, || place.open_file().ok());
    holds.then(|| hit(guard))
}

/// What git needs to take a folder for a repository, and to obey the configuration in it:
/// [gitrepository-layout(5)](https://git-scm.com/docs/gitrepository-layout).
const REPOSITORY: [&str; 3] = ["HEAD", "objects", "refs"];

/// The last name that makes a repository of an ordinary folder. Looked at by path: it only adds a question, and the
/// deed goes through the held place whatever is found here.
fn completes_a_repository(place: &Place, operation: Operation) -> Option<GuardHit> {
    let name = place.real().file_name()?;
    let part = REPOSITORY.iter().any(|part| name == *part) || name == "config";
    let completes = || {
        let others = REPOSITORY.iter().filter(|part| name != **part);
        others.map(|part| place.real().with_file_name(part)).all(|path| path.symlink_metadata().is_ok())
    };
    (part && operation.writes() && matches!(place.kind(), Kind::Missing { .. }) && completes()).then(|| {
        GuardHit {
            pattern: REPOSITORY.join(", "),
            why: "with it git would take the folder for a repository that nobody made with git".to_owned(),
            sensitive: true,
        }
    })
}

/// The guard that a file met on a walk meets when it is read.
pub(crate) fn of_member(
    shared: &Shared,
    real: &Path,
    open: impl FnOnce() -> Option<File>,
) -> Option<GuardHit> {
    // A walk does not ask each folder whether it folds case: leaving out too much is the safe side.
    let guard = find(shared, real, Operation::Read, true)?;
    holds_marker(guard, open).then(|| hit(guard))
}

fn find<'a>(shared: &'a Shared, path: &Path, operation: Operation, folds_case: bool) -> Option<&'a Guard> {
    let home = shared.line.home();
    if operation.writes() {
        shared.guards.write(path, home, folds_case)
    } else {
        shared.guards.read(path, home, folds_case)
    }
}

fn hit(guard: &Guard) -> GuardHit {
    let sensitive = guard.kind().is_sensitive();
    GuardHit { pattern: guard.pattern().to_owned(), why: guard.why().to_owned(), sensitive }
}

/// Some files are credentials only when they hold certain words. What cannot be read or is too long counts as holding them.
fn holds_marker(guard: &Guard, open: impl FnOnce() -> Option<File>) -> bool {
    let markers = guard.markers();
    if markers.is_empty() {
        return true;
    }
    let Some(file) = open() else { return true };
    let mut content = Vec::new();
    match file.take(MARKED + 1).read_to_end(&mut content) {
        Ok(read) if read as u64 <= MARKED => {
            content.make_ascii_lowercase();
            let text = String::from_utf8_lossy(&content);
            markers.iter().any(|marker| text.contains(marker))
        }
        Ok(_) | Err(_) => true,
    }
}

/// The guard that something below a folder meets when the folder is taken, moved or copied as a whole.
/// `becomes`: the name that the folder gets, when it gets one.
pub(crate) fn below(
    shared: &Shared,
    place: &Place,
    operation: Operation,
    becomes: Option<&Path>,
) -> Option<GuardHit> {
    if place.kind() != Kind::Directory {
        return None;
    }
    let top = place.open_dir().ok()?;
    let mut walk = Walk { looked: 0, levels: Vec::new(), below: PathBuf::new() };
    walk.enter(&top, OsString::new());
    let mut folders = vec![top];
    let found = |below: &Path, folder: &Directory, name: &OsStr| -> Option<GuardHit> {
        let real = place.real().join(below);
        let here = if operation.writes() {
            find(shared, &real, operation, true).filter(|guard| is_lost(guard.kind())).map(hit)
        } else {
            of_member(shared, &real, || folder.open_file(name).ok().map(|(file, _)| file))
        };
        let planted = |to: &Path| find(shared, &to.join(below), Operation::Create, true).map(hit);
        here.or_else(|| becomes.and_then(planted))
    };
    loop {
        let folder = folders.last()?;
        let Some((name, is_folder)) = walk.next() else {
            folders.pop();
            continue;
        };
        walk.looked += 1;
        if walk.looked > MOST_ENTRIES {
            return Some(GuardHit {
                pattern: "**".to_owned(),
                why: format!("more than {MOST_ENTRIES} entries, too many to look at each"),
                sensitive: false,
            });
        }
        if let Some(hit) = found(&walk.below.join(&name), folder, &name) {
            return Some(hit);
        }
        if is_folder
            && folders.len() < MAX_TREE_DEPTH
            && let Ok(next) = folder.open_dir(&name)
        {
            walk.enter(&next, name);
            folders.push(next);
        }
    }
}

/// What is lost for good when it is deleted or moved away. Files that only act when they are there do no harm by going.
fn is_lost(kind: GuardKind) -> bool {
    match kind {
        GuardKind::Git | GuardKind::Policy | GuardKind::Secret | GuardKind::Credential | GuardKind::Place => {
            true
        }
        GuardKind::Autorun | GuardKind::ShellStartup | GuardKind::Persistence | GuardKind::Build => false,
    }
}

struct Walk {
    looked: usize,
    /// What is left in each folder on the way down.
    levels: Vec<Vec<(OsString, bool)>>,
    below: PathBuf,
}

impl Walk {
    fn enter(&mut self, folder: &Directory, name: OsString) {
        let entries = folder.entries().into_iter().flatten().filter_map(Result::ok);
        let listed = entries.map(|entry| {
            let is_folder = match entry.kind {
                Some(kind) => kind == EntryKind::Directory,
                None => folder.kind(&entry.name).is_ok_and(|kind| kind == Kind::Directory),
            };
            (entry.name, is_folder)
        });
        self.levels.push(listed.collect());
        if !name.is_empty() {
            self.below.push(name);
        }
    }

    /// The next entry of the deepest folder; `None` leaves that folder.
    fn next(&mut self) -> Option<(OsString, bool)> {
        let next = self.levels.last_mut()?.pop();
        if next.is_none() {
            self.levels.pop();
            self.below.pop();
        }
        next
    }
}
