//! The index of a repository: git replaces it by renaming `index.lock` over it.
//!
//! One with a path that leads out of the working tree, or into a git directory, would have a later `git checkout .` or
//! `git stash` write and remove there.

use std::fs;
use std::io;
use std::path::Path;

use pinfold_sandbox::Attempt;

use super::Why;
use super::git_dir::is_at_top;
use super::swap::{PendingReplacement, read};
use crate::git::config::Config;
use crate::git::index::{self, Hash};
use crate::git::layout;

const INDEX: &str = "index";

/// Bytes of an index. A million files take some 100 MiB.
const MAX_SIZE: u64 = 1 << 28;

const LEADS_OUT: &str =
    "git writes to the paths in it: it is replaced as a whole, by one whose paths stay in the working tree";

/// Returns whether git looks for an index at `below` in a git directory: at its top, or at that of a worktree or submodule.
/// A name that merely looks so in the directory of a submodule counts unless it surely is a part of a reference or log.
pub(super) fn is_index(git_dir: &Path, below: &Path) -> bool {
    is_at_top(git_dir, below, is_index_name)
}

fn is_index_name(name: &[u8]) -> bool {
    name == INDEX.as_bytes() || name.starts_with(b"sharedindex.")
}

/// The reason why a change of an index is refused.
pub(super) fn judge(swap: &mut PendingReplacement, attempt: &Attempt) -> Option<Why> {
    let accepted = swap.replaces_whole(attempt, MAX_SIZE, |content| is_safe(&attempt.place, content));
    (!accepted).then(|| LEADS_OUT.to_owned())
}

fn is_safe(place: &Path, content: &[u8]) -> bool {
    let Some((directory, hash)) = place.parent().and_then(|at| Some((at, hash_of(at)?))) else {
        return false;
    };
    let stored = |name: &str| read(&directory.join(name), MAX_SIZE);
    if place.ends_with(INDEX) {
        return index::is_safe(content, hash, stored);
    }
    // The shared part counts together with the index that names it, if there is one already.
    let with_new = |name: &str| if place.ends_with(name) { Some(content.to_owned()) } else { stored(name) };
    index::is_safe(content, hash, |_| None)
        && match fs::symlink_metadata(directory.join(INDEX)) {
            Err(error) => error.kind() == io::ErrorKind::NotFound,
            Ok(_) => stored(INDEX).is_some_and(|index| {
                index::shared_part(&index, hash).is_none_or(|name| !place.ends_with(name))
                    || index::is_safe(&index, hash, with_new)
            }),
        }
}

/// Returns the hash that names objects in a repository: `extensions.objectFormat` says it, for its worktrees too.
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
            fs::create_dir_all(module.join(part)).unwrap();
        }
        fs::write(module.join("HEAD"), "ref: refs/heads/main\n").unwrap();
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
