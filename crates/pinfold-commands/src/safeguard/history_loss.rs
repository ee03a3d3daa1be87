//! `history-loss`: rewrites all commits, or removes those that only git's own memory still holds.

use super::{Invoked, Safeguard, Watch};
use crate::Severity;
use crate::program::Arg;
use crate::words::known_start;

pub(super) const SAFEGUARD: Safeguard = Safeguard {
    id: "history-loss",
    about: "rewrites history, or removes the commits that could bring it back",
    severity: Severity::High,
    hits: &[
        "git filter-branch --all",
        "git filter-repo --path x",
        "git reflog expire --expire=now --all",
        "git reflog delete HEAD@{1}",
        "git gc --prune=now",
        "git gc --aggressive --prune=all",
        "git prune",
        "git-filter-repo --path x",
    ],
    passes: &[
        "git gc",
        "git gc --auto",
        "git gc --prune=2.weeks.ago",
        "git reflog",
        "git reflog show",
        "git prune -n",
    ],
    blind: "a setting (`gc.pruneExpire`), and a rebase: git remembers for a while what was before",
    watch: Watch::Git(&["filter-branch", "filter-repo", "reflog", "gc", "prune"], hits),
};

fn hits(invoked: &Invoked<'_>) -> bool {
    match invoked.name {
        "reflog" => invoked.args.first().is_some_and(|word| matches!(known_start(word), "expire" | "delete")),
        "gc" => invoked.any_with_value(prunes_at_once),
        "prune" => !invoked.surely_has("n", "dry-run"),
        _ => true,
    }
}

fn prunes_at_once(arg: &Arg<'_>, value: Option<&str>) -> bool {
    arg.is_long("prune") && matches!(value, Some("now" | "all"))
}
