//! Changes in git directories, and those that would make one.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use pinfold_sandbox::{Attempt, Detail, Intent, is_being_written};

use super::nested::Nested;
use super::{
    GitPart, Mediator, Visit, WalkOutcome, Why, config_swap, git_dir, index_swap, locks, moves_away, nested,
    puts_link, reference_swap, rerere_swap, walk,
};
use crate::boundary::Boundary;
use crate::git::layout;
use crate::lookup::Lookup;
use crate::within::{is_within, split};

const DOT_GIT: &str = "a `.git` file or link points git at configuration of another's making";
const POINTER: &str = "a `.git` file can lead git to a repository that this run made, and git would run what that names; let another \
     run add the worktree, or leave the new repository without configuration and hooks";
const BARE: &str = "with it the directory would be a repository that was not made with git";
const BEING_WRITTEN: &str = "another run puts a file there that it has looked at";
const LINK: &str = "git follows links in its directory, and would write what they lead to";
const SHARED: &str = "git writes to files in its directory, and this one has another name outside that";

/// A git directory and a path in it.
pub(super) type InGit = (PathBuf, PathBuf);

impl Mediator {
    /// Held as a part of a git directory, or since it would make one.
    pub(super) fn by_git_dir(
        &mut self,
        boundary: &Boundary,
        attempt: &Attempt,
        in_git: Option<&InGit>,
    ) -> Option<Why> {
        let place = attempt.place.as_path();
        if let Some((git_dir, below)) = in_git {
            return self.in_git_dir(boundary, attempt, git_dir, below);
        }
        let (parent, name) = split(place);
        let (name, parent) = (name?, parent?);
        let makes = matches!(attempt.intent, Intent::Create | Intent::MoveTo | Intent::Symlink);
        let names = makes || !matches!(attempt.intent, Intent::MakeDir);
        if name == ".git" && names {
            // A pointer that git wrote down beforehand, or one in a tree that this run made as a whole.
            let expected = attempt.intent == Intent::Create
                && Lookup::find(place).is_missing()
                && (boundary.expects_worktree(place)
                    || layout::is_expected_by(self.created.worktrees(), place)
                    || self.created.is_in_new_tree(parent) && !nested::is_nested(&self.created, place))
                && !self.holds_own_repository(parent);
            if expected && nested::lies_in_old_tree(&self.created, place) {
                // It may name any git directory, whichever expects it.
                if self.created.has_untrusted_repository() {
                    return Some(POINTER.to_owned());
                }
                self.created.note_pointer_in_old_tree();
            }
            let own = moves_away(attempt) && self.created.contains(parent);
            return (!expected && !own).then(|| DOT_GIT.to_owned());
        }
        let makes = makes || attempt.intent == Intent::MakeDir;
        let completes = makes && layout::completes_a_bare_repository(name, parent);
        match completes {
            true if !self.created.is_new_project(parent) => Some(BARE.to_owned()),
            true if has_links_beneath(parent) => Some(LINK.to_owned()),
            true => self.completes_untrusted_repository(attempt, parent),
            false => {
                self.first_config(attempt, parent);
                None
            }
        }
    }

    fn in_git_dir(
        &mut self,
        boundary: &Boundary,
        attempt: &Attempt,
        git_dir: &Path,
        below: &Path,
    ) -> Option<Why> {
        if plants_link(attempt, below) {
            return Some(LINK.to_owned());
        }
        if brings_shared_file(attempt, (git_dir, below), self.created.contains(git_dir)) {
            return Some(SHARED.to_owned());
        }
        let refused = if self.created.contains(git_dir) {
            match nested::judge(&self.created, attempt, git_dir, below) {
                Nested::Free => None,
                Nested::Furnishes => {
                    self.created.note_untrusted_repository();
                    None
                }
                Nested::Refused(why) => Some(why),
                Nested::Config => config_swap::judge_new(&mut self.swap, attempt),
            }
        } else {
            self.in_old_git_dir(boundary, attempt, git_dir, below)
        };
        refused.or_else(|| self.by_paths_in_content(attempt, git_dir, below))
    }

    /// Held since its content says where git writes: `index`, `MERGE_RR`. In a repository that this run made, and the report
    /// names, hooks are free and so is this, unless the repository lies in another working tree.
    fn by_paths_in_content(&mut self, attempt: &Attempt, git_dir: &Path, below: &Path) -> Option<Why> {
        if is_being_written(attempt.place.file_name().unwrap_or_default()) {
            return (attempt.intent != Intent::Remove).then(|| BEING_WRITTEN.to_owned());
        }
        let is_index = index_swap::is_index(git_dir, below);
        let is_lock = !is_index && locks::is_lock(git_dir, below);
        let is_reference = !is_index && !is_lock && reference_swap::is_in(git_dir, below);
        if !is_index && !is_lock && !is_reference && !rerere_swap::is_merge_rr(git_dir, below) {
            return None;
        }
        let is_new = || self.created.contains(git_dir) || self.is_of_new_worktree(git_dir, below);
        if self.is_free(git_dir) || is_reference && is_new() {
            return None;
        }
        if is_lock {
            return self.locks.judge(attempt);
        }
        let judge = match (is_index, is_reference) {
            (true, _) => index_swap::judge,
            (false, true) => reference_swap::judge,
            (false, false) => rerere_swap::judge,
        };
        judge(&mut self.swap, attempt)
    }

