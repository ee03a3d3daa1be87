//! `force-push`: rewriting or deleting a remote branch loses other people's work, which cannot be brought
//! back from here.

use super::{Invoked, Safeguard, Watch};
use crate::Severity;
use crate::program::Arg;
use crate::words::known_start;

pub(super) const SAFEGUARD: Safeguard = Safeguard {
    id: "force-push",
    about: "rewrites or deletes remote branches",
    severity: Severity::High,
    hits: &[
        // As an option too, though git of today takes it as a value.
        "git push -o -f origin x",
        "git push -n --no-dry-run --force",
        "git push --force",
        "git push -f origin main",
        "git push origin main --force",
        "git push -uf origin x",
        "git push origin +main",
        "git push origin +HEAD:main",
        "git push --mirror",
        "git push origin :main",
        "git push origin --delete x",
        "git push -d origin x",
        "git push --repo\"$x\" -n --force",
        "git push --prune origin",
        "git -C sub push --force",
        "git --git-dir=.git push -f",
        "git -c a=b push -f",
        "/usr/bin/git push --force",
    ],
    passes: &[
        "git push",
        "git push origin main",
        "git push -u origin feature",
        "git push --force-with-lease",
        "git push --follow-tags",
        "git push -n --force",
        "git push -o ci.skip origin x",
        "git commit -m 'docs: explain git push --force'",
        "git log --grep='push --force'",
    ],
    blind: "a force push from inside a script, a git alias, or a `push = +refs` in the repository's settings. \
            `--force-with-lease` passes: it refuses to overwrite what was not seen",
    watch: Watch::Git(&["push"], hits),
};

fn hits(invoked: &Invoked<'_>) -> bool {
    !invoked.surely_has("n", "dry-run") && invoked.any(rewrites)
}

fn rewrites(arg: &Arg<'_>) -> bool {
    if let Some(refspec) = arg.operand().map(known_start) {
        return refspec.starts_with('+') || refspec.starts_with(':') && refspec.len() > 1;
    }
    let cut_short = |name: &str| {
        name == "force"
            || ["delete", "mirror", "prune"].iter().any(|full| name.len() > 1 && full.starts_with(name))
    };
    arg.is_letter("fd") || arg.long().is_some_and(cut_short)
}
