//! `hard-reset`: sets the working tree back; changes that were never committed are gone.

use super::{Invoked, Safeguard, Watch};
use crate::Severity;

pub(super) const SAFEGUARD: Safeguard = Safeguard {
    id: "hard-reset",
    about: "throws away uncommitted changes",
    severity: Severity::Medium,
    hits: &[
        "git reset --hard",
        "git reset --hard HEAD~3",
        "git reset HEAD~1 --hard",
        "git -C sub reset --hard",
        "git read-tree --reset -u HEAD",
        "sudo git reset --hard",
    ],
    passes: &[
        "git reset",
        "git reset --soft HEAD~1",
        "git reset HEAD file",
        "git commit -m 'git reset --hard'",
        "git read-tree HEAD",
    ],
    blind: "a git alias",
    watch: Watch::Git(&["reset", "read-tree"], hits),
};

fn hits(invoked: &Invoked<'_>) -> bool {
    match invoked.name {
        "reset" => invoked.has("", "hard"),
        _ => invoked.has("", "reset") && invoked.has("u", "update"),
    }
}
