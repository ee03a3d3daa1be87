//! The steps of the table: each one small function that has an opinion about a part of a call, or none.

use std::sync::Arc;

use pinfold_commands::{CommandClaim, NotAllowlistable, SafeguardHit, Severity};
use pinfold_commands::{Operation, Origin, PathClaim};

use super::{Case, Part, allow, ask, deny, hosts, matching};
use crate::call::ToolCall;
use crate::decision::{Decision, Opinion, Reason};
use crate::fact::{CommandFact, PathFact, PathKind, PathStatus, ScopeHit, ShellConfinement, ShellFact};
use crate::foreign::ForeignCall;
use crate::grant::Grant;
use crate::mode::{BashMode, MinSeverity, Mode, Reads};
use crate::rule::Effect;
use crate::scope::Access;
use crate::tool::Level;

/// Denies what no approval can allow: deny rules, the armed scope of a subagent, declared path scopes,
/// tools that an agent's definition leaves out, writes in a session that only reads.
pub(super) fn deny_rules(case: &Case<'_>, part: Part<'_>) -> Option<Opinion> {
    if let Some(unread) = case.policy.unparsed_rules.first() {
        return Some(deny(Reason::RuleNotRead(unread.clone())));
    }
    if let Some(rule) = matching::restricting(case, case.policy.rules(Effect::Deny), part) {
        return Some(deny(Reason::DenyRule(rule)));
    }
    if let Some(hit) = path_scopes(case, part) {
        return Some(deny(Reason::PathScopes(hit)));
    }
    let line = match part {
        Part::Path(claim, fact) => line_denies(case, claim, fact),
        Part::Shell(_) => (!case.scope.allow_bash).then(|| deny(Reason::BashNotAllowed)),
        Part::Tool => no_shell_for_a_child(case),
        Part::Host(claim) => hosts::denied(case, claim),
        Part::Command(..) => None,
    };
    let unlisted = || {
        let mut lists = case.policy.lists().iter();
        lists.any(|listed| !matching::is_listed(case, listed, part)).then(|| deny(Reason::NotListed))
    };
    line.or_else(unlisted)
}

/// Returns the objection of a declared scope to a part.
fn path_scopes(case: &Case<'_>, part: Part<'_>) -> Option<ScopeHit> {
    match part {
        Part::Path(_, fact) => fact.path_scopes.clone().map(ScopeHit::of_all),
        Part::Shell(_) | Part::Tool => case.facts.path_scopes.clone(),
        Part::Command(..) | Part::Host(_) => None,
    }
}

/// Denies paths that the boundary itself denies.
pub(super) fn line_denies(case: &Case<'_>, claim: &PathClaim, fact: &PathFact) -> Option<Opinion> {
    let outside = matches!(fact.path_status, PathStatus::Outside { .. });
    if claim.operation == Operation::HandOver {
        return hand_over(fact);
    }
    if matches!(fact.path_status, PathStatus::OfTheShell | PathStatus::Suspected) {
        return None;
    }
    if !claim.operation.writes() {
        let is_confined = case.policy.reads == Reads::Workspace && outside;
        return is_confined.then(|| deny(Reason::ReadOutside));
    }
    if case.scope.enforce_write && outside {
        return Some(deny(Reason::OutOfScope));
    }
    if let (Origin::Process, PathStatus::Inside, Some(hit)) = (claim.origin, &fact.path_status, &fact.guarded)
    {
        // The kernel holds this for every process: no approval can let one through.
        return Some(deny(Reason::GuardedWrite(hit.clone())));
    }
    match case.access {
        Access::ReadOnly => Some(deny(Reason::ReadOnly)),
        Access::ReadWrite | Access::DefaultWrite => None,
    }
}

/// A child works in a folder that is there, inside its parent's.
fn hand_over(fact: &PathFact) -> Option<Opinion> {
    match (&fact.path_status, fact.kind) {
        (PathStatus::Inside, PathKind::Folder) => None,
        (PathStatus::Inside, _) => Some(deny(Reason::NoFolder)),
        (
            PathStatus::Outside { .. }
            | PathStatus::OfTheShell
            | PathStatus::Suspected
            | PathStatus::Unresolved(_),
            _,
        ) => Some(deny(Reason::OutOfScope)),
    }
}

