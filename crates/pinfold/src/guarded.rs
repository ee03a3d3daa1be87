//! Which guard a resolved place meets, and what lies below a folder that is taken as a whole.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use std::cell::Cell;

use pinfold_paths::{Directory, EntryKind, Kind, LastLink, MAX_TREE_DEPTH, Place, Resolution};
use pinfold_policy::git_dir::PartsMade;
use pinfold_policy::{Guard, GuardHit, GuardKind, Operation, Policy};

use crate::git_parts::{git_dir_hit, is_of_git_dir};
use crate::session::Shared;

/// The most bytes of a file that are searched for the words that make a credential of it. Such files are short; what is
/// longer counts as guarded.
const MARKED: u64 = 256 * 1024;

/// The most entries of a tree that are looked at before it counts as guarded: about a second's worth.
const MAX_ENTRIES: usize = 1_000_000;

/// The changes of one call, as far as they are known when one of its places is looked at.
#[derive(Default)]
pub(crate) struct CallChanges {
    pub(crate) parts: PartsMade,
    /// A process makes them, and no tool.
    pub(crate) by_process: bool,
}

/// The guard that `place` meets under the name it leads to or the name it was asked for by. `along`: the changes of the same call.
pub(crate) fn find_at(
    shared: &Shared,
    place: &Place,
    operation: Operation,
    along: &CallChanges,
) -> Option<GuardHit> {
    let by_name = |path: &Path| {
        find(shared, path, operation, false)
            // Whether the file system folds case is asked only when the answer matters.
            .or_else(|| find(shared, path, operation, true).filter(|_| place.folds_case()))
    };
    let asked = (place.asked() != place.real()).then(|| place.asked());
    let guard = by_name(place.real()).or_else(|| asked.and_then(by_name));
    let of_git_dir = || {
        let is_part = |path: &Path, folds_case| is_of_git_dir(shared, path, along, folds_case);
        let is_any = |folds_case| {
            [Some(place.real()), asked].into_iter().flatten().any(|path| is_part(path, folds_case))
        };
        // Without case more names are parts: where none is, no second look is needed.
        operation.writes() && is_any(true) && (is_any(false) || place.folds_case())
    };
    match guard {
        // A guard that only an approver may lift says more than one that asks for another reason.
        Some(guard) if !guard.kind().is_sensitive() && of_git_dir() => Some(git_dir_hit()),
        Some(guard) => {
            let holds = operation.writes() || holds_marker(guard, || place.open_file().ok());
            holds.then(|| hit(guard))
        }
        None => of_git_dir().then(git_dir_hit),
    }
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
        let of_git_dir = || is_of_git_dir(shared, real, &CallChanges::default(), true).then(git_dir_hit);
        find(shared, real, operation, true).map(hit).or_else(of_git_dir)
    } else {
        find_for_member(shared, real, open)
    }
}

fn find<'a>(shared: &'a Shared, path: &Path, operation: Operation, folds_case: bool) -> Option<&'a Guard> {
    let home = shared.bounds.line.home();
    if operation.writes() {
        shared.bounds.guards_for_writing().write(path, home, folds_case)
    } else {
        shared.bounds.guards.named().read(path, home, folds_case)
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

/// The guard that something below a folder meets when the folder is read, taken or deleted as a whole.
pub(crate) fn find_below(shared: &Shared, place: &Place, operation: Operation) -> Option<GuardHit> {
    find_in_tree(place, |below, folder, name| {
        let real = place.real().join(below);
        if operation.writes() {
            find(shared, &real, operation, true).filter(|guard| is_lost(guard.kind())).map(hit)
        } else {
            find_for_member(shared, &real, || folder.open_file(name).ok().map(|(file, _)| file))
        }
    })
}

/// The guard that something below a folder meets where it comes to: the folder is moved or copied, and named `to`.
pub(crate) fn find_planted(shared: &Shared, place: &Place, to: &Path) -> Option<GuardHit> {
    find_in_tree(place, |below, _, _| {
        let (here, there) = (place.real().join(below), to.join(below));
        // A repository that comes as it is brings what git runs; one can also be made with what is there.
        let of_git_dir =
            || [&here, &there].into_iter().any(|at| is_of_git_dir(shared, at, &CallChanges::default(), true));
        let guard = find(shared, &there, Operation::Create, true);
        guard.map(hit).or_else(|| of_git_dir().then(git_dir_hit))
    })
}

fn find_in_tree(
    place: &Place,
    guard: impl Fn(&Path, &Directory, &OsStr) -> Option<GuardHit>,
) -> Option<GuardHit> {
    match look_through(place, MAX_ENTRIES, false, |below, folder, name, _| guard(below, folder, name)) {
        TreeSearch::Found(hit) => Some(hit),
        TreeSearch::Nothing => None,
        TreeSearch::TooMuch => Some(GuardHit {
            pattern: "**".to_owned(),
            why: format!("more than {MAX_ENTRIES} entries, too many to look at each"),
            sensitive: false,
        }),
    }
}

/// The most entries below a folder that are looked at for those that rules deny: some hundredths of a second's worth.
const MAX_SEARCHED: usize = 20_000;
/// The most links among them that are followed.
const MAX_LINKS: usize = 256;

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
            _ if links.get() > MAX_LINKS => Some(false),
            Resolution::Contained(place) => leads_away(policy, &place),
            Resolution::Outside(place) => leads_away(policy, &place),
            Resolution::Unresolved(_) => None,
        }
    };
    match look_through(place, MAX_SEARCHED, visible, found) {
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
