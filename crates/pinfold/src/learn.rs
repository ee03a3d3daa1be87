//! Rules that past answers speak for: the narrowest that would have saved questions which people answered with yes.
//!
//! Promise: what is proposed lets no call through that a person denied, starts nothing, reaches no other machine,
//! destroys nothing, and is about nothing that a safeguard asks about. Nothing is written here.

mod choose;
pub mod past;

use std::collections::BTreeMap;

use pinfold_policy::grant_options::{always_asks, may_be_learnt};
use pinfold_policy::{
    Case, Decision, Effect, GrantOptions, Grants, Layer, Policy, RawCall, Rule, Source, SourcedRule, Verdict,
};

use crate::judgement::CheckResult;
use crate::session::Session;

/// A question of the past.
#[derive(Debug, Clone, PartialEq)]
pub struct PastQuestion {
    /// The name of the call in the record: `SESSION:CALL`.
    pub name: String,
    /// The call.
    pub call: RawCall,
    /// The answer.
    pub answer: PastAnswer,
}

/// The answer to a question of the past.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PastAnswer {
    /// A person allowed the call.
    Yes,
    /// A person denied the call, or a rule does.
    No,
}

/// The rules that past answers speak for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Learned {
    /// Rules that would have saved questions, those that save most first.
    pub proposals: Vec<Proposal>,
    /// A call that was allowed often enough, and the reason for which there is no rule for it.
    pub left: Vec<UnlearnedCall>,
}

/// A rule with what speaks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// The rule.
    pub rule: Rule,
    /// The calls that it would have saved questions about, wholly or with the other proposals.
    pub calls: Vec<Justifies>,
    /// The number of questions.
    pub saves: usize,
    /// Other calls that it would let through too.
    pub also: Vec<String>,
    /// Calls near by that would still be asked about.
    pub still_asks: Vec<String>,
}

/// A call that speaks for a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Justifies {
    /// The call in words.
    pub call: String,
    /// The names in the record of each time that it was answered with yes.
    pub names: Vec<String>,
}

/// A call that gets no rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnlearnedCall {
    /// The call in words.
    pub call: String,
    /// The number of times that it was allowed.
    pub times: usize,
    /// Why, in one clause.
    pub why: String,
}

/// The most different calls that are looked at: the newest, where there are more.
pub const MAX_CALLS: usize = 2000;

/// Learns from the past. A call is judged as each of `sessions` would, the most lenient first, and the first that asks
/// about it counts; sessions that are opened for this alone should hold shells. A rule needs `least` questions that
/// were answered with yes.
pub fn learn(sessions: &[Session], past: impl IntoIterator<Item = PastQuestion>, least: usize) -> Learned {
    let groups = CallGroup::all(past);
    let (mut wanted, mut refused, mut left) = (Vec::new(), Vec::new(), Vec::new());
    for group in groups {
        if group.no {
            let all = SeenCall::judge_each(sessions, &group.call);
            refused.extend(all.filter(|seen| seen.considered.verdict.decision != Decision::Allow));
        }
        if group.names.is_empty() {
            continue;
        }
        match WantedRule::from_group(sessions, &group) {
            Ok(Some(wish)) => wanted.push(wish),
            Ok(None) => {}
            Err(why) => {
                left.push(UnlearnedCall { call: describe(&group.call), times: group.names.len(), why });
            }
        }
    }
    left.retain(|left| left.times >= least);
    let chosen = choose::chosen(sessions, &wanted, &refused, least, &mut left);
    let policies = policies(sessions, chosen.iter());
    wanted.retain(|wish| wish.seen.goes_through(&policies));
    let mut proposals: Vec<Proposal> = chosen.iter().filter_map(|rule| proposal(rule, &wanted)).collect();
    proposals.sort_by(|a, b| b.saves.cmp(&a.saves).then_with(|| a.rule.text().cmp(b.rule.text())));
    Learned { proposals, left }
}

fn proposal(rule: &Rule, wanted: &[WantedRule<'_>]) -> Option<Proposal> {
    let for_it =
        |wish: &&WantedRule<'_>| wish.parts.iter().any(|part| part.iter().any(|scope| scope.rule == *rule));
    let wishes: Vec<&WantedRule<'_>> = wanted.iter().filter(for_it).collect();
    let mut scopes = wishes.iter().flat_map(|wish| wish.parts.iter().flatten());
    let scope = scopes.find(|scope| scope.rule == *rule)?;
    Some(Proposal {
        rule: rule.clone(),
        calls: wishes
            .iter()
            .map(|wish| Justifies { call: describe(&wish.seen.call), names: wish.names.clone() })
            .collect(),
        saves: wishes.iter().map(|wish| wish.names.len()).sum(),
        also: scope.also.clone(),
        still_asks: scope.still_asks.clone(),
    })
}

/// The policies of sessions, with these rules in the settings.
fn policies<'r>(sessions: &[Session], rules: impl Iterator<Item = &'r Rule>) -> Vec<Policy> {
    let rules: Vec<&Rule> = rules.collect();
    let with = |session: &Session| {
        let allow = |policy: Policy, rule: &Rule| {
            let source = Source::plain(Layer::Local);
            let rule = SourcedRule { effect: Effect::Allow, rule: rule.clone(), source };
            policy.and_allowing(rule, session.bases())
        };
        rules.iter().copied().fold(Policy::clone(&session.policy()), allow)
    };
    sessions.iter().map(with).collect()
}

