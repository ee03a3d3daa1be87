//! `CopyFile`: the same content under another name. Links below a folder are copied as links.

use pinfold::paths::Kind;
use pinfold::policy::input::CopyFileInput;
use pinfold::{Failure, ReadTarget, RefusalCode, Targets, WriteTarget};
use serde_json::json;

use super::{content, io_failure};
use crate::reply::ToolResult;

/// The largest file that is copied over another one: the new content is held in memory for the one-step swap.
const LARGEST_OVER: u64 = 256 * 1024 * 1024;

pub(super) fn perform(input: &CopyFileInput, targets: &mut Targets) -> Result<ToolResult, Failure> {
    let (source, destination) = (targets.next_read()?, targets.next_write()?);
    match (source.kind(), destination.kind()) {
        (Kind::File { .. }, Kind::File { .. }) if input.overwrite.unwrap_or(false) => {
            overwrite(&source, &destination)?;
        }
        _ => source.copy_to(&destination)?,
    }
    let (from, to) = (source.shown(), destination.shown());
    Ok(ToolResult::text(format!("copied {from} to {to}"), json!({"source": from, "destination": to})))
}

fn overwrite(source: &ReadTarget, destination: &WriteTarget) -> Result<(), Failure> {
    let shown = source.shown();
    let (file, version) = source.open_file()?;
    if version.len() > LARGEST_OVER {
        let message =
            format!("{shown} has {} bytes; at most {LARGEST_OVER} are copied over a file", version.len());
        return Err(Failure::with_path(
            RefusalCode::TooLarge,
            &shown,
            message,
            "delete the destination first",
        ));
    }
    let bytes = content(file, version.len(), LARGEST_OVER).map_err(|error| io_failure(&shown, &error))?;
    destination.replace(&bytes)
}
