//! `ApplyPatch`: several files as one patch says. Everything that can be known beforehand is looked at before the
//! first change; should a change fail after that, the answer says which were made.

use std::collections::HashSet;

use pinfold::paths::Kind;
use pinfold::policy::patch::{FileChange, Hunk, HunkLine, Patch};
use pinfold::{Failure, RefusalCode, Targets, WriteTarget};
use serde_json::{Value, json};

use super::edit::{bytes_of, text_of};
use crate::reply::ToolResult;
use crate::secrets::Scrubbing;
use crate::text::{FileText, hunks};

pub(super) fn perform(
    patch: &Patch,
    targets: &mut Targets,
    scrubbing: Scrubbing,
) -> Result<ToolResult, Failure> {
    let planned = patch.files().iter().map(|change| plan(change, targets, scrubbing));
    let changes = planned.collect::<Result<Vec<_>, _>>()?;
    each_place_once(&changes)?;
    let mut made: Vec<&PlannedChange> = Vec::with_capacity(changes.len());
    for change in &changes {
        if let Err(failure) = change.make() {
            return Err(partly(failure, &made, changes.len()));
        }
        made.push(change);
    }
    let text: Vec<_> = changes.iter().map(PlannedChange::line).collect();
    let diffs: String = changes.iter().map(|change| change.diff(scrubbing)).collect();
    let data: Vec<_> = changes.iter().map(PlannedChange::data).collect();
    Ok(ToolResult::text(format!("{}\n{}", text.join("\n"), bounded(diffs)), json!({"files": data})))
}

/// Bytes of all diffs together that are shown.
const MAX_DIFF: usize = 32 * 1024;

fn bounded(mut diffs: String) -> String {
    if diffs.len() > MAX_DIFF {
        diffs.truncate(diffs.floor_char_boundary(MAX_DIFF));
        diffs.push_str("\n[the rest of the diffs is not shown]\n");
    }
    diffs
}

/// One change, ready to be made.
struct PlannedChange {
    target: WriteTarget,
    shown: String,
    how: PatchAction,
}

enum PatchAction {
    Add {
        bytes: Vec<u8>,
    },
    Delete,
    Change {
        before: String,
        after: String,
        bytes: Vec<u8>,
    },
    Move {
        to: WriteTarget,
        to_shown: String,
    },
    MoveAndChange {
        to: WriteTarget,
        to_shown: String,
        before: String,
        after: String,
        bytes: Vec<u8>,
        mode: u32,
    },
}

fn plan(change: &FileChange, targets: &mut Targets, scrubbing: Scrubbing) -> Result<PlannedChange, Failure> {
    let target = targets.next_write()?;
    let shown = target.shown();
    let how = match change {
        FileChange::Add { content, .. } => {
            free(&target, &shown)?;
            scrubbing.may_become(&shown, "", content)?;
            PatchAction::Add { bytes: content.clone().into_bytes() }
        }
        FileChange::Delete { hunks, .. } => {
            deletable(&target, &shown, hunks, scrubbing)?;
            PatchAction::Delete
        }
        FileChange::Update { move_to: None, hunks, .. } => {
            let (text, after, bytes) = changed(&target, &shown, hunks, scrubbing)?;
            PatchAction::Change { before: text.content, after, bytes }
        }
        FileChange::Update { move_to: Some(_), hunks, .. } => {
            let mode = existing_mode(&target, &shown)?;
            let to = targets.next_write()?;
            let to_shown = to.shown();
            free(&to, &to_shown)?;
            if hunks.is_empty() {
                PatchAction::Move { to, to_shown }
            } else {
                let (text, after, bytes) = changed(&target, &shown, hunks, scrubbing)?;
                PatchAction::MoveAndChange { to, to_shown, before: text.content, after, bytes, mode }
            }
        }
    };
    Ok(PlannedChange { target, shown, how })
}

/// Checks that no file exists at a path that the patch adds.
fn free(target: &WriteTarget, shown: &str) -> Result<(), Failure> {
    if matches!(target.kind(), Kind::Missing { .. }) {
        return Ok(());
    }
    let message = format!("{shown} is there already; nothing was changed");
    Err(Failure::with_path(RefusalCode::AlreadyExists, shown, message, "update it instead of adding it"))
}

/// The mode of a file that has to be there.
fn existing_mode(target: &WriteTarget, shown: &str) -> Result<u32, Failure> {
    let (code, what) = match target.kind() {
        Kind::File { mode, .. } => return Ok(mode),
        Kind::Missing { .. } => (RefusalCode::NotFound, "is not there"),
        Kind::Directory => (RefusalCode::IsAFolder, "is a folder"),
        Kind::Link => (RefusalCode::Unresolved, "is a link"),
        Kind::Special(_) => (RefusalCode::SpecialFile, "is not a file"),
    };
    Err(Failure::with_path(
        code,
        shown,
        format!("{shown} {what}; nothing was changed"),
        "name the file itself",
    ))
}

