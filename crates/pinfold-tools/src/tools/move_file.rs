//! `MoveFile`: another name for the same thing, in one step.

use pinfold::policy::input::MoveFileInput;
use pinfold::{Failure, Targets};
use serde_json::json;

use crate::reply::ToolResult;

pub(super) fn perform(input: &MoveFileInput, targets: &mut Targets) -> Result<ToolResult, Failure> {
    let (source, destination) = (targets.next_write()?, targets.next_write()?);
    source.rename_to(&destination, input.overwrite.unwrap_or(false))?;
    let (from, to) = (source.shown(), destination.shown());
    Ok(ToolResult::text(format!("moved {from} to {to}"), json!({"source": from, "destination": to})))
}