/// The same call, however often.
struct CallGroup {
    call: RawCall,
    /// The times that a person allowed the call.
    names: Vec<String>,
    no: bool,
}

impl CallGroup {
    fn all(past: impl IntoIterator<Item = PastQuestion>) -> Vec<Self> {
        let mut by_call: BTreeMap<String, (usize, Self)> = BTreeMap::new();
        for (at, one) in past.into_iter().enumerate() {
            let key = format!("{}\u{0}{}\u{0}{:?}", one.call.tool, one.call.input, one.call.cwd);
            let (last, group) = by_call
                .entry(key)
                .or_insert_with(|| (at, Self { call: one.call, names: Vec::new(), no: false }));
            *last = at;
            match one.answer {
                PastAnswer::Yes => group.names.push(one.name),
                PastAnswer::No => group.no = true,
            }
        }
        let mut groups: Vec<(usize, Self)> = by_call.into_values().collect();
        groups.sort_by_key(|(last, _)| std::cmp::Reverse(*last));
        // A no is never forgotten.
        let (refused, mut others): (Vec<_>, Vec<_>) = groups.into_iter().partition(|(_, group)| group.no);
        others.truncate(MAX_CALLS);
        refused.into_iter().chain(others).map(|(_, group)| group).collect()
    }
}

/// A call as a session sees it now.
struct SeenCall<'a> {
    session: &'a Session,
    /// Its place among the sessions.
    at: usize,
    call: RawCall,
    considered: CheckResult,
}

impl<'a> SeenCall<'a> {
    /// As each of the sessions sees it.
    fn judge_each(sessions: &'a [Session], call: &RawCall) -> impl Iterator<Item = Self> {
        let seen = move |(at, session): (usize, &'a Session)| {
            let considered = session.check(call).ok()?;
            Some(Self { session, at, call: call.clone(), considered })
        };
        sessions.iter().enumerate().filter_map(seen)
    }

    fn case<'c>(&'c self, policy: &'c Policy, grants: &'c Grants) -> Case<'c> {
        let CheckResult { call, claims, facts, .. } = &self.considered;
        let (scope, access, interaction) =
            (self.session.scope(), self.session.access(), self.session.interaction());
        Case { call, claims, facts, scope, access, interaction, policy, grants, hook: None }
    }

    /// The verdict by another policy of its session.
    fn judged_by(&self, policies: &[Policy]) -> Option<Verdict> {
        Some(pinfold_policy::judge(&self.case(policies.get(self.at)?, &Grants::default())))
    }

    fn goes_through(&self, policies: &[Policy]) -> bool {
        self.judged_by(policies).is_some_and(|verdict| verdict.decision == Decision::Allow)
    }

    fn offer(&self) -> GrantOptions {
        self.session.offer(&self.considered)
    }
}

/// A call that was answered with yes and would be asked about now, with the rules there could be for each part.
struct WantedRule<'a> {
    seen: SeenCall<'a>,
    names: Vec<String>,
    /// For each part that asks, the narrowest first.
    parts: Vec<Vec<GrantScope>>,
}

/// A rule for a part.
struct GrantScope {
    rule: Rule,
    also: Vec<String>,
    still_asks: Vec<String>,
}

impl<'a> WantedRule<'a> {
    /// `Ok(None)`: nothing is asked any more.
    fn from_group(sessions: &'a [Session], group: &CallGroup) -> Result<Option<Self>, String> {
        let mut seen = SeenCall::judge_each(sessions, &group.call);
        let Some(seen) = seen.find(|seen| seen.considered.verdict.decision != Decision::Allow) else {
            return Ok(None);
        };
        let verdict = &seen.considered.verdict;
        if verdict.decision == Decision::Deny {
            return Err("it is denied now".to_owned());
        }
        if always_asks(verdict) {
            return Err("it needs approval each time".to_owned());
        }
        if group.no {
            return Err("it was answered with no, too".to_owned());
        }
        let offer = seen.offer();
        if offer.always.is_empty() {
            return Err("no rule could let it through that covers nothing else of weight".to_owned());
        }
        let scope = |scope: pinfold_policy::GrantScope| {
            let rule = scope.rule.filter(may_be_learnt)?;
            Some(GrantScope { rule, also: scope.also, still_asks: scope.still_asks })
        };
        let parts: Vec<Vec<GrantScope>> = offer
            .always
            .into_iter()
            .map(|part| part.scopes.into_iter().filter_map(scope).collect())
            .collect();
        if parts.iter().any(Vec::is_empty) {
            return Err("it reaches other machines".to_owned());
        }
        Ok(Some(Self { seen, names: group.names.clone(), parts }))
    }
}

/// A call as a person reads it.
fn describe(call: &RawCall) -> String {
    let about = ["command", "file_path", "path", "notebook_path", "url", "skill", "subagent_type"];
    let text = about.iter().find_map(|field| call.input.get(field)?.as_str());
    match (call.tool.as_str(), text) {
        ("Bash", Some(command)) => command.to_owned(),
        (tool, Some(text)) => format!("{tool}({text})"),
        (tool, None) => format!("{tool}({})", call.input),
    }
}
