//! What processes of a mediated run may change inside the folder.
//!
//! The supervisor carries every such call out, so that this is the wall itself: whatever is refused here does not happen,
//! whether the name existed at the start or not, however it is spelled, and whatever else runs. Nothing is searched for
//! beforehand: a place is judged when it is named.

mod changes;
mod config_swap;
mod git_dir;
mod index_swap;
mod layouts;
mod links;
mod made;
mod nested;
mod reads;
mod subtree;
mod swap;
mod trees;

use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path, PathBuf};

use pinfold_policy::{Guard, GuardKind, Held};
use pinfold_sandbox::{Attempt, Detail, Done, Intent, Replacement, is_being_written};

use crate::boundary::Boundary;
use crate::git::layout;
use crate::guarded_links::names_through;
use crate::scan::is_skipped;
use crate::snapshot::is_build_file;
pub(crate) use changes::Changes;
pub(crate) use git_dir::{GitPart, part};
use layouts::Layouts;
use links::Links;
use made::Made;
use nested::Nested;
pub(crate) use reads::ReadNames;
pub(crate) use subtree::{Visit, Walked, walk};
use swap::Swap;
use trees::Trees;

/// Why a change is refused: one clause.
pub(crate) type Why = String;

const STAYS: &str = "what is held below it stays where it is";
const DOT_GIT: &str = "a `.git` file or link points git at configuration of another's making";
const BARE: &str = "with it the directory would be a repository that was not made with git";
const BEING_WRITTEN: &str = "the supervisor of a run is writing it";
const WORKTREE: &str = "a worktree is made in its place, by git";
const LINK_OUT: &str = "a link that leads out of a git directory would make a later git write there";

/// The state of one run.
#[derive(Debug, Default)]
pub(crate) struct Mediator {
    made: Made,
    layouts: Layouts,
    trees: Trees,
    links: Links,
    changes: Changes,
    swap: Swap,
}

impl Mediator {
    pub(crate) fn new(boundary: &Boundary) -> Self {
        Self { made: Made::new(boundary.granted()), ..Self::default() }
    }

    /// What is put in place of a file that is renamed.
    pub(crate) fn content_for(&mut self, attempts: &[Attempt]) -> Option<Replacement> {
        self.swap.content_for(attempts)
    }

    /// What was changed.
    pub(crate) fn into_changes(self) -> Changes {
        self.changes
    }

    /// Says why a change of a place that could be written is refused. `None`: it is allowed, and what matters later is noted.
    pub(crate) fn judge(&mut self, boundary: &Boundary, attempt: &Attempt) -> Option<Why> {
        let place = attempt.place.as_path();
        // What is there already the kernel says.
        let exists = || fs::symlink_metadata(place).is_ok();
        if boundary.is_open(place) || matches!(attempt.intent, Intent::MakeDir | Intent::Symlink) && exists()
        {
            return None;
        }
        let in_git = self.git_dir_of(boundary, place);
        let refused = self
            .by_link(boundary, attempt, in_git.as_ref())
            .or_else(|| self.by_tree(boundary, attempt))
            .or_else(|| self.by_git_dir(boundary, attempt, in_git.as_ref()))
            .or_else(|| self.by_guard(boundary, attempt))
            .or_else(|| self.by_what_lies_beneath(boundary, attempt));
        if refused.is_none() {
            self.note(boundary, attempt, in_git.as_ref());
        }
        refused
    }

