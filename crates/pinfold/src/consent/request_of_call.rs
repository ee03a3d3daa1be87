//! The approval request that a judged call becomes.

use std::path::PathBuf;

use jiff::Timestamp;
use pinfold_host::Host;
use pinfold_policy::grant_options::always_asks;
use pinfold_policy::{
    Case, Connection, Decision, GrantOptions, GrantScope, HookDecision, Operation, Origin, PathClaim,
    PathFact, PathKind, PathStatus, Preview, ProcessCall, Reason, ToolCall, TrailEntry, Verdict,
};
use serde_json::Value;

use super::redacted_request::scrubbed;
use super::request::{
    Asker, Change, GrantOptionsShown, Hunk, OperationShown, PartShown, Request, RequestedOperation,
    ScopeShown, VERSION, WhyAsked,
};
use crate::explain::{self, Explainer};
use crate::judgement::Judgement;
use crate::plan::ExecutedBy;
use crate::session::Shared;

/// Returns the grants that can be chosen, typed; the request shows the same as text.
pub(crate) fn offer(shared: &Shared, case: &Case<'_>, verdict: &Verdict) -> GrantOptions {
    let mut offer = GrantOptions::compute(case, verdict, shared.rules.grants.bases());
    if shared.consent.asking.as_ref().is_none_or(|asking| asking.locations.is_none()) {
        offer.always.clear();
    }
    if shared.executed_by == ExecutedBy::Agent {
        // The next call of an agent's own is judged by another process, which knows nothing of this one.
        offer.session.clear();
    }
    offer
}

/// The request that a judged call becomes.
pub(crate) fn request(
    shared: &Shared,
    judged: &Judgement<'_>,
    digest: &str,
    offer: &GrantOptions,
) -> Request {
    let said = Explainer { call: judged.call(), claims: &judged.claims, facts: &judged.survey.facts };
    let now = Timestamp::now();
    let timeout =
        shared.consent.asking.as_ref().map_or(super::approver::DEFAULT_TIMEOUT, |asking| asking.timeout);
    let deadline = now.checked_add(timeout).unwrap_or(Timestamp::MAX);
    let request = Request {
        v: VERSION,
        id: format!("{}:{}", shared.identity.id, judged.submission.id),
        digest: digest.to_owned(),
        asked_at: now,
        deadline,
        asker: Asker {
            session: shared.identity.id.to_string(),
            agents: shared.identity.lineage.to_vec(),
            folder: shared.bounds.line.display_path().display().to_string(),
            process: judged.submission.process.clone(),
        },
        tool: judged.call().name().to_owned(),
        operation: operation(shared, judged),
        definition: judged.submission.hook_decision.as_ref().and_then(HookDecision::definition).map(
            |definition| Hunk {
                before: definition.before.clone(),
                after: definition.after.clone(),
                all: false,
            },
        ),
        why: asked_parts(&said, &judged.verdict),
        always_ask: always_asks(&judged.verdict),
        destructive: is_destructive(judged),
        offer: shown(shared, offer),
    };
    scrubbed(request, judged.secrets.get())
}

/// The parts that are asked about, the one that decides first.
fn asked_parts(said: &Explainer<'_>, verdict: &Verdict) -> Vec<WhyAsked> {
    let asked = |entry: &&TrailEntry| entry.opinion.decision == Decision::Ask;
    let deciding = verdict.deciding();
    let rest =
        verdict.trail.iter().filter(|entry| deciding.is_none_or(|deciding| !std::ptr::eq(*entry, deciding)));
    let told = |entry: &TrailEntry| {
        let (rule, source) = explain::rule(&entry.opinion.reason);
        WhyAsked {
            part: said.part(entry.part),
            step: entry.step.to_owned(),
            reason: explain::clause(&entry.opinion.reason),
            rule: rule.or_else(|| explain::safeguard(&entry.opinion.reason).map(str::to_owned)),
            source,
        }
    };
    deciding.into_iter().chain(rest).filter(asked).map(told).collect()
}

