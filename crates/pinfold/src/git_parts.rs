//! Parts of git directories among the changes of a call: at the places that it names, and where a tool whose meaning is not known may
//! put one by what it names together.
//!
//! Looked at by path: it only adds a question, and the operation goes through the held place in any case.

use std::cell::Cell;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Component, Path};

use pinfold_paths::{Kind, Place, Resolution};
use pinfold_policy::git_dir::{self, GitDirChange, PartsMade};
use pinfold_policy::{
    Assumption, Claims, GuardHit, McpCall, McpClass, Operation, Origin, PathClaim, ToolCall,
};
use rustix::fs::OFlags;

use crate::guarded::CallChanges;
use crate::session::Shared;
use crate::survey::place;

/// Length up to which a file `HEAD` is read. git reads 256 bytes of it; what is longer may be one.
const MAX_HEAD_LEN: u64 = 64 * 1024;

/// More pairs of a folder and a name than an honest call has.
const MAX_PAIRS: usize = 16_384;

/// The most entries of folders of a call that have one of the same name in another one, before they count as guarded: some hundredths
/// of a second's worth.
const MAX_MERGED: usize = 20_000;

/// Returns whether a write changes a part of a git directory, or is a step to one.
pub(crate) fn is_of_git_dir(shared: &Shared, real: &Path, along: &CallChanges, folds_case: bool) -> bool {
    let change = GitDirChange { real, along: &along.parts, by_process: along.by_process, folds_case };
    change.is_of_git_dir(stands_as_part) && !is_excepted(shared, real)
}

/// Returns whether something stands at a path that git takes for a part: of a [`git_dir::HEAD`] by its content.
fn stands_as_part(path: &Path) -> bool {
    let Ok(found) = path.symlink_metadata() else { return false };
    if !path.ends_with(git_dir::HEAD) {
        return true;
    }
    // A link or another name can get other content without a write here.
    let is_looked_at = found.is_file() && found.nlink() == 1;
    !found.is_dir() && (!is_looked_at || read_other_head(path).is_none())
}

/// The text of a file `HEAD` that git would not take for one. `None`: it would, or the text cannot be read.
fn read_other_head(path: &Path) -> Option<String> {
    // A pipe put there while we look must not make us wait.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path).ok()?;
    let is_short = file.metadata().is_ok_and(|found| found.is_file() && found.len() <= MAX_HEAD_LEN);
    let mut text = String::new();
    file.take(MAX_HEAD_LEN).read_to_string(&mut text).ok().filter(|_| is_short)?;
    (!git_dir::is_head(&text)).then_some(text)
}

/// The guard that `place` meets where the call may put a file there by which git tells a repository: what other calls make beside it at
/// the same time is not seen yet.
pub(crate) fn find_new_head(
    shared: &Shared,
    place: &Place,
    claim: &PathClaim,
    call: &ToolCall,
) -> Option<GuardHit> {
    let is_head = |folds_case| [place.real(), place.asked()].into_iter().any(|at| is_head_at(at, folds_case));
    let puts = claim.operation.writes()
        && !matches!(claim.operation, Operation::Delete | Operation::MakeDir | Operation::MoveFrom);
    if !puts || is_word(claim) || !is_head(true) || is_excepted(shared, place.real()) {
        return None;
    }
    let was = match place.kind() {
        Kind::Missing { .. } => Some(String::new()),
        // One that is there is a part already, and each part beside it is judged by that.
        Kind::File { .. } if place.real().ends_with(git_dir::HEAD) && stands_as_part(place.real()) => {
            return None;
        }
        Kind::File { .. } => read_other_head(place.real()),
        Kind::Directory | Kind::Link | Kind::Special(_) => return None,
    };
    let may_put = claim.path.as_ref().is_some_and(|path| call.may_put_head(path, was.as_deref()));
    (may_put && (is_head(false) || place.folds_case())).then(git_dir_hit)
}