    /// Remembers what was carried out.
    pub(crate) fn carried_out(&mut self, done: &Done) {
        let place = done.attempt.place.as_path();
        let is_directory = || fs::symlink_metadata(place).is_ok_and(|found| found.is_dir());
        let arrived = matches!(
            (done.attempt.intent, &done.attempt.detail),
            (Intent::MoveTo, _) | (Intent::MoveFrom, Detail::Exchange(_))
        );
        let moved_directory = arrived && is_directory();
        self.layouts.carried_out(place, moved_directory);
        if let Some(gone) = done.gone {
            self.made.forget(place, gone);
        }
        match (done.attempt.intent, &done.attempt.detail) {
            (Intent::MakeDir, _) => {
                done.made.into_iter().for_each(|file| self.made.add(place, file));
                self.trees.forget(place);
            }
            (Intent::MoveTo, Detail::From(from)) => {
                self.trees.forget(from);
                self.trees.forget(place);
                if moved_directory {
                    self.changes.moved(from, place);
                }
            }
            (Intent::MoveTo, Detail::Exchange(other)) => {
                for (from, to) in [(other.as_path(), place), (place, other.as_path())] {
                    self.trees.forget(to);
                    if fs::symlink_metadata(to).is_ok_and(|found| found.is_dir()) {
                        self.changes.moved(from, to);
                    }
                }
            }
            _ => {}
        }
    }

    /// Held since a guarded name leads there, or would; or since something that is held lies beneath, there or yet to come.
    fn by_link(&mut self, boundary: &Boundary, attempt: &Attempt, in_git: Option<&InGit>) -> Option<Why> {
        let place = attempt.place.as_path();
        let replaces =
            matches!(attempt.intent, Intent::Remove | Intent::MoveFrom | Intent::MoveTo | Intent::Symlink);
        if replaces && boundary.holds_beneath(place) {
            return Some(STAYS.to_owned());
        }
        if link_text(attempt).is_some()
            && let Some(why) = self.leads_guarded_names_away(boundary, place)
        {
            return Some(why);
        }
        let nearest = in_git.map(|(git_dir, _)| git_dir.as_path()).or_else(|| place.parent());
        self.links.look_above(boundary, &self.made, nearest);
        match self.links.at(place) {
            Some(linked) => Some(linked.why.clone()),
            None if replaces && self.links.lies_beneath(place) => Some(STAYS.to_owned()),
            None => None,
        }
    }

    /// Why a link may not stand where guarded names begin (`.config` of `.config/fish`): it would lead them elsewhere.
    fn leads_guarded_names_away(&self, boundary: &Boundary, place: &Path) -> Option<Why> {
        let held = |name: PathBuf| {
            let (guard, directory) = named_guard(boundary, &name)?;
            self.holds(boundary, &name, guard, directory).then(|| guard.why().to_owned())
        };
        names_through(boundary.guards_by_name(), place).find_map(held)
    }

    /// Held by the configuration of a repository that it lies in.
    fn by_tree(&mut self, boundary: &Boundary, attempt: &Attempt) -> Option<Why> {
        let place = attempt.place.as_path();
        let above: Vec<&Path> =
            place.ancestors().skip(1).take_while(|at| boundary.is_within_granted(at)).collect();
        for top in above {
            let Some(tree) = self.trees.at(top, &self.made, boundary.home()) else { continue };
            if let Some(why) = tree.closed {
                return Some(why.to_owned());
            }
            let held = tree.held.iter().find(|(held, _)| place.starts_with(held));
            let beneath =
                || tree.held.iter().find(|(held, _)| moves_away(attempt) && held.starts_with(place));
            if let Some((_, why)) = held {
                return Some((*why).to_owned());
            }
            if beneath().is_some() {
                return Some(STAYS.to_owned());
            }
        }
        None
    }

    /// Held as a part of a git directory, or since it would make one.
    fn by_git_dir(&mut self, boundary: &Boundary, attempt: &Attempt, in_git: Option<&InGit>) -> Option<Why> {
        let place = attempt.place.as_path();
        if let Some((git_dir, below)) = in_git {
            return self.in_git_dir(boundary, attempt, git_dir, below);
        }
        let (name, parent) = (place.file_name()?, place.parent()?);
        let makes = matches!(attempt.intent, Intent::Create | Intent::MoveTo | Intent::Symlink);
        let names = makes || !matches!(attempt.intent, Intent::MakeDir);
        if name == ".git" && names {
            let there = fs::symlink_metadata(place);
            // A pointer that git wrote down beforehand, or one in a tree that this run made as a whole.
            let expected = attempt.intent == Intent::Create
                && there.is_err()
                && (boundary.expects_worktree(place)
                    || layout::is_expected_by(self.made.worktrees(), place)
                    || self.made.is_in_new_tree(parent) && !nested::is_nested(&self.made, place));
            let own = moves_away(attempt) && self.made.contains(parent);
            return (!expected && !own).then(|| DOT_GIT.to_owned());
        }
        let completes = makes && layout::completes_a_bare_repository(name, parent);
        (completes && !self.made.is_new_project(parent)).then(|| BARE.to_owned())
    }

