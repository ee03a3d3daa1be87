//! The order of precedence: one table, read from top to bottom. Judging is pure and total.

mod hosts;
mod keys;
mod matching;
mod steps;

use pinfold_commands::PathClaim;
use pinfold_commands::{HostClaim, Severity};

use crate::call::ToolCall;
use crate::claim::Claims;
use crate::decision::{Decision, Opinion, PartId, PathDecision, Reason, TrailEntry, Verdict};
use crate::fact::{CommandFact, Facts, PathFact, ShellFact};
use crate::grant::Grants;
use crate::hook::HookDecision;
use crate::judge::keys::KeyedCommand;
use crate::mode::Mode;
use crate::policy::Policy;
use crate::rule::Effect;
use crate::rules::RuleSet;
use crate::scope::{Access, Interaction, Scope};

/// Everything one judgement looks at.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// The call.
    pub call: &'a ToolCall,
    /// Its claims.
    pub claims: &'a Claims,
    /// The facts that the survey found.
    pub facts: &'a Facts,
    /// The scope of the principal.
    pub scope: &'a Scope,
    /// The access of the session: whether it may change anything.
    pub access: Access,
    /// The interaction of the session: whether a person can be asked.
    pub interaction: Interaction,
    /// Rules, mode and switches.
    pub policy: &'a Policy,
    /// Grants of this session.
    pub grants: &'a Grants,
    /// The decision of the hooks, if any was asked.
    pub hook: Option<&'a HookDecision>,
}

/// A part of a call: each is judged by itself.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Part<'a> {
    /// A path, claimed and looked at.
    Path(&'a PathClaim, &'a PathFact),
    /// A simple command, and what a look at the world says about it.
    Command(&'a KeyedCommand<'a>, Option<&'a CommandFact>),
    /// The shell, and the command line as a whole.
    Shell(ShellFact),
    /// A host.
    Host(&'a HostClaim),
    /// The tool itself, where it is a third-party tool or its effect is no place.
    Tool,
}

type JudgeStep = fn(&Case<'_>, Part<'_>) -> Option<Opinion>;

/// The order of precedence. The first step with an opinion decides; nothing else is looked at.
const STEPS: [(&str, JudgeStep); 14] = [
    ("deny-rule", steps::deny_rules),
    ("unresolved", steps::unresolved),
    ("hook-deny", steps::hook_denies),
    ("safeguard", steps::safeguards),
    ("doubt", steps::doubts),
    ("hook-ask", steps::hook_asks),
    ("ask-rule", steps::ask_rules_that_hold),
    ("bypass-mode", steps::bypass_mode),
    ("session-grant", steps::session_grants),
    ("ask-rule", steps::ask_rules),
    ("allow-rule", steps::allow_rules),
    ("scope", steps::beyond_the_line),
    ("hook-allow", steps::hook_allows),
    ("mode-default", steps::mode_default),
];

/// The step that a doubt about deny rules belongs to.
const DOUBTED: &str = "deny-rule";

/// The last step, over the decisions of the others: without an approver a question is a denial.
const HEADLESS: &str = "headless";

/// The names of the steps, in their order, the last word included. Ask rules stand in front of bypass where settings
/// let them hold there, else behind grants.
pub fn step_names(ask_rules_in_bypass: bool) -> Vec<&'static str> {
    const TWICE: &str = "ask-rule";
    let early = STEPS.iter().position(|(name, _)| *name == TWICE);
    let counts = |at: usize, name: &str| name != TWICE || (Some(at) == early) == ask_rules_in_bypass;
    let named = STEPS.iter().enumerate().filter(|(at, (name, _))| counts(*at, name));
    named.map(|(_, (name, _))| *name).chain([HEADLESS]).collect()
}

/// Returns the severity of a reason: the removal of a root or home directory is given before all others.
fn severity(reason: &Reason) -> u8 {
    match reason {
        Reason::Safeguard(hit) if hit.severity == Severity::Critical => 2,
        Reason::Safeguard(hit) if hit.severity == Severity::High => 1,
        _ => 0,
    }
}

/// Decides about a call. The strictest of its parts stands; between equals the gravest, and the first that was decided by
/// itself.
pub fn judge(case: &Case<'_>) -> Verdict {
    let commands = keyed(case.claims);
    let trail: Vec<_> = parts(case, &commands).map(|(id, part)| decide(case, id, part)).collect();
    let weight = |entry: &TrailEntry| {
        let Opinion { decision, reason } = &entry.opinion;
        (*decision, severity(reason), *reason != Reason::DecidedElsewhere)
    };
    let strictest = (0..trail.len()).rev().max_by_key(|i| trail.get(*i).map(weight));
    let Some((decided_by, entry)) = strictest.and_then(|i| Some((i, trail.get(i)?))) else {
        return nothing_to_judge();
    };
    Verdict { decision: entry.opinion.decision, step: entry.step, decided_by, trail }
}