/// Returns true if the operation cannot be undone: a safeguard says so, or something outside goes away or is written
/// over.
fn is_destructive(judged: &Judgement<'_>) -> bool {
    let guarded = |entry: &TrailEntry| matches!(entry.opinion.reason, Reason::Safeguard(_));
    let paths = judged.claims.paths.iter().zip(&judged.survey.facts.paths);
    judged.verdict.trail.iter().any(guarded) || paths.into_iter().any(|(claim, fact)| loses(claim, fact))
}

/// Returns true if content outside is lost at a place. The operations of a command line are for safeguards to judge.
fn loses(claim: &PathClaim, fact: &PathFact) -> bool {
    let named = matches!(claim.origin, Origin::Call | Origin::Foreign | Origin::Process);
    let is_outside = matches!(fact.path_status, PathStatus::Outside { .. });
    let is_lost = match claim.operation {
        Operation::Delete
        | Operation::Write
        | Operation::Create
        | Operation::MoveTo
        | Operation::CopyTo
        | Operation::Link => true,
        Operation::Read
        | Operation::List
        | Operation::Search
        | Operation::Edit
        | Operation::Patch
        | Operation::MakeDir
        | Operation::MoveFrom
        | Operation::CopyFrom
        | Operation::HandOver => false,
    };
    named && is_outside && is_lost && fact.kind != PathKind::Missing
}

fn shown(shared: &Shared, offer: &GrantOptions) -> GrantOptionsShown {
    let scope = |scope: &GrantScope| ScopeShown {
        says: scope.says.clone(),
        also: scope.also.clone(),
        still_asks: scope.still_asks.clone(),
    };
    let part = |part: &pinfold_policy::PartOptions| PartShown {
        part: part.part.clone(),
        scopes: part.scopes.iter().map(scope).collect(),
        usual: part.usual,
    };
    let file = |layer| {
        let locations = shared.consent.asking.as_ref()?.locations.as_ref()?;
        Some(locations.file(layer)?.shown.to_string())
    };
    let files = [pinfold_policy::Layer::Local, pinfold_policy::Layer::User].into_iter().filter_map(file);
    GrantOptionsShown {
        kept: offer.kept.iter().map(ToString::to_string).collect(),
        session: offer.session.iter().map(scope).collect(),
        always: offer.always.iter().map(part).collect(),
        files: if offer.always.is_empty() { Vec::new() } else { files.collect() },
    }
}