    fn in_git_dir(
        &mut self,
        boundary: &Boundary,
        attempt: &Attempt,
        git_dir: &Path,
        below: &Path,
    ) -> Option<Why> {
        if self.plants_link(boundary, attempt, git_dir, below) {
            return Some(LINK_OUT.to_owned());
        }
        if below.file_name().is_some_and(is_being_written) {
            return Some(BEING_WRITTEN.to_owned());
        }
        if self.made.contains(git_dir) {
            return match nested::judge(&self.made, attempt, git_dir, below) {
                Nested::Free => None,
                Nested::Refused(why) => Some(why),
                Nested::Config => config_swap::judge_new(&mut self.swap, attempt),
                Nested::Index => index_swap::judge(&mut self.swap, attempt),
            };
        }
        if plants_worktree(attempt, below) {
            return Some(WORKTREE.to_owned());
        }
        if let (Intent::MoveTo, Detail::SecondNameOf(from)) = (attempt.intent, &attempt.detail)
            && !from.starts_with(git_dir)
        {
            return Some(LINK_OUT.to_owned());
        }
        match self.part(boundary, git_dir, below) {
            GitPart::Free | GitPart::Worktree | GitPart::Module => None,
            GitPart::Held(why) => Some(why.to_owned()),
            GitPart::Pinned(why) => {
                let moves = moves_away(attempt) || attempt.intent == Intent::Symlink;
                // Of `info` the mode is a part of what is held.
                let held = attempt.intent == Intent::Metadata && below.ends_with("info");
                (moves || held || hides(attempt)).then(|| why.to_owned())
            }
            GitPart::Kept(why) => {
                let takes = moves_away(attempt)
                    && !matches!((attempt.intent, &attempt.detail), (Intent::MoveTo, Detail::From(_)));
                takes.then(|| why.to_owned())
            }
            GitPart::Config => config_swap::judge(&mut self.swap, attempt, git_dir),
            GitPart::Index => index_swap::judge(&mut self.swap, attempt),
        }
    }

    /// Whether what is put into a git directory is a symbolic link through which git could write elsewhere, or to a part of the
    /// directory that is held.
    fn plants_link(&self, boundary: &Boundary, attempt: &Attempt, git_dir: &Path, below: &Path) -> bool {
        let Some(text) = link_text(attempt) else { return false };
        let leads_to = below.parent().unwrap_or(below).join(&text);
        !git_dir::stays_inside(text.as_os_str())
            || !matches!(self.part(boundary, git_dir, &leads_to), GitPart::Free | GitPart::Worktree)
    }

    /// The part of a git directory, with the directories of submodules and worktrees in it told apart.
    fn part(&self, boundary: &Boundary, git_dir: &Path, below: &Path) -> GitPart {
        match git_dir::part(below) {
            GitPart::Module => self.module(boundary, git_dir, below),
            GitPart::Worktree => {
                let mut names = below.components();
                let worktree: PathBuf = git_dir.join(names.by_ref().take(2).collect::<PathBuf>());
                if self.made.contains(&worktree) || fs::symlink_metadata(&worktree).is_err() {
                    return git_dir::in_new_worktree(names.as_path());
                }
                let ours = layout::worktree_top(&worktree).is_none_or(|top| boundary.is_within_granted(&top));
                match git_dir::linked(names.as_path(), ours) {
                    GitPart::Module => self.module(boundary, &worktree, names.as_path()),
                    part => part,
                }
            }
            part => part,
        }
    }