/// The guard that a call of a server's tool meets by what it names together, with the number of a claim of it: a name in a folder, and what
/// comes into a folder that is there with its own name or its content. What such a tool does with them is not known.
pub(crate) fn find_together(
    shared: &Shared,
    call: &McpCall,
    claims: &Claims,
    found: &[Resolution],
) -> Option<(usize, GuardHit)> {
    let named: Vec<ClaimedPlace<'_>> = claims
        .paths
        .iter()
        .zip(found)
        .enumerate()
        .filter_map(|(index, (claim, resolution))| {
            Some(ClaimedPlace { index, claim, place: place(resolution)? })
        })
        .collect();
    let written = named.iter().find(|named| named.claim.operation.writes())?;
    let comes = matches!(call.class(), McpClass::Move | McpClass::Copy | McpClass::Unknown);
    let parts: Vec<&ClaimedPlace<'_>> = named.iter().filter(|named| named.has_name_of_part()).collect();
    let trees: Vec<&ClaimedPlace<'_>> = named.iter().filter(|named| named.is_folder()).collect();
    let too_many = sources_and_targets(claims).1
        || parts.len().saturating_mul(named.len()) > MAX_PAIRS
        || trees.len().saturating_mul(trees.len()) > MAX_PAIRS;
    if too_many {
        return Some((written.index, git_dir_hit()));
    }
    let takes_part =
        |folder: &&ClaimedPlace<'_>| parts.iter().any(|part| part.comes_to(shared, folder, comes));
    let looked = Cell::new(0);
    let takes_tree = |folder: &&&ClaimedPlace<'_>| {
        trees.iter().any(|tree| tree.merges_into(shared, folder, comes, &looked))
    };
    let by_name = named.iter().find(takes_part);
    let taken = by_name.or_else(|| trees.iter().find(takes_tree).copied())?;
    // The question is about something that the call writes.
    let index = if taken.claim.operation.writes() { taken.index } else { written.index };
    Some((index, git_dir_hit()))
}

/// The claims of a tool of a server that come to another place, by number: none where there are too many to look at each with each
/// place that they could come to.
pub(crate) fn sources_of_server(claims: &Claims) -> Vec<usize> {
    let (sources, too_many) = sources_and_targets(claims);
    if too_many { Vec::new() } else { sources }
}

fn sources_and_targets(claims: &Claims) -> (Vec<usize>, bool) {
    let of_server = || claims.paths.iter().enumerate().filter(|(_, claim)| is_of_server(claim));
    let targets = of_server().filter(|(_, claim)| comes_as(claim.operation).is_some()).count();
    let comes = |operation| matches!(operation, Operation::MoveFrom | Operation::CopyFrom);
    let sources: Vec<usize> =
        of_server().filter(|(_, claim)| comes(claim.operation)).map(|(at, _)| at).collect();
    let too_many = sources.len().saturating_mul(targets) > MAX_PAIRS;
    (sources, too_many)
}

/// The operation on what comes to a place by this one.
pub(crate) fn comes_as(operation: Operation) -> Option<Operation> {
    match operation {
        Operation::MoveTo => Some(Operation::MoveFrom),
        Operation::CopyTo => Some(Operation::CopyFrom),
        _ => None,
    }
}

/// Returns whether a claim is one of a tool that another program carries out.
pub(crate) fn is_of_server(claim: &PathClaim) -> bool {
    matches!(claim.origin, Origin::Foreign | Origin::Supposed(_))
}

/// A place that a call names.
struct ClaimedPlace<'a> {
    index: usize,
    claim: &'a PathClaim,
    place: &'a Place,
}

