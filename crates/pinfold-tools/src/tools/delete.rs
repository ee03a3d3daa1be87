//! `Delete`: takes a name away. A link goes itself, what it points to stays.

use pinfold::paths::Kind;
use pinfold::policy::input::DeleteInput;
use pinfold::{Failure, Targets};
use serde_json::json;

use crate::reply::ToolResult;

pub(super) fn perform(input: &DeleteInput, targets: &mut Targets) -> Result<ToolResult, Failure> {
    let target = targets.next_write()?;
    match (target.kind(), input.recursive.unwrap_or(false)) {
        (Kind::Directory, true) => target.remove_tree()?,
        (Kind::Directory, false) => target.remove_dir()?,
        (Kind::Missing { .. } | Kind::File { .. } | Kind::Link | Kind::Special(_), _) => target.remove()?,
    }
    let shown = target.shown();
    Ok(ToolResult::text(format!("deleted {shown}"), json!({"path": shown})))
}
