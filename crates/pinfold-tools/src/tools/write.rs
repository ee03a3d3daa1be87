//! `Write`: a file's whole content, in one step. Encoding, line breaks and mode of what was there stay.

use std::borrow::Cow;

use pinfold::paths::Kind;
use pinfold::policy::input::WriteInput;
use pinfold::{Failure, Targets, WriteTarget};
use serde_json::json;

use super::{LARGEST_EDITED, content, io_failure};
use crate::reply::ToolResult;
use crate::secrets::Scrubbing;
use crate::text::FileText;

pub(super) fn perform(
    input: &WriteInput,
    targets: &mut Targets,
    scrubbing: Scrubbing,
) -> Result<ToolResult, Failure> {
    let target = targets.next_write()?;
    let shown = target.shown();
    match target.kind() {
        Kind::File { len, .. } if len <= LARGEST_EDITED => {
            let old = previous(&target, &shown)?;
            overwrite(&target, &shown, old, &input.content, scrubbing)
        }
        // A folder, a link or a special file makes the deed answer for itself.
        kind @ (Kind::Missing { .. }
        | Kind::File { .. }
        | Kind::Directory
        | Kind::Link
        | Kind::Special(_)) => {
            scrubbing.may_become(&shown, "", &input.content)?;
            target.replace(input.content.as_bytes())?;
            let created = matches!(kind, Kind::Missing { .. });
            let lines = input.content.lines().count();
            let text = format!("{} {shown} ({lines} lines)", if created { "created" } else { "wrote" });
            let bytes = input.content.len();
            Ok(ToolResult::text(
                text,
                json!({"path": shown, "created": created, "bytes": bytes, "lines": lines}),
            ))
        }
    }
}

/// The text that was there; `None` when it was none.
fn previous(target: &WriteTarget, shown: &str) -> Result<Option<FileText>, Failure> {
    let (file, version) = target.open_file()?;
    let bytes = content(file, version.len(), LARGEST_EDITED).map_err(|error| io_failure(shown, &error))?;
    Ok(FileText::decode(bytes).ok())
}

fn overwrite(
    target: &WriteTarget,
    shown: &str,
    old: Option<FileText>,
    new: &str,
    scrubbing: Scrubbing,
) -> Result<ToolResult, Failure> {
    let before = old.unwrap_or_else(|| FileText::new(String::new()));
    scrubbing.may_become(shown, &before.content, new)?;
    let after = before.with_own_breaks(new);
    // A whole new content may need characters that the old encoding lacks; then it becomes UTF-8, and that is said.
    let (bytes, converted) = match before.encode(&after) {
        Ok(bytes) => (Cow::Owned(bytes), false),
        Err(_) => (Cow::Borrowed(after.as_bytes()), true),
    };
    target.replace(&bytes)?;
    let diff = scrubbing.diff(shown, &before.content, &after);
    let lines = after.lines().count();
    let mut text = format!("wrote {shown} ({lines} lines)\n{diff}");
    if converted {
        text.push_str(
            "[the file is UTF-8 now: its old encoding has no bytes for some of the new characters]\n",
        );
    }
    let bytes = bytes.len();
    Ok(ToolResult::text(
        text,
        json!({"path": shown, "created": false, "bytes": bytes, "lines": lines, "diff": diff}),
    ))
}
