//! Grants on offer for third-party tools: the tool, its server, a host, a skill, a kind of agent.

use super::trial::Trial;
use super::{AskedPart, granting};
use crate::call::ToolCall;
use crate::foreign::ForeignCall;
use crate::grant::Grant;
use crate::rule::Rule;
use crate::tool::Level;

/// A host that is asked about.
pub(super) fn host<'a>(trial: &Trial<'_>, at: usize, nothing: AskedPart<'a>) -> AskedPart<'a> {
    let Some(claim) = trial.case.claims.hosts.get(at) else { return nothing };
    let Some(host) = claim.host.as_deref() else {
        return if claim.of_tool { unsaid_host(trial, &nothing) } else { nothing };
    };
    if let ToolCall::Process(call) = trial.case.call
        && call.is_at_unusual_port()
    {
        // No rule names a port.
        return AskedPart { part: host.to_owned(), session: vec![Grant::Host(host.to_owned())], ..nothing };
    }
    let rules: Vec<Rule> =
        plain(host).and_then(|host| parsed("WebFetch", &format!("domain:{host}"))).into_iter().collect();
    AskedPart { part: host.to_owned(), session: rules.iter().map(granting).collect(), rules, ..nothing }
}

/// A tool that reaches hosts which its calls do not name: a rule about it is one about all of them.
fn unsaid_host<'a>(trial: &Trial<'_>, nothing: &AskedPart<'a>) -> AskedPart<'a> {
    let name = trial.case.call.name();
    let rules: Vec<Rule> = bare(name).into_iter().collect();
    AskedPart { part: name.to_owned(), session: rules.iter().map(granting).collect(), rules, ..*nothing }
}

/// Grants for a tool that the agent or a server executes.
pub(super) fn tool<'a>(trial: &Trial<'_>, nothing: AskedPart<'a>) -> AskedPart<'a> {
    let name = trial.case.call.name();
    let (rules, lasting) = match trial.case.call {
        // A name that a rule would read as more than itself, or that is none of a tool, stands for nothing but this call.
        ToolCall::Mcp(call) if !is_name(&call.server) || !is_name(&call.tool) => (Vec::new(), false),
        ToolCall::Mcp(call) => {
            let server = plain(&call.server).and_then(|server| parsed("MCP", &format!("mcp__{server}__*")));
            (vec![bare(name), server], true)
        }
        ToolCall::Foreign(foreign) => of_others(foreign, name),
        ToolCall::WebFetch(_) => (vec![bare(name)], false),
        // Other tools of ours have parts of their own.
        own => return AskedPart { part: own.name().to_owned(), ..nothing },
    };
    let rules: Vec<Rule> = rules.into_iter().flatten().collect();
    let session = rules.iter().map(granting).collect();
    let rules = if lasting { rules } else { Vec::new() };
    AskedPart { part: name.to_owned(), session, rules, ..nothing }
}

/// Returns whether a name of a server or a tool is written as
/// [the protocol](https://modelcontextprotocol.io/specification/draft/server/tools#tool-names) wants it, in which nothing is
/// a pattern.
fn is_name(name: &str) -> bool {
    name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b))
}

fn of_others(call: &ForeignCall, name: &str) -> (Vec<Option<Rule>>, bool) {
    match call {
        ForeignCall::Skill { name } => (vec![plain(name).and_then(|name| parsed("Skill", name))], true),
        ForeignCall::Agent { kind, .. } => (vec![plain(kind).and_then(|kind| parsed("Agent", kind))], true),
        ForeignCall::Unknown { .. } => (vec![bare(name)], true),
        // Code runs anything, what is planted runs later, and of what is not understood nothing is known.
        ForeignCall::Unread { .. }
        | ForeignCall::Code { .. }
        | ForeignCall::Known { level: Level::Dangerous, .. } => (Vec::new(), false),
        ForeignCall::Known { level: Level::ReadOnly | Level::Write, .. } | ForeignCall::File { .. } => {
            (vec![bare(name)], false)
        }
    }
}

fn bare(name: &str) -> Option<Rule> {
    Rule::parse(plain(name)?).ok()
}

fn parsed(tool: &str, pattern: &str) -> Option<Rule> {
    Rule::parse(&format!("{tool}({pattern})")).ok()
}

/// A name that a rule takes as it stands.
fn plain(name: &str) -> Option<&str> {
    let special = |c: char| c.is_control() || c.is_whitespace() || matches!(c, '*' | '?' | '(' | ')');
    (!name.is_empty() && !name.contains(special) && !name.ends_with(':')).then_some(name)
}
