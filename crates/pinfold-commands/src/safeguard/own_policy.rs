//! `own-policy`: changes what an agent may do: the rules of this gate, the trust in a project's own settings, or the answer
//! to a question of its own; or says that a person knows of a break of the audit log.

use super::{Invoked, Safeguard, Watch};
use crate::Severity;
use crate::words::known_start;

pub(super) const SAFEGUARD: Safeguard = Safeguard {
    id: "own-policy",
    about: "changes what an agent may do, or what its audit log is trusted for",
    severity: Severity::Medium,
    hits: &[
        "pinfold trust --yes",
        "pinfold trust --folder /x --yes",
        "pinfold rules add allow 'Bash(make)'",
        "pinfold permissions add allow Bash --user",
        "pinfold rules --folder /x remove deny Write",
        "yes | pinfold trust",
        "pinfold approve call-7:1 --yes",
        "pinfold deny call-7:1",
        "pinfold approvals --web",
        "pinfold setup claude --undo --yes",
        "pinfold import claude --yes",
        "pinfold log acknowledge --reason x",
    ],
    passes: &[
        "pinfold rules list",
        "pinfold rules lint --json",
        "pinfold rules test",
        "pinfold trust --withdraw",
        "pinfold run -- make trust",
        "pinfold approvals --json",
        "pinfold doctor",
        "pinfold setup claude --check",
        "pinfold log verify --json",
    ],
    blind: "a copy of this program under another name; settings files that are written, which are guarded places",
    watch: Watch::Programs(&["pinfold"], hits),
};

fn hits(invoked: &Invoked<'_>) -> bool {
    let says = |word: &str| invoked.args.iter().map(known_start).any(|text| text == word);
    match invoked.args.first().map(known_start) {
        Some("trust") => !says("--withdraw"),
        Some("approve" | "deny" | "import") => true,
        Some("approvals") => says("--web"),
        Some("rules" | "permissions") => says("add") || says("remove"),
        Some("setup") => !says("--check"),
        Some("log") => says("acknowledge"),
        Some(_) | None => false,
    }
}
