//! Which rules cover a part of a call.

use std::sync::Arc;

use crate::call::ToolCall;
use crate::claim::{Operation, Origin, PathClaim};
use crate::command::{Bar, CommandClaim, Invocation};
use crate::fact::{PathFact, Standing};
use crate::foreign::ForeignCall;
use crate::judge::{Case, Part};
use crate::pattern::CommandKey;
use crate::rule::{Covers, SourcedRule};
use crate::rules::{PathMatch, RuleSet};
use crate::tool::{Level, ToolName};

type Found = Option<Arc<SourcedRule>>;

/// A rule that takes something away: it matches whatever name or reading of the part it meets.
pub(super) fn restricting(case: &Case<'_>, rules: &RuleSet, part: Part<'_>) -> Found {
    if rules.is_empty() {
        return None;
    }
    match part {
        Part::Path(claim, fact) => restricting_path(case, rules, claim, fact),
        Part::Command(claim, _) => {
            claim.readings.iter().find_map(|reading| restricting_command(rules, reading))
        }
        Part::Shell(_) => rules.tool(case.call.name()).cloned().or_else(|| whole_line(case, rules)),
        Part::Host(claim) => claim.host.as_deref().and_then(|host| rules.host(host)).cloned(),
        Part::Tool => tool(case, rules),
    }
}

/// A rule that lets through: every name and reading that counts has to be covered.
pub(super) fn permitting(case: &Case<'_>, rules: &RuleSet, part: Part<'_>) -> Found {
    if rules.is_empty() {
        return None;
    }
    match part {
        Part::Path(claim, fact) => permitting_path(case, rules, claim, fact),
        Part::Command(claim, bar) => permitting_command(case, rules, claim, bar),
        Part::Shell(_) => None,
        Part::Host(claim) => claim.host.as_deref().and_then(|host| rules.host(host)).cloned(),
        Part::Tool => tool(case, rules),
    }
}

/// What a person granted for a whole class: all edits, all commands.
pub(super) fn granted(case: &Case<'_>, grants: &RuleSet, part: Part<'_>) -> Found {
    let class = match part {
        Part::Path(claim, fact) if claim.operation.writes() => match fact.standing {
            Standing::Inside | Standing::OfTheShell => EDIT,
            Standing::Outside { .. } | Standing::Unresolved(_) => return None,
        },
        Part::Path(..) | Part::Host(_) => return None,
        Part::Command(..) | Part::Shell(_) => ToolName::Bash.as_str(),
        Part::Tool => case.call.name(),
    };
    grants.tool(class).cloned()
}

/// The tool that names all tools that edit.
const EDIT: &str = ToolName::Edit.as_str();
const READ: &str = ToolName::Read.as_str();

fn restricting_path(case: &Case<'_>, rules: &RuleSet, claim: &PathClaim, fact: &PathFact) -> Found {
    let real = fact.real.as_deref().filter(|real| *real != fact.asked);
    let paths = std::iter::once(fact.asked.as_path()).chain(real);
    let mut matches = paths.flat_map(|path| rules.path(path, true));
    let by_path = matches.find(|found| restricts(case, found.tool, claim)).map(|found| found.rule.clone());
    by_path.or_else(|| restricting_tools(case, claim).find_map(|name| rules.tool(name)).cloned())
}

/// A rule on `Edit` covers everything that changes files, one on `Read` everything that reads them.
fn restricts(case: &Case<'_>, named: ToolName, claim: &PathClaim) -> bool {
    let writes = claim.operation.writes();
    match named {
        ToolName::Edit => writes,
        ToolName::Read => !writes || claim.operation == Operation::MoveFrom,
        ToolName::Write => {
            writes && (case.call.ruled_as() == Some(ToolName::Write) || claim.origin != Origin::Call)
        }
        other => case.call.ruled_as() == Some(other),
    }
}

fn restricting_tools<'a>(case: &Case<'a>, claim: &PathClaim) -> impl Iterator<Item = &'a str> {
    let class = if claim.operation.writes() { EDIT } else { READ };
    let call: &'a ToolCall = case.call;
    let own = match call.ruled_as() {
        Some(tool) => tool.as_str(),
        None => call.name(),
    };
    let own = (claim.origin == Origin::Call).then_some(own);
    own.into_iter().chain([class])
}

fn permitting_path(case: &Case<'_>, rules: &RuleSet, claim: &PathClaim, fact: &PathFact) -> Found {
    let outside = matches!(fact.standing, Standing::Outside { .. });
    let reaches = |found: &PathMatch<'_>| {
        permits(case, found.tool, claim) && (found.anchored || !outside || !claim.operation.writes())
    };
    let on = |path| rules.path(path, false).into_iter().find(reaches).map(|found| found.rule.clone());
    let real = fact.real.as_deref()?;
    // Under both of its names, if it has two.
    let by_path = on(real).filter(|_| real == fact.asked || on(&fact.asked).is_some());
    let own = case.call.ruled_as().filter(|_| claim.origin == Origin::Call);
    let bare =
        || own.filter(|_| !outside || !claim.operation.writes()).and_then(|tool| rules.tool(tool.as_str()));
    by_path.or_else(|| bare().cloned())
}

