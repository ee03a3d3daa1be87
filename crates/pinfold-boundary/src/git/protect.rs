//! Protection of a repository: git's commands work inside, and nothing is planted for git outside.
//!
//! A git directory stays writable, since nearly every command renames something in it, but it is pinned in its
//! place, and the files in it that name programs are held: `hooks`, `config`, `info`, `config.worktree`, `commondir`
//! (which would lead git to another configuration), `objects/info/alternates` (to other objects). Held means
//! read-only, also when missing. The person's `config` is covered by a private copy, so that commands which
//! store a key go through; [`super::settle`] brings the harmless keys back.
//!
//! Not covered: a running rebase's list may hold `exec` lines. It has to be writable for a rebase to
//! work; one that is left behind is reported.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::config::Config;
use super::layout::{self, Repository, RepositoryLink};
pub(crate) use super::settle::PrivateConfig;
use crate::access_list::{AccessList, Hold, PathAccess};
use crate::private::Private;

/// A git directory whose configuration is covered by a private copy, and those that are held at all.
#[derive(Debug, Default)]
pub(crate) struct ProtectedGitDir {
    pub(crate) configs: Vec<PrivateConfig>,
    pub(crate) git_dirs: Vec<PathBuf>,
}

impl ProtectedGitDir {
    /// Directories of private copies.
    pub(crate) fn copies(&self) -> Vec<PathBuf> {
        self.configs.iter().map(|copy| copy.directory().to_owned()).collect()
    }
}

/// Context of the protection.
pub(crate) struct ProtectionContext<'a> {
    /// Test whether a path lies in a granted folder.
    pub(crate) inside: &'a dyn Fn(&Path) -> bool,
    /// Directory of the copies of configurations, if the kernel can mount them.
    pub(crate) private: Option<&'a Private>,
    /// System calls are mediated: changes in the repository are judged when they are tried.
    pub(crate) mediated: bool,
}

/// Writes down what is held of one repository.
pub(crate) fn protect(
    repository: &Repository,
    known: &ProtectionContext<'_>,
    places: &mut AccessList,
    held: &mut ProtectedGitDir,
) {
    let inside = known.inside;
    let Repository { tie, top, git_dir, common } = repository;
    if *tie != RepositoryLink::Bare && *tie != RepositoryLink::Plain {
        places.add(top.join(".git"), Hold::ReadOnly, "it tells git where the repository is");
    }
    for dir in [common, git_dir] {
        if !inside(dir) {
            places.add(dir.clone(), Hold::Writable, "it is the git directory of the granted folder");
        }
    }
    git_directory(common, *tie == RepositoryLink::Bare && inside(common), known, places, held);
    if *tie == RepositoryLink::Worktree {
        hold_checkout(common, "it belongs to the main working tree", places);
    }
    for worktree in layout::worktrees(common) {
        pin_between(common, &worktree, places);
        linked(&worktree, git_dir, inside(common), places);
    }
    for module in layout::modules(common).into_iter().chain(own_modules(git_dir, common)) {
        pin_between(if module.starts_with(git_dir) { git_dir } else { common }, &module, places);
        git_directory(&module, false, known, places, held);
    }
}

/// Pins the directories between two places: moved away with one of them, what is held below could be replanted.
pub(crate) fn pin_between(above: &Path, below: &Path, places: &mut AccessList) {
    for between in below.ancestors().skip(1).take_while(|a| *a != above && a.starts_with(above)) {
        places.pin(between.to_owned(), "it contains protected places, so that it cannot be moved or removed");
    }
}

/// Submodules of a linked worktree have their git directories in the worktree's own.
fn own_modules(git_dir: &Path, common: &Path) -> Vec<PathBuf> {
    if git_dir == common { Vec::new() } else { layout::modules(git_dir) }
}

fn git_directory(
    dir: &Path,
    is_folder: bool,
    known: &ProtectionContext<'_>,
    places: &mut AccessList,
    held: &mut ProtectedGitDir,
) {
    if held.git_dirs.iter().any(|d| d == dir) {
        return;
    }
    held.git_dirs.push(dir.to_owned());
    if !is_folder {
        places.pin(dir.to_owned(), "a git directory cannot be moved or removed");
    }
    // What git writes in `info` at the end of `git gc` only a supervisor can tell from what it reads there.
    let whole: &[&str] = if known.mediated { &["hooks"] } else { &["hooks", "info"] };
    for name in whole {
        hold(&dir.join(name), "git runs what stands there, or is told there what to run", places);
    }
    let config = Config::read(&dir.join("config"));
    hold_config(dir, config.as_ref().ok(), known.private, places, held);
    let worktree_config = match &config {
        Ok(config) => config.is_on("extensions", "worktreeconfig"),
        // What cannot be read here may turn it on for git.
        Err(e) => e.kind() != io::ErrorKind::NotFound,
    };
    hold_worktree_config(dir, worktree_config, places);
    stand_in(&dir.join("commondir"), b".\n", "it would lead git to another configuration", places);
    objects(dir, places);
}

