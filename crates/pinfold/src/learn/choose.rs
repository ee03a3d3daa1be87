//! Which of the rules that there could be: as few and as narrow as save what was asked often enough, and none that
//! lets through a call that a person refused.

use std::collections::{BTreeMap, BTreeSet};

use pinfold_policy::{Decision, Policy, Reason, Rule};

use super::{GrantScope, SeenCall, UnlearnedCall, WantedRule, describe, policies};
use crate::session::Session;

/// The rules that are proposed. What was wanted often enough and gets none is told.
pub(super) fn chosen(
    sessions: &[Session],
    wanted: &[WantedRule<'_>],
    refused: &[SeenCall<'_>],
    least: usize,
    left: &mut Vec<UnlearnedCall>,
) -> Vec<Rule> {
    let asked = support(wanted.iter());
    let enough = |scope: &&GrantScope| asked.get(scope.rule.text()).is_some_and(|times| *times >= least);
    // A call is saved when each of its parts is; the narrowest rule that was wanted often enough is taken.
    let saving = |wish: &WantedRule<'_>| -> Option<Rules> {
        let rule = |part: &Vec<GrantScope>| {
            part.iter().find(enough).map(|scope| (scope.rule.text().to_owned(), scope.rule.clone()))
        };
        wish.parts.iter().map(rule).collect()
    };
    let plan = |wish| Some(PlannedCall { wish, rules: saving(wish)? });
    let mut plans: Vec<PlannedCall<'_>> = wanted.iter().filter_map(plan).collect();
    loop {
        let rules = all(&plans);
        let with = policies(sessions, rules.values());
        let guilty = refused.iter().find_map(|seen| lets_through(seen, &with, &rules));
        if let Some(guilty) = &guilty {
            let often = |plan: &&PlannedCall<'_>| plan.uses(guilty) && plan.wish.names.len() >= least;
            left.extend(plans.iter().filter(often).map(PlannedCall::left));
        }
        // A call with a part that gets none speaks for none of its rules.
        let saved = support(plans.iter().map(|plan| plan.wish));
        let weak = |text: &&String| saved.get(text.as_str()).is_none_or(|times| *times < least);
        let gone = guilty.unwrap_or_else(|| rules.keys().filter(weak).cloned().collect());
        if gone.is_empty() {
            break;
        }
        plans.retain(|plan| !plan.uses(&gone));
    }
    needed(sessions, &plans).into_values().collect()
}

/// Rules by their text.
type Rules = BTreeMap<String, Rule>;

/// A call with the rules that would save it.
struct PlannedCall<'a> {
    wish: &'a WantedRule<'a>,
    rules: Rules,
}

impl PlannedCall<'_> {
    fn uses(&self, rules: &BTreeSet<String>) -> bool {
        self.rules.keys().any(|rule| rules.contains(rule))
    }

    fn left(&self) -> UnlearnedCall {
        let why = "a rule for it would let through what was answered with no".to_owned();
        UnlearnedCall { call: describe(&self.wish.seen.call), times: self.wish.names.len(), why }
    }
}

fn all(plans: &[PlannedCall<'_>]) -> Rules {
    let rules = plans.iter().flat_map(|plan| &plan.rules);
    rules.map(|(text, rule)| (text.clone(), rule.clone())).collect()
}

/// The number of questions that each rule is about.
fn support<'a>(wanted: impl Iterator<Item = &'a WantedRule<'a>>) -> BTreeMap<&'a str, usize> {
    let mut support: BTreeMap<&str, usize> = BTreeMap::new();
    for wish in wanted {
        let texts: BTreeSet<&str> = wish.parts.iter().flatten().map(|scope| scope.rule.text()).collect();
        for text in texts {
            *support.entry(text).or_default() += wish.names.len();
        }
    }
    support
}

/// The rules by which a call that was refused would go through; `None` where it would not.
fn lets_through(seen: &SeenCall<'_>, with: &[Policy], rules: &Rules) -> Option<BTreeSet<String>> {
    let verdict = seen.judged_by(with)?;
    if verdict.decision != Decision::Allow {
        return None;
    }
    let by_rule = verdict.trail.iter().filter_map(|entry| match &entry.opinion.reason {
        Reason::AllowRule(rule) => Some(rule.rule.text().to_owned()),
        _ => None,
    });
    let guilty: BTreeSet<String> = by_rule.filter(|rule| rules.contains_key(rule)).collect();
    // It did not go through before, so one of them lets it; were none named, all would be guilty.
    Some(if guilty.is_empty() { rules.keys().cloned().collect() } else { guilty })
}

/// Without the rules that others make needless.
fn needed(sessions: &[Session], plans: &[PlannedCall<'_>]) -> Rules {
    let every = all(plans);
    let mut rules = every.clone();
    for text in every.keys() {
        let mut without = rules.clone();
        without.remove(text);
        let with = policies(sessions, without.values());
        // Those that lean on another rule already are concerned too.
        let leans = |plan: &&PlannedCall<'_>| plan.rules.keys().any(|rule| !without.contains_key(rule));
        if plans.iter().filter(leans).all(|plan| plan.wish.seen.goes_through(&with)) {
            rules = without;
        }
    }
    rules
}
