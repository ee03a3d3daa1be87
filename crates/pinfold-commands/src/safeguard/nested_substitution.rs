//! `nested-substitution`: a command whose text comes out of a command whose text comes out of a command is read by
//! no person as it runs.

use super::{Line, Safeguard, Watch};
use crate::Severity;

pub(super) const SAFEGUARD: Safeguard = Safeguard {
    id: "nested-substitution",
    about: "has command substitutions in each other",
    severity: Severity::Medium,
    hits: &["echo $(echo $(whoami))", "echo `echo \\`id\\``", "echo \"$(a \"$(b)\")\""],
    passes: &[
        "echo $(whoami)",
        "echo $(a) $(b)",
        "diff <(sort a) <(sort b)",
        "echo $(cat <(ls))",
        "echo '$(echo $(id))'",
        "git commit -m \"$(cat <<'EOF'\nbody with $(x) and `y`\nEOF\n)\"",
        "echo $(( (1 + 2) * 3 ))",
    ],
    blind: "text that is run through `eval` or a second shell, which other safeguards look at",
    watch: Watch::Line(|line: &Line<'_>| line.script.nesting > 1),
};
