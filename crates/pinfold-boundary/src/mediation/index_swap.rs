//! The index of a repository: git replaces it by renaming `index.lock` over it.
//!
//! One with a path that leads out of the working tree, or into a git directory, would have a later `git checkout .` or
//! `git stash` write and remove there.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use pinfold_sandbox::{Attempt, Detail, Intent};

use super::Why;
use super::nested::is_data;
use super::swap::{Swap, read};
use crate::git::config::Config;
use crate::git::index::{self, Hash};
use crate::git::layout;

/// Larger than that of any repository.
const MAX_SIZE: u64 = 1 << 28;

const LEADS_OUT: &str =
    "git writes where an index says; it is replaced as a whole, by one that stays in the working tree";

/// Returns whether git looks for an index at `below` in a git directory: at its top, or at that of a worktree or submodule.
/// A name that merely looks so in the directory of a submodule counts unless it surely is a part of a reference or log.
pub(super) fn is_index(git_dir: &Path, below: &Path) -> bool {
    let names: Vec<&[u8]> = below.components().map(|component| component.as_os_str().as_bytes()).collect();
    match names.as_slice() {
        [name] | [b"worktrees", _, name] => is_index_name(name),
        [b"modules", .., name] | [b"worktrees", _, b"modules", .., name] => {
            is_index_name(name) && !is_data_of_module(git_dir, below)
        }
        _ => false,
    }
}

fn is_index_name(name: &[u8]) -> bool {
    name == b"index" || name.starts_with(b"sharedindex.")
}

fn is_data_of_module(git_dir: &Path, below: &Path) -> bool {
    below.ancestors().skip(1).any(|module| {
        let rest = below.strip_prefix(module).is_ok_and(is_data);
        rest && !module.as_os_str().is_empty() && layout::is_git_dir(&git_dir.join(module))
    })
}

/// Says why a change of an index is refused.
pub(super) fn judge(swap: &mut Swap, attempt: &Attempt) -> Option<Why> {
    let accepted = match (attempt.intent, &attempt.detail) {
        // Without an index nothing is written by it; what is moved away comes back only as any other file does.
        (Intent::Remove | Intent::Metadata | Intent::MakeDir, _) | (Intent::MoveFrom, Detail::To(_)) => true,
        (Intent::MoveTo, Detail::From(from)) => {
            swap.look(attempt, from, MAX_SIZE, |content| is_safe(&attempt.place, content))
        }
        _ => false,
    };
    (!accepted).then(|| LEADS_OUT.to_owned())
}

fn is_safe(place: &Path, content: &[u8]) -> bool {
    let shared = |name: &str| read(&place.with_file_name(name), MAX_SIZE);
    let hash = place.parent().and_then(hash_of);
    hash.is_some_and(|hash| index::is_safe(content, hash, shared))
}

/// How objects are named in a repository: `extensions.objectFormat` says it, for its worktrees too.
fn hash_of(git_dir: &Path) -> Option<Hash> {
    let config = layout::common_dir(git_dir)?.join("config");
    let format = match Config::read_roughly(&config) {
        Ok(config) => config.last("extensions", None, "objectformat").map(str::to_owned),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(_) => return None,
    };
    match format.as_deref() {
        None | Some("sha1") => Some(Hash::Sha1),
        Some("sha256") => Some(Hash::Sha256),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_told_by_where_git_looks_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let git_dir = folder.path();
        let module = git_dir.join("modules/sub");
        for part in ["objects", "refs/heads"] {
            std::fs::create_dir_all(module.join(part)).unwrap();
        }
        std::fs::write(module.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        for (below, expected) in [
            ("index", true),
            ("sharedindex.0123", true),
            ("index.lock", false),
            ("refs/heads/index", false),
            ("logs/refs/heads/index", false),
            ("annex/index", false),
            ("worktrees/w/index", true),
            ("worktrees/w/logs/index", false),
            ("modules/sub/index", true),
            ("modules/sub/modules/x/index", true),
            ("modules/sub/refs/heads/index", false),
            ("modules/sub/refs/index.lock", false),
            ("modules/refs/index", true),
            ("modules/refs/heads/index", true),
            ("worktrees/w/modules/x/index", true),
        ] {
            assert_eq!(is_index(git_dir, Path::new(below)), expected, "{below}");
        }
    }
}