fn no_shell_for_a_child(case: &Case<'_>) -> Option<Opinion> {
    match case.call {
        ToolCall::Foreign(ForeignCall::Agent { wants_shell: true, .. }) if !case.scope.allow_bash => {
            Some(deny(Reason::BashNotAllowed))
        }
        _ => None,
    }
}

/// Denies paths that do not resolve, lead elsewhere than they say, are no files, or cannot be held.
pub(super) fn unresolved(_: &Case<'_>, part: Part<'_>) -> Option<Opinion> {
    match part {
        // What a command only reads is not opened by us: wherever it leads, the kernel says what can be read there.
        Part::Path(claim, _) if is_read_by_command(claim) => None,
        Part::Path(_, fact) if fact.path_status == PathStatus::Suspected => None,
        Part::Path(claim, fact) => unresolved_path(claim.operation, fact),
        Part::Shell(fact) => match fact.confinement {
            ShellConfinement::Nothing => Some(deny(Reason::ShellNotHeld)),
            ShellConfinement::Full | ShellConfinement::Degraded | ShellConfinement::Theirs => None,
        },
        Part::Command(..) | Part::Host(_) | Part::Tool => None,
    }
}

fn is_read_by_command(claim: &PathClaim) -> bool {
    !claim.operation.writes() && matches!(claim.origin, Origin::Command(_) | Origin::Aside(_))
}

fn unresolved_path(operation: Operation, fact: &PathFact) -> Option<Opinion> {
    if let PathStatus::Unresolved(why) = &fact.path_status {
        return Some(deny(Reason::Unresolved(why.clone())));
    }
    if !operation.writes() {
        return match fact.kind {
            PathKind::Special(kind) => Some(deny(Reason::Special(kind))),
            PathKind::Missing | PathKind::File | PathKind::Folder | PathKind::Link => None,
        };
    }
    if let PathStatus::Outside { disguise: Some(disguise) } = fact.path_status {
        return Some(deny(Reason::Disguised(disguise)));
    }
    if fact.line_itself && takes_the_name(operation) {
        return Some(deny(Reason::TheLineItself));
    }
    match fact.kind {
        // A special file may be taken away by its name like any other; nothing may be sent into it.
        PathKind::Special(kind) if operation.replaces_content() => Some(deny(Reason::Special(kind))),
        PathKind::Special(_) | PathKind::Missing | PathKind::File | PathKind::Folder | PathKind::Link => None,
    }
}

fn takes_the_name(operation: Operation) -> bool {
    matches!(operation, Operation::Delete | Operation::MoveFrom | Operation::MoveTo)
}

/// Asks about safeguards, whatever rules and modes say.
pub(super) fn safeguards(case: &Case<'_>, part: Part<'_>) -> Option<Opinion> {
    let always_ask = case.policy.always_ask;
    let first = |hits: &[SafeguardHit]| hits.iter().find(|hit| holds(always_ask, hit.severity)).copied();
    let hit = match part {
        Part::Path(claim, fact) => {
            let hit = fact.guarded.as_ref().filter(|hit| hit.sensitive && claim.operation.writes())?;
            return holds(always_ask, Severity::Medium).then(|| ask(Reason::Sensitive(hit.clone())));
        }
        Part::Command(command, _) => first(&command.claim.safeguards),
        Part::Shell(_) => first(&case.claims.safeguards),
        Part::Host(_) | Part::Tool => None,
    };
    hit.map(|hit| ask(Reason::Safeguard(hit)))
}

fn holds(always_ask: MinSeverity, severity: Severity) -> bool {
    match always_ask {
        MinSeverity::Medium => true,
        MinSeverity::High => severity >= Severity::High,
        MinSeverity::Critical => severity >= Severity::Critical,
    }
}

/// Denies calls that a hook denies.
pub(super) fn hook_denies(case: &Case<'_>, _: Part<'_>) -> Option<Opinion> {
    hook(case, Decision::Deny).map(deny)
}

/// Asks where a hook wants a person to see the call, whatever was granted, unless the mode asks no one: a wish to ask
/// never makes a question of what the mode denies.
pub(super) fn hook_asks(case: &Case<'_>, _: Part<'_>) -> Option<Opinion> {
    asked_before(case, false)
}

/// Asks about a call that the way in could not understand in full.
pub(super) fn doubts(case: &Case<'_>, _: Part<'_>) -> Option<Opinion> {
    asked_before(case, true)
}

