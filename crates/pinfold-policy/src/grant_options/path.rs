//! Grants on offer for a path: this path, its folder, all edits inside the boundary.

use std::path::Path;

use pinfold_commands::{Operation, Origin, PathClaim};

use super::trial::Trial;
use super::{AskedPart, granting};
use crate::decision::{PartId, Reason};
use crate::fact::{PathFact, PathKind, PathStatus};
use crate::grant::{Class, Grant};
use crate::rule::Rule;
use crate::tool::ToolName;

/// The path with what could be granted for it.
pub(super) fn path_part<'a>(trial: &Trial<'_>, at: usize, nothing: AskedPart<'a>) -> AskedPart<'a> {
    let (claims, facts) = (&trial.case.claims.paths, &trial.case.facts.paths);
    let (Some(claim), Some(fact)) = (claims.get(at), facts.get(at)) else { return nothing };
    let part = fact.shown.clone();
    let Some(real) = fact.real.as_deref() else { return AskedPart { part, ..nothing } };
    let session = session(trial, claim, fact, real, &nothing.entry.opinion.reason);
    let (rules, usual) = rules(trial, claim, fact, real);
    AskedPart { part, session, rules, usual, ..nothing }
}

/// This very place, for a call that names it itself and may do the same there again.
pub(super) fn exactly(trial: &Trial<'_>, part: PartId) -> Option<Grant> {
    let PartId::Path(at) = part else { return None };
    let claim = trial.case.claims.paths.get(at).filter(|claim| is_named_by_the_call(claim))?;
    let real = trial.case.facts.paths.get(at)?.real.clone()?;
    let class = Class::from(claim.operation);
    // A process that gives a file a name is asked about with the content of that file: the next one is another.
    let is_shown = claim.origin == Origin::Process && claim.operation == Operation::MoveTo;
    (class != Class::Remove && !is_shown).then_some(Grant::Place(real, class))
}

fn is_named_by_the_call(claim: &PathClaim) -> bool {
    matches!(claim.origin, Origin::Call | Origin::Foreign | Origin::Supposed(_) | Origin::Process)
}

fn session(
    trial: &Trial<'_>,
    claim: &PathClaim,
    fact: &PathFact,
    real: &Path,
    reason: &Reason,
) -> Vec<Grant> {
    let class = Class::from(claim.operation);
    let place = Grant::Place(real.to_owned(), class);
    let folder = || {
        let root = trial.case.scope.root.as_path();
        let folder = real.parent().filter(|folder| *folder != root && is_some_folder(trial, fact, folder))?;
        Some(Grant::Folder(folder.to_owned(), class))
    };
    // A folder that is made is made to be filled.
    let made = || {
        let makes = claim.operation == Operation::MakeDir && is_some_folder(trial, fact, real);
        makes.then(|| Grant::Folder(real.to_owned(), class))
    };
    match (class, reason) {
        // What is guarded is granted one by one.
        (Class::Read | Class::Write, _) if fact.guarded.is_some() => vec![place],
        (Class::Remove, _) if fact.guarded.is_some() || fact.path_status != PathStatus::Inside => Vec::new(),
        (Class::Remove, _) => folder().into_iter().collect(),
        (Class::Write, Reason::Mode(_)) => {
            let edits = Rule::parse(ToolName::Edit.as_str()).map(|rule| granting(&rule));
            edits.into_iter().chain(folder()).chain([place]).collect()
        }
        (Class::Read | Class::Write, Reason::WriteOutside | Reason::AskRule(_)) => {
            [place].into_iter().chain(made()).chain(folder()).collect()
        }
        // A link is granted one by one: where it leads is looked at each time.
        (Class::Read | Class::Write | Class::Link, _) => vec![place],
    }
}

/// Returns whether a folder may be granted with all that is in it: one of those in the line, or one outside that is no home, no
/// place of the system itself, and holds nothing of the line.
fn is_some_folder(trial: &Trial<'_>, fact: &PathFact, folder: &Path) -> bool {
    if fact.path_status == PathStatus::Inside {
        return true;
    }
    let scope = trial.case.scope;
    let kept = [&scope.root, &scope.display_root, &trial.bases.project, &trial.bases.cwd];
    let mut kept = kept.into_iter().chain(&trial.bases.home);
    folder.components().count() > 2 && !kept.any(|kept| kept.starts_with(folder))
}

/// The rules for good, the narrowest first, and which is the usual one.
fn rules(trial: &Trial<'_>, claim: &PathClaim, fact: &PathFact, real: &Path) -> (Vec<Rule>, usize) {
    let writes = Class::from(claim.operation) == Class::Write;
    if !writes || fact.guarded.is_some() {
        return (Vec::new(), 0);
    }
    let tool = match claim.origin {
        Origin::Call => trial.case.call.governing_tool().unwrap_or(ToolName::Edit),
        Origin::Foreign | Origin::Supposed(_) | Origin::Process | Origin::Command(_) | Origin::Aside(_) => {
            ToolName::Edit
        }
    };
    let rule = |path: Option<String>| Rule::parse(&format!("{}({})", tool.as_str(), path?)).ok();
    let exact = rule(anchored(trial, real));
    let folder = real.parent().filter(|folder| is_some_folder(trial, fact, folder));
    let folder = folder.filter(|_| fact.kind != PathKind::Folder);
    let within = |end: &str| {
        let folder = anchored(trial, folder?)?;
        rule(Some(format!("{}/{end}", folder.trim_end_matches('/'))))
    };
    let inside = fact.path_status == PathStatus::Inside;
    // The whole project is for a mode to say, not for one rule.
    let top = folder == Some(trial.bases.project.as_path());
    let tree = if inside && !top { within("**") } else { None };
    let usual = usize::from(inside && exact.is_some() && folder.is_some());
    let rules: Vec<Rule> = exact.into_iter().chain(within("*")).chain(tree).collect();
    let usual = usual.min(rules.len().saturating_sub(1));
    (rules, usual)
}

/// The path as a pattern says it: from the root of the project, from home, or from the root. `None` where a pattern
/// would take some of it for something else.
fn anchored(trial: &Trial<'_>, real: &Path) -> Option<String> {
    let special =
        |text: &str| text.contains(['*', '?']) || text.chars().any(char::is_control) || text.trim() != text;
    let below = |base: &Path| if base.is_absolute() { real.strip_prefix(base).ok() } else { None };
    let home = || trial.bases.home.iter().find_map(|home| below(home));
    let text = match (below(&trial.bases.project), home()) {
        (Some(path), _) => format!("/{}", path.to_str()?),
        (None, Some(path)) => format!("~/{}", path.to_str()?),
        (None, None) => format!("/{}", real.to_str()?),
    };
    (!special(&text)).then_some(text)
}