/// The operation, as it would be carried out.
fn operation(shared: &Shared, judged: &Judgement<'_>) -> RequestedOperation {
    let input = judged.submission.input.as_deref();
    let path = |i: usize| {
        let fact = judged.survey.facts.paths.get(i);
        let shown = fact.map(|fact| fact.shown.clone()).unwrap_or_default();
        let real = fact.and_then(|fact| fact.real.as_ref()).map(|real| shared.show(real));
        let real = real.filter(|real| *real != shown);
        (shown, real)
    };
    let change = |hunks: Vec<Hunk>| {
        let (shown, real) = path(0);
        let missing = judged.survey.facts.paths.first().map(|fact| fact.kind);
        RequestedOperation::Change {
            files: vec![Change { path: shown, real, new: missing == Some(PathKind::Missing), hunks }],
        }
    };
    let hunk = |before: &str, after: &str, all: Option<bool>| Hunk {
        before: before.to_owned(),
        after: after.to_owned(),
        all: all.unwrap_or(false),
    };
    let text =
        |name: &str| input.and_then(|input| input.get(name)).and_then(Value::as_str).map(str::to_owned);
    match judged.call() {
        ToolCall::Bash(input) => RequestedOperation::Command {
            command: input.command.as_str().to_owned(),
            cwd: shell_folder(shared).display().to_string(),
            background: input.background.unwrap_or(false),
            says: input.description.clone(),
        },
        ToolCall::BashInput(input) => RequestedOperation::Command {
            command: input.text.clone(),
            cwd: shell_folder(shared).display().to_string(),
            background: true,
            says: None,
        },
        ToolCall::Write(input) => change(vec![hunk(&judged.survey.current(0), &input.content, None)]),
        ToolCall::Edit(input) => change(vec![hunk(&input.old, &input.new, input.replace_all)]),
        ToolCall::MultiEdit(input) => {
            change(input.edits.iter().map(|step| hunk(&step.old, &step.new, step.replace_all)).collect())
        }
        ToolCall::NotebookEdit(input) => {
            change(vec![hunk("", input.new_source.as_deref().unwrap_or_default(), None)])
        }
        ToolCall::ApplyPatch(_) => {
            match ["patch", "input", "patch_text", "patchText", "diff"].iter().find_map(|n| text(n)) {
                Some(text) => RequestedOperation::Patch { patch: text },
                None => acts(judged, &path),
            }
        }
        ToolCall::Mcp(_) | ToolCall::Foreign(_) | ToolCall::WebFetch(_) => match input {
            Some(input) => {
                RequestedOperation::Input { input: serde_json::to_string_pretty(input).unwrap_or_default() }
            }
            None => acts(judged, &path),
        },
        ToolCall::Process(call) => {
            let touches = touches(judged, call, &path);
            RequestedOperation::Paths { acts: touches.chain(call.connects.iter().map(connects)).collect() }
        }
        ToolCall::Read(_)
        | ToolCall::Delete(_)
        | ToolCall::MoveFile(_)
        | ToolCall::CopyFile(_)
        | ToolCall::MakeDir(_)
        | ToolCall::Ls(_)
        | ToolCall::Glob(_)
        | ToolCall::Grep(_)
        | ToolCall::BashOutput(_)
        | ToolCall::KillBash(_) => acts(judged, &path),
    }
}

fn acts(judged: &Judgement<'_>, path: &dyn Fn(usize) -> (String, Option<String>)) -> RequestedOperation {
    let act = |(i, fact): (usize, &pinfold_policy::PathFact)| {
        let (shown, real) = path(i);
        OperationShown {
            operation: fact.operation.as_str().to_owned(),
            path: shown,
            real,
            ..OperationShown::default()
        }
    };
    RequestedOperation::Paths { acts: judged.survey.facts.paths.iter().enumerate().map(act).collect() }
}

fn touches(
    judged: &Judgement<'_>,
    call: &ProcessCall,
    path: &dyn Fn(usize) -> (String, Option<String>),
) -> impl Iterator<Item = OperationShown> {
    call.effects.iter().enumerate().map(|(i, touch)| {
        let (path, real) = path(i);
        let act = OperationShown { operation: touch.says.clone(), path, real, ..OperationShown::default() };
        match &touch.preview {
            Preview::None => act,
            Preview::Text(after) => {
                let before = judged.survey.current(i);
                OperationShown { hunks: vec![Hunk { before, after: after.clone(), all: false }], ..act }
            }
            Preview::Bytes { length, sha256 } => OperationShown {
                content: Some(format!("{length} bytes that are not shown, SHA-256 {sha256}")),
                ..act
            },
            Preview::Below { count, names } => OperationShown { below: *count, names: names.clone(), ..act },
        }
    })
}

fn connects(to: &Connection) -> OperationShown {
    // Its addresses are not known: nothing is looked up before the answer.
    let limit = matches!(to.host, Host::Name(_)).then(|| NO_NEAR_ADDRESS.to_owned());
    OperationShown {
        operation: "connect".to_owned(),
        path: to.to_string(),
        limit,
        ..OperationShown::default()
    }
}

/// Addresses that an approval of a name does not open.
const NO_NEAR_ADDRESS: &str = "a yes opens no private or reserved address, should the name lead to one";

fn shell_folder(shared: &Shared) -> PathBuf {
    shared
        .hosts
        .shells
        .as_ref()
        .map_or_else(|| shared.bounds.scope.root.clone(), |shells| shells.folder().to_owned())
}
