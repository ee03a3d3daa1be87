//! `discarded-changes`: puts older content over files; what was changed in them is gone.

use pinfold_shell::Word;

use super::arguments::{Argument, Valued, has, known, read};
use super::{Invoked, Safeguard, Watch};
use crate::Severity;

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
    let args = invoked.args;
    match invoked.name {
        "checkout" => checkout(args),
        "checkout-index" => has(args, "f", "force"),
        "switch" => has(args, "f", "force") || has(args, "", "discard-changes"),
        _ => has(args, "W", "worktree") || !has(args, "S", "staged"),
    }
}

fn checkout(args: &[Word]) -> bool {
    if has(args, "f", "force")
        || has(args, "", "ours")
        || has(args, "", "theirs")
        || has(args, "", "pathspec-from-file")
    {
        return true;
    }
    // Behind `--` stand files.
    let marked = args.iter().position(|word| known(word) == "--");
    if let Some(at) = marked {
        return at + 1 < args.len();
    }
    let options = || read(args, Valued { short: "bB", long: &["orphan", "conflict"] });
    let names: Vec<_> = options()
        .filter_map(|argument| match argument {
            Argument::Operand(word) => Some(known(word)),
            Argument::Short(..) | Argument::Long(..) => None,
        })
        .collect();
    let starts_branch = options().any(|argument| {
        argument.is_short("bBt") || ["orphan", "track", "detach"].iter().any(|long| argument.is_long(long))
    });
    names.iter().any(|name| is_surely_a_file(name)) || (names.len() > 1 && !starts_branch)
}

/// Names that no branch can have.
fn is_surely_a_file(name: &str) -> bool {
    matches!(name, "." | "..")
        || name.starts_with(['.', ':', '/'])
        || name.ends_with('/')
        || name.contains(['*', '?', '['])
}
