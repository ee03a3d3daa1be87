//! A repository that the run makes inside another one that was there before: once it is added to that, `git status` outside
//! looks into it, and runs what its configuration names.
//!
//! git puts a configuration there by renaming `config.lock`. One that names no program takes its place, in a file of the
//! supervisor's own; nothing else does, and hooks are not made.

use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path};

use pinfold_sandbox::{Attempt, Detail, Intent};

use super::created::CreatedByRun;
use super::{Visit, WalkOutcome, Why, walk};
use crate::git::config::{Config, ConfigEntry};
use crate::lookup::Lookup;

pub(super) const RUNS: &str =
    "git outside would run what a repository inside another one names there; ask the user to set it up";

/// Class of a path in the git directory of such a repository.
#[derive(Debug, PartialEq, Eq)]
enum NestedPart {
    /// Names no program.
    Free,
    /// A hook, or another way to a configuration.
    Closed,
    /// A configuration.
    Config,
}

/// Decision about a change in the git directory of a repository that this run made.
pub(super) enum Nested {
    /// Allowed without another check.
    Free,
    /// Allowed too, and git may run what is put there.
    Furnishes,
    Refused(Why),
    /// A configuration takes the place of another, if it [is plain](is_plain).
    Config,
}

/// Judges a change at `below` in `git_dir`, which this run made.
pub(super) fn judge(created: &CreatedByRun, attempt: &Attempt, git_dir: &Path, below: &Path) -> Nested {
    // Of two files that are exchanged each takes the place of the other.
    let is_exchanged = matches!(attempt.detail, Detail::Exchange(_));
    let takes_away = matches!(attempt.intent, Intent::Remove | Intent::MoveFrom) && !is_exchanged;
    let changes = attempt.intent != Intent::Metadata && !takes_away;
    let part = part(below);
    let moves_directory = matches!(attempt.intent, Intent::MoveTo | Intent::MoveFrom)
        && !is_data(below)
        && source(attempt).is_some_and(|from| Lookup::find(from).may_be_directory());
    let makes_directory = attempt.intent == Intent::MakeDir;
    let minds = changes && (moves_directory || part != NestedPart::Free && !makes_directory);
    if !minds {
        return Nested::Free;
    }
    if !is_nested(created, git_dir) {
        return Nested::Furnishes;
    }
    let replaces = matches!((attempt.intent, &attempt.detail), (Intent::MoveTo, Detail::From(_)));
    if part == NestedPart::Config && replaces && !moves_directory {
        return Nested::Config;
    }
    Nested::Refused(RUNS.to_owned())
}

/// Returns whether git may find a git directory from a working tree that was there before the run: it [lies in one](lies_in_old_tree), or
/// a `.git` file there may name it.
pub(super) fn is_nested(created: &CreatedByRun, git_dir: &Path) -> bool {
    created.has_pointer_in_old_tree() || lies_in_old_tree(created, git_dir)
}

/// Returns whether a git directory, or a file that names one, lies in a working tree that was there before the run, in the
/// folder or around it. What cannot be looked at counts as one.
pub(super) fn lies_in_old_tree(created: &CreatedByRun, git_dir: &Path) -> bool {
    let above = git_dir.ancestors().skip(1).map(|above| above.join(".git")).filter(|above| above != git_dir);
    let is_there = |above: &Path| !Lookup::find(above).is_missing() && !created.contains(above);
    above.into_iter().any(|above| is_there(&above))
}

/// Returns whether a hook, or another way to a configuration, may lie in a git directory.
pub(super) fn may_hold_programs(git_dir: &Path) -> bool {
    let closed = |entry: &Path, kind: fs::FileType| {
        let part = entry.strip_prefix(git_dir).map_or(NestedPart::Closed, part);
        let found = !kind.is_dir() && part != NestedPart::Free && entry != git_dir.join("config");
        if found { Visit::Found } else { Visit::Enter }
    };
    walk(git_dir, closed) != WalkOutcome::Everything
}

/// Returns the source of a move.
fn source(attempt: &Attempt) -> Option<&Path> {
    match &attempt.detail {
        Detail::From(from) | Detail::HardLinkOf(from) | Detail::Exchange(from) => Some(from),
        _ => None,
    }
}

/// Objects and references, in which names mean nothing.
pub(super) fn is_data(below: &Path) -> bool {
    below.components().next().is_some_and(|first| {
        ["objects", "refs", "logs", "rr-cache"].iter().any(|name| first.as_os_str() == *name)
    })
}

