//! Deny rules about paths, drawn for the kernel: what they match now is hidden or held where it stands.
//!
//! What appears later under a name that they match is refused when it is made, and looked at when it is read: by the
//! [`DenialObserver`](crate::DenialObserver). Patterns with wildcards are searched for, in the folder first; a note tells of a search that
//! ends early.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use pinfold_policy::{DeniedPaths, DeniedPattern, Guard, GuardKind, Guards, SourcedRule};

use crate::access_list::{Hold, PathAccess};
use crate::builder::BoundaryBuilder;
use crate::compile_error::CompileError;
use crate::git::protect;
use crate::request::SandboxRequest;
use crate::scan::is_skipped;

/// Places that are hidden or held one by one; each is a mount. More are left to the supervisor.
const MAX_MOUNTS: usize = 1_000;

/// Names that are looked at: about a fifth of a second's worth.
const MAX_LOOKED_AT: usize = 200_000;

/// Draws the rules of a grant into a boundary.
///
/// # Errors
/// When a rule leaves nothing to work in.
pub(crate) fn apply(
    request: &SandboxRequest,
    guards: &Guards,
    home: Option<&Path>,
    cwd: &Path,
    builder: &mut BoundaryBuilder,
) -> Result<(), CompileError> {
    let denied = &request.denied;
    if let Some(rule) = denied.reads_nowhere() {
        let note = format!(
            "{} binds tools and words alone: processes read what no path rule denies",
            describe_rule(rule)
        );
        builder.findings.notes.push(note);
    }
    let guarded = guards.read_list().iter().any(is_wild).then_some(Guarded { guards, home });
    if denied.is_empty() && guarded.is_none() {
        return Ok(());
    }
    for pattern in denied.read_patterns().filter(DeniedPattern::is_whole) {
        hide(&pattern.place(), cwd, pattern.rule(), builder)?;
    }
    for pattern in denied.write_patterns().filter(DeniedPattern::is_whole) {
        hold(&pattern.place(), pattern.rule(), builder);
    }
    search(denied, guarded, cwd, builder)
}

/// Patterns of settings (`sandbox.denyRead`, `guards.read`) that count at any depth. The others are looked up by their names.
#[derive(Clone, Copy)]
struct Guarded<'g> {
    guards: &'g Guards,
    home: Option<&'g Path>,
}

fn is_wild(guard: &Guard) -> bool {
    guard.kind() == GuardKind::Place && guard.pattern().starts_with("**/")
}

impl<'g> Guarded<'g> {
    fn reading(&self, entry: &Path) -> Option<&'g Guard> {
        self.guards.read(entry, self.home, false).filter(|guard| guard.kind() == GuardKind::Place)
    }
}

/// Names a rule with its source, as the reason why a place is closed.
pub(crate) fn describe_rule(rule: &SourcedRule) -> String {
    format!("the rule `{}` ({})", rule.rule, rule.source)
}

fn hide(
    place: &Path,
    cwd: &Path,
    rule: &SourcedRule,
    builder: &mut BoundaryBuilder,
) -> Result<(), CompileError> {
    let why = format!("{} denies reading it", describe_rule(rule));
    if let Ok(real) = fs::canonicalize(place) {
        return hide_real(real, cwd, why, builder);
    }
    refuse_to_make(place, why, builder);
    Ok(())
}

fn hide_real(
    real: PathBuf,
    cwd: &Path,
    why: String,
    builder: &mut BoundaryBuilder,
) -> Result<(), CompileError> {
    if cwd.starts_with(&real) {
        return Err(CompileError::OutOfScope { path: cwd.to_owned(), why });
    }
    builder.findings.denied.insert(real.clone());
    builder.places.add(real, Hold::Hidden, why);
    Ok(())
}

fn hold(place: &Path, rule: &SourcedRule, builder: &mut BoundaryBuilder) {
    let why = format!("{} denies changing it", describe_rule(rule));
    let Ok(real) = fs::canonicalize(place) else { return refuse_to_make(place, why, builder) };
    builder.places.close(&real, &why);
    if builder.places.access(&real) != PathAccess::Outside {
        pin_above(&real, builder);
        builder.places.add(real, Hold::ReadOnly, why);
    }
}

/// Holds the first missing directory on the way, where calls are not judged by name.
fn refuse_to_make(place: &Path, why: String, builder: &mut BoundaryBuilder) {
    if builder.mediated {
        return;
    }
    let missing = place.ancestors().take_while(|at| at.symlink_metadata().is_err()).last();
    let real = |first: &Path| {
        let above = fs::canonicalize(first.parent()?).ok().filter(|above| above.is_dir())?;
        Some(above.join(first.file_name()?))
    };
    if let Some(first) = missing.and_then(real)
        && builder.places.access(&first) == PathAccess::Writable
    {
        builder.places.add(first, Hold::Absent, why);
    }
}

fn pin_above(place: &Path, builder: &mut BoundaryBuilder) {
    for folder in builder.granted().into_iter().filter(|folder| place.starts_with(folder)) {
        protect::pin_between(&folder, place, &mut builder.places);
    }
}