/// `objects/info/alternates` names further object stores. Its parents are pinned: moved away with it, another
/// one could be put in their place.
fn objects(dir: &Path, places: &mut AccessList) {
    for below in ["objects", "objects/info"] {
        let path = dir.join(below);
        if !is_dir(&path) {
            return;
        }
        places.pin(path, "the object store of git cannot be moved or removed");
    }
    stand_in(&dir.join("objects/info/alternates"), b"", "it names other object stores", places);
}

fn hold_config(
    dir: &Path,
    config: Option<&Config>,
    private: Option<&Private>,
    places: &mut AccessList,
    held: &mut ProtectedGitDir,
) {
    let path = dir.join("config");
    let why = "git runs programs that are named there";
    let copy = |config, private: &Private| {
        let directory = private.path().ok()?.join(format!("git-{}", held.configs.len()));
        PrivateConfig::new(dir, config, &directory).ok()
    };
    let copied = config.zip(private).and_then(|(config, private)| copy(config, private));
    match copied {
        Some(copy) => {
            places.add(
                copy.directory().to_owned(),
                Hold::Writable,
                "it is a private copy of git's configuration",
            );
            places.add(path, Hold::CoveringLink(copy.file()), why);
            held.configs.push(copy);
        }
        None => hold(&path, why, places),
    }
}

/// Without the extension git does not look at `config.worktree`, and a command that turns the extension on only
/// turns it on in the private copy. One that exists is held all the same.
fn hold_worktree_config(dir: &Path, in_use: bool, places: &mut AccessList) {
    let path = dir.join("config.worktree");
    if in_use || fs::symlink_metadata(&path).is_ok() {
        hold(&path, "git runs programs that are named there", places);
    }
}

/// A linked worktree's directory in the shared repository. That of another worktree stays writable as a directory,
/// since `git gc` locks every `HEAD` there is, but what it has checked out stays as it is.
fn linked(worktree: &Path, ours: &Path, main_inside: bool, places: &mut AccessList) {
    places.pin(worktree.to_owned(), "a git directory cannot be moved or removed");
    for name in ["commondir", "gitdir"] {
        hold(&worktree.join(name), "it ties a worktree to its repository", places);
    }
    hold_worktree_config(worktree, false, places);
    if worktree != ours && !main_inside {
        hold_checkout(worktree, "it belongs to another worktree", places);
    }
}

/// Holds `HEAD` and the index of a working tree.
fn hold_checkout(git_dir: &Path, why: &'static str, places: &mut AccessList) {
    for name in ["HEAD", "index"] {
        let path = git_dir.join(name);
        if fs::symlink_metadata(&path).is_ok() {
            hold(&path, why, places);
        }
    }
}

/// Read-only when it is there, a detour to its own target when it is a link, not to be made when it is missing.
pub(crate) fn hold(path: &Path, why: &'static str, places: &mut AccessList) {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_symlink() => {
            if let Ok(target) = fs::read_link(path) {
                places.add(path.to_owned(), Hold::CoveringLink(target), why);
            }
            match fs::canonicalize(path) {
                Ok(real) => places.add(real, Hold::ReadOnly, why),
                Err(_) => hold_missing_target(path, why, places),
            }
        }
        Ok(meta) if pinfold_sandbox::is_placeholder(path) && meta.is_dir() => {
            places.add(path.to_owned(), Hold::Absent, why);
        }
        Ok(meta) => {
            if pinfold_sandbox::is_marked(&meta) {
                // A killed run made it and could not take its mark away. Left as it is the mark does no harm.
                let _ = pinfold_sandbox::unmark_left_behind(path);
            }
            places.add(path.to_owned(), Hold::ReadOnly, why);
        }
        Err(_) => places.add(path.to_owned(), Hold::Absent, why),
    }
}

/// A link that leads nowhere would lead somewhere as soon as its target is made.
fn hold_missing_target(link: &Path, why: &'static str, places: &mut AccessList) {
    let target = || {
        let target = link.parent()?.join(fs::read_link(link).ok()?);
        Some(fs::canonicalize(target.parent()?).ok()?.join(target.file_name()?))
    };
    // Where nothing can be written nothing can be made, and nothing is to be put there by us. A link that is held
    // already is not writable, so that a loop of links ends.
    if let Some(target) = target().filter(|t| places.access(t) == PathAccess::Writable) {
        hold(&target, why, places);
    }
}

/// Read-only when it is there with content of its own; otherwise held by a file with this content.
fn stand_in(path: &Path, content: &'static [u8], why: &'static str, places: &mut AccessList) {
    match fs::symlink_metadata(path) {
        Ok(_) if !pinfold_sandbox::is_stand_in(path, content) => hold(path, why, places),
        _ => places.add(path.to_owned(), Hold::StandIn(content), why),
    }
}

fn is_dir(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|m| m.is_dir())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_directory_that_a_killed_run_left_and_a_tool_uses_is_an_ordinary_one() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join(".vscode");
        fs::create_dir(&place).unwrap();
        fs::write(place.join("settings.json"), "{}").unwrap();
        fs::set_permissions(&place, fs::Permissions::from_mode(0o1755)).unwrap();
        let mut places = AccessList::default();
        hold(&place, "", &mut places);
        assert_eq!(fs::metadata(&place).unwrap().permissions().mode() & 0o7777, 0o755);
    }
}
