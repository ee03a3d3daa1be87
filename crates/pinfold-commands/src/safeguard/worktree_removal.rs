//! `worktree-removal`: removes a working tree with changes that were never committed.

use super::{Invoked, Safeguard, Watch};
use crate::Severity;
use crate::words::known_start;

pub(super) const SAFEGUARD: Safeguard = Safeguard {
    id: "worktree-removal",
    about: "removes a working tree with its uncommitted changes",
    severity: Severity::Medium,
    hits: &["git worktree remove --force x", "git worktree remove -f x", "git submodule deinit -f sub"],
    passes: &[
        "git worktree remove x",
        "git worktree list",
        "git worktree add -f x",
        "git submodule deinit sub",
    ],
    blind: "a git alias",
    watch: Watch::Git(&["worktree", "submodule"], hits),
};

fn hits(invoked: &Invoked<'_>) -> bool {
    invoked.args.first().is_some_and(|word| matches!(known_start(word), "remove" | "deinit"))
        && invoked.has("f", "force")
}