/// Hides and holds what patterns with wildcards match now.
fn search(
    denied: &DeniedPaths,
    guarded: Option<Guarded<'_>>,
    cwd: &Path,
    builder: &mut BoundaryBuilder,
) -> Result<(), CompileError> {
    let reading: Vec<_> = denied.read_patterns().filter(|pattern| !pattern.is_whole()).collect();
    let writing: Vec<_> = denied.write_patterns().filter(|pattern| !pattern.is_whole()).collect();
    // The supervisor judges every change by the rules themselves; of a pattern that begins at a link it knows no real path.
    let is_searched = |pattern: &DeniedPattern<'_>| !builder.mediated || is_linked(&pattern.place());
    let writing: Vec<_> = writing.into_iter().filter(is_searched).collect();
    let places = places_of_search(reading.iter().chain(&writing), guarded.is_some(), builder);
    let readable = builder.readable().to_vec();
    let mut search =
        PatternSearch { denied, guarded, readable, reading, writing, found: Vec::new(), looked_at: 0 };
    for place in places {
        if !search.search(&place) {
            builder.findings.notes.push(format!(
                "`{}` was searched in part for what deny rules match; the rest is looked at when it is opened",
                place.display()
            ));
        }
    }
    for (place, hold, why) in search.found {
        if builder.places.access(&place) == PathAccess::Writable {
            pin_above(&place, builder);
        }
        match hold {
            Hold::Hidden => hide_real(place, cwd, why, builder)?,
            hold => builder.places.add(place, hold, why),
        }
    }
    Ok(())
}

/// Returns whether a path leads through a link.
fn is_linked(path: &Path) -> bool {
    fs::canonicalize(path).is_ok_and(|real| real != path)
}

/// A search for what patterns match.
struct PatternSearch<'p> {
    denied: &'p DeniedPaths,
    guarded: Option<Guarded<'p>>,
    /// Places that the user opened for reading: no guard counts there.
    readable: Vec<PathBuf>,
    reading: Vec<DeniedPattern<'p>>,
    writing: Vec<DeniedPattern<'p>>,
    found: Vec<(PathBuf, Hold, String)>,
    looked_at: usize,
}

impl PatternSearch<'_> {
    fn may_match_below(&self, directory: &Path) -> bool {
        let mut patterns = self.reading.iter().chain(&self.writing);
        self.guarded.is_some() || patterns.any(|pattern| pattern.may_match_below(directory))
    }

    /// Searches below a directory, what is near it first, and directories of dependencies last. False when it ended early.
    fn search(&mut self, place: &Path) -> bool {
        // Rules name a place as it is written, and the kernel knows it by its real path. Below, no link is followed.
        let top = fs::canonicalize(place).unwrap_or_else(|_| place.to_owned());
        let real = |at: &Path| at.strip_prefix(place).map_or_else(|_| at.to_owned(), |below| top.join(below));
        let mut ahead = VecDeque::from([place.to_owned()]);
        let mut last = Vec::new();
        while let Some(directory) = ahead.pop_front().or_else(|| last.pop()) {
            let Ok(entries) = fs::read_dir(&directory) else {
                // Its owner can make it readable again.
                let why = "a rule denies what may be in it, and it cannot be looked at".to_owned();
                self.found.push((real(&directory), Hold::Hidden, why));
                continue;
            };
            for entry in entries.flatten() {
                self.looked_at += 1;
                if self.looked_at > MAX_LOOKED_AT || self.found.len() >= MAX_MOUNTS {
                    return false;
                }
                let Ok(kind) = entry.file_type() else { continue };
                let at = entry.path();
                if let Some((hold, why)) = self.matching(&at, kind) {
                    self.found.push((real(&at), hold, why));
                    continue;
                }
                if !kind.is_dir() || !self.may_match_below(&at) {
                    continue;
                }
                if is_skipped(&entry.file_name()) {
                    last.push(at);
                } else {
                    ahead.push_back(at);
                }
            }
        }
        true
    }

    /// Returns the hold of an entry that a rule denies, or that settings guard, and its reason. The target of a link is judged by
    /// its own name.
    fn matching(&self, entry: &Path, kind: fs::FileType) -> Option<(Hold, String)> {
        if kind.is_symlink() {
            return None;
        }
        let found = match (self.denied.reading(entry), self.denied.writing(entry)) {
            (Some(rule), _) => Some((Hold::Hidden, rule, "reading")),
            (None, Some(rule)) if !self.writing.is_empty() => Some((Hold::ReadOnly, rule, "changing")),
            (None, _) => None,
        };
        let found =
            found.map(|(hold, rule, what)| (hold, format!("{} denies {what} it", describe_rule(rule))));
        found.or_else(|| self.guards(entry))
    }

    fn guards(&self, entry: &Path) -> Option<(Hold, String)> {
        let guard = self.guarded?.reading(entry)?;
        let readable = self.readable.iter().any(|place| entry.starts_with(place));
        (!readable).then(|| (Hold::Hidden, guard.why().to_owned()))
    }
}

/// Returns the directories to search: granted folders, and the directories in which patterns begin. None is searched twice,
/// and the whole file system never.
fn places_of_search<'p>(
    patterns: impl Iterator<Item = &'p DeniedPattern<'p>>,
    anywhere: bool,
    builder: &BoundaryBuilder,
) -> Vec<PathBuf> {
    let granted = builder.granted();
    let mut all: Vec<PathBuf> = if anywhere { granted.clone() } else { Vec::new() };
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
        let covered = kept.iter().any(|above| place.starts_with(above)) && !is_linked(&place);
        if !covered && place.is_dir() {
            kept.push(place);
        }
    }
    // What is nearest to the work first.
    kept.sort_by_key(|place| !granted.iter().any(|folder| place.starts_with(folder)));
    kept
}