fn asked_before(case: &Case<'_>, is_doubt: bool) -> Option<Opinion> {
    case.hook.filter(|word| word.is_doubt() == is_doubt)?;
    let reason = hook(case, Decision::Ask)?;
    Some(match case.policy.mode {
        Mode::DontAsk | Mode::Explore => deny(reason),
        Mode::Default | Mode::AcceptEdits | Mode::BypassPermissions | Mode::Auto => ask(reason),
    })
}

/// The routine question, which a hook can answer beforehand.
pub(super) fn hook_allows(case: &Case<'_>, part: Part<'_>) -> Option<Opinion> {
    let reason = hook(case, Decision::Allow)?;
    let only = case.hook.map(|word| word.only.as_slice()).unwrap_or_default();
    let covered =
        only.is_empty() || only.iter().any(|rules| matching::permitting(case, rules, part).is_some());
    let routine = mode_default(case, part)?.decision == Decision::Ask;
    (covered && routine).then(|| allow(reason))
}

fn hook(case: &Case<'_>, decision: Decision) -> Option<Reason> {
    let word = case.hook.filter(|word| word.decision == decision)?;
    Some(Reason::Hook(word.clone()))
}

/// Ask rules where settings let them hold against bypass and grants.
pub(super) fn ask_rules_that_hold(case: &Case<'_>, part: Part<'_>) -> Option<Opinion> {
    if case.policy.ask_rules_in_bypass { ask_rules(case, part) } else { None }
}

/// Allows in `bypassPermissions`.
pub(super) fn bypass_mode(case: &Case<'_>, part: Part<'_>) -> Option<Opinion> {
    if let Part::Path(PathClaim { origin: Origin::Process, .. }, _) = part {
        // A mode trusts the words of an agent. An operation that the kernel holds needs an approval of its own.
        return None;
    }
    if let (Part::Host(_), ToolCall::Process(_)) = (part, case.call) {
        return None;
    }
    (case.policy.mode == Mode::BypassPermissions).then(|| allow(Reason::Mode(Mode::BypassPermissions)))
}

/// Allows calls that grants of this session cover.
pub(super) fn session_grants(case: &Case<'_>, part: Part<'_>) -> Option<Opinion> {
    if let Part::Path(claim, fact) = part
        && let Some(grant) =
            fact.real.as_deref().and_then(|real| case.grants.place(real, claim.operation.into()))
    {
        return Some(allow(Reason::Grant(Arc::clone(grant))));
    }
    if let Part::Host(claim) = part
        && let Some(grant) = claim.host.as_deref().and_then(|host| case.grants.host(host))
    {
        return Some(allow(Reason::Grant(Arc::clone(grant))));
    }
    if let Part::Command(command, fact) = part
        && fact.is_none_or(|fact| fact.not_allowlistable.is_empty())
        && case.grants.plain_commands()
        && case.claims.not_allowlistable.is_empty()
        && crate::grant_options::is_plain(command.claim)
    {
        return Some(allow(Reason::Grant(Arc::new(Grant::PlainCommands))));
    }
    let rules = case.grants.rules();
    let granted = matching::granted(case, rules, part);
    let rule = granted.or_else(|| matching::permitting(case, rules, part))?;
    Some(allow(Reason::Grant(Arc::new(Grant::Rule(rule)))))
}

/// Asks about calls that an ask rule covers.
pub(super) fn ask_rules(case: &Case<'_>, part: Part<'_>) -> Option<Opinion> {
    matching::restricting(case, case.policy.rules(Effect::Ask), part).map(|rule| ask(Reason::AskRule(rule)))
}

/// Allows calls that an allow rule covers.
pub(super) fn allow_rules(case: &Case<'_>, part: Part<'_>) -> Option<Opinion> {
    if let Part::Path(claim, fact) = part
        && !claim.operation.writes()
        && fact.guarded.is_none()
    {
        return None;
    }
    let by_rule = matching::permitting(case, case.policy.rules(Effect::Allow), part)
        .map(|rule| allow(Reason::AllowRule(rule)));
    match part {
        Part::Host(claim) => by_rule.or_else(|| hosts::allowed(case, claim)),
        Part::Path(..) | Part::Command(..) | Part::Shell(_) | Part::Tool => by_rule,
    }
}

