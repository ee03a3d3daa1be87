//! References: git replaces one by renaming its lock over it.
//!
//! A symbolic one that leads out of `refs` would have the next commit write there.

use std::path::Path;

use pinfold_sandbox::Attempt;

use super::Why;
use super::git_dir::innermost;
use super::swap::PendingReplacement;
use crate::git::references::{MAX_SIZE, is_reference, stays_in};

const LEADS_OUT: &str = "git writes where a symbolic reference leads: it is replaced as a whole, by one that leads to another in `refs`";

/// Returns whether a reference stands at `below` in a git directory.
pub(super) fn is_in(git_dir: &Path, below: &Path) -> bool {
    let inner = innermost(git_dir, below);
    is_reference(inner) && inner.extension().is_none_or(|end| end != "lock")
}

/// The reason why a change of a reference is refused.
pub(super) fn judge(swap: &mut PendingReplacement, attempt: &Attempt) -> Option<Why> {
    let accepted = swap.replaces_whole(attempt, MAX_SIZE, stays_in);
    (!accepted).then(|| LEADS_OUT.to_owned())
}
