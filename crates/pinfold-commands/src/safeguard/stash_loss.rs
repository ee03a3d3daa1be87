//! `stash-loss`: drops work that was put aside.

use super::{Invoked, Safeguard, Watch};
use crate::Severity;
use crate::words::known_start;

pub(super) const SAFEGUARD: Safeguard = Safeguard {
    id: "stash-loss",
    about: "drops work that was put aside",
    severity: Severity::Medium,
    hits: &["git stash drop", "git stash drop stash@{1}", "git stash clear", "git -C sub stash clear"],
    passes: &["git stash", "git stash pop", "git stash list", "git stash push -m drop", "git stash show"],
    blind: "a stash that `pop` takes away after it was applied",
    watch: Watch::Git(&["stash"], hits),
};

fn hits(invoked: &Invoked<'_>) -> bool {
    invoked.args.first().is_some_and(|word| matches!(known_start(word), "drop" | "clear"))
}
