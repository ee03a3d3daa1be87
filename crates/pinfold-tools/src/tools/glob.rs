//! `Glob`: the files whose path matches, sorted by path, without those that git ignores.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use globset::{GlobBuilder, GlobMatcher};
use pinfold::policy::input::GlobInput;
use pinfold::{Failure, ReadTarget, Targets};
use serde_json::json;

use crate::reply::ToolResult;
use crate::walk::{NameFilter, WalkedEntry, walk};

/// Paths returned at most: more is no answer but a listing.
const MAX_PATHS: usize = 1000;
/// Paths kept for sorting before the walk is cut short.
const MAX_KEPT: usize = 200_000;

pub(super) fn perform(input: &GlobInput, targets: &mut Targets) -> Result<ToolResult, Failure> {
    let target = targets.next_read()?;
    let shown = target.shown();
    let glob = parse(&input.pattern, &target)?;
    let top = target.open_dir()?;
    let found = Mutex::new(Vec::new());
    let tally = walk(&target, top, &NameFilter::default(), || {
        |met: &WalkedEntry<'_>| {
            if !glob.is_match(met.path.strip_prefix(target.real()).unwrap_or(met.path)) {
                return true;
            }
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            found.push(met.path.to_owned());
            found.len() < MAX_KEPT
        }
    });
    let mut found: Vec<PathBuf> = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_unstable();
    let total = found.len();
    let paths: Vec<_> = found.iter().take(MAX_PATHS).map(|path| target.show(path)).collect();
    let mut text = paths.join("\n");
    if total == 0 {
        text = format!("[no file below {shown} matches {}]", input.pattern);
    } else if total > MAX_PATHS {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n[{MAX_PATHS} of {total} files are shown; give a narrower pattern]");
    }
    if tally.cut {
        text.push_str("\n[the tree is too large: not all of it was looked through]");
    }
    let cut = tally.cut || total > MAX_PATHS;
    Ok(ToolResult::text(text, json!({"path": shown, "files": paths, "total": total, "truncated": cut})))
}

/// A pattern is relative to the folder that is searched; one that starts at `/` has to lie below it.
fn parse(pattern: &str, target: &ReadTarget) -> Result<GlobMatcher, Failure> {
    let relative = match Path::new(pattern).strip_prefix(target.real()) {
        Ok(below) => below.to_str().unwrap_or(pattern),
        Err(_) => pattern.strip_prefix("./").unwrap_or(pattern),
    };
    if relative.starts_with('/') || relative.split('/').any(|name| name == "..") {
        let message = format!("`{pattern}` leads out of {}", target.shown());
        return Err(Failure::input(message, "give the folder to search as path, and a pattern below it"));
    }
    let glob = GlobBuilder::new(relative).literal_separator(true).build();
    let glob = glob
        .map_err(|error| Failure::input(format!("`{pattern}` is not a glob: {error}"), "mend the pattern"))?;
    Ok(glob.compile_matcher())
}
