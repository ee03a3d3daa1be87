//! `discarded-changes`: puts older content over files; what was changed in them is gone.

use super::{Invoked, Safeguard, Watch};
use crate::Severity;
use crate::words::known_start;

pub(super) const SAFEGUARD: Safeguard = Safeguard {
    id: "discarded-changes",
    about: "overwrites changed files with older content",
    severity: Severity::Medium,
    hits: &[
        "git checkout -- .",
        "git checkout -- src/a.rs",
        "git checkout HEAD -- a",
        "git checkout .",
        "git checkout ./src",
        "git checkout '*.rs'",
        "git checkout HEAD a.rs",
        "git checkout -f",
        "git checkout --force main",
        "git checkout --theirs a",
        "git switch -f main",
        "git switch --discard-changes main",
        "git restore .",
        "git restore -sS a",
        "git restore --source=HEAD a",
        "git restore --staged --worktree a",
        "git checkout-index -f -a",
    ],
    passes: &[
        "git checkout main",
        "git checkout -b feature/x",
        "git checkout -b x origin/main",
        "git checkout --detach main",
        "git checkout --track origin/x",
        "git switch main",
        "git switch -c x",
        "git restore --staged .",
        "git restore -S a",
    ],
    blind: "`git checkout NAME`, where the name is a file and no branch",
    watch: Watch::Git(&["checkout", "checkout-index", "switch", "restore"], hits),
};

fn hits(invoked: &Invoked<'_>) -> bool {
    match invoked.name {
        "checkout" => checkout(invoked),
        "checkout-index" => invoked.has("f", "force"),
        "switch" => invoked.has("f", "force") || invoked.has("", "discard-changes"),
        _ => invoked.has("W", "worktree") || !invoked.has("S", "staged"),
    }
}

fn checkout(invoked: &Invoked<'_>) -> bool {
    let loses = ["ours", "theirs", "pathspec-from-file"];
    if invoked.has("f", "force") || loses.iter().any(|long| invoked.has("", long)) {
        return true;
    }
    // Behind `--` stand files.
    let scanned = invoked.scanned();
    if let Some(from) = scanned.operands_from {
        return from < scanned.args.len();
    }
    let names: Vec<_> = scanned.operands().map(known_start).collect();
    let starts_branch =
        invoked.has("bBt", "orphan") || ["track", "detach"].iter().any(|long| invoked.has("", long));
    names.iter().any(|name| is_surely_a_file(name)) || (names.len() > 1 && !starts_branch)
}

/// Names that no branch can have.
fn is_surely_a_file(name: &str) -> bool {
    matches!(name, "." | "..")
        || name.starts_with(['.', ':', '/'])
        || name.ends_with('/')
        || name.contains(['*', '?', '['])
}