/// Asks about paths outside the boundary, unless the mode denies them.
pub(super) fn beyond_the_line(case: &Case<'_>, part: Part<'_>) -> Option<Opinion> {
    let reason = match part {
        Part::Path(claim, fact) => match reason_outside_boundary(claim.operation, fact) {
            Some(reason) => reason,
            None => unresolved_read(case, claim, fact).or_else(|| guarded_below(case, fact))?,
        },
        // The list of hosts has been asked before, and says nothing about it.
        Part::Host(_) if matches!(case.call, ToolCall::Process(_)) => Reason::UnknownHost,
        Part::Host(claim) => hosts::reason_to_ask(case, claim)?,
        Part::Command(..) | Part::Shell(_) | Part::Tool => return None,
    };
    Some(match case.policy.mode {
        Mode::DontAsk | Mode::Explore => deny(reason),
        Mode::Default | Mode::AcceptEdits | Mode::BypassPermissions | Mode::Auto => ask(reason),
    })
}

/// Asks about a read by a command that does not resolve. Nothing is opened by us, so that a denial is not needed, but
/// what it leads to may be guarded. Where the kernel holds the command, it is held there too.
fn unresolved_read(case: &Case<'_>, claim: &PathClaim, fact: &PathFact) -> Option<Reason> {
    match &fact.path_status {
        PathStatus::Unresolved(why) if is_read_by_command(claim) && !why.missing && !is_sandboxed(case) => {
            Some(Reason::Unresolved(why.clone()))
        }
        PathStatus::Unresolved(_)
        | PathStatus::Inside
        | PathStatus::Outside { .. }
        | PathStatus::OfTheShell
        | PathStatus::Suspected => None,
    }
}

/// A command reads everything below a folder in which guarded places lie.
fn guarded_below(case: &Case<'_>, fact: &PathFact) -> Option<Reason> {
    fact.guarded_below.clone().filter(|_| !is_sandboxed(case)).map(Reason::GuardedRead)
}

/// Returns the reason why a path lies outside the boundary, if it does.
pub(super) fn reason_outside_boundary(operation: Operation, fact: &PathFact) -> Option<Reason> {
    // However it is mounted, and whatever names it has there: nothing outside the shell sees it.
    if fact.path_status == PathStatus::OfTheShell {
        return None;
    }
    let guarded = fact.guarded.clone();
    if !operation.writes() {
        return guarded.map(Reason::GuardedRead);
    }
    if matches!(fact.path_status, PathStatus::Outside { .. }) {
        return Some(Reason::WriteOutside);
    }
    if let Some(hit) = guarded {
        return Some(Reason::GuardedWrite(hit));
    }
    if fact.path_status == PathStatus::Suspected {
        return None;
    }
    if fact.other_mount {
        return Some(Reason::OtherMount);
    }
    (operation.replaces_content() && fact.kind == PathKind::File && fact.names > 1)
        .then_some(Reason::OtherNames(fact.names))
}

/// Applies the default of the mode.
#[expect(clippy::unnecessary_wraps, reason = "a step like any other; the last one always has an opinion")]
pub(super) fn mode_default(case: &Case<'_>, part: Part<'_>) -> Option<Opinion> {
    Some(match part {
        Part::Path(claim, fact) if fact.path_status == PathStatus::OfTheShell => shells_own(case, claim),
        Part::Path(_, fact) if fact.path_status == PathStatus::Suspected => allow(Reason::DecidedElsewhere),
        Part::Path(claim, _) => path_default(case, claim),
        Part::Command(command, fact) => command_default(case, command.claim, fact),
        Part::Shell(fact) => shell_default(case, fact),
        Part::Host(_) => allow(Reason::DecidedElsewhere),
        // A tool that does nothing but reach hosts may what it may there.
        Part::Tool if hosts::decide(case) => allow(Reason::DecidedElsewhere),
        Part::Tool => by_level(case.policy.mode, case.call.level()),
    })
}

/// Allows changes of places that only the shell of the call sees, but for an agent that changes nothing: the purpose of
/// its commands is decided with them, what they write beside that is not.
fn shells_own(case: &Case<'_>, claim: &PathClaim) -> Opinion {
    let changes_nothing = case.policy.mode == Mode::Explore && matches!(claim.origin, Origin::Aside(_));
    if changes_nothing && claim.operation.writes() {
        return by_level(Mode::Explore, Level::Write);
    }
    allow(Reason::HeldByTheKernel)
}

