//! What a person can say yes to beyond one call: which grants for the session, which rules for good, how wide.
//!
//! Offered is only what would have let this call through, and only where somebody may let it through for good: nothing
//! for a call that a safeguard asks about, and nothing for launchers and interpreters, whose rule would cover anything.

use crate::decision::{Reason, Verdict};
use crate::grant::Grant;
use crate::judge::Case;
use crate::pattern::Bases;
use crate::rule::{Covers, Rule};

/// How many parts of a call can get a rule at once.
pub const MOST_RULES: usize = 5;

/// What can be granted beside the one call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Offer {
    /// What "all of this kind this session" can mean; the first is meant where nobody chooses. Empty: not offered.
    pub session: Vec<Width>,
    /// The rules that "always" would write, one for each part that needs one. Empty: not offered.
    pub always: Vec<PartOffer>,
}

/// The rule for one part of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartOffer {
    /// The part, as it stands in the call.
    pub part: String,
    /// What the rule can be, from the narrowest to the widest.
    pub widths: Vec<Width>,
    /// Which of them is meant where nobody chooses.
    pub usual: usize,
}

/// One possible grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Width {
    /// The grant in words, or the text of the rule.
    pub says: String,
    /// What is granted.
    pub grants: Vec<Grant>,
    /// The rule that is written where it is granted for good.
    pub rule: Option<Rule>,
    /// Calls that it would let through too.
    pub also: Vec<String>,
    /// Calls near by that would still be asked about.
    pub still_asks: Vec<String>,
}

/// Whether a person has to be asked about this very call each time.
pub fn is_immune(verdict: &Verdict) -> bool {
    verdict
        .trail
        .iter()
        .any(|entry| matches!(entry.opinion.reason, Reason::Safeguard(_) | Reason::Sensitive(_)))
}

impl Offer {
    /// What can be granted for a call that is asked about. Patterns are measured from `bases`.
    pub fn of(case: &Case<'_>, verdict: &Verdict, _bases: &Bases) -> Self {
        let _ = case;
        if is_immune(verdict) {
            return Self::default();
        }
        Self::default()
    }
}

/// Whether a rule names what it is about, so that it may be granted by somebody who is not a person: no whole tool, no
/// pattern that starts with a wildcard.
pub fn is_narrow(rule: &Rule) -> bool {
    match rule.covers() {
        Covers::Tool(_) => false,
        Covers::Command(pattern) => !pattern.leading().is_empty(),
        Covers::Path(_, pattern) => pattern.is_anchored(),
        Covers::Host(_) | Covers::Skill(_) | Covers::Agent(_) | Covers::Mcp(_) => !rule.text().contains("(*"),
    }
}
