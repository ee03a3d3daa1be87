//! Grants on offer beyond one call: for the session, and as permanent rules of several scopes.
//!
//! Offered is only what would let this very call through, which is tried with the judge itself, and only where
//! a permanent rule may allow it: nothing for a call that a safeguard asks about, and nothing for launchers and
//! interpreters, whose rule would cover anything.

mod breadth;
mod command;
mod examples;
mod named;
mod path;
mod trial;

use std::sync::Arc;

pub(crate) use breadth::is_plain;

use self::trial::Trial;
use crate::decision::{Decision, PartId, Reason, TrailEntry, Verdict};
use crate::grant::Grant;
use crate::judge::Case;
use crate::pattern::Bases;
use crate::rule::{Effect, Rule, RuleSubject, SourcedRule};
use crate::source::{Layer, Source};

/// Most parts of a call that can get a rule at once.
pub const MAX_RULES: usize = 5;

/// The grants on offer for a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GrantOptions {
    /// Grants that a plain yes keeps for the session: the paths outside the boundary that it allows, so that one file is
    /// asked about once.
    pub kept: Vec<Grant>,
    /// Meanings of "all of this kind this session"; the first is the default. Empty: not offered.
    pub session: Vec<GrantScope>,
    /// The rules that "always" would write, one for each part that needs one. Empty: not offered.
    pub always: Vec<PartOptions>,
}

/// The rule for one part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartOptions {
    /// The part, as it stands in the call.
    pub part: String,
    /// Possible rules, from the narrowest to the widest.
    pub scopes: Vec<GrantScope>,
    /// Index of the default scope.
    pub usual: usize,
}

/// One possible grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantScope {
    /// The grant in words, or the text of the rule.
    pub says: String,
    /// Grants for the session.
    pub grants: Vec<Grant>,
    /// The rule that is written where it is granted for good.
    pub rule: Option<Rule>,
    /// Calls that it would let through too.
    pub also: Vec<String>,
    /// Calls near by that would still be asked about.
    pub still_asks: Vec<String>,
}

/// Returns whether a person has to be asked about this very call each time.
pub fn always_asks(verdict: &Verdict) -> bool {
    verdict
        .trail
        .iter()
        .any(|entry| matches!(entry.opinion.reason, Reason::Safeguard(_) | Reason::Sensitive(_)))
}

impl GrantOptions {
    /// Computes the offer for a call that is asked about. Patterns are relative to `bases`.
    pub fn compute(case: &Case<'_>, verdict: &Verdict, bases: &Bases) -> Self {
        if verdict.decision != Decision::Ask || always_asks(verdict) {
            return Self::default();
        }
        let trial = Trial { case, bases };
        let asking = verdict.trail.iter().filter(|entry| entry.opinion.decision == Decision::Ask);
        let mut asked: Vec<AskedPart<'_>> =
            asking.map(|entry| AskedPart::from_entry(&trial, entry)).collect();
        // A command, then what it writes.
        asked.sort_by_key(|asked| matches!(asked.entry.part, PartId::Path(_)));
        Self { kept: kept(&trial, &asked), session: session(&trial, &asked), always: always(&trial, &asked) }
    }
}

/// A part that is asked about, with what could be granted for it.
struct AskedPart<'a> {
    entry: &'a TrailEntry,
    /// The part, in the words of the call.
    part: String,
    /// Possible grants for the session; the first is the usual one.
    session: Vec<Grant>,
    /// Possible rules, from the narrowest on.
    rules: Vec<Rule>,
    usual: usize,
}

impl<'a> AskedPart<'a> {
    fn from_entry(trial: &Trial<'_>, entry: &'a TrailEntry) -> Self {
        let nothing = Self { entry, part: String::new(), session: Vec::new(), rules: Vec::new(), usual: 0 };
        match entry.part {
            PartId::Command(at) => command::command_part(trial, at, nothing),
            PartId::Path(at) => path::path_part(trial, at, nothing),
            PartId::Host(at) => named::host(trial, at, nothing),
            PartId::Tool => named::tool(trial, nothing),
            // A line is asked about as a whole when it was not understood.
            PartId::Shell => nothing,
        }
    }
}

/// A rule as a grant of the session.
fn granting(rule: &Rule) -> Grant {
    let source = Source::plain(Layer::Session);
    Grant::Rule(Arc::new(SourcedRule { effect: Effect::Allow, rule: rule.clone(), source }))
}

/// Returns the grants of a plain yes: exactly the paths that are asked about for lying outside.
fn kept(trial: &Trial<'_>, asked: &[AskedPart<'_>]) -> Vec<Grant> {
    let beyond = |asked: &&AskedPart<'_>| {
        matches!(
            asked.entry.opinion.reason,
            Reason::WriteOutside | Reason::GuardedWrite(_) | Reason::GuardedRead(_)
        )
    };
    let mut kept: Vec<Grant> = Vec::new();
    for grant in asked.iter().filter(beyond).filter_map(|asked| path::exactly(trial, asked.entry.part)) {
        if !kept.contains(&grant) {
            kept.push(grant);
        }
    }
    kept
}

