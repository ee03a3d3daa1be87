//! `Edit` and `MultiEdit`: exact replacements in a file that was read. All of them are made or none.

use pinfold::policy::input::{EditInput, MultiEditInput};
use pinfold::{Failure, RefusalCode, Targets, WriteTarget};
use serde_json::json;

use super::{LARGEST_EDITED, content, io_failure};
use crate::reply::ToolResult;
use crate::secrets::Scrubbing;
use crate::text::replace::{NoReplacement, replace_each};
use crate::text::{FileText, NotText};

pub(super) fn perform(
    input: &EditInput,
    targets: &mut Targets,
    scrubbing: Scrubbing,
) -> Result<ToolResult, Failure> {
    let target = targets.next_write()?;
    let step = (input.old.as_str(), input.new.as_str(), input.replace_all.unwrap_or(false));
    let edited = edit(&target, scrubbing, |text, shown| {
        replace_each(text, std::iter::once(step)).map_err(|(_, no)| {
            let secret = missing(&no).then(|| scrubbing.why_missing(shown, &text.content, &input.old));
            secret.flatten().unwrap_or_else(|| no_replacement(shown, "", &no))
        })
    })?;
    Ok(edited.done(scrubbing))
}

pub(super) fn perform_several(
    input: &MultiEditInput,
    targets: &mut Targets,
    scrubbing: Scrubbing,
) -> Result<ToolResult, Failure> {
    let target = targets.next_write()?;
    if input.edits.is_empty() {
        return Err(Failure::input("there are no edits", "give at least one"));
    }
    let steps = input.edits.iter().map(|e| (e.old.as_str(), e.new.as_str(), e.replace_all.unwrap_or(false)));
    let edited = edit(&target, scrubbing, |text, shown| {
        replace_each(text, steps).map_err(|(index, no)| {
            let old = input.edits.get(index).map_or("", |edit| edit.old.as_str());
            let secret = missing(&no).then(|| scrubbing.why_missing(shown, &text.content, old));
            let which = format!("edit {} of {}: ", index + 1, input.edits.len());
            secret.flatten().unwrap_or_else(|| no_replacement(shown, &which, &no))
        })
    })?;
    Ok(edited.done(scrubbing))
}

fn missing(no: &NoReplacement) -> bool {
    matches!(no, NoReplacement::Missing { .. })
}

fn no_replacement(shown: &str, which: &str, no: &NoReplacement) -> Failure {
    let code = match no {
        NoReplacement::Same => RefusalCode::NoChange,
        NoReplacement::Empty => RefusalCode::InvalidInput,
        NoReplacement::Missing { .. } => RefusalCode::NoMatch,
        NoReplacement::Ambiguous { .. } => RefusalCode::NotUnique,
    };
    let (message, hint) = no.describe();
    Failure::with_path(code, shown, format!("{which}{shown} was not changed: {message}"), hint)
}

/// A file that was changed.
pub(super) struct Edited {
    shown: String,
    count: usize,
    before: String,
    after: String,
}

impl Edited {
    pub(super) fn done(self, scrubbing: Scrubbing) -> ToolResult {
        let diff = scrubbing.diff(&self.shown, &self.before, &self.after);
        let places = if self.count == 1 { "1 place".to_owned() } else { format!("{} places", self.count) };
        let text = format!("changed {} in {places}\n{diff}", self.shown);
        ToolResult::text(text, json!({"path": self.shown, "replacements": self.count, "diff": diff}))
    }
}

/// Changes the text of a file; `change` gives the new content and in how many places it differs.
pub(super) fn edit(
    target: &WriteTarget,
    scrubbing: Scrubbing,
    change: impl FnOnce(&FileText, &str) -> Result<(String, usize), Failure>,
) -> Result<Edited, Failure> {
    let shown = target.shown();
    let text = text_of(target, &shown)?;
    let (after, count) = change(&text, &shown)?;
    scrubbing.may_become(&shown, &text.content, &after)?;
    target.replace(&bytes_of(&text, &after, &shown)?)?;
    Ok(Edited { shown, count, before: text.content, after })
}

/// Changed text in the encoding of its file.
pub(super) fn bytes_of(text: &FileText, after: &str, shown: &str) -> Result<Vec<u8>, Failure> {
    text.encode(after).map_err(|lost| {
        let name = text.encoding.name().unwrap_or("UTF-8");
        let message = format!("{shown} was not changed: it is encoded as {name}, which has no `{lost}`");
        let hint = "use other characters, or convert the file to UTF-8 with Write";
        Failure::with_path(RefusalCode::NotText, shown, message, hint)
    })
}

/// The whole text of a file, to be changed.
pub(super) fn text_of(target: &WriteTarget, shown: &str) -> Result<FileText, Failure> {
    let (file, version) = target.open_file()?;
    if version.len() > LARGEST_EDITED {
        let message = format!("{shown} has {} bytes; at most {LARGEST_EDITED} are edited", version.len());
        return Err(Failure::with_path(
            RefusalCode::TooLarge,
            shown,
            message,
            "change it with a command that streams",
        ));
    }
    let bytes = content(file, version.len(), LARGEST_EDITED).map_err(|error| io_failure(shown, &error))?;
    FileText::decode(bytes).map_err(|why| {
        let why = match why {
            NotText::Binary => "it is binary",
            NotText::BadUtf16 => "it is marked as UTF-16, but not all of it is",
        };
        let message = format!("{shown} was not changed: {why}");
        Failure::with_path(RefusalCode::NotText, shown, message, "write it as a whole if that is meant")
    })
}