fn deletable(target: &WriteTarget, shown: &str, hunks: &[Hunk], scrubbing: Scrubbing) -> Result<(), Failure> {
    if target.kind() == Kind::Link && hunks.is_empty() {
        return Ok(());
    }
    existing_mode(target, shown)?;
    if hunks.is_empty() {
        return Ok(());
    }
    let (_, left, _) = changed(target, shown, hunks, scrubbing)?;
    if left.is_empty() {
        return Ok(());
    }
    let message = format!("{shown} holds more than the patch deletes; nothing was changed");
    Err(Failure::with_path(RefusalCode::NoMatch, shown, message, "read it and make the patch afresh"))
}

fn changed(
    target: &WriteTarget,
    shown: &str,
    hunks: &[Hunk],
    scrubbing: Scrubbing,
) -> Result<(FileText, String, Vec<u8>), Failure> {
    existing_mode(target, shown)?;
    let text = text_of(target, shown)?;
    let after = hunks::apply(&text.content, hunks).map_err(|misfit| {
        let old =
            hunks.iter().flat_map(|hunk| &hunk.lines).filter_map(old_line).collect::<Vec<_>>().join("\n");
        if let Some(secret) = scrubbing.why_missing(shown, &text.content, &old) {
            return secret;
        }
        let message =
            format!("hunk {} of {shown} does not fit: {}; nothing was changed", misfit.hunk, misfit.why);
        Failure::with_path(RefusalCode::NoMatch, shown, message, "read the file and make the patch afresh")
    })?;
    scrubbing.may_become(shown, &text.content, &after)?;
    let bytes = bytes_of(&text, &after, shown)?;
    Ok((text, after, bytes))
}

/// A line that has to stand in the old file.
fn old_line(line: &HunkLine) -> Option<&str> {
    match line {
        HunkLine::Keep(line) | HunkLine::Remove(line) => Some(line),
        HunkLine::Insert(_) => None,
    }
}

/// Two spellings of one place would be two changes of one file, of which the second was planned on old content.
fn each_place_once(changes: &[PlannedChange]) -> Result<(), Failure> {
    let mut places = HashSet::new();
    for change in changes {
        let to = match &change.how {
            PatchAction::Move { to, .. } | PatchAction::MoveAndChange { to, .. } => Some(to),
            PatchAction::Add { .. } | PatchAction::Delete | PatchAction::Change { .. } => None,
        };
        for target in std::iter::once(&change.target).chain(to) {
            if !places.insert(target.real()) {
                let shown = target.shown();
                let message = format!("{shown} is named twice by the patch; nothing was changed");
                return Err(Failure::with_path(
                    RefusalCode::InvalidInput,
                    &shown,
                    message,
                    "name each file once",
                ));
            }
        }
    }
    Ok(())
}

impl PlannedChange {
    fn make(&self) -> Result<(), Failure> {
        match &self.how {
            PatchAction::Add { bytes } => self.target.create_new(bytes),
            PatchAction::Delete => self.target.remove(),
            PatchAction::Change { bytes, .. } => self.target.replace(bytes),
            PatchAction::Move { to, .. } => self.target.rename_to(to, false),
            PatchAction::MoveAndChange { to, bytes, mode, .. } => {
                to.create_with_mode(bytes, *mode)?;
                self.target.remove()
            }
        }
    }

    fn line(&self) -> String {
        let shown = &self.shown;
        match &self.how {
            PatchAction::Add { .. } => format!("A {shown}"),
            PatchAction::Delete => format!("D {shown}"),
            PatchAction::Change { .. } => format!("M {shown}"),
            PatchAction::Move { to_shown, .. } | PatchAction::MoveAndChange { to_shown, .. } => {
                format!("R {shown} -> {to_shown}")
            }
        }
    }

    fn diff(&self, scrubbing: Scrubbing) -> String {
        match &self.how {
            PatchAction::Change { before, after, .. } => scrubbing.diff(&self.shown, before, after),
            PatchAction::MoveAndChange { before, after, to_shown, .. } => {
                scrubbing.diff(to_shown, before, after)
            }
            PatchAction::Add { .. } | PatchAction::Delete | PatchAction::Move { .. } => String::new(),
        }
    }

    fn data(&self) -> Value {
        let path = &self.shown;
        match &self.how {
            PatchAction::Add { .. } => json!({"path": path, "change": "added"}),
            PatchAction::Delete => json!({"path": path, "change": "deleted"}),
            PatchAction::Change { .. } => json!({"path": path, "change": "modified"}),
            PatchAction::Move { to_shown, .. } | PatchAction::MoveAndChange { to_shown, .. } => {
                json!({"path": path, "change": "moved", "to": to_shown})
            }
        }
    }
}

/// A change failed after others were made: say so, since they stay made.
fn partly(failure: Failure, made: &[&PlannedChange], all: usize) -> Failure {
    let done = match made {
        [] => "nothing was changed before".to_owned(),
        made => {
            let lines: Vec<_> = made.iter().map(|change| change.line()).collect();
            format!("{} of {all} changes were made before and stay: {}", made.len(), lines.join(", "))
        }
    };
    Failure { message: format!("{}; {done}", failure.message), ..failure }
}