/// The scopes for a session: the usual grant of every part, then narrower ones.
fn session(trial: &Trial<'_>, asked: &[AskedPart<'_>]) -> Vec<GrantScope> {
    let most = asked.iter().map(|asked| asked.session.len()).max().unwrap_or(0);
    let mut scopes: Vec<GrantScope> = Vec::new();
    for at in 0..most {
        let Some(grants) = grants_at(asked, at) else { continue };
        let new = scopes.iter().all(|scope| scope.grants != grants);
        if new && trial.with_grants(&grants).allows_this() {
            let (also, still_asks) =
                examples::collect_examples(trial, &trial.with_grants(&grants), &grants, None);
            let says = grants.iter().map(describe).collect::<Vec<_>>().join(", and ");
            scopes.push(GrantScope { says, grants, rule: None, also, still_asks });
        }
    }
    scopes
}

/// One grant for each part: the one at that place, else its narrowest. `None` where a part has none, or there are more
/// than can be read.
fn grants_at(asked: &[AskedPart<'_>], at: usize) -> Option<Vec<Grant>> {
    let mut grants: Vec<Grant> = Vec::new();
    for asked in asked {
        let grant = asked.session.get(at).or(asked.session.last())?;
        if !grants.contains(grant) {
            grants.push(grant.clone());
        }
        if grants.len() > MAX_RULES {
            return None;
        }
    }
    Some(grants)
}

/// A grant in words.
fn describe(grant: &Grant) -> String {
    match grant {
        Grant::Rule(rule) if rule.rule.text() == "Edit" => "all edits in the folder".to_owned(),
        Grant::Rule(rule) => rule.rule.text().to_owned(),
        Grant::PlainCommands => {
            "all plain commands: of well-known programs that start nothing else, reach no other \
                                 machine and remove nothing"
                .to_owned()
        }
        Grant::Place(path, class) => format!("{} {}", class.as_str(), path.display()),
        Grant::Folder(path, class) => format!("{} anything in {}", class.as_str(), path.display()),
        Grant::Host(host) => format!("reach {host}"),
    }
}

/// Most parts that are looked at for rules: more than can be read.
const MAX_PARTS: usize = 50;

/// The rules for good: one for each part, or none at all, since the call would still be asked about. Parts that have the
/// same usual rule share it, with the scopes that cover both.
fn always(trial: &Trial<'_>, asked: &[AskedPart<'_>]) -> Vec<PartOptions> {
    if trial.case.policy.managed_rules_only || asked.len() > MAX_PARTS {
        return Vec::new();
    }
    let mut plans: Vec<PlannedRules<'_>> = Vec::new();
    for asked in asked {
        let tried = |rule: &&Rule| trial.with_rule(rule).allows(asked.entry.part);
        let usual = asked.rules.get(asked.usual);
        let shared = plans.iter_mut().find(|plan| plan.usual == usual);
        if let Some(plan) = shared.filter(|_| usual.as_ref().is_some_and(tried)) {
            plan.rules.retain(tried);
            continue;
        }
        let rules: Vec<&Rule> = asked.rules.iter().filter(tried).collect();
        if rules.is_empty() || plans.len() == MAX_RULES {
            return Vec::new();
        }
        plans.push(PlannedRules { part: &asked.part, rules, usual });
    }
    plans.into_iter().map(|plan| plan.offer(trial)).collect()
}

/// The rules that one or more parts could get.
struct PlannedRules<'a> {
    part: &'a str,
    rules: Vec<&'a Rule>,
    usual: Option<&'a Rule>,
}

impl PlannedRules<'_> {
    fn offer(self, trial: &Trial<'_>) -> PartOptions {
        let usual = self.rules.iter().position(|rule| Some(*rule) == self.usual).unwrap_or(0);
        let scopes = self.rules.into_iter().map(|rule| lasting(trial, rule)).collect();
        PartOptions { part: self.part.to_owned(), scopes, usual }
    }
}

fn lasting(trial: &Trial<'_>, rule: &Rule) -> GrantScope {
    let (also, still_asks) = examples::collect_examples(trial, &trial.with_rule(rule), &[], Some(rule));
    GrantScope {
        says: rule.text().to_owned(),
        grants: Vec::new(),
        rule: Some(rule.clone()),
        also,
        still_asks,
    }
}

/// Returns whether a rule is narrow enough for an approver that is a program: no whole tool, no launcher, and nothing left
/// open that the table does not leave open.
pub fn is_narrow(rule: &Rule) -> bool {
    match rule.covers() {
        RuleSubject::Tool(_) => false,
        RuleSubject::Command(pattern) => breadth::is_narrow(pattern),
        RuleSubject::Path(_, pattern) => pattern.is_anchored() && pattern.names_something(),
        RuleSubject::Host(_) | RuleSubject::Skill(_) | RuleSubject::Agent(_) | RuleSubject::Mcp(_) => {
            rule.text().contains('(') && !rule.text().contains("(*") && !rule.text().contains(":*)")
                || rule.text().starts_with(crate::rule::MCP_PREFIX) && !rule.text().contains('*')
        }
    }
}

/// Returns whether a rule may be proposed because of what people answered: a narrow one that reaches no other machine.
pub fn may_be_learnt(rule: &Rule) -> bool {
    let stays = match rule.covers() {
        RuleSubject::Command(pattern) => breadth::stays_here(pattern),
        RuleSubject::Host(_) => false,
        RuleSubject::Mcp(_) => !rule.text().contains('*'),
        RuleSubject::Path(..) | RuleSubject::Skill(_) | RuleSubject::Agent(_) | RuleSubject::Tool(_) => true,
    };
    stays && is_narrow(rule)
}

#[cfg(test)]
mod tests;
