//! Other calls, to show what a grant would let through too and what it would not. Each is judged.

use std::path::{Path, PathBuf};

use pinfold_commands::PathClaim;
use pinfold_commands::PathText;

use super::trial::{GrantedCase, Trial};
use crate::call::{RawCall, ToolCall};
use crate::claim::Claims;
use crate::decision::Decision;
use crate::fact::{Facts, PathFact, PathKind, PathStatus};
use crate::grant::Grant;
use crate::mcp::McpCall;
use crate::path_scopes::ScopedTool;
use crate::rule::{Rule, RuleSubject};
use crate::tool::ToolName;

/// Commands as they are written every day.
const EVERYDAY: &str = include_str!("examples.txt");

/// Well-known commands that are something else again.
const ELSEWHERE: [&str; 4] = ["git push", "python3 script.py", "curl https://example.com", "npm install"];

/// Most examples of each kind.
const TOLD: usize = 3;

/// Calls that would go through too, and calls near by that would still be asked about.
pub(super) fn collect_examples(
    trial: &Trial<'_>,
    granted: &GrantedCase<'_>,
    grants: &[Grant],
    rule: Option<&Rule>,
) -> (Vec<String>, Vec<String>) {
    let without = trial.baseline();
    let (near, known) = candidates(trial, grants, rule);
    let decided = |example: &String| {
        let (call, claims, facts) = read(trial, example).filter(|(call, ..)| call != trial.case.call)?;
        let before = without.decides(&call, &claims, &facts);
        (before == Decision::Ask).then(|| granted.decides(&call, &claims, &facts))
    };
    let told = |examples: &mut dyn Iterator<Item = &String>, decision| {
        let mut told: Vec<String> = Vec::new();
        for example in examples {
            if told.len() == TOLD {
                break;
            }
            if !told.contains(example) && decided(example) == Some(decision) {
                told.push(example.clone());
            }
        }
        told
    };
    let also = told(&mut near.iter().chain(&known), Decision::Allow);
    // A well-known other command says more than one that is nearly the same.
    let still_asks = told(&mut known.iter().chain(near.iter().rev()), Decision::Ask);
    (also, still_asks)
}

/// Calls that are worth a look: near ones, the nearest first, and such that are known to be something else.
fn candidates(trial: &Trial<'_>, grants: &[Grant], rule: Option<&Rule>) -> (Vec<String>, Vec<String>) {
    match trial.case.call {
        ToolCall::Bash(_) if trial.case.policy.path_scopes.is_silent(ScopedTool::Terminal) => {
            commands(trial, grants, rule)
        }
        ToolCall::Mcp(call) => servers(call),
        ToolCall::Process(_) if trial.case.policy.path_scopes.is_silent(ScopedTool::Terminal) => {
            trial.case.facts.paths.first().map(|fact| places(trial, fact)).unwrap_or_default()
        }
        call if call.tool().is_some() && trial.case.policy.path_scopes.is_silent(ScopedTool::File) => {
            trial.case.facts.paths.first().map(|fact| places(trial, fact)).unwrap_or_default()
        }
        _ => (Vec::new(), Vec::new()),
    }
}

/// Everyday commands of the same programs, and others.
fn commands(trial: &Trial<'_>, grants: &[Grant], rule: Option<&Rule>) -> (Vec<String>, Vec<String>) {
    let claims = &trial.case.claims.commands;
    let named = |line: &&str| {
        let program = line.split(' ').next();
        claims.iter().any(|claim| claim.allowable().name() == program)
    };
    let first = rule.and_then(|rule| match rule.covers() {
        RuleSubject::Command(pattern) => Some(pattern.leading().join(" ")),
        _ => None,
    });
    let every = grants.contains(&Grant::PlainCommands);
    let same = EVERYDAY.lines().filter(named);
    let others = EVERYDAY.lines().filter(|_| every);
    let wrapped = first.iter().map(|words| format!("timeout 60 {words}"));
    let bare = first.iter().flat_map(|words| [format!("{words} --help"), words.clone()]);
    let near = same.chain(others).map(str::to_owned).chain(wrapped).chain(bare).collect();
    let (own, foreign): (Vec<&str>, Vec<&str>) = ELSEWHERE.iter().partition(|line| named(line));
    let known = own.into_iter().chain(EVERYDAY.lines().filter(named).take(1)).chain(foreign);
    (near, known.map(str::to_owned).collect())
}

