//! `LS`: the names in a folder. Links are shown with where they point, and not followed.

use std::fmt::Write;

use globset::{Glob, GlobSet, GlobSetBuilder};
use pinfold::paths::{Directory, DirectoryEntry, EntryKind, Kind};
use pinfold::policy::input::LsInput;
use pinfold::{Failure, ReadTarget, Targets};
use serde_json::{Value, json};

use crate::reply::ToolResult;

/// Names shown at most; a folder with more is looked through with Glob.
const MAX_NAMES: usize = 2000;

pub(super) fn perform(input: &LsInput, targets: &mut Targets) -> Result<ToolResult, Failure> {
    let target = targets.next_read()?;
    let ignored = ignored(input.ignore.as_deref().unwrap_or_default())?;
    let folder = target.open_dir()?;
    let shown = target.shown();
    let entries =
        folder.entries().map_err(|error| super::io_failure(&shown, &std::io::Error::other(error)))?;
    let mut entries: Vec<DirectoryEntry> =
        entries.filter_map(Result::ok).filter(|e| !ignored.is_match(&e.name)).collect();
    entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    let total = entries.len();
    entries.truncate(MAX_NAMES);
    let (lines, data): (Vec<String>, Vec<Value>) =
        entries.iter().map(|entry| line(&target, &folder, entry)).unzip();
    let mut text = lines.join("\n");
    if total == 0 {
        text = format!("[{shown} is empty]");
    } else if total > MAX_NAMES {
        // Writing to a string cannot fail.
        let _ =
            write!(text, "\n[{MAX_NAMES} of {total} names are shown; use Glob with a pattern for the rest]");
    }
    Ok(ToolResult::text(text, json!({"path": shown, "entries": data, "total": total})))
}

/// One entry as text and as data.
fn line(target: &ReadTarget, folder: &Directory, entry: &DirectoryEntry) -> (String, Value) {
    let name = target.show(entry.name.as_ref());
    match entry.kind.or_else(|| kind(folder, entry)) {
        Some(EntryKind::Directory) => (format!("{name}/"), json!({"name": name, "kind": "folder"})),
        Some(EntryKind::Link) => {
            let to = folder.read_link(&entry.name).map_or_else(|_| "?".to_owned(), |to| target.show(&to));
            (format!("{name} -> {to}"), json!({"name": name, "kind": "link", "to": to}))
        }
        Some(EntryKind::Special) => {
            (format!("{name} [not a file]"), json!({"name": name, "kind": "special"}))
        }
        Some(EntryKind::File) | None => (name.clone(), json!({"name": name, "kind": "file"})),
    }
}

/// Returns the type of an entry, by a look where the listing did not tell it.
fn kind(folder: &Directory, entry: &DirectoryEntry) -> Option<EntryKind> {
    match folder.kind(&entry.name).ok()? {
        Kind::File { .. } => Some(EntryKind::File),
        Kind::Directory => Some(EntryKind::Directory),
        Kind::Link => Some(EntryKind::Link),
        Kind::Special(_) => Some(EntryKind::Special),
        Kind::Missing { .. } => None,
    }
}

fn ignored(globs: &[String]) -> Result<GlobSet, Failure> {
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        let parsed = Glob::new(glob.trim_end_matches('/'));
        set.add(
            parsed.map_err(|error| {
                Failure::input(format!("`{glob}` is not a glob: {error}"), "mend the glob")
            })?,
        );
    }
    set.build()
        .map_err(|error| Failure::input(format!("the globs are too much: {error}"), "give fewer globs"))
}