fn path_default(case: &Case<'_>, claim: &PathClaim) -> Opinion {
    match claim.origin {
        // What allows the command allows what it is there for, and what it reads; a folder is handed over with the agent.
        Origin::Command(_) | Origin::Foreign | Origin::Supposed(_) => allow(Reason::DecidedElsewhere),
        Origin::Aside(_) if !claim.operation.writes() => allow(Reason::DecidedElsewhere),
        _ if !claim.operation.writes() => by_level(case.policy.mode, Level::ReadOnly),
        // In the folder it can do that by itself.
        Origin::Process => allow(Reason::HeldByTheKernel),
        _ if claim.operation == Operation::HandOver => allow(Reason::DecidedElsewhere),
        Origin::Aside(_) if is_sandboxed(case) => allow(Reason::HeldByTheKernel),
        Origin::Call | Origin::Aside(_) => by_level(case.policy.mode, Level::Write),
    }
}

fn command_default(case: &Case<'_>, claim: &CommandClaim, fact: Option<&CommandFact>) -> Opinion {
    if is_sandboxed(case) {
        return allow(Reason::HeldByTheKernel);
    }
    let found = fact.and_then(|fact| fact.not_allowlistable.first());
    let reason: Option<&NotAllowlistable> =
        case.claims.not_allowlistable.first().or_else(|| claim.not_allowlistable.first()).or(found);
    if reason.is_none() && claim.has_no_command() {
        return allow(Reason::DecidedElsewhere);
    }
    let only_reads = match fact {
        Some(fact) => (claim.only_reads() || fact.reads_at_home) && !fact.starts_elsewhere,
        None => claim.only_reads(),
    };
    let reads = lets_readers_through(case.policy.bash) && only_reads;
    if reason.is_none() && (claim.is_condition() || reads) {
        return allow(Reason::OnlyReads);
    }
    let by_mode = by_level(case.policy.mode, Level::Dangerous);
    match reason {
        Some(reason) => Opinion { reason: Reason::NotAllowlistable(reason.clone()), ..by_mode },
        None => by_mode,
    }
}

/// Returns `true` if a command that only reads needs no question: not the kernel's hold is what makes it harmless.
fn lets_readers_through(bash: BashMode) -> bool {
    match bash {
        BashMode::ReadOnly | BashMode::Sandboxed => true,
        BashMode::Ask => false,
    }
}

/// The line as a whole: nothing to say when its commands were understood, each has had its own verdict.
fn shell_default(case: &Case<'_>, _: ShellFact) -> Opinion {
    let reaches_a_shell = case.claims.shell.as_ref().and_then(|shell| shell.text()).is_none();
    let by_mode = by_level(case.policy.mode, Level::Dangerous);
    match case.claims.not_allowlistable.first() {
        // What a person let start may be read and ended.
        None if reaches_a_shell => allow(Reason::DecidedElsewhere),
        None if !case.claims.commands.is_empty() => allow(Reason::DecidedElsewhere),
        None if is_sandboxed(case) => allow(Reason::HeldByTheKernel),
        None => by_mode,
        Some(reason) => Opinion { reason: Reason::NotAllowlistable(reason.clone()), ..by_mode },
    }
}

/// The kernel holds the command, in full or with gaps that the owner of the session accepted by name, and nothing
/// it could reach is undecided: an open network is the owner's word for every host, unless rules speak of hosts.
pub(super) fn is_sandboxed(case: &Case<'_>) -> bool {
    let ruled = [Effect::Deny, Effect::Ask].into_iter().any(|effect| case.policy.rules(effect).has_hosts());
    let known =
        case.claims.not_allowlistable.is_empty() && case.claims.hosts.iter().all(|host| host.host.is_some());
    let by_us =
        |fact: &ShellFact| matches!(fact.confinement, ShellConfinement::Full | ShellConfinement::Degraded);
    let is_confined = |fact: &ShellFact| by_us(fact) && (!fact.open_network || !ruled || known);
    case.policy.bash == BashMode::Sandboxed && case.facts.shell.as_ref().is_some_and(is_confined)
}

/// 002's table of modes.
fn by_level(mode: Mode, level: Level) -> Opinion {
    let reason = Reason::Mode(mode);
    match (mode, level) {
        (_, Level::ReadOnly)
        | (Mode::BypassPermissions, _)
        | (Mode::AcceptEdits | Mode::Auto, Level::Write) => allow(reason),
        (Mode::Default | Mode::AcceptEdits | Mode::Auto, Level::Write | Level::Dangerous) => ask(reason),
        (Mode::DontAsk | Mode::Explore, Level::Write | Level::Dangerous) => deny(reason),
    }
}