    /// Returns whether a git directory is one that this run made as a whole, in no other working tree.
    fn is_free(&self, git_dir: &Path) -> bool {
        self.created.contains(git_dir) && !nested::is_nested(&self.created, git_dir)
    }

    /// Returns whether a path lies in the git directory of a worktree that this run makes: git writes the first `HEAD` in its place, of a
    /// repository too. Whether that leads out is seen at the end ([`layout::is_plain_worktree`]).
    fn is_of_new_worktree(&self, git_dir: &Path, below: &Path) -> bool {
        let mut names = below.iter();
        let worktree: PathBuf = names.by_ref().take(2).collect();
        worktree.starts_with("worktrees")
            && names.next().is_some_and(|name| name != "modules")
            && self.created.contains(&git_dir.join(worktree))
    }

    /// Held as a part of a git directory that this run did not make.
    fn in_old_git_dir(
        &mut self,
        boundary: &Boundary,
        attempt: &Attempt,
        git_dir: &Path,
        below: &Path,
    ) -> Option<Why> {
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
        }
    }

    /// The part of a git directory, with the directories of submodules and worktrees in it told apart.
    fn part(&self, boundary: &Boundary, git_dir: &Path, below: &Path) -> GitPart {
        match git_dir::part(below) {
            GitPart::Module => self.module(boundary, git_dir, below),
            GitPart::Worktree => {
                let mut names = below.components();
                let worktree: PathBuf = git_dir.join(names.by_ref().take(2).collect::<PathBuf>());
                if self.created.contains(&worktree) || Lookup::find(&worktree).is_missing() {
                    return GitPart::Free;
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
            "only the user sets up submodules: git runs what stands in their git directories";
        let modules = below.ancestors().filter(|at| at.components().count() > 1);
        let module = modules.map(|below| git_dir.join(below)).find(|at| layout::is_git_dir(at));
        let place = git_dir.join(below);
        let within = |module: &PathBuf| place.strip_prefix(module).ok().map(Path::to_owned);
        match module.as_ref().and_then(|module| Some((module, within(module)?))) {
            Some((module, rest)) => self.part(boundary, module, &rest),
            None => GitPart::Held(SET_UP),
        }
    }

    /// The reason why a directory does not go into a git directory: it comes from elsewhere, it would be the git directory of a
    /// worktree or submodule whose parts were not looked at, or it may hold a link.
    pub(super) fn directory_into_git_dir(
        &self,
        boundary: &Boundary,
        from: &Path,
        (git_dir, below): &InGit,
    ) -> Option<Why> {
        const WHOLE: &str = "a directory is not moved into a git directory as a whole";
        let within = self.git_dir_of(boundary, from).is_some_and(|(other, _)| other == *git_dir);
        let could_be_untrusted = ["worktrees", "modules", "refs"].iter().any(|name| below.starts_with(name));
        if !within || could_be_untrusted && !self.is_free(git_dir) {
            return Some(WHOLE.to_owned());
        }
        has_links_beneath(from).then(|| LINK.to_owned())
    }

    /// Takes over a configuration that git puts into a directory before that is a repository, if it is plain.
    fn first_config(&mut self, attempt: &Attempt, directory: &Path) {
        let is_config = attempt.intent == Intent::MoveTo && attempt.place.ends_with("config");
        if is_config && self.created.contains(directory) && nested::is_nested(&self.created, directory) {
            let _ = config_swap::judge_new(&mut self.swap, attempt);
        }
    }

    /// The reason why a directory that this run made does not become a bare repository: it lies in a working tree that was there before,
    /// whose worktrees can be led to it, and it holds what git would run. Its configuration is one that the supervisor wrote: another
    /// one may still be open.
    fn completes_untrusted_repository(&mut self, attempt: &Attempt, directory: &Path) -> Option<Why> {
        if !nested::is_nested(&self.created, directory) {
            self.created.note_untrusted_repository();
            return None;
        }
        let config = directory.join("config");
        let untrusted = || Some(nested::RUNS.to_owned());
        if nested::may_hold_programs(directory) || attempt.place.ends_with("commondir") {
            return untrusted();
        }
        if attempt.place == config {
            return config_swap::judge_new(&mut self.swap, attempt);
        }
        if Lookup::find(&config).is_missing() || self.swap.wrote(&config) { None } else { untrusted() }
    }

    /// Returns whether a repository that this run made and configured as it liked, or a file that leads to one, may lie beneath a directory:
    /// with a working tree around it git would look into it.
    fn holds_own_repository(&self, directory: &Path) -> bool {
        let visit = |entry: &Path, kind: fs::FileType| {
            let names_one = entry.file_name().is_some_and(|name| name == ".git");
            let was_there = || kind.is_dir() && !self.created.contains(entry);
            if names_one && !was_there() { Visit::Found } else { Visit::Enter }
        };
        walk(directory, visit) != WalkOutcome::Everything
    }

    /// Returns whether a directory is a repository, by what is in it, that this run did not make.
    pub(super) fn is_foreign_git_dir(&self, directory: &Path) -> bool {
        layout::may_serve_as_git_dir(directory) && !self.created.contains(directory)
    }

    /// The git directory that a place lies in, with the path in it.
    pub(super) fn git_dir_of(&self, boundary: &Boundary, place: &Path) -> Option<InGit> {
        self.git_dir_around(boundary, place, place)
    }

    /// Searches for a git directory without a telling name, from `innermost` outwards.
    pub(super) fn git_dir_around(
        &self,
        boundary: &Boundary,
        place: &Path,
        innermost: &Path,
    ) -> Option<InGit> {
        let within =
            |git_dir: &Path| Some((git_dir.to_owned(), place.strip_prefix(git_dir).ok()?.to_owned()));
        let known = boundary
            .git_dirs()
            .iter()
            .filter(|dir| is_within(place, dir))
            .max_by_key(|dir| dir.as_os_str().len());
        if let Some(known) = known {
            return within(known);
        }
        let named = named_git_dir(place);
        if let Some(dot_git) = named.filter(|at| *at != place || Lookup::find(at).may_be_directory()) {
            return within(dot_git);
        }
        // A bare one has any name: it is told by what is in it.
        let around = self.layouts.outermost_git_dir(innermost, |at| boundary.may_be_in_repository(at));
        around.as_deref().and_then(within)
    }
}

/// The outermost `.git` among a path and its ancestors.
fn named_git_dir(place: &Path) -> Option<&Path> {
    // Taking a path apart costs more than all that is looked for in it.
    let may_be = place.as_os_str().as_encoded_bytes().windows(5).any(|name| name == b"/.git");
    let named = |at: &&Path| at.file_name().is_some_and(|name| name == ".git");
    if may_be { place.ancestors().filter(named).last() } else { None }
}

/// Returns whether what is put into a git directory is a symbolic link. git makes none there, but for the one by which `git init` tries
/// whether there are links at all: left behind, it leads to a name beside it that means nothing.
fn plants_link(attempt: &Attempt, below: &Path) -> bool {
    let is_trial = match &attempt.detail {
        Detail::LinkText(text) => git_dir::is_trial(below) && text == "testing",
        _ => false,
    };
    puts_link(attempt) && !is_trial
}

/// Returns whether what is put into a git directory is a file with another name outside that: git opens some of its files for
/// writing where they are (`COMMIT_EDITMSG`, `FETCH_HEAD`, `logs`), and would write what is read by the other name. Objects are never
/// written again, so that a local clone shares them (git-clone(1), `--local`). `is_new`: the run made the git directory.
fn brings_shared_file(attempt: &Attempt, (git_dir, below): (&Path, &Path), is_new: bool) -> bool {
    let among_objects = below.starts_with("objects");
    let shares = |from: &Path| {
        has_several_names(from) && !(among_objects && from.starts_with(git_dir.join("objects")))
    };
    match (attempt.intent, &attempt.detail) {
        (Intent::MoveTo, Detail::HardLinkOf(_)) if is_new && among_objects => false,
        (Intent::MoveTo, Detail::HardLinkOf(from)) => !from.starts_with(git_dir) || shares(from),
        (Intent::MoveTo, Detail::From(from))
        | (Intent::MoveTo | Intent::MoveFrom, Detail::Exchange(from)) => shares(from),
        _ => false,
    }
}

/// Returns whether a file may have several names. What cannot be looked up may.
fn has_several_names(file: &Path) -> bool {
    match Lookup::find(file) {
        Lookup::Found(found) => !found.is_dir() && found.nlink() > 1,
        Lookup::Missing => false,
        Lookup::Unknown => true,
    }
}

/// Returns whether a symbolic link, or a file with several names, may lie beneath a directory.
fn has_links_beneath(directory: &Path) -> bool {
    let links = |at: &Path, kind: fs::FileType| {
        let is_link = kind.is_symlink() || !kind.is_dir() && has_several_names(at);
        if is_link { Visit::Found } else { Visit::Enter }
    };
    walk(directory, links) != WalkOutcome::Everything
}

/// Returns whether a change of attributes would keep the owner from looking at a directory.
fn hides(attempt: &Attempt) -> bool {
    const OWNER: u32 = 0o700;
    match &attempt.detail {
        Detail::Mode(mode) => mode & OWNER != OWNER,
        // An access control list says the same in other words.
        Detail::Attribute(name) => name.as_encoded_bytes().starts_with(b"system.posix_acl"),
        _ => false,
    }
}