    /// The part of the innermost submodule that is there; whatever is none yet is not made.
    fn module(&self, boundary: &Boundary, git_dir: &Path, below: &Path) -> GitPart {
        const SET_UP: &str =
            "submodules are set up by the person: git runs what stands in their git directories";
        let modules = below.ancestors().filter(|at| at.components().count() > 1);
        let module = modules.map(|below| git_dir.join(below)).find(|at| layout::is_git_dir(at));
        let place = git_dir.join(below);
        let within = |module: &PathBuf| place.strip_prefix(module).ok().map(Path::to_owned);
        match module.as_ref().and_then(|module| Some((module, within(module)?))) {
            Some((module, rest)) => self.part(boundary, module, &rest),
            None => GitPart::Held(SET_UP),
        }
    }

    /// Held by its name.
    fn by_guard(&self, boundary: &Boundary, attempt: &Attempt) -> Option<Why> {
        let place = attempt.place.as_path();
        let (guard, directory) = named_guard(boundary, place)?;
        self.holds(boundary, place, guard, directory).then(|| guard.why().to_owned())
    }

    /// Whether a guarded place is held, whose name stands in `directory`.
    fn holds(&self, boundary: &Boundary, place: &Path, guard: &Guard, directory: &Path) -> bool {
        let in_new_tree = || self.made.is_in_new_tree(directory);
        match guard.kind() {
            GuardKind::Policy => !in_new_tree(),
            GuardKind::Build => false,
            _ if guard.held() == Held::Asked || is_among_dependencies(boundary, place) => false,
            GuardKind::Autorun => !self.made.is_new_project(directory) && !in_new_tree(),
            GuardKind::Git
            | GuardKind::ShellStartup
            | GuardKind::Secret
            | GuardKind::Credential
            | GuardKind::Persistence
            | GuardKind::Place => !in_new_tree(),
        }
    }

    /// A directory stays where it is when something below it is held, and does not go where something below it would be.
    fn by_what_lies_beneath(&self, boundary: &Boundary, attempt: &Attempt) -> Option<Why> {
        let (from, to) = match (attempt.intent, &attempt.detail) {
            (Intent::MoveFrom, Detail::To(to)) => (attempt.place.as_path(), to.as_path()),
            (Intent::MoveFrom | Intent::MoveTo, Detail::Exchange(to)) => {
                (attempt.place.as_path(), to.as_path())
            }
            _ => return None,
        };
        let is_directory = fs::symlink_metadata(from).is_ok_and(|found| found.is_dir());
        if boundary.holds_beneath(from)
            || boundary.holds_beneath(to)
            || is_directory && self.is_foreign_git_dir(from)
        {
            return Some(STAYS.to_owned());
        }
        let free = is_among_dependencies(boundary, from) && is_among_dependencies(boundary, to);
        if !is_directory || free && !boundary.has_denied_paths() {
            return None;
        }
        let git_dir = |place: &Path| self.git_dir_of(boundary, place).map(|(git_dir, _)| git_dir);
        let into = git_dir(to);
        if into.is_some() {
            let within = git_dir(from) == into;
            return (!within).then(|| "a directory is not moved into a git directory as a whole".to_owned());
        }
        match walk(from, |entry, kind| self.visit(boundary, (from, to), entry, kind)) {
            Walked::Everything => None,
            Walked::Found(found) => Some(format!("{STAYS}: `{}`", found.display())),
            Walked::InPart => {
                Some("it cannot be looked at whole, and might hold what stays where it is".to_owned())
            }
        }
    }

    /// Whether a directory is a repository, by what is in it, that this run did not make.
    fn is_foreign_git_dir(&self, directory: &Path) -> bool {
        layout::is_git_dir(directory) && !self.made.contains(directory)
    }