fn part(below: &Path) -> NestedPart {
    if is_data(below) {
        return NestedPart::Free;
    }
    let name = below.file_name().unwrap_or_default();
    let is_sample = Path::new(name).extension() == Some(OsStr::new("sample"));
    let hook = below.components().any(|component| component == Component::Normal(OsStr::new("hooks")));
    match name.to_str() {
        Some("config") => NestedPart::Config,
        Some("config.worktree" | "commondir") => NestedPart::Closed,
        _ if hook && !is_sample => NestedPart::Closed,
        _ => NestedPart::Free,
    }
}

/// Returns whether git runs nothing and reads nothing else because of a configuration: it has no keys but those that git sets by itself
/// when it makes, clones and follows repositories
/// ([git-config(1)](https://git-scm.com/docs/git-config)). `core.worktree` is none of them: a `git checkout` outside would write
/// wherever it leads, also through links that are made later. Nor are those of a partial clone: `git status` outside would fetch what is
/// missing from the address that is named.
pub(super) fn is_plain(config: &Config) -> bool {
    config.entries().iter().all(is_plain_entry)
}

fn is_plain_entry(entry: &ConfigEntry) -> bool {
    let keys: &[&str] = match (entry.section.as_str(), entry.subsection.is_some()) {
        ("core", false) => &[
            "autocrlf",
            "bare",
            "eol",
            "filemode",
            "ignorecase",
            "logallrefupdates",
            "precomposeunicode",
            "protecthfs",
            "protectntfs",
            "repositoryformatversion",
            "safecrlf",
            "sparsecheckout",
            "sparsecheckoutcone",
            "symlinks",
        ],
        ("extensions", false) => &[
            "compatobjectformat",
            "noop",
            "objectformat",
            "preciousobjects",
            "refstorage",
            "relativeworktrees",
        ],
        ("remote", true) => &["fetch", "mirror", "prune", "push", "pushurl", "tagopt", "url"],
        ("branch", true) => &["description", "merge", "pushremote", "rebase", "remote"],
        ("submodule", true) => &["active", "branch", "url"],
        ("submodule", false) => &["active", "recurse"],
        ("user", false) => &["email", "name"],
        ("init", false) => &["defaultbranch"],
        ("pull", false) => &["ff", "rebase"],
        ("push", false) => &["autosetupremote", "default", "followtags"],
        ("commit" | "tag", false) => &["gpgsign"],
        ("advice" | "color", _) => return true,
        _ => &[],
    };
    keys.contains(&entry.key.as_str())
}

/// Returns whether what is moved takes a repository that this run made into a working tree that was there before.
pub(super) fn moves_in(created: &CreatedByRun, from: &Path, to: &Path) -> bool {
    is_nested(created, to) && !is_nested(created, from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_told_by_its_name() {
        for (path, expected) in [
            ("config", NestedPart::Config),
            ("config.lock", NestedPart::Free),
            ("config.worktree", NestedPart::Closed),
            ("commondir", NestedPart::Closed),
            ("hooks", NestedPart::Closed),
            ("hooks/post-checkout", NestedPart::Closed),
            ("hooks/post-checkout.sample", NestedPart::Free),
            ("index", NestedPart::Free),
            ("refs/heads/config", NestedPart::Free),
            ("refs/heads/hooks/x", NestedPart::Free),
            ("modules/refs/config", NestedPart::Config),
            ("modules/a/hooks/x", NestedPart::Closed),
            ("worktrees/w/config.worktree", NestedPart::Closed),
        ] {
            assert_eq!(part(Path::new(path)), expected, "{path}");
        }
    }

    #[test]
    fn a_plain_configuration_names_no_program() {
        for (text, expected) in [
            ("[core]\n\trepositoryformatversion = 0\n\tbare = false\n[remote \"o\"]\n\turl = /x\n", true),
            ("[branch \"main\"]\n\tremote = o\n\tmerge = refs/heads/main\n[user]\n\tname = N\n", true),
            ("[core]\n\tfsmonitor = ./x\n", false),
            ("[core]\n\thooksPath = ../h\n", false),
            ("[filter \"x\"]\n\tclean = ./x\n", false),
            ("[include]\n\tpath = ../x\n", false),
            ("[includeIf \"gitdir:x\"]\n\tpath = ../x\n", false),
            ("[diff \"x\"]\n\ttextconv = ./x\n", false),
            ("[extensions]\n\tworktreeConfig = true\n", false),
            ("[submodule \"s\"]\n\tupdate = !./x\n", false),
            ("[core]\n\tworktree = /home/u\n", false),
            ("[extensions]\n\tpartialClone = o\n", false),
            ("[remote \"o\"]\n\tpromisor = true\n", false),
            ("[remote \"o\"]\n\tpartialCloneFilter = tree:0\n", false),
        ] {
            assert_eq!(is_plain(&Config::parse(text).unwrap()), expected, "{text}");
        }
    }
}
