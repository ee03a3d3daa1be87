//! `MakeDir`: a folder and the missing ones above it.

use pinfold::{Failure, Targets};
use serde_json::json;

use crate::reply::ToolResult;

pub(super) fn perform(targets: &mut Targets) -> Result<ToolResult, Failure> {
    let target = targets.next_write()?;
    let created = target.make_dirs()?;
    let shown = target.shown();
    let text = if created { format!("created {shown}") } else { format!("{shown} was there already") };
    Ok(ToolResult::text(text, json!({"path": shown, "created": created})))
}
