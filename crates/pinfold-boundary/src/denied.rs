//! Deny rules about paths, drawn for the kernel: what they match now is hidden or held where it stands.
//!
//! What appears later under a name that they match is refused when it is made, and looked at when it is read: see
//! [`Boundary::denies`](crate::Boundary). Patterns with wildcards are searched for, in the folder first; of a
//! search that ends early a note tells.

use std::fs;
use std::path::{Path, PathBuf};

use pinfold_policy::{DeniedPaths, DeniedPattern, SourcedRule};

use crate::boundary::{CompileError, Drawing};
use crate::git::protect;
use crate::grant::Grant;
use crate::mediation::{Visit, Walked, walk};
use crate::place::{Hold, Standing};

/// Places that are hidden or held one by one; each is a mount. More are left to the supervisor.
const MOST: usize = 1_000;

/// Draws the rules of a grant into a boundary.
///
/// # Errors
/// When a rule leaves nothing to work in.
pub(crate) fn apply(grant: &Grant, cwd: &Path, drawing: &mut Drawing) -> Result<(), CompileError> {
    let denied = &grant.denied;
    if denied.is_empty() {
        return Ok(());
    }
    for pattern in denied.read_patterns().filter(DeniedPattern::is_whole) {
        hide(&pattern.place(), cwd, pattern.rule(), drawing)?;
    }
    for pattern in denied.write_patterns().filter(DeniedPattern::is_whole) {
        hold(&pattern.place(), pattern.rule(), drawing);
    }
    search(denied, drawing);
    Ok(())
}

/// Why a place is closed: one clause.
pub(crate) fn named(rule: &SourcedRule) -> String {
    format!("the rule `{}` ({})", rule.rule, rule.source)
}

fn hide(place: &Path, cwd: &Path, rule: &SourcedRule, drawing: &mut Drawing) -> Result<(), CompileError> {
    let why = format!("{} denies reading it", named(rule));
    match fs::canonicalize(place) {
        Ok(real) if cwd.starts_with(&real) => {
            return Err(CompileError::OutOfScope { path: cwd.to_owned(), why });
        }
        Ok(real) => drawing.places.add(real, Hold::Hidden, why),
        Err(_) => refuse_to_make(place, why, drawing),
    }
    Ok(())
}

fn hold(place: &Path, rule: &SourcedRule, drawing: &mut Drawing) {
    let why = format!("{} denies changing it", named(rule));
    let Ok(real) = fs::canonicalize(place) else { return refuse_to_make(place, why, drawing) };
    drawing.places.close(&real, &why);
    if drawing.places.standing(&real) != Standing::Outside {
        pin_above(&real, drawing);
        drawing.places.add(real, Hold::ReadOnly, why);
    }
}

/// Where calls are not judged by name, the first missing directory on the way cannot be made.
fn refuse_to_make(place: &Path, why: String, drawing: &mut Drawing) {
    if drawing.mediated {
        return;
    }
    let missing = place.ancestors().take_while(|at| at.symlink_metadata().is_err()).last();
    let real = |first: &Path| {
        let above = fs::canonicalize(first.parent()?).ok().filter(|above| above.is_dir())?;
        Some(above.join(first.file_name()?))
    };
    if let Some(first) = missing.and_then(real)
        && drawing.places.standing(&first) == Standing::Writable
    {
        drawing.places.add(first, Hold::Absent, why);
    }
}

fn pin_above(place: &Path, drawing: &mut Drawing) {
    for folder in drawing.granted().into_iter().filter(|folder| place.starts_with(folder)) {
        protect::pin_between(&folder, place, &mut drawing.places);
    }
}

/// Hides and holds what patterns with wildcards match now.
fn search(denied: &DeniedPaths, drawing: &mut Drawing) {
    let reading: Vec<_> = denied.read_patterns().filter(|pattern| !pattern.is_whole()).collect();
    let writing: Vec<_> = denied.write_patterns().filter(|pattern| !pattern.is_whole()).collect();
    // The supervisor judges every change by the rules themselves.
    let writing = if drawing.mediated { Vec::new() } else { writing };
    let mut found: Vec<(PathBuf, Hold, String)> = Vec::new();
    for place in places_of_search(reading.iter().chain(&writing), drawing) {
        let may_match = |at: &Path| reading.iter().chain(&writing).any(|pattern| pattern.may_match_below(at));
        let walked = walk(&place, |entry, kind| {
            let rule = match (denied.reading(entry), denied.writing(entry)) {
                (Some(rule), _) => Some((Hold::Hidden, rule, "reading")),
                (None, Some(rule)) if !writing.is_empty() => Some((Hold::ReadOnly, rule, "changing")),
                (None, _) => None,
            };
            // What a link leads to has a name of its own, by which it is denied or not.
            if let Some((hold, rule, what)) = rule.filter(|_| !kind.is_symlink()) {
                found.push((entry.to_owned(), hold, format!("{} denies {what} it", named(rule))));
                return if found.len() > MOST { Visit::Found } else { Visit::Skip };
            }
            if kind.is_dir() && may_match(entry) { Visit::Enter } else { Visit::Skip }
        });
        if walked != Walked::Everything {
            drawing.findings.notes.push(format!(
                "`{}` was searched in part for what deny rules match; the rest is looked at when it is opened",
                place.display()
            ));
        }
    }
    for (place, hold, why) in found {
        if drawing.places.standing(&place) == Standing::Writable {
            pin_above(&place, drawing);
        }
        drawing.places.add(place, hold, why);
    }
}

/// Where patterns may match: granted folders, and the directories in which patterns begin. Nothing is searched twice, and
/// the whole file system never.
fn places_of_search<'p>(
    patterns: impl Iterator<Item = &'p DeniedPattern<'p>>,
    drawing: &Drawing,
) -> Vec<PathBuf> {
    let granted = drawing.granted();
    let mut all: Vec<PathBuf> = Vec::new();
    for pattern in patterns {
        let place = pattern.place();
        let within = granted.iter().filter(|folder| folder.starts_with(&place));
        all.extend(within.cloned());
        if place.parent().is_some() {
            all.push(place);
        }
    }
    all.sort();
    let mut kept: Vec<PathBuf> = Vec::new();
    for place in all {
        let covered = kept.iter().any(|above| place.starts_with(above));
        if !covered && place.is_dir() {
            kept.push(place);
        }
    }
    // What is nearest to the work first.
    kept.sort_by_key(|place| !granted.iter().any(|folder| place.starts_with(folder)));
    kept
}
