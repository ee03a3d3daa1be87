//! Parts of a git directory that may change, by the path in it: a table over names.
//!
//! [gitrepository-layout(5)](https://git-scm.com/docs/gitrepository-layout). What names programs, other configurations or
//! other object stores is held; all else every git command writes.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use pinfold_policy::git_dir::{BISECT, UNFINISHED};

use crate::git::layout;

/// Permitted changes of a path in a git directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GitPart {
    /// Changes as any file.
    Free,
    /// Not at all.
    Held(&'static str),
    /// Can be written beneath, but not moved.
    Pinned(&'static str),
    /// Can be replaced by another file, but not removed.
    Kept(&'static str),
    /// The configuration: replaced by one that differs in harmless keys alone.
    Config,
    /// The git directory of a submodule, or a directory above one.
    Module,
    /// The git directory of the linked worktree with this name; `linked` is the path in it.
    Worktree,
}

const RUNS: &str = "git runs what stands there, or is told there what to run";
const STAYS: &str = "a git directory cannot be moved or removed";

/// The part that a path in a git directory is.
pub(crate) fn part(below: &Path) -> GitPart {
    let names: Vec<&[u8]> = below.components().map(|component| component.as_os_str().as_bytes()).collect();
    match names.as_slice() {
        // Of a directory without a telling name `refs` is a part of what it is known by.
        [] | [b"refs" | b"modules" | b"worktrees"] => GitPart::Pinned(STAYS),
        [b"HEAD"] => GitPart::Kept(STAYS),
        [b"info"] => GitPart::Pinned(RUNS),
        // What `git update-server-info` writes for dumb transports, at the end of every `git gc`, as `refs_XXXXXX` at first.
        [b"info", name] if *name == b"refs" || name.starts_with(b"refs_") => GitPart::Free,
        [b"hooks" | b"info", ..] => GitPart::Held(RUNS),
        [b"config"] => GitPart::Config,
        [b"config.worktree"] => GitPart::Held("git runs programs that are named there"),
        [b"commondir"] => GitPart::Held("it would lead git to another configuration"),
        [b"remotes" | b"branches", ..] => GitPart::Held("it names where git fetches from and pushes to"),
        [b"objects"] | [b"objects", b"info"] => {
            GitPart::Pinned("the object store of git cannot be moved or removed")
        }
        [b"objects", b"info", b"alternates" | b"http-alternates"] => {
            GitPart::Held("it names other object stores")
        }
        [b"modules", ..] => GitPart::Module,
        [b"worktrees", ..] => GitPart::Worktree,
        _ => GitPart::Free,
    }
}

/// The part that a path in the git directory of a linked worktree is, when the worktree existed before the run. `ours`: its
/// working tree lies in what was granted.
pub(crate) fn linked(below: &Path, ours: bool) -> GitPart {
    const TIES: &str = "it ties a worktree to its repository";
    let names: Vec<&[u8]> = below.components().map(|component| component.as_os_str().as_bytes()).collect();
    match names.as_slice() {
        [] => GitPart::Pinned(STAYS),
        [b"commondir" | b"gitdir"] => GitPart::Held(TIES),
        [b"config.worktree"] => GitPart::Held("git runs programs that are named there"),
        [b"modules", ..] => GitPart::Module,
        _ if ours => GitPart::Free,
        // `git gc` locks every `HEAD` there is, and prunes its log.
        [b"logs", ..] => GitPart::Free,
        [name] if name.ends_with(b".lock") => GitPart::Free,
        _ => GitPart::Held("it belongs to another worktree"),
    }
}

/// The path in the innermost git directory: of a worktree or submodule in `git_dir`, or of that itself. Where no submodule is known to be
/// this is a name alone, that counts in either.
pub(super) fn innermost<'p>(git_dir: &Path, below: &'p Path) -> &'p Path {
    let mut names = below.iter();
    let (first, second) = (names.next().unwrap_or_default(), names.next());
    let rest = names.as_path();
    if first == "worktrees" && !rest.as_os_str().is_empty() {
        let worktree = git_dir.join(first).join(second.unwrap_or_default());
        return innermost(&worktree, rest);
    }
    if first != "modules" || second.is_none() {
        return below;
    }
    let above = below.ancestors().skip(1).filter(|at| at.iter().count() > 1);
    let module = above.map(|at| (at, git_dir.join(at))).find(|(_, module)| layout::is_git_dir(module));
    match module.and_then(|(at, module)| Some((module, below.strip_prefix(at).ok()?))) {
        Some((module, rest)) => innermost(&module, rest),
        None => below.file_name().map_or(below, Path::new),
    }
}

