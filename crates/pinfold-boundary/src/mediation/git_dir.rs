//! What may change in a git directory, by the path in it: a table over names, without a look at the file system.
//!
//! [gitrepository-layout(5)](https://git-scm.com/docs/gitrepository-layout). What names programs, other configurations or
//! other object stores is held; all else every git command writes.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

/// How a path in a git directory may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GitPart {
    /// As any file.
    Free,
    /// Not at all.
    Held(&'static str),
    /// It may be written beneath, but stays where it is.
    Pinned(&'static str),
    /// It may be replaced by another file, and is never missing.
    Kept(&'static str),
    /// The configuration: replaced by one that differs in harmless keys alone.
    Config,
    /// The index, or what it shares with others: replaced by one that leads nowhere else.
    Index,
    /// The git directory of a submodule, or a directory above one.
    Module,
    /// The git directory of the linked worktree with this name; `linked` is the path in it.
    Worktree,
}

const RUNS: &str = "git runs what stands there, or is told there what to run";
const STAYS: &str = "a git directory stays where it is";

/// The part that a path in a git directory is.
pub(crate) fn part(below: &Path) -> GitPart {
    let names: Vec<&[u8]> = below.components().map(|component| component.as_os_str().as_bytes()).collect();
    match names.as_slice() {
        // Of a directory without a telling name `refs` is a part of what it is known by.
        [] | [b"refs" | b"modules" | b"worktrees"] => GitPart::Pinned(STAYS),
        [b"HEAD"] => GitPart::Kept(STAYS),
        [b"info"] => GitPart::Pinned(RUNS),
        // What `git update-server-info` writes for dumb transports, at the end of every `git gc`.
        [b"info", name] if name.starts_with(b"refs") => GitPart::Free,
        [b"hooks" | b"info", ..] => GitPart::Held(RUNS),
        [b"config"] => GitPart::Config,
        [name] if is_index(name) => GitPart::Index,
        [b"config.worktree"] => GitPart::Held("git runs programs that are named there"),
        [b"commondir"] => GitPart::Held("it would lead git to another configuration"),
        [b"remotes" | b"branches", ..] => GitPart::Held("it names where git fetches from and pushes to"),
        [b"objects"] | [b"objects", b"info"] => GitPart::Pinned("git's object store stays where it is"),
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
        _ if ours => in_new_worktree(below),
        // `git gc` locks every `HEAD` there is, and prunes its log.
        [b"logs", ..] => GitPart::Free,
        [name] if name.ends_with(b".lock") => GitPart::Free,
        _ => GitPart::Held("it belongs to another worktree"),
    }
}

/// The part that a path in the git directory of a linked worktree is that this run made.
pub(crate) fn in_new_worktree(below: &Path) -> GitPart {
    let mut names = below.components().map(|component| component.as_os_str().as_bytes());
    match (names.next(), names.next()) {
        (Some(name), None) if is_index(name) => GitPart::Index,
        _ => GitPart::Free,
    }
}

/// Whether a file with this name in a git directory holds the names that git checks out.
pub(super) fn is_index(name: &[u8]) -> bool {
    name == b"index" || name.starts_with(b"sharedindex.")
}

/// Whether a symbolic link in a git directory can lead only to what lies beside or beneath it.
pub(crate) fn stays_inside(text: &OsStr) -> bool {
    let mut components = Path::new(text).components().peekable();
    components.peek().is_some()
        && components.all(|component| matches!(component, Component::Normal(_) | Component::CurDir))
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
            GitPart::Index => "index",
            GitPart::Module => "module",
            GitPart::Worktree => "worktree",
        };
        for (path, expected) in [
            ("", "pinned"),
            ("HEAD", "kept"),
            ("HEAD.lock", "free"),
            ("index", "index"),
            ("index.lock", "free"),
            ("sharedindex.0123", "index"),
            ("sharedindex_Ab12Cd", "free"),
            ("refs/heads/index", "free"),
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
            ("index", true, "index"),
            ("index", false, "held"),
            ("HEAD.lock", false, "free"),
            ("logs/HEAD", false, "free"),
            ("rebase-merge/git-rebase-todo", false, "held"),
        ] {
            assert_eq!(word(linked(Path::new(path), ours)), expected, "{path} {ours}");
        }
    }

    #[test]
    fn a_link_stays_inside_only_by_plain_names() {
        for (text, expected) in [
            ("testing", true),
            ("refs/heads/main", true),
            ("./x", true),
            ("", false),
            ("..", false),
            ("a/../../x", false),
            ("/etc/passwd", false),
        ] {
            assert_eq!(stays_inside(OsStr::new(text)), expected, "{text}");
        }
    }
}
