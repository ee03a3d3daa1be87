//! What wins: one table, read from top to bottom. Judging is pure and total.

use crate::claim::Operation;
use crate::decision::{Decision, Opinion, PathDecision, Reason, TrailEntry, Verdict};
use crate::fact::{Facts, Kind, PathFact, ShellFact, ShellHold, Standing};
use crate::scope::{Access, Interaction, Scope};

/// Everything one judgement looks at.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// What the survey found.
    pub facts: &'a Facts,
    /// The confinement of whoever acts.
    pub scope: &'a Scope,
    /// Whether the session may change anything.
    pub access: Access,
    /// Whether a person can be asked.
    pub interaction: Interaction,
}

/// A step, with the opinion it has, or has not, about each kind of part.
struct Step {
    name: &'static str,
    path: fn(&Case<'_>, &PathFact) -> Option<Opinion>,
    shell: fn(&Case<'_>, ShellFact) -> Option<Opinion>,
}

/// The order of precedence. The first step with an opinion decides; nothing else is looked at.
const STEPS: [Step; 4] = [
    Step { name: "deny-rule", path: deny_rules, shell: bash_off },
    Step { name: "unresolved", path: unresolved, shell: shell_not_held },
    Step { name: "scope", path: beyond_the_line, shell: |_, _| None },
    Step {
        name: "mode-default",
        path: |_, _| Some(within_the_line()),
        shell: |_, _| Some(within_the_line()),
    },
];

/// The last word, spoken over what the steps decided: nobody is there to be asked.
const HEADLESS: &str = "headless";

/// Decides about a call. The strictest of its parts stands; between equals the first.
pub fn judge(case: &Case<'_>) -> Verdict {
    let paths = case.facts.paths.iter().map(|fact| first(|step| (step.path)(case, fact)));
    let shell = case.facts.shell.iter().map(|fact| first(|step| (step.shell)(case, *fact)));
    let parts = paths.chain(shell).enumerate();
    let trail: Vec<_> =
        parts.map(|(part, (step, opinion))| headless(case, TrailEntry { part, step, opinion })).collect();
    let strictest = (0..trail.len()).rev().max_by_key(|i| trail.get(*i).map(|entry| entry.opinion.decision));
    let Some((decided_by, entry)) = strictest.and_then(|i| Some((i, trail.get(i)?))) else {
        return nothing_to_judge();
    };
    Verdict { decision: entry.opinion.decision, step: entry.step, decided_by, trail }
}

/// The first opinion, going down the table.
fn first(opinion: impl Fn(&Step) -> Option<Opinion>) -> (&'static str, Opinion) {
    let first = STEPS.iter().find_map(|step| Some((step.name, opinion(step)?)));
    first.unwrap_or(("mode-default", deny(Reason::NothingToJudge)))
}

/// A call without parts is a call that was not understood.
fn nothing_to_judge() -> Verdict {
    let entry = TrailEntry { part: 0, step: "unresolved", opinion: deny(Reason::NothingToJudge) };
    Verdict { decision: Decision::Deny, step: entry.step, decided_by: 0, trail: vec![entry] }
}

/// What the line says about one path, before modes, rules and grants have a say.
pub fn path_decision(case: &Case<'_>, fact: &PathFact) -> PathDecision {
    let hard = deny_rules(case, fact).or_else(|| unresolved(case, fact));
    match (hard, beyond_the_line(case, fact)) {
        (Some(opinion), _) => PathDecision::Deny(opinion.reason),
        (None, Some(opinion)) => PathDecision::RequiresApproval(opinion.reason),
        (None, None) => PathDecision::Allow,
    }
}

/// What nobody can say yes to because somebody said no: the armed scope of a subagent, a session that only reads.
fn deny_rules(case: &Case<'_>, fact: &PathFact) -> Option<Opinion> {
    if !fact.operation.writes() {
        return None;
    }
    if case.scope.enforce_write && matches!(fact.standing, Standing::Outside { .. }) {
        return Some(deny(Reason::OutOfScope));
    }
    match case.access {
        Access::ReadOnly => Some(deny(Reason::ReadOnly)),
        Access::ReadWrite => None,
    }
}

/// What cannot be meant: it leads nowhere, it leads elsewhere than it says, or it is no file.
fn unresolved(_: &Case<'_>, fact: &PathFact) -> Option<Opinion> {
    if let Standing::Unresolved(why) = &fact.standing {
        return Some(deny(Reason::Unresolved(why.clone())));
    }
    if !fact.operation.writes() {
        return match fact.kind {
            Kind::Special(kind) => Some(deny(Reason::Special(kind))),
            Kind::Missing | Kind::File | Kind::Folder | Kind::Link => None,
        };
    }
    if let Standing::Outside { disguise: Some(disguise) } = fact.standing {
        return Some(deny(Reason::Disguised(disguise)));
    }
    if fact.line_itself && takes_the_name(fact.operation) {
        return Some(deny(Reason::TheLineItself));
    }
    match fact.kind {
        // A special file may be taken away by its name like any other; nothing may be sent into it.
        Kind::Special(kind) if fact.operation.replaces_content() => Some(deny(Reason::Special(kind))),
        Kind::Special(_) | Kind::Missing | Kind::File | Kind::Folder | Kind::Link => None,
    }
}

fn takes_the_name(operation: Operation) -> bool {
    match operation {
        Operation::Delete | Operation::MoveFrom | Operation::MoveTo => true,
        Operation::Read
        | Operation::List
        | Operation::Search
        | Operation::Write
        | Operation::Edit
        | Operation::Patch
        | Operation::Create
        | Operation::MakeDir
        | Operation::CopyFrom
        | Operation::CopyTo => false,
    }
}

/// What a person may say yes to.
fn beyond_the_line(_: &Case<'_>, fact: &PathFact) -> Option<Opinion> {
    let guarded = fact.guarded.clone();
    if !fact.operation.writes() {
        return guarded.map(|hit| ask(Reason::GuardedRead(hit)));
    }
    if matches!(fact.standing, Standing::Outside { .. }) {
        return Some(ask(Reason::WriteOutside));
    }
    if let Some(hit) = guarded {
        return Some(ask(Reason::GuardedWrite(hit)));
    }
    if fact.other_mount {
        return Some(ask(Reason::OtherMount));
    }
    (fact.operation.replaces_content() && fact.kind == Kind::File && fact.names > 1)
        .then(|| ask(Reason::OtherNames(fact.names)))
}

/// Shells are off unless the person who started the session switched them on.
fn bash_off(case: &Case<'_>, _: ShellFact) -> Option<Opinion> {
    (!case.scope.allow_bash).then(|| deny(Reason::BashNotAllowed))
}

/// What a shell does is known only by running it, so it runs only where something holds it.
fn shell_not_held(_: &Case<'_>, fact: ShellFact) -> Option<Opinion> {
    match fact.held {
        ShellHold::Nothing => Some(deny(Reason::ShellNotHeld)),
        ShellHold::Full | ShellHold::Degraded => None,
    }
}

/// The folder is the grant: what stays within the line needs no further word.
fn within_the_line() -> Opinion {
    Opinion { decision: Decision::Allow, reason: Reason::WithinTheLine }
}

/// With nobody to ask, a question is a no; its reason stays.
fn headless(case: &Case<'_>, entry: TrailEntry) -> TrailEntry {
    match (case.interaction, entry.opinion.decision) {
        (Interaction::Headless, Decision::Ask) => TrailEntry {
            step: HEADLESS,
            opinion: Opinion { decision: Decision::Deny, ..entry.opinion },
            ..entry
        },
        (Interaction::Headless, Decision::Allow | Decision::Deny) | (Interaction::Interactive, _) => entry,
    }
}

fn deny(reason: Reason) -> Opinion {
    Opinion { decision: Decision::Deny, reason }
}

fn ask(reason: Reason) -> Opinion {
    Opinion { decision: Decision::Ask, reason }
}

#[cfg(test)]
mod tests;