/// Returns `true` if rules are about any part of a call, or could be about one that is known only at run time. That is how a hook's
/// `if` is read: as a deny rule would be.
pub fn touches(case: &Case<'_>, rules: &RuleSet) -> bool {
    let commands = keyed(case.claims);
    parts(case, &commands).any(|(_, part)| matching::touches(case, rules, part))
}

/// Returns `true` if rules that take something away are about a place, under any of its names.
pub fn restricts_place(policy: &Policy, fact: &PathFact) -> bool {
    let about = |effect| matching::restricts_place(policy.rules(effect), fact);
    [Effect::Deny, Effect::Ask].into_iter().any(about)
}

/// The commands of the call, with what all steps look for rules by.
fn keyed(claims: &Claims) -> Vec<KeyedCommand<'_>> {
    claims.commands.iter().map(KeyedCommand::new).collect()
}

/// Every part of the call.
fn parts<'a>(case: &Case<'a>, commands: &'a [KeyedCommand<'a>]) -> impl Iterator<Item = (PartId, Part<'a>)> {
    let Case { call, claims, facts, .. } = *case;
    let paths = claims.paths.iter().zip(&facts.paths).enumerate();
    let paths = paths.map(|(i, (claim, fact))| (PartId::Path(i), Part::Path(claim, fact)));
    let commands = commands.iter().enumerate();
    let commands =
        commands.map(|(i, command)| (PartId::Command(i), Part::Command(command, facts.commands.get(i))));
    let shell = facts.shell.iter().map(|fact| (PartId::Shell, Part::Shell(*fact)));
    let hosts = claims.hosts.iter().enumerate().map(|(i, h)| (PartId::Host(i), Part::Host(h)));
    let tool = call.judged_itself().then_some((PartId::Tool, Part::Tool));
    // Of several that say no, the one that says it about everything is told.
    shell.chain(paths).chain(commands).chain(hosts).chain(tool)
}

/// The first opinion about one part, going down the table.
fn decide(case: &Case<'_>, part: PartId, what: Part<'_>) -> TrailEntry {
    let first = STEPS.iter().find_map(|(step, opine)| Some((*step, opine(case, what)?)));
    let (step, opinion) = first.unwrap_or_else(|| ("mode-default", deny(Reason::NothingToJudge)));
    let mut entry = TrailEntry { part, step, opinion };
    doubt(case, what, &mut entry);
    unask(case, &mut entry);
    entry
}

/// Turns an allow into a question for a part that a deny rule could be meant for, whatever allows it.
fn doubt(case: &Case<'_>, what: Part<'_>, entry: &mut TrailEntry) {
    match entry.opinion.decision {
        Decision::Allow => {
            if let Some(rule) = matching::may_be_denied(case, what) {
                (entry.step, entry.opinion) = (DOUBTED, ask(Reason::MayBeDenied(rule)));
            }
        }
        Decision::Ask | Decision::Deny => {}
    }
}

/// A call without parts is a call that was not understood.
fn nothing_to_judge() -> Verdict {
    let entry = TrailEntry { part: PartId::Tool, step: "unresolved", opinion: deny(Reason::NothingToJudge) };
    Verdict { decision: Decision::Deny, step: entry.step, decided_by: 0, trail: vec![entry] }
}

/// Makes a denial of a question without a person to ask, with its reason. `dontAsk` asks no person, also where one could be asked.
fn unask(case: &Case<'_>, entry: &mut TrailEntry) {
    let step = match (entry.opinion.decision, case.policy.mode, case.interaction) {
        (Decision::Ask, Mode::DontAsk, _) => entry.step,
        (Decision::Ask, _, Interaction::Headless) => HEADLESS,
        _ => return,
    };
    (entry.step, entry.opinion.decision) = (step, Decision::Deny);
}

/// Returns the decision of the boundary about one path, before modes, rules and grants.
pub fn path_decision(case: &Case<'_>, claim: &PathClaim, fact: &PathFact) -> PathDecision {
    let part = Part::Path(claim, fact);
    let hard = steps::line_denies(case, claim, fact).or_else(|| steps::unresolved(case, part));
    match (hard, steps::beyond_the_line(case, part)) {
        (Some(opinion), _) => PathDecision::Deny(opinion.reason),
        (None, Some(opinion)) => PathDecision::RequiresApproval(opinion.reason),
        (None, None) => PathDecision::Allow,
    }
}

pub(crate) fn allow(reason: Reason) -> Opinion {
    Opinion { decision: Decision::Allow, reason }
}

pub(crate) fn deny(reason: Reason) -> Opinion {
    Opinion { decision: Decision::Deny, reason }
}

pub(crate) fn ask(reason: Reason) -> Opinion {
    Opinion { decision: Decision::Ask, reason }
}

#[cfg(test)]
mod tests;
