//! `branch-deletion`: deletes a branch whether or not its commits are anywhere else.

use super::{Invoked, Safeguard, Watch};
use crate::Severity;

pub(super) const SAFEGUARD: Safeguard = Safeguard {
    id: "branch-deletion",
    about: "deletes a branch even if it was never merged",
    severity: Severity::Medium,
    hits: &[
        "git branch -D old",
        "git branch -rD origin/x",
        "git branch -d -f old",
        "git branch -df old",
        "git branch --delete --force x",
        "git update-ref -d refs/heads/x",
    ],
    passes: &[
        "git branch -d merged",
        "git branch --delete merged",
        "git branch -M main",
        "git branch -f x HEAD",
        "git branch --show-current",
        "git update-ref refs/heads/x HEAD",
    ],
    blind: "a git alias",
    watch: Watch::Git(&["branch", "update-ref"], hits),
};

fn hits(invoked: &Invoked<'_>) -> bool {
    if invoked.name == "update-ref" {
        return invoked.has("d", "");
    }
    invoked.has("D", "") || (invoked.has("d", "delete") && invoked.has("f", "force"))
}
