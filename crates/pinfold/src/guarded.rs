//! Which guard a resolved place meets, and what lies below a folder that is taken as a whole.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use std::cell::Cell;

use pinfold_paths::{Directory, EntryKind, Kind, LastLink, MAX_TREE_DEPTH, Place, Resolution};
use pinfold_policy::{Guard, GuardHit, GuardKind, Operation, Policy};

use crate::session::Shared;

/// The most bytes of a file that are searched for the words that make a credential of it. Such files are short; what is
/// longer counts as guarded.
const MARKED: u64 = 256 * 1024;

/// The most entries of a tree that are looked at before it counts as guarded: about a second's worth.
const MOST_ENTRIES: usize = 1_000_000;

/// The guard that `place` meets under the name it leads to or the name it was asked for by.
pub(crate) fn find_at(shared: &Shared, place: &Place, operation: Operation) -> Option<GuardHit> {
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

/// The entries that git needs to take a folder for a repository, and to obey the configuration in it:
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
            why: "with it git would take the folder for a repository that was not made with git".to_owned(),
            sensitive: true,
        }
    })
}

/// The guard that a file met on a walk meets when it is read.
pub(crate) fn find_for_member(
    shared: &Shared,
    real: &Path,
    open: impl FnOnce() -> Option<File>,
) -> Option<GuardHit> {
    // A walk does not ask each folder whether it folds case: leaving out too much is the safe side.
    let guard = find(shared, real, Operation::Read, true)?;
    holds_marker(guard, open).then(|| hit(guard))
}

/// The guard that a name met in a folder meets, whatever is done to it.
pub(crate) fn find_for_listed(
    shared: &Shared,
    real: &Path,
    operation: Operation,
    open: impl FnOnce() -> Option<File>,
) -> Option<GuardHit> {
    if operation.writes() {
        find(shared, real, operation, true).map(hit)
    } else {
        find_for_member(shared, real, open)
    }
}

fn find<'a>(shared: &'a Shared, path: &Path, operation: Operation, folds_case: bool) -> Option<&'a Guard> {
    let home = shared.bounds.line.home();
    if operation.writes() {
        shared.bounds.guards.write(path, home, folds_case)
    } else {
        shared.bounds.guards.read(path, home, folds_case)
    }
}

pub(crate) fn hit(guard: &Guard) -> GuardHit {
    let sensitive = guard.kind().is_sensitive();
    GuardHit { pattern: guard.pattern().to_owned(), why: guard.why().to_owned(), sensitive }
}

/// Some files are credentials only when they hold certain words. What cannot be read or is too long counts as holding
/// them.
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
pub(crate) fn find_below(
    shared: &Shared,
    place: &Place,
    operation: Operation,
    becomes: Option<&Path>,
) -> Option<GuardHit> {
    let found = |below: &Path, folder: &Directory, name: &OsStr, _: Option<EntryKind>| -> Option<GuardHit> {
        let real = place.real().join(below);
        let here = if operation.writes() {
            find(shared, &real, operation, true).filter(|guard| is_lost(guard.kind())).map(hit)
        } else {
            find_for_member(shared, &real, || folder.open_file(name).ok().map(|(file, _)| file))
        };
        let planted = |to: &Path| find(shared, &to.join(below), Operation::Create, true).map(hit);
        here.or_else(|| becomes.and_then(planted))
    };
    match look_through(place, MOST_ENTRIES, false, found) {
        TreeSearch::Found(hit) => Some(hit),
        TreeSearch::Nothing => None,
        TreeSearch::TooMuch => Some(GuardHit {
            pattern: "**".to_owned(),
            why: format!("more than {MOST_ENTRIES} entries, too many to look at each"),
            sensitive: false,
        }),
    }
}

/// The most entries below a folder that are looked at for those that rules deny: some hundredths of a second's worth.
const MOST_SEARCHED: usize = 20_000;
/// The most links among them that are followed.
const MOST_LINKS: usize = 256;