/// Other tools of the same server, and of another.
fn servers(call: &McpCall) -> (Vec<String>, Vec<String>) {
    let near = ["list", "get", "create"].map(|tool| format!("mcp__{}__{tool}", call.server));
    (near.to_vec(), vec!["mcp__other__get".to_owned()])
}

/// Places beside the one of the call, below and above it.
fn places(trial: &Trial<'_>, fact: &PathFact) -> (Vec<String>, Vec<String>) {
    let Some(real) = fact.real.as_deref() else { return (Vec::new(), Vec::new()) };
    let name = match trial.case.call {
        // What it does to places is an edit to rules.
        ToolCall::Process(_) => ToolName::Edit.as_str(),
        call => call.name(),
    };
    let end = real.extension().and_then(|end| end.to_str()).unwrap_or("txt");
    let folder = real.parent().unwrap_or(Path::new("/"));
    let above = folder.parent().unwrap_or(folder);
    let beside = [folder.join(format!("other.{end}")), folder.join("notes.md")];
    let further = [folder.join("sub").join(format!("other.{end}")), above.join(format!("other.{end}"))];
    let elsewhere = [trial.case.scope.root.join("elsewhere").join(format!("other.{end}"))];
    let shown = |path: &PathBuf| {
        let below = path.strip_prefix(&trial.case.scope.display_root).unwrap_or(path);
        format!("{name}({})", below.display())
    };
    let near = beside.iter().chain(&further).map(shown).collect();
    (near, elsewhere.iter().map(shown).collect())
}

/// An example as a call, with what would be found about it.
fn read(trial: &Trial<'_>, example: &str) -> Option<(ToolCall, Claims, Facts)> {
    let raw = match trial.case.call {
        ToolCall::Bash(_) => RawCall::new("Bash", serde_json::json!({ "command": example })),
        _ => RawCall::from_text(example).ok()?,
    };
    let call = ToolCall::parse_for_verdict(&raw).ok()?;
    let claims = Claims::from_call(&call);
    let paths = claims.paths.iter().map(|claim| imagined(trial, claim)).collect();
    let facts = Facts { paths, shell: trial.case.facts.shell, ..Facts::default() };
    Some((call, claims, facts))
}

/// A path as it would be found in an ordinary folder: a file without links.
fn imagined(trial: &Trial<'_>, claim: &PathClaim) -> PathFact {
    let scope = trial.case.scope;
    let start =
        if claim.origin == pinfold_commands::Origin::Call { &scope.display_root } else { &scope.root };
    let words =
        claim.path.as_ref().map_or_else(Default::default, |path: &PathText| path.as_os_str().to_owned());
    let path = start.join(words);
    let beside = trial.case.facts.paths.iter().find(|fact| {
        fact.real.as_deref().and_then(Path::parent).is_some_and(|folder| path.starts_with(folder))
    });
    let path_status = match beside {
        Some(fact) => fact.path_status.clone(),
        None if path.starts_with(&scope.root) => PathStatus::Inside,
        None => PathStatus::Outside { disguise: None },
    };
    PathFact {
        shown: path.display().to_string(),
        operation: claim.operation,
        asked: path.clone(),
        real: Some(path),
        path_status,
        kind: PathKind::File,
        names: 1,
        guarded: None,
        path_scopes: None,
        other_mount: false,
        line_itself: false,
        matched: Vec::new(),
        guarded_below: None,
        denied_below: None,
    }
}