    /// Looks at an entry of a directory that is about to be moved.
    fn visit(
        &self,
        boundary: &Boundary,
        (from, to): (&Path, &Path),
        entry: &Path,
        kind: fs::FileType,
    ) -> Visit {
        let name = entry.file_name().unwrap_or_default();
        // Its own name, and the one that it would have; where it stands it is new or old.
        let there = entry.strip_prefix(from).map_or_else(|_| entry.to_owned(), |below| to.join(below));
        if name == ".git" {
            let stays = self.made.contains(entry) && !nested::moves_in(&self.made, entry, &there);
            return if stays { Visit::Skip } else { Visit::Found };
        }
        let held = |at: &Path| {
            let (guard, directory) = named_guard(boundary, at)?;
            let stands_in =
                directory.strip_prefix(to).map_or_else(|_| directory.to_owned(), |below| from.join(below));
            self.holds(boundary, at, guard, &stands_in).then_some(())
        };
        let denied = |at: &Path| boundary.denies_changing(at).is_some();
        if denied(entry)
            || denied(&there)
            || held(entry).is_some()
            || held(&there).is_some()
            || kind.is_dir() && self.is_foreign_git_dir(entry)
        {
            Visit::Found
        } else if kind.is_dir() && is_skipped(name) && !boundary.has_denied_paths() {
            Visit::Skip
        } else {
            Visit::Enter
        }
    }

    /// The git directory that a place lies in, with the path in it.
    fn git_dir_of(&self, boundary: &Boundary, place: &Path) -> Option<InGit> {
        let split = |git_dir: &Path| Some((git_dir.to_owned(), place.strip_prefix(git_dir).ok()?.to_owned()));
        let known = boundary
            .git_dirs()
            .iter()
            .filter(|dir| place.starts_with(dir))
            .max_by_key(|dir| dir.as_os_str().len());
        if let Some(known) = known {
            return split(known);
        }
        let named = place.ancestors().filter(|at| at.file_name().is_some_and(|name| name == ".git")).last();
        if let Some(dot_git) =
            named.filter(|at| *at != place || fs::symlink_metadata(at).is_ok_and(|found| found.is_dir()))
        {
            return split(dot_git);
        }
        // A bare one has any name: it is told by what is in it.
        let parts = place.ancestors().take_while(|at| boundary.is_within_granted(at));
        parts.filter(|at| self.layouts.is_git_dir(at)).last().and_then(split)
    }

    /// Notes what runs later.
    fn note(&mut self, boundary: &Boundary, attempt: &Attempt, in_git: Option<&InGit>) {
        let place = attempt.place.as_path();
        if !changes_something(attempt) || is_among_dependencies(boundary, place) && !place.ends_with(".git") {
            return;
        }
        let (name, parent) = (place.file_name().unwrap_or_default(), place.parent().unwrap_or(place));
        let makes =
            matches!(attempt.intent, Intent::Create | Intent::MoveTo | Intent::Symlink | Intent::MakeDir);
        if makes && name == ".git" && fs::symlink_metadata(place).is_err() {
            self.changes.repository(place);
        }
        if makes && layout::is_part_of_bare(name) && !layout::is_git_dir(parent) {
            self.changes.repository(parent);
        }
        if let Some((git_dir, below)) = in_git {
            if makes && layout::UNFINISHED.iter().any(|state| below.ends_with(state)) {
                self.changes.begun(&git_dir.join(below));
            }
            return;
        }
        // What is guarded and was not refused is allowed for a reason that the report does not share.
        // A `.git` is told of as the repository that it makes.
        let matters = name != ".git" && (is_build_file(place) || boundary.guard(place).is_some());
        if attempt.intent != Intent::MakeDir && matters {
            self.changes.file(place);
        }
    }
}