/// Returns true if something that a rule denies reading lies below a folder that a command searches. `None`: it is too
/// much to look at, or a link leads to another folder. `visible`: names that start with a dot are passed over.
pub(crate) fn denied_below(shared: &Shared, policy: &Policy, place: &Place, visible: bool) -> Option<bool> {
    let links = Cell::new(0);
    let found = |below: &Path, _: &Directory, _: &OsStr, kind: Option<EntryKind>| -> Option<bool> {
        let real = place.real().join(below);
        if policy.leaves_out(&real) {
            return Some(true);
        }
        if kind == Some(EntryKind::File) || kind == Some(EntryKind::Directory) {
            return None;
        }
        links.set(links.get() + 1);
        let claim = pinfold_paths::PathClaim::new(real);
        match shared.bounds.line.resolve(Path::new("/"), &claim, LastLink::Follow) {
            _ if links.get() > MOST_LINKS => Some(false),
            Resolution::Contained(place) => leads_away(policy, &place),
            Resolution::Outside(place) => leads_away(policy, &place),
            Resolution::Unresolved(_) => None,
        }
    };
    match look_through(place, MOST_SEARCHED, visible, found) {
        TreeSearch::Found(true) => Some(true),
        TreeSearch::Found(false) | TreeSearch::TooMuch => None,
        TreeSearch::Nothing => Some(false),
    }
}

/// The target of a link: something denied, or a folder that is not looked through.
fn leads_away(policy: &Policy, place: &Place) -> Option<bool> {
    if policy.leaves_out(place.real()) {
        Some(true)
    } else {
        (place.kind() == Kind::Directory).then_some(false)
    }
}

/// The result of a look through everything below a folder.
enum TreeSearch<T> {
    Found(T),
    Nothing,
    TooMuch,
}

/// Looks at everything below a folder, up to so many entries, until something is found. `visible`: what lies under
/// names that start with a dot is passed over.
fn look_through<T>(
    place: &Place,
    most: usize,
    visible: bool,
    found: impl Fn(&Path, &Directory, &OsStr, Option<EntryKind>) -> Option<T>,
) -> TreeSearch<T> {
    let top = (place.kind() == Kind::Directory).then(|| place.open_dir().ok()).flatten();
    let Some(top) = top else { return TreeSearch::Nothing };
    let mut walk = FolderWalk { looked: 0, levels: Vec::new(), below: PathBuf::new() };
    walk.enter(&top, OsString::new());
    let mut folders = vec![top];
    loop {
        let Some(folder) = folders.last() else { return TreeSearch::Nothing };
        let Some((name, kind)) = walk.next() else {
            folders.pop();
            continue;
        };
        if visible && name.as_encoded_bytes().starts_with(b".") {
            continue;
        }
        walk.looked += 1;
        if walk.looked > most {
            return TreeSearch::TooMuch;
        }
        if let Some(found) = found(&walk.below.join(&name), folder, &name, kind) {
            return TreeSearch::Found(found);
        }
        if kind == Some(EntryKind::Directory)
            && folders.len() < MAX_TREE_DEPTH
            && let Ok(next) = folder.open_dir(&name)
        {
            walk.enter(&next, name);
            folders.push(next);
        }
    }
}

/// Guards of what is lost for good when it is deleted or moved away. Files that only act when they are there do no
/// harm by going.
fn is_lost(kind: GuardKind) -> bool {
    match kind {
        GuardKind::Git | GuardKind::Policy | GuardKind::Secret | GuardKind::Credential | GuardKind::Place => {
            true
        }
        GuardKind::Autorun | GuardKind::ShellStartup | GuardKind::Persistence | GuardKind::Build => false,
    }
}

struct FolderWalk {
    looked: usize,
    /// The entries that are left in each folder on the way down.
    levels: Vec<Vec<(OsString, Option<EntryKind>)>>,
    below: PathBuf,
}

impl FolderWalk {
    fn enter(&mut self, folder: &Directory, name: OsString) {
        let entries = folder.entries().into_iter().flatten().filter_map(Result::ok);
        let listed = entries.map(|entry| {
            let kind = entry.kind.or_else(|| match folder.kind(&entry.name).ok()? {
                Kind::Directory => Some(EntryKind::Directory),
                Kind::File { .. } => Some(EntryKind::File),
                Kind::Link => Some(EntryKind::Link),
                Kind::Special(_) => Some(EntryKind::Special),
                Kind::Missing { .. } => None,
            });
            (entry.name, kind)
        });
        self.levels.push(listed.collect());
        if !name.is_empty() {
            self.below.push(name);
        }
    }

    /// The next entry of the deepest folder; `None` leaves that folder.
    fn next(&mut self) -> Option<(OsString, Option<EntryKind>)> {
        let next = self.levels.last_mut()?.pop();
        if next.is_none() {
            self.levels.pop();
            self.below.pop();
        }
        next
    }
}
