//! `too-much`: more than a person reads through before consenting, or than is read here.

use pinfold_shell::OpaqueReason;

use super::{Line, Safeguard, Watch};
use crate::Severity;

/// More simple commands than this in one line are not read by a person.
const PARTS_AT_MOST: usize = 50;

/// A line longer than this is not read by a person either: some thirty screens.
const BYTES_AT_MOST: usize = 65_536;

pub(super) const SAFEGUARD: Safeguard = Safeguard {
    id: "too-much",
    about: "has more commands, depth or text in one line than can be reviewed",
    severity: Severity::Medium,
    hits: &[
        // Fifty-one parts.
        "true;true;true;true;true;true;true;true;true;true;true;true;true;true;true;true;true;true;true;true;true;true;\
         true;true;true;true;true;true;true;true;true;true;true;true;true;true;true;true;true;true;true;true;true;true;\
         true;true;true;true;true;true;true",
    ],
    passes: &[
        // Fifty parts.
        "true;true;true;true;true;true;true;true;true;true;true;true;true;true;true;true;true;true;true;true;true;true;\
         true;true;true;true;true;true;true;true;true;true;true;true;true;true;true;true;true;true;true;true;true;true;\
         true;true;true;true;true;true",
        "cat > f <<'EOF'\na\nb\nc\nEOF",
    ],
    blind: "how much a script or a program does",
    watch: Watch::Line(hits),
};

fn hits(line: &Line<'_>) -> bool {
    line.script.commands.len() > PARTS_AT_MOST
        || line.text.len() > BYTES_AT_MOST
        || line.script.opaque.iter().any(|opaque| matches!(opaque.why, OpaqueReason::TooMuch(_)))
}
