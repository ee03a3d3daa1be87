//! `MERGE_RR`, the list of files in conflict: git replaces it by renaming `MERGE_RR.lock` over it.
//!
//! At the next commit `git rerere` reads each file of the list, keeps its content in the repository, and writes a resolution
//! that it remembers ([rerere.c](https://github.com/git/git/blob/v2.47.0/rerere.c)). A path that leads out would have it read
//! and write there.

use std::path::Path;

use pinfold_sandbox::Attempt;

use super::Why;
use super::git_dir::is_at_top;
use super::swap::PendingReplacement;
use crate::git::index::is_safe_path;

/// Bytes of the list.
const MAX_SIZE: u64 = 1 << 24;

const LEADS_OUT: &str = "git reads and writes the paths in it: it is replaced as a whole, by one whose paths stay in the working tree";

/// Returns whether git looks for the list at `below` in a git directory.
pub(super) fn is_merge_rr(git_dir: &Path, below: &Path) -> bool {
    is_at_top(git_dir, below, |name| name == b"MERGE_RR")
}

/// The reason why a change of the list is refused.
pub(super) fn judge(swap: &mut PendingReplacement, attempt: &Attempt) -> Option<Why> {
    let accepted = swap.replaces_whole(attempt, MAX_SIZE, is_safe);
    (!accepted).then(|| LEADS_OUT.to_owned())
}

/// Returns whether each path stays in the working tree. A line is the name of a conflict, a tab and a path, and ends with NUL.
fn is_safe(content: &[u8]) -> bool {
    let Some(lines) = content.strip_suffix(b"\0") else { return content.is_empty() };
    lines.split(|byte| *byte == 0).all(|line| {
        let path = line.iter().position(|byte| *byte == b'\t').and_then(|tab| line.get(tab + 1..));
        path.is_some_and(is_safe_path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_path_of_the_list_counts() {
        for (content, expected) in [
            ("", true),
            ("0123\ta/b\0", true),
            ("0123.1\ta\0ffff\tb\tc\0", true),
            ("0123\ta", false),
            ("0123 a\0", false),
            ("0123\t../a\0", false),
            ("0123\ta\0ffff\t/etc/passwd\0", false),
            ("0123\t.git/config\0", false),
            ("\0", false),
        ] {
            assert_eq!(is_safe(content.as_bytes()), expected, "{content:?}");
        }
    }

    #[test]
    fn the_list_is_told_by_where_git_looks_for_it() {
        for (below, expected) in [
            ("MERGE_RR", true),
            ("worktrees/w/MERGE_RR", true),
            ("MERGE_RR.lock", false),
            ("refs/heads/MERGE_RR", false),
        ] {
            assert_eq!(is_merge_rr(Path::new("/r/.git"), Path::new(below)), expected, "{below}");
        }
    }
}
