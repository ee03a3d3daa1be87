//! Judging the case again as if something had been granted: what is offered is tried, never guessed.

use std::borrow::Cow;

use crate::call::ToolCall;
use crate::claim::Claims;
use crate::decision::{Decision, PartId, Verdict};
use crate::fact::Facts;
use crate::grant::{Grant, Grants};
use crate::judge::{Case, judge};
use crate::pattern::Bases;
use crate::policy::Policy;
use crate::rule::{Effect, Rule, SourcedRule};
use crate::source::{Layer, Source};

/// A case, with what patterns are measured from.
pub(super) struct Trial<'a> {
    pub(super) case: &'a Case<'a>,
    pub(super) bases: &'a Bases,
}

/// The case with something granted.
pub(super) struct GrantedCase<'a> {
    case: &'a Case<'a>,
    policy: Cow<'a, Policy>,
    grants: Cow<'a, Grants>,
}

impl<'a> Trial<'a> {
    /// The case without further grants.
    pub(super) fn baseline(&self) -> GrantedCase<'a> {
        let Case { policy, grants, .. } = *self.case;
        GrantedCase { case: self.case, policy: Cow::Borrowed(policy), grants: Cow::Borrowed(grants) }
    }

    /// The case with these grants for the session.
    pub(super) fn with_grants(&self, grants: &[Grant]) -> GrantedCase<'a> {
        let more = self.case.grants.and(grants, self.bases);
        GrantedCase { grants: Cow::Owned(more), ..self.baseline() }
    }

    /// The case with this rule in the settings.
    pub(super) fn with_rule(&self, rule: &Rule) -> GrantedCase<'a> {
        let rule =
            SourcedRule { effect: Effect::Allow, rule: rule.clone(), source: Source::plain(Layer::Local) };
        let more = self.case.policy.and_allowing(rule, self.bases);
        GrantedCase { policy: Cow::Owned(more), ..self.baseline() }
    }
}

impl GrantedCase<'_> {
    fn case<'c>(&'c self, call: &'c ToolCall, claims: &'c Claims, facts: &'c Facts) -> Case<'c> {
        let Case { scope, access, interaction, hook, .. } = *self.case;
        let (policy, grants) = (&*self.policy, &*self.grants);
        Case { call, claims, facts, scope, access, interaction, policy, grants, hook }
    }

    fn this(&self) -> Verdict {
        judge(&self.case(self.case.call, self.case.claims, self.case.facts))
    }

    /// Returns whether the very call would go through.
    pub(super) fn allows_this(&self) -> bool {
        self.this().decision == Decision::Allow
    }

    /// Returns whether that part of it would.
    pub(super) fn allows(&self, part: PartId) -> bool {
        let of_part = |trail: &&crate::decision::TrailEntry| trail.part == part;
        self.this().trail.iter().find(of_part).is_some_and(|entry| entry.opinion.decision == Decision::Allow)
    }

    /// Decides about another call.
    pub(super) fn decides(&self, call: &ToolCall, claims: &Claims, facts: &Facts) -> Decision {
        judge(&self.case(call, claims, facts)).decision
    }
}
