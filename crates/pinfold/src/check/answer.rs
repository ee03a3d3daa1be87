//! Answers to lines.

use pinfold_policy::{BadCall, Decision, TrailEntry, judge};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::explain::{self, ClaimsSummary};
use crate::judgement::CheckResult;
use crate::refusal::Refusal;

/// The answer to a line. Its fields are a stable interface.
#[derive(Debug, Clone, Serialize)]
pub struct CheckAnswer {
    /// The identifier of the line; `null` where it has none.
    pub id: Option<Box<RawValue>>,
    /// The decision.
    pub decision: Decision,
    /// The step that decided.
    pub step: &'static str,
    /// Why, in one clause.
    pub reason: String,
    /// The rule, guard or list that decided.
    pub rule: Option<String>,
    /// The source of the rule.
    pub source: Option<String>,
    /// The safeguard that asks, by its stable name.
    pub safeguard: Option<&'static str>,
    /// The no in words, unless it is a yes.
    pub refusal: Option<Refusal>,
    /// The claims of the call.
    pub claims: ClaimsSummary,
    /// Settings and grants of the line that grant nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The basis of the answer, for a trace; `None` for a call that was not understood.
    #[serde(skip)]
    pub considered: Option<CheckResult>,
    #[serde(skip)]
    ask_rules_in_bypass: bool,
}

/// One part of a call, and what decided about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PartTold {
    /// The part, in words: ``write `src/a` ``, `` `git push` ``.
    pub part: String,
    /// The decision about it alone.
    pub decision: Decision,
    /// The step that had the first opinion; those before it had none.
    pub step: &'static str,
    /// Why, in one clause.
    pub reason: String,
    /// The rule, guard or list.
    pub rule: Option<String>,
    /// The source of the rule.
    pub source: Option<String>,
    /// True if it decides the whole call.
    pub decides: bool,
}

/// One part of a call with the way down the table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PartTrace {
    /// The part, and what decided about it.
    #[serde(flatten)]
    pub part: PartTold,
    /// The steps that were asked before and had no opinion, in their order. For `headless` one of them asked.
    pub no_opinion: Vec<&'static str>,
}

impl CheckAnswer {
    pub(super) fn new(
        id: Option<&RawValue>,
        considered: Result<CheckResult, BadCall>,
        warnings: &[String],
        ask_rules_in_bypass: bool,
    ) -> Self {
        let answer = match considered {
            Ok(considered) => Self::to_a_call(considered),
            Err(bad) => Self::not_understood(&bad),
        };
        let id = id.map(ToOwned::to_owned);
        Self { id, warnings: warnings.to_vec(), ask_rules_in_bypass, ..answer }
    }

    fn to_a_call(mut considered: CheckResult) -> Self {
        let verdict = &considered.verdict;
        let reason = verdict.deciding().map(|entry| &entry.opinion.reason);
        let (rule, source) = reason.map(explain::rule).unwrap_or_default();
        Self {
            id: None,
            decision: verdict.decision,
            step: verdict.step,
            reason: reason.map(explain::clause).unwrap_or_default(),
            rule,
            source,
            safeguard: reason.and_then(explain::safeguard),
            claims: explain::Explainer::new(&considered).claims(),
            refusal: considered.refusal.take(),
            warnings: Vec::new(),
            considered: Some(considered),
            ask_rules_in_bypass: false,
        }
    }

    /// Each part of the call, with what decided about it.
    pub fn parts(&self) -> Vec<PartTold> {
        let Some(considered) = &self.considered else { return Vec::new() };
        let said = explain::Explainer::new(considered);
        let decided_by = considered.verdict.decided_by;
        let told = |(i, entry): (usize, &TrailEntry)| {
            let reason = &entry.opinion.reason;
            let (rule, source) = explain::rule(reason);
            PartTold {
                part: said.part(entry.part),
                decision: entry.opinion.decision,
                step: entry.step,
                reason: explain::clause(reason),
                rule,
                source,
                decides: i == decided_by,
            }
        };
        considered.verdict.trail.iter().enumerate().map(told).collect()
    }

    /// Each part of the call with every step that looked at it: those that had no opinion, and the one that decided.
    pub fn trace(&self) -> Vec<PartTrace> {
        let names = judge::step_names(self.ask_rules_in_bypass);
        let steps = |part: &PartTold| {
            let decided = names.iter().position(|name| *name == part.step).unwrap_or(names.len());
            let passed = names.iter().take(decided).copied();
            passed.collect()
        };
        let trace = |part: PartTold| PartTrace { no_opinion: steps(&part), part };
        self.parts().into_iter().map(trace).collect()
    }

    /// The change that would make another decision of it, in one sentence without its full stop.
    pub fn change(&self) -> String {
        let Some(considered) = &self.considered else {
            return "call a tool that is known, with the input that it takes".to_owned();
        };
        match considered.verdict.deciding() {
            Some(entry) => explain::Explainer::new(considered).change(entry),
            None => String::new(),
        }
    }

    fn not_understood(bad: &BadCall) -> Self {
        Self {
            id: None,
            decision: Decision::Deny,
            step: "unresolved",
            reason: bad.to_string(),
            rule: None,
            source: None,
            safeguard: None,
            refusal: Some(Refusal::invalid(bad)),
            claims: ClaimsSummary::default(),
            warnings: Vec::new(),
            considered: None,
            ask_rules_in_bypass: false,
        }
    }
}