impl ClaimedPlace<'_> {
    fn is_folder(&self) -> bool {
        self.place.kind() == Kind::Directory
    }

    fn is_there(&self) -> bool {
        !matches!(self.place.kind(), Kind::Missing { .. })
    }

    /// The text of the call, where it can be a name in some folder.
    fn relative(&self) -> Option<&Path> {
        let text = Path::new(self.claim.path.as_ref()?.as_os_str());
        let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        text.components().all(is_plain).then_some(text)
    }

    /// The name that comes along into another folder.
    fn name(&self) -> Option<&Path> {
        self.place.real().file_name().map(Path::new)
    }

    fn has_name_of_part(&self) -> bool {
        let along = &PartsMade::default();
        let is_part =
            |real| GitDirChange { real, along, by_process: false, folds_case: true }.has_name_of_part();
        [self.relative(), self.name()].into_iter().flatten().any(is_part)
    }

    /// Returns whether the tool may put this into a folder, or beside what it names, and that is a step to a git directory. `comes`: the
    /// tool may do so with what is in that folder already.
    fn comes_to(&self, shared: &Shared, folder: &ClaimedPlace<'_>, comes: bool) -> bool {
        let (own, there) = (self.place.real(), folder.place.real());
        if own == there {
            return false;
        }
        let is_made = !folder.is_there() && (folder.place.must_be_folder() || !self.is_there());
        let takes = folder.is_folder() || is_made;
        let leaves = self.is_there() && (comes || !own.starts_with(there));
        let within = [self.name().filter(|_| leaves), self.relative()].into_iter().flatten();
        // A new name for what is there: `{"path": "x/a", "name": "refs"}`.
        let renamed = self.relative().filter(|name| name.iter().count() == 1).zip(there.parent());
        let mut all = within
            .filter(|_| takes)
            .map(|name| there.join(name))
            .chain(renamed.map(|(name, parent)| parent.join(name)));
        all.any(|at| at != own && self.is_step(shared, &at))
    }

    fn is_step(&self, shared: &Shared, at: &Path) -> bool {
        if !is_head_at(at, true) {
            return is_of_git_dir(shared, at, &CallChanges::default(), true);
        }
        if is_excepted(shared, at) || self.is_folder() {
            return false;
        }
        // `HEAD` and `origin/HEAD` are revisions too: a text counts where it would make a git directory alone.
        let stands = |part: &str| at.parent().is_some_and(|folder| stands_as_part(&folder.join(part)));
        !is_text(self.claim) || git_dir::completes(git_dir::HEAD.as_ref(), stands)
    }

    /// Returns whether content of this folder may come to parts of a git directory in another one, or beside them.
    fn merges_into(
        &self,
        shared: &Shared,
        folder: &ClaimedPlace<'_>,
        comes: bool,
        looked: &Cell<usize>,
    ) -> bool {
        let (own, there) = (self.place.real(), folder.place.real());
        let goes = !there.starts_with(own) && (comes || !own.starts_with(there));
        let by_name = self.name().map(|name| there.join(name)).filter(|to| to != own);
        goes && (merges(shared, own, there, looked)
            || by_name.is_some_and(|to| merges(shared, own, &to, looked)))
    }
}

/// Returns whether the content of a folder, where it comes to that of another one, is a step to a git directory. Below what is not there
/// yet nothing new stands beside it.
fn merges(shared: &Shared, from: &Path, to: &Path, looked: &Cell<usize>) -> bool {
    let mut folders = vec![(from.to_owned(), to.to_owned())];
    while let Some((from, to)) = folders.pop() {
        if !to.is_dir() {
            continue;
        }
        let Ok(entries) = from.read_dir() else { return true };
        for entry in entries {
            looked.set(looked.get() + 1);
            let Ok(name) = entry.map(|entry| entry.file_name()) else { return true };
            let (own, there) = (from.join(&name), to.join(&name));
            if looked.get() > MAX_MERGED || is_of_git_dir(shared, &there, &CallChanges::default(), true) {
                return true;
            }
            if own.is_dir() {
                folders.push((own, there));
            }
        }
    }
    false
}

fn is_head_at(real: &Path, folds_case: bool) -> bool {
    GitDirChange { real, along: &PartsMade::default(), by_process: false, folds_case }.is_head()
}

/// Returns whether nothing says of a claim that it is a path.
fn is_text(claim: &PathClaim) -> bool {
    matches!(claim.origin, Origin::Supposed(Assumption::Text | Assumption::Prose))
}

/// Returns whether a claim is a single word of which nothing says that it is a path: `HEAD` is a revision too.
pub(crate) fn is_word(claim: &PathClaim) -> bool {
    is_text(claim)
        && claim.path.as_ref().is_some_and(|path| !path.as_os_str().as_encoded_bytes().contains(&b'/'))
}

fn is_excepted(shared: &Shared, real: &Path) -> bool {
    shared.bounds.guards.named().is_excepted(real, shared.bounds.line.home(), false)
}

pub(crate) fn git_dir_hit() -> GuardHit {
    GuardHit {
        pattern: "HEAD, objects, refs".to_owned(),
        why: "git takes a folder with these for a repository, and runs what its configuration and hooks name"
            .to_owned(),
        sensitive: true,
    }
}
