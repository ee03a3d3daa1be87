//! Matching of rules with the parts of a call.

use std::path::PathBuf;
use std::sync::Arc;

use pinfold_commands::{CommandClaim, HostClaim, NotAllowlistable, is_system_path};
use pinfold_commands::{Operation, Origin, PathClaim};

use crate::call::ToolCall;
use crate::claim::ShellClaim;
use crate::decision::Reason;
use crate::fact::{CommandFact, PathFact, PathKind, PathStatus};
use crate::foreign::ForeignCall;
use crate::judge::keys::KeyedCommand;
use crate::judge::{Case, Part, hosts, steps};
use crate::mcp::McpClass;
use crate::pattern::{DescendantReach, ReachedPaths};
use crate::rule::{Effect, RuleSubject, SourcedRule};
use crate::rules::{PathMatch, RuleSet};
use crate::tool::{Level, ToolName};

type MatchedRule = Option<Arc<SourcedRule>>;

/// A rule that takes something away: it matches whatever name or reading of the part it meets.
pub(super) fn restricting(case: &Case<'_>, rules: &RuleSet, part: Part<'_>) -> MatchedRule {
    if rules.is_empty() {
        return None;
    }
    match part {
        Part::Path(claim, fact) => restricting_path(case, rules, claim, fact),
        Part::Command(command, _) => {
            command.keys().iter().find_map(|key| rules.command(key, |_| true)).cloned()
        }
        Part::Shell(_) => rules.tool(case.call.name()).cloned().or_else(|| whole_line(case, rules)),
        Part::Host(claim) => claim.host.as_deref().and_then(|host| rules.host(host)).cloned(),
        Part::Tool => tool(case, rules),
    }
}

/// A rule that lets through: every name and reading that counts has to be covered.
pub(super) fn permitting(case: &Case<'_>, rules: &RuleSet, part: Part<'_>) -> MatchedRule {
    if rules.is_empty() {
        return None;
    }
    match part {
        Part::Path(claim, fact) => permitting_path(case, rules, claim, fact),
        Part::Command(command, fact) => permitting_command(case, rules, command, fact),
        Part::Shell(_) => None,
        Part::Host(claim) => permitting_host(case, rules, claim),
        Part::Tool => tool(case, rules),
    }
}

/// Matches a host. Rules without a port cover the usual ports alone. One about a whole tool covers
/// every host by name, and about no bare address.
fn permitting_host(case: &Case<'_>, rules: &RuleSet, claim: &HostClaim) -> MatchedRule {
    if matches!(case.call, ToolCall::Process(call) if call.is_at_unusual_port()) {
        return None;
    }
    let named = claim.host.as_deref().and_then(|host| rules.host(host));
    let whole = || {
        rules
            .tool(case.call.name())
            .filter(|_| hosts::reason_to_ask(case, claim) == Some(Reason::UnknownHost))
    };
    named.or_else(whole).cloned()
}