/// A rule that allows covers only the tool it names; what a command writes beside its purpose is an edit or a write.
fn permits(case: &Case<'_>, named: ToolName, claim: &PathClaim) -> bool {
    match claim.origin {
        Origin::Call => case.call.ruled_as() == Some(named),
        Origin::Command(_) | Origin::Aside(_) | Origin::Foreign if claim.operation.writes() => {
            matches!(named, ToolName::Edit | ToolName::Write)
        }
        Origin::Command(_) | Origin::Aside(_) | Origin::Foreign => named == ToolName::Read,
    }
}

fn restricting_command(rules: &RuleSet, reading: &Invocation) -> Found {
    let key = CommandKey::new(&reading.words, None);
    let written = rules.command(&key, |_| true);
    let named = || {
        let name = reading.name().filter(|name| Some(*name) != reading.program())?;
        rules.command(&CommandKey::new(&reading.words, Some(name)), |_| true)
    };
    written.or_else(named).cloned()
}

/// A rule whose pattern holds an operator can only mean the line as it is written.
fn whole_line(case: &Case<'_>, rules: &RuleSet) -> Found {
    let said = case.claims.shell.as_ref()?.said()?;
    let spoken = |rule: &&Arc<SourcedRule>| match rule.rule.covers() {
        Covers::Command(pattern) => pattern.has_operator() && pattern.matches_text(said),
        _ => false,
    };
    rules.with_operators().find(spoken).cloned()
}

fn permitting_command(case: &Case<'_>, rules: &RuleSet, claim: &CommandClaim, bar: Option<&Bar>) -> Found {
    let barred = bar.is_some() || !case.claims.bars.is_empty();
    if barred { None } else { by_rule(rules, claim) }
}

fn by_rule(rules: &RuleSet, claim: &CommandClaim) -> Found {
    if claim.bars.is_empty()
        && let Some(bare) = rules.tool(ToolName::Bash.as_str())
    {
        return Some(bare.clone());
    }
    let lifts = |rule: &SourcedRule| claim.bars.iter().all(|bar| is_lifted(bar, rule));
    let words = &claim.allowable.words;
    let written = rules.command(&CommandKey::new(words, None), lifts);
    let named = || {
        let program = claim.allowable.program().filter(|program| is_system_path(program))?;
        rules.command(&CommandKey::new(words, program.rsplit('/').next()), lifts)
    };
    written.or_else(named).cloned()
}

fn is_lifted(bar: &Bar, rule: &SourcedRule) -> bool {
    match (&bar.lifted_by, rule.rule.covers()) {
        (Some(word), Covers::Command(pattern)) => pattern.names(word),
        _ => false,
    }
}

/// Directories that only root can change on an ordinary system: a program there is the one its name says.
const SYSTEM: [&str; 6] =
    ["/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/local/bin/", "/usr/local/sbin/"];

fn is_system_path(program: &str) -> bool {
    let in_it =
        |dir: &str| program.strip_prefix(dir).is_some_and(|name| !name.is_empty() && !name.contains('/'));
    SYSTEM.iter().any(|dir| in_it(dir))
}

fn tool(case: &Case<'_>, rules: &RuleSet) -> Found {
    let special = match case.call {
        ToolCall::Foreign(ForeignCall::Skill { name }) => rules.skill(name),
        ToolCall::Foreign(ForeignCall::Agent { kind, .. }) => rules.agent(kind),
        other => rules.mcp(other.name()).filter(|_| other.name().starts_with(crate::rule::MCP_PREFIX)),
    };
    special.or_else(|| rules.tool(case.call.name())).cloned()
}

/// Whether a part is among what an agent's definition lists. What only reads need not be.
pub(super) fn is_listed(case: &Case<'_>, listed: &RuleSet, part: Part<'_>) -> bool {
    match part {
        Part::Path(claim, fact) => {
            !claim.operation.writes()
                || claim.operation == Operation::HandOver
                || claim.origin != Origin::Call
                || permitting_path(case, listed, claim, fact).is_some()
                || case.call.ruled_as().is_some_and(|tool| listed.tool(tool.as_str()).is_some())
        }
        Part::Command(claim, _) => claim.is_wordless() || by_rule(listed, claim).is_some(),
        Part::Shell(_) | Part::Host(_) => true,
        Part::Tool => case.call.level() == Level::ReadOnly || tool(case, listed).is_some(),
    }
}
