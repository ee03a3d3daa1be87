//! Declared path scopes meet the file system: entries are resolved once, when a session starts, and each path of a
//! call is compared as written and as resolved.
//!
//! Looks, never changes. There is one resolver: the one that file tools act through.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use pinfold_paths::{
    Ambient, Kind, LastLink, PathClaim, Place, Resolution, Unresolved, Why, Workspace, WritableRoots,
};
use pinfold_policy::path_scopes::terminal::{Audit, WordClaim};
use pinfold_policy::path_scopes::{
    BadScope, ExpandContext, PathMention, PathScopes, ScopeViolation, ScopedPath, ScopedTarget, ScopedTool,
    ToolScopes, may_fill_in,
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
    around: &ExpandContext,
) -> Result<PathScopes, BadScope> {
    if scopes.is_empty() {
        return Ok(PathScopes::default());
    }
    let slash = Workspace::open(ambient, Path::new("/")).map_err(|e| BadScope {
        key: "tools".to_owned(),
        problem: format!("no path can be resolved: {e}"),
        hint: "make `/` readable".to_owned(),
    })?;
    let line = WritableRoots::new(slash, None);
    scopes.draw(source, around, &|path| resolve(&line, path))
}

/// Resolves an entry. A path that is missing may come to be, so its name stands for itself.
fn resolve(line: &WritableRoots, path: &Path) -> Result<PathBuf, String> {
    match follow(line, path) {
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
    path_scopes: &PathScopes,
    tool: ScopedTool<'_>,
    operation: Operation,
    resolution: &Resolution,
) -> Option<ScopeViolation> {
    if path_scopes.is_silent(tool) {
        return None;
    }
    look(path_scopes, tool, operation, resolution, PathMention::Named, None)
}

/// The no of the declared scopes to what the words of a command line name, with the word. Each place is looked at
/// and let go: what a shell opens is held by the kernel.
pub(crate) fn denial_text(
    path_scopes: &PathScopes,
    tool: ScopedTool<'_>,
    audit: &Audit,
    line: &WritableRoots,
) -> Option<(ScopeViolation, Option<String>)> {
    if path_scopes.is_silent(tool) {
        return None;
    }
    let word_no = |word: &WordClaim| {
        let at = Path::new(word.claim.path.as_ref()?.as_os_str());
        let no = |path: &Path, pattern: Option<&str>| {
            look(path_scopes, tool, word.claim.operation, &follow(line, path), word.mention, pattern)
        };
        let pattern = word.pattern.as_deref();
        let filled_in = || filled_in(line, at, pattern?).iter().find_map(|path| no(path, None));
        Some((no(at, pattern).or_else(filled_in)?, Some(word.written.clone())))
    };
    // A path that can be seen says more than that something cannot.
    let seen = audit.claims.iter().find_map(word_no);
    seen.or_else(|| Some((path_scopes.text_no(tool, &audit.unauditable)?, None)))
}

fn follow(line: &WritableRoots, path: &Path) -> Resolution {
    line.resolve(Path::new("/"), &PathClaim::new(path), LastLink::Follow)
}

/// More names than one pattern of an honest line fills in.
const MAX_NAMES: usize = 4096;

/// The paths that a shell would make of a pattern now. A link among them may lead elsewhere than its folder. What
/// is not looked at, since there is too much of it, stands at the end as a path that leads nowhere known.
fn filled_in(line: &WritableRoots, folder: &Path, pattern: &str) -> Vec<PathBuf> {
    let mut reached = vec![folder.to_owned()];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        let mut next = Vec::new();
        for folder in reached {
            if part.contains(['*', '?', '[', '(', '\\']) {
                let names =
                    names_in(line, &folder).into_iter().filter(|name| may_fill_in(part, name.as_bytes()));
                next.extend(names.map(|name| folder.join(name)));
            } else {
                next.push(folder.join(part));
            }
            if next.len() > MAX_NAMES {
                next.truncate(MAX_NAMES);
                next.push(PathBuf::from("/proc/self/root"));
                return next;
            }
        }
        reached = next;
    }
    reached
}

fn names_in(line: &WritableRoots, folder: &Path) -> Vec<OsString> {
    let entries = match follow(line, folder) {
        Resolution::Contained(place) => {
            place.open_dir().and_then(|folder| Ok(folder.entries()?.collect::<Vec<_>>()))
        }
        Resolution::Outside(place) => {
            place.open_dir().and_then(|folder| Ok(folder.entries()?.collect::<Vec<_>>()))
        }
        Resolution::Unresolved(_) => return Vec::new(),
    };
    entries.into_iter().flatten().filter_map(|entry| Some(entry.ok()?.name)).collect()
}

fn look(
    path_scopes: &PathScopes,
    tool: ScopedTool<'_>,
    operation: Operation,
    resolution: &Resolution,
    mention: PathMention,
    pattern: Option<&str>,
) -> Option<ScopeViolation> {
    let scoped_path = match resolution {
        Resolution::Contained(place) => touched_place(place, operation),
        Resolution::Outside(place) => touched_place(place, operation),
        Resolution::Unresolved(lost) => lost_at(lost, operation),
    };
    path_scopes.path_no(tool, &ScopedPath { mention, pattern, ..scoped_path })
}

fn touched_place(place: &Place, operation: Operation) -> ScopedPath<'_> {
    ScopedPath {
        operation,
        asked: place.asked(),
        leads: ScopedTarget::To(place.real()),
        missing: matches!(place.kind(), Kind::Missing { .. }),
        folds_case: place.folds_case(),
        mention: PathMention::Named,
        pattern: None,
    }
}

fn lost_at(lost: &Unresolved, operation: Operation) -> ScopedPath<'_> {
    let leads = match (&lost.why, &lost.leads_to) {
        (Why::Dangling, Some(to)) => ScopedTarget::To(to),
        // No program reaches anything by such words.
        (Why::Empty | Why::TooLong | Why::NotADirectory | Why::ClimbsFromMissing, _) => ScopedTarget::Nowhere,
        _ => ScopedTarget::Unknown,
    };
    let missing = leads == ScopedTarget::Nowhere;
    ScopedPath {
        operation,
        asked: &lost.asked,
        leads,
        missing,
        folds_case: false,
        mention: PathMention::Named,
        pattern: None,
    }
}

#[cfg(test)]
mod tests;