/// Whether a directory that was filled elsewhere would be one of a linked worktree: git makes those in their place.
fn plants_worktree(attempt: &Attempt, below: &Path) -> bool {
    let from = match (attempt.intent, &attempt.detail) {
        (Intent::MoveTo, Detail::From(from))
        | (Intent::MoveTo | Intent::MoveFrom, Detail::Exchange(from)) => from,
        _ => return false,
    };
    below.components().any(|name| name.as_os_str() == "worktrees")
        && fs::symlink_metadata(from).is_ok_and(|found| found.is_dir())
}

/// Whether the judgement of an attempt is about what another run in the same folder could exchange before it is carried out, or
/// the attempt does that to another's: whatever names a file that is there, makes a link, or makes what is judged by its name when
/// a directory around it is moved.
pub(crate) fn takes_turns(boundary: &Boundary, attempt: &Attempt) -> bool {
    let place = attempt.place.as_path();
    let minds = match attempt.intent {
        Intent::MoveFrom | Intent::MoveTo | Intent::LinkFrom | Intent::Symlink => true,
        Intent::Create | Intent::MakeDir => {
            let tells = |name: &OsStr| name == ".git" || layout::is_part_of_bare(name);
            place.file_name().is_some_and(tells) || named_guard(boundary, place).is_some()
        }
        _ => false,
    };
    minds && boundary.is_within_granted(place)
}

/// A git directory and a path in it.
type InGit = (PathBuf, PathBuf);

/// Whether a call takes a name away.
fn moves_away(attempt: &Attempt) -> bool {
    match attempt.intent {
        Intent::MoveFrom | Intent::Remove => true,
        Intent::MoveTo => {
            matches!(attempt.detail, Detail::Exchange(_)) || fs::symlink_metadata(&attempt.place).is_ok()
        }
        _ => false,
    }
}

fn changes_something(attempt: &Attempt) -> bool {
    !matches!(attempt.intent, Intent::Read | Intent::Access | Intent::Lock | Intent::LinkFrom)
}

/// The text of a symbolic link that is put at a place.
fn link_text(attempt: &Attempt) -> Option<PathBuf> {
    let link_at = |place: &Path| fs::read_link(place).ok();
    match (attempt.intent, &attempt.detail) {
        (Intent::Symlink, Detail::LinkText(text)) => Some(PathBuf::from(text)),
        (Intent::MoveTo, Detail::From(from) | Detail::SecondNameOf(from)) => link_at(from),
        (Intent::MoveTo | Intent::MoveFrom, Detail::Exchange(other)) => link_at(other),
        _ => None,
    }
}

/// Whether a change of attributes would keep the owner from looking at a directory.
fn hides(attempt: &Attempt) -> bool {
    const OWNER: u32 = 0o700;
    match &attempt.detail {
        Detail::Mode(mode) => mode & OWNER != OWNER,
        // An access control list says the same in other words.
        Detail::Attribute(name) => name.as_encoded_bytes().starts_with(b"system.posix_acl"),
        _ => false,
    }
}

/// Whether a guard of git is about the person's own configuration, which lies in no git directory.
pub(crate) fn is_of_person(guard: &Guard) -> bool {
    !guard.pattern().contains(".git/") && guard.pattern() != "**/.git" && guard.held() != Held::Asked
}

/// The guard of a place by its name, with the directory in which that stands. What belongs to a git directory is no such name.
fn named_guard<'b, 'p>(boundary: &'b Boundary, place: &'p Path) -> Option<(&'b Guard, &'p Path)> {
    boundary.guard_in(place).filter(|(guard, _)| guard.kind() != GuardKind::Git || is_of_person(guard))
}

/// Whether a place lies in a directory of dependencies or products below the folder: what is called like a guarded place
/// there is other people's, and no tool acts on it.
fn is_among_dependencies(boundary: &Boundary, place: &Path) -> bool {
    let below = boundary.granted().iter().find_map(|granted| place.strip_prefix(granted).ok());
    let above = below.and_then(Path::parent);
    above.is_some_and(|above| {
        above.components().any(|component| matches!(component, Component::Normal(name) if is_skipped(name)))
    })
}
