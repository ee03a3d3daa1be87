//! `untracked-removal`: removes files that git does not know, so that no commit can bring them back.

use super::{Invoked, Safeguard, Watch};
use crate::Severity;

pub(super) const SAFEGUARD: Safeguard = Safeguard {
    id: "untracked-removal",
    about: "removes files that git has no copy of",
    severity: Severity::Medium,
    hits: &[
        "git clean -f",
        "git clean -fd",
        "git clean -d -f",
        "git clean -fdx",
        "git clean -xdff",
        "git clean -d --force",
        "git -C sub clean -fd",
    ],
    passes: &["git clean", "git clean -n", "git clean -ndf", "git clean -i", "git clean -e f -n"],
    blind: "a repository whose settings let `git clean` go without `-f`",
    watch: Watch::Git(&["clean"], hits),
};

fn hits(invoked: &Invoked<'_>) -> bool {
    invoked.has("f", "force") && !invoked.surely_has("n", "dry-run")
}
