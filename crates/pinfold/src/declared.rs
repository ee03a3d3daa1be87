//! Declared path scopes meet the file system: entries are resolved once, when a session starts, and each path of a
//! call is compared as written and as resolved.
//!
//! Looks, never changes. There is one resolver: the one that file tools act through.

use std::path::{Path, PathBuf};

use pinfold_paths::{
    Ambient, Kind, LastLink, Line, PathClaim, Place, Resolution, Unresolved, Why, Workspace,
};
use pinfold_policy::declared::terminal::{Audit, WordClaim};
use pinfold_policy::declared::{
    BadScope, Declared, DeclaredNo, Leads, ScopedTool, Surroundings, ToolScopes, Touch, Touched,
};
use pinfold_policy::{Operation, Source};

/// Expands and resolves the entries of one `tools:` section.
///
/// # Errors
/// [`BadScope`] names the entry that cannot be expanded or leads nowhere. No session starts with such a section.
pub fn draw(
    ambient: &Ambient,
    scopes: &ToolScopes,
    source: &Source,
    around: &Surroundings,
) -> Result<Declared, BadScope> {
    if scopes.is_empty() {
        return Ok(Declared::default());
    }
    let slash = Workspace::open(ambient, Path::new("/")).map_err(|e| BadScope {
        key: "tools".to_owned(),
        problem: format!("no path can be resolved: {e}"),
        hint: "make `/` readable".to_owned(),
    })?;
    let line = Line::new(slash, None);
    scopes.draw(source, around, &|path| resolve(&line, path))
}

/// Where an entry leads. What is missing may come to be, so its name stands for itself.
fn resolve(line: &Line, path: &Path) -> Result<PathBuf, String> {
    match line.resolve(Path::new("/"), &PathClaim::new(path), LastLink::Follow) {
        Resolution::Contained(place) => Ok(place.real().to_owned()),
        Resolution::Outside(place) => Ok(place.real().to_owned()),
        Resolution::Unresolved(Unresolved { why: Why::Dangling, leads_to: Some(leads_to), .. }) => {
            Ok(leads_to)
        }
        Resolution::Unresolved(lost) => Err(lost.why.to_string()),
    }
}

/// The no of the declared scopes to one path of a call that was resolved.
pub(crate) fn path_no(
    declared: &Declared,
    tool: ScopedTool<'_>,
    operation: Operation,
    resolution: &Resolution,
) -> Option<DeclaredNo> {
    if declared.is_silent(tool) {
        return None;
    }
    look(declared, tool, operation, resolution, Touch::Named, None)
}

/// The no of the declared scopes to what the words of a command line name, with the word. Each place is looked at
/// and let go: what a shell opens is held by the kernel.
pub(crate) fn words_no(
    declared: &Declared,
    tool: ScopedTool<'_>,
    audit: &Audit,
    line: &Line,
) -> Option<(DeclaredNo, Option<String>)> {
    if declared.is_silent(tool) {
        return None;
    }
    let word_no = |word: &WordClaim| {
        let path = word.claim.path.as_ref()?.as_os_str();
        let resolution = line.resolve(Path::new("/"), &PathClaim::new(path), LastLink::Follow);
        let no =
            look(declared, tool, word.claim.operation, &resolution, word.touch, word.pattern.as_deref())?;
        Some((no, Some(word.written.clone())))
    };
    // A path that can be seen says more than that something cannot.
    let seen = audit.claims.iter().find_map(word_no);
    seen.or_else(|| Some((declared.text_no(tool, &audit.unauditable)?, None)))
}

fn look(
    declared: &Declared,
    tool: ScopedTool<'_>,
    operation: Operation,
    resolution: &Resolution,
    touch: Touch,
    pattern: Option<&str>,
) -> Option<DeclaredNo> {
    let touched = match resolution {
        Resolution::Contained(place) => there(place, operation),
        Resolution::Outside(place) => there(place, operation),
        Resolution::Unresolved(lost) => lost_at(lost, operation),
    };
    declared.path_no(tool, &Touched { touch, pattern, ..touched })
}

fn there(place: &Place, operation: Operation) -> Touched<'_> {
    Touched {
        operation,
        asked: place.asked(),
        leads: Leads::To(place.real()),
        missing: matches!(place.kind(), Kind::Missing { .. }),
        folds_case: place.folds_case(),
        touch: Touch::Named,
        pattern: None,
    }
}

fn lost_at(lost: &Unresolved, operation: Operation) -> Touched<'_> {
    let leads = match (&lost.why, &lost.leads_to) {
        (Why::Dangling, Some(to)) => Leads::To(to),
        // No program reaches anything by such words.
        (Why::Empty | Why::TooLong | Why::NotADirectory | Why::ClimbsFromMissing, _) => Leads::Nowhere,
        _ => Leads::Unknown,
    };
    let missing = leads == Leads::Nowhere;
    Touched {
        operation,
        asked: &lost.asked,
        leads,
        missing,
        folds_case: false,
        touch: Touch::Named,
        pattern: None,
    }
}

#[cfg(test)]
mod tests;
