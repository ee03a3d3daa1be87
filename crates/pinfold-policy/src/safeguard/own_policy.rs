//! `own-policy`: changes what an agent may do: the rules of this gate, or the trust in a project's own settings.

use super::arguments::known;
use super::{Invoked, Safeguard, Watch};
use crate::command::Gravity;

pub(super) const SAFEGUARD: Safeguard = Safeguard {
    id: "own-policy",
    about: "changes what an agent may do",
    gravity: Gravity::Risky,
    hits: &[
        "pinfold trust --yes",
        "pinfold trust --folder /x --yes",
        "pinfold rules add allow 'Bash(make)'",
        "pinfold permissions add allow Bash --user",
        "pinfold rules --folder /x remove deny Write",
        "yes | pinfold trust",
    ],
    passes: &[
        "pinfold rules list",
        "pinfold rules lint --json",
        "pinfold rules test",
        "pinfold trust --withdraw",
        "pinfold run -- make trust",
        "pinfold doctor",
    ],
    blind: "a copy of this program under another name; settings files that are written, which are guarded places",
    watch: Watch::Programs(&["pinfold"], hits),
};

fn hits(invoked: &Invoked<'_>) -> bool {
    let says = |word: &str| invoked.args.iter().map(known).any(|text| text == word);
    match invoked.args.first().map(known) {
        Some("trust") => !says("--withdraw"),
        Some("rules" | "permissions") => says("add") || says("remove"),
        Some(_) | None => false,
    }
}