/// Returns whether a name that `is_meant` stands at the top of a git directory, or of one of a worktree or submodule in it.
pub(super) fn is_at_top(git_dir: &Path, below: &Path, is_meant: impl Fn(&[u8]) -> bool) -> bool {
    let is_meant = |name: &std::ffi::OsStr| is_meant(name.as_bytes());
    below.file_name().is_some_and(is_meant) && innermost(git_dir, below).iter().count() == 1
}

/// The path in a git directory at which git remembers an unfinished operation, where `below` is that or lies beneath it. What is
/// written there decides what the next `git rebase --continue` or `git bisect good` runs.
pub(super) fn operation<'p>(git_dir: &Path, below: &'p Path) -> Option<&'p Path> {
    let remembers = |name: &[u8]| {
        UNFINISHED.iter().any(|known| known.as_bytes() == name) || name.starts_with(BISECT.as_bytes())
    };
    below.ancestors().find(|at| is_at_top(git_dir, at, remembers))
}

/// Returns whether a name in a git directory is one that `git init` makes to try something, by mkstemp(3): `tXXXXXX`.
pub(crate) fn is_trial(below: &Path) -> bool {
    let name = below.as_os_str().as_bytes();
    name.len() == 7 && name.starts_with(b"t") && name.iter().all(u8::is_ascii_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_programs_is_held_and_what_every_command_writes_is_not() {
        let word = |part: GitPart| match part {
            GitPart::Free => "free",
            GitPart::Held(_) => "held",
            GitPart::Pinned(_) => "pinned",
            GitPart::Kept(_) => "kept",
            GitPart::Config => "config",
            GitPart::Module => "module",
            GitPart::Worktree => "worktree",
        };
        for (path, expected) in [
            ("", "pinned"),
            ("HEAD", "kept"),
            ("HEAD.lock", "free"),
            ("index.lock", "free"),
            ("refs", "pinned"),
            ("refs/heads/hooks", "free"),
            ("logs/refs/heads/x", "free"),
            ("hooks", "held"),
            ("hooks/pre-commit", "held"),
            ("hooks.old/x", "free"),
            ("info", "pinned"),
            ("info/refs", "free"),
            ("info/refs_Ab12Cd", "free"),
            ("info/refs/x", "held"),
            ("info/refs.was", "held"),
            ("info/attributes", "held"),
            ("info/exclude", "held"),
            ("config", "config"),
            ("config.lock", "free"),
            ("config.worktree", "held"),
            ("objects", "pinned"),
            ("objects/ab/cdef", "free"),
            ("objects/info", "pinned"),
            ("objects/info/packs", "free"),
            ("objects/info/alternates", "held"),
            ("modules/a/hooks/x", "module"),
            ("worktrees/w/HEAD", "worktree"),
            ("remotes/origin", "held"),
            ("rebase-merge/git-rebase-todo", "free"),
        ] {
            assert_eq!(word(part(Path::new(path))), expected, "{path}");
        }
        for (path, ours, expected) in [
            ("", true, "pinned"),
            ("HEAD", true, "free"),
            ("gitdir", true, "held"),
            ("config.worktree", true, "held"),
            ("index", false, "held"),
            ("HEAD.lock", false, "free"),
            ("logs/HEAD", false, "free"),
            ("rebase-merge/git-rebase-todo", false, "held"),
        ] {
            assert_eq!(word(linked(Path::new(path), ours)), expected, "{path} {ours}");
        }
    }

    #[test]
    fn an_unfinished_operation_is_told_by_where_git_remembers_it() {
        for (below, expected) in [
            ("rebase-merge", Some("rebase-merge")),
            ("rebase-merge/git-rebase-todo", Some("rebase-merge")),
            ("worktrees/w/rebase-apply/next", Some("worktrees/w/rebase-apply")),
            ("modules/a/b/sequencer/todo", Some("modules/a/b/sequencer")),
            ("BISECT_TERMS", Some("BISECT_TERMS")),
            ("refs/heads/rebase-merge", None),
            ("refs/bisect/bad", None),
            ("index", None),
        ] {
            let found = operation(Path::new("/r/.git"), Path::new(below));
            assert_eq!(found, expected.map(Path::new), "{below}");
        }
    }

    #[test]
    fn a_trial_of_git_is_told_by_its_name() {
        for (name, expected) in [
            ("tAb3xYz", true),
            ("tAb3xY", false),
            ("aAb3xYz", false),
            ("a/tAb3xYz", false),
            ("t/b3xYz", false),
        ] {
            assert_eq!(is_trial(Path::new(name)), expected, "{name}");
        }
    }
}