/// Finds grants of a whole class: all edits, all commands.
pub(super) fn granted(case: &Case<'_>, grants: &RuleSet, part: Part<'_>) -> MatchedRule {
    let class = match part {
        Part::Path(claim, fact) if claim.operation.writes() => match claim.origin {
            // All commands, with all that they are there for.
            Origin::Command(_) => ToolName::Bash.as_str(),
            Origin::Call | Origin::Foreign | Origin::Supposed(_) | Origin::Process | Origin::Aside(_)
                if steps::reason_outside_boundary(claim.operation, fact).is_none() =>
            {
                EDIT
            }
            Origin::Call | Origin::Foreign | Origin::Supposed(_) | Origin::Process | Origin::Aside(_) => {
                return None;
            }
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

fn restricting_path(case: &Case<'_>, rules: &RuleSet, claim: &PathClaim, fact: &PathFact) -> MatchedRule {
    let led_to = fact.matched.iter().map(PathBuf::as_path);
    let named: Vec<PathBuf> = match case.call {
        ToolCall::Process(call) => call.named(claim).collect(),
        _ => Vec::new(),
    };
    let paths = fact.places().chain(led_to).chain(named.iter().map(PathBuf::as_path));
    let mut matches = paths.flat_map(|path| rules.path(path, true));
    let by_path = matches.find(|found| restricts(case, found.tool, claim)).map(|found| found.rule.clone());
    if fact.path_status == PathStatus::Suspected {
        // A rule about a tool as a whole says nothing about texts.
        return by_path;
    }
    by_path.or_else(|| restricting_tools(case, claim).find_map(|name| rules.tool(name)).cloned())
}

/// A rule on `Edit` covers everything that changes files, one on `Read` everything that reads them.
fn restricts(case: &Case<'_>, named: ToolName, claim: &PathClaim) -> bool {
    let writes = claim.operation.writes();
    match named {
        ToolName::Edit => writes,
        ToolName::Read => !writes || claim.operation == Operation::MoveFrom || may_read(case),
        ToolName::Write => {
            writes && (case.call.governing_tool() == Some(ToolName::Write) || claim.origin != Origin::Call)
        }
        other => case.call.governing_tool() == Some(other),
    }
}

/// Returns `true` if it is not known what an operation of a server does: it counts as writing, and may as well read.
fn may_read(case: &Case<'_>) -> bool {
    matches!(case.call, ToolCall::Mcp(call) if call.class() == McpClass::Unknown)
}

/// Returns `true` if rules that take something away are about a place, under any of its names.
pub(super) fn restricts_place(rules: &RuleSet, fact: &PathFact) -> bool {
    fact.places().any(|path| !rules.path(path, true).is_empty())
}

fn restricting_tools<'a>(case: &Case<'a>, claim: &PathClaim) -> impl Iterator<Item = &'a str> {
    let class = if claim.operation.writes() { EDIT } else { READ };
    let too = may_read(case).then_some(READ);
    let call: &'a ToolCall = case.call;
    let own = match call.governing_tool() {
        Some(tool) => tool.as_str(),
        None => call.name(),
    };
    let own = (claim.origin == Origin::Call).then_some(own);
    own.into_iter().chain([class]).chain(too)
}

fn permitting_path(case: &Case<'_>, rules: &RuleSet, claim: &PathClaim, fact: &PathFact) -> MatchedRule {
    let beyond = steps::reason_outside_boundary(claim.operation, fact).is_some();
    let reaches = |found: &PathMatch<'_>| permits(case, found.tool, claim) && (found.anchored || !beyond);
    let on = |path| rules.path(path, false).into_iter().find(reaches).map(|found| found.rule.clone());
    let real = fact.real.as_deref()?;
    // Under both of its names, if it has two.
    let by_path = on(real).filter(|_| real == fact.asked || on(&fact.asked).is_some());
    let bare = match claim.origin {
        Origin::Call => case.call.governing_tool(),
        // Who allows all of Bash allows what it writes inside the line.
        Origin::Command(_) | Origin::Aside(_) => Some(ToolName::Bash),
        Origin::Foreign | Origin::Supposed(_) | Origin::Process => None,
    };
    let bare = || bare.filter(|_| !beyond).and_then(|tool| rules.tool(tool.as_str()));
    by_path.or_else(|| bare().cloned())
}

/// A rule that allows covers only the tool it names; what a command writes beside its purpose is an edit or a write.
fn permits(case: &Case<'_>, named: ToolName, claim: &PathClaim) -> bool {
    match claim.origin {
        Origin::Call => case.call.governing_tool() == Some(named),
        Origin::Command(_) | Origin::Aside(_) | Origin::Foreign | Origin::Supposed(_) | Origin::Process
            if claim.operation.writes() =>
        {
            matches!(named, ToolName::Edit | ToolName::Write)
        }
        Origin::Command(_) | Origin::Aside(_) | Origin::Foreign | Origin::Supposed(_) | Origin::Process => {
            named == ToolName::Read
        }
    }
}

/// Returns whether a deny rule could be meant by a part that is known only at run time; with the rule, if it is known.
pub(super) fn may_be_denied(case: &Case<'_>, part: Part<'_>) -> Option<MatchedRule> {
    may_be_meant(case, case.policy.rules(Effect::Deny), part)
}

/// Returns whether a rule could be meant by a part that is known only at run time; with the rule, if it is known.
fn may_be_meant(case: &Case<'_>, rules: &RuleSet, part: Part<'_>) -> Option<MatchedRule> {
    if rules.is_empty() {
        return None;
    }
    match part {
        Part::Command(command, fact) => program_may_be_meant(rules, command)
            .or_else(|| words_may_be_meant(case, rules, command.claim, fact).map(Some)),
        Part::Shell(_) => {
            let mut commands = case.claims.commands.iter();
            let unanalyzed = !case.claims.not_allowlistable.is_empty()
                || commands.any(|claim| !claim.not_allowlistable.is_empty());
            let shell_text = case.claims.shell.as_ref().and_then(ShellClaim::text).filter(|_| unanalyzed)?;
            rules.named_in(shell_text).cloned().map(Some)
        }
        Part::Path(claim, fact) => path_may_be_meant(case, rules, claim, fact).map(Some),
        Part::Host(_) | Part::Tool => None,
    }
}

/// A program that is known only at run time, or one that an unknown program may start.
fn program_may_be_meant(rules: &RuleSet, command: &KeyedCommand<'_>) -> Option<MatchedRule> {
    if command.keys().iter().any(|key| key.is_dynamic() && rules.may_match(key)) {
        return Some(None);
    }
    command.claim.unanalyzed.iter().find_map(|text| rules.named_in(text)).map(|rule| Some(rule.clone()))
}

/// Words of a command that may name a path which a rule is about. What the kernel holds is held there.
fn words_may_be_meant(
    case: &Case<'_>,
    rules: &RuleSet,
    claim: &CommandClaim,
    fact: Option<&CommandFact>,
) -> MatchedRule {
    if steps::is_sandboxed(case) {
        return None;
    }
    let by_any = || claim.may_name_any_file.then(|| rules.any_path(is_for_files)).flatten();
    let by_name = || {
        let named = fact.map(|fact| fact.named.as_slice()).unwrap_or_default();
        claim.named.iter().zip(named).find_map(|(place, fact)| {
            let meant = |tool: ToolName| is_for_files(tool) && (!place.reads || only_reads(tool));
            let reached = ReachedPaths { wild: place.wild, ..ReachedPaths::default() };
            let paths = std::iter::once(&fact.asked).chain(&fact.real);
            paths.into_iter().find_map(|path| rules.path_that_may_match(path, reached, meant))
        })
    };
    by_any().or_else(by_name).cloned()
}

fn is_for_files(tool: ToolName) -> bool {
    tool.takes_paths()
}

fn only_reads(tool: ToolName) -> bool {
    matches!(tool, ToolName::Read | ToolName::Grep | ToolName::Glob | ToolName::Ls)
}

/// A path of a command that reaches more than its words say: by wildcards, by all that lies below it, or somewhere that
/// is not known.
fn path_may_be_meant(case: &Case<'_>, rules: &RuleSet, claim: &PathClaim, fact: &PathFact) -> MatchedRule {
    claim.origin.command()?;
    if steps::is_sandboxed(case) {
        return None;
    }
    let meant = |tool: ToolName| restricts(case, tool, claim);
    if matches!(&fact.path_status, PathStatus::Unresolved(why) if !why.missing) {
        return rules.any_path(meant).cloned();
    }
    let reached = ReachedPaths {
        wild: claim.wild,
        below: match (claim.operation, fact.kind) {
            _ if fact.denied_below == Some(false) => DescendantReach::No,
            (Operation::Search | Operation::CopyFrom, PathKind::Folder) => DescendantReach::Yes,
            (Operation::Search | Operation::CopyFrom, PathKind::Missing) => DescendantReach::Anchored,
            _ => DescendantReach::No,
        },
        visible: claim.visible,
    };
    if reached == (ReachedPaths { visible: claim.visible, ..ReachedPaths::default() }) {
        return None;
    }
    fact.places().find_map(|path| rules.path_that_may_match(path, reached, meant)).cloned()
}

/// Returns `true` if rules are about a part, or could be: whatever name or reading of it they meet.
pub(super) fn touches(case: &Case<'_>, rules: &RuleSet, part: Part<'_>) -> bool {
    restricting(case, rules, part).is_some() || may_be_meant(case, rules, part).is_some()
}

/// Finds a rule whose pattern holds an operator: it can only mean the line as it is written.
fn whole_line(case: &Case<'_>, rules: &RuleSet) -> MatchedRule {
    let shell_text = case.claims.shell.as_ref()?.text()?;
    let spoken = |rule: &&Arc<SourcedRule>| match rule.rule.covers() {
        RuleSubject::Command(pattern) => pattern.has_operator() && pattern.matches_text(shell_text),
        _ => false,
    };
    rules.with_operators().find(spoken).cloned()
}

fn permitting_command(
    case: &Case<'_>,
    rules: &RuleSet,
    command: &KeyedCommand<'_>,
    fact: Option<&CommandFact>,
) -> MatchedRule {
    let not_allowlistable = fact.map(|fact| fact.not_allowlistable.as_slice()).unwrap_or_default();
    if case.claims.not_allowlistable.is_empty() { by_rule(rules, command, not_allowlistable) } else { None }
}

/// `found`: what speaks against it after a look at the world. A rule has to name what that is about; none does that
/// covers every command.
fn by_rule(rules: &RuleSet, command: &KeyedCommand<'_>, found: &[NotAllowlistable]) -> MatchedRule {
    let claim = command.claim;
    // What no pattern can judge is still a command, and a bare rule means every one that is understood.
    if claim.not_allowlistable.iter().all(|reason| reason.lifted_by.is_some())
        && found.is_empty()
        && let Some(bare) = rules.tool(ToolName::Bash.as_str())
    {
        return Some(bare.clone());
    }
    let lifts = |rule: &SourcedRule| {
        claim.not_allowlistable.iter().chain(found).all(|reason| is_lifted(reason, rule))
    };
    let keys = command.allowable_keys();
    keys.and_then(|(written, named)| {
        let named = named.filter(|_| claim.allowable().program().is_some_and(is_system_path));
        rules.command(written, lifts).or_else(|| rules.command(named?, lifts))
    })
    .cloned()
}

/// The reason for a subcommand that no table has.
const UNKNOWN_COMMAND: &str = "unknown-command";

fn is_lifted(reason: &NotAllowlistable, rule: &SourcedRule) -> bool {
    match (&reason.lifted_by, rule.rule.covers()) {
        (Some(word), RuleSubject::Command(pattern)) => {
            pattern.names(word) || reason.id == UNKNOWN_COMMAND && pattern.begins(word)
        }
        _ => false,
    }
}

fn tool(case: &Case<'_>, rules: &RuleSet) -> MatchedRule {
    let special = match case.call {
        ToolCall::Foreign(ForeignCall::Skill { name }) => rules.skill(name),
        ToolCall::Foreign(ForeignCall::Agent { kind, .. }) => rules.agent(kind),
        other => rules.mcp(other.name()).filter(|_| other.name().starts_with(crate::rule::MCP_PREFIX)),
    };
    special.or_else(|| rules.tool(case.call.name())).cloned()
}

/// Returns `true` if a part is among what an agent's definition lists. What only reads need not be.
pub(super) fn is_listed(case: &Case<'_>, listed: &RuleSet, part: Part<'_>) -> bool {
    match part {
        Part::Path(claim, fact) => {
            !claim.operation.writes()
                || claim.operation == Operation::HandOver
                || claim.origin != Origin::Call
                || permitting_path(case, listed, claim, fact).is_some()
                || case.call.governing_tool().is_some_and(|tool| listed.tool(tool.as_str()).is_some())
        }
        Part::Command(command, _) => {
            command.claim.has_no_command() || by_rule(listed, command, &[]).is_some()
        }
        Part::Shell(_) | Part::Host(_) => true,
        Part::Tool => case.call.level() == Level::ReadOnly || tool(case, listed).is_some(),
    }
}
