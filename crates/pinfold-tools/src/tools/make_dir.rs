//! `MakeDir`: a folder and the missing ones above it.

use pinfold::{Failure, Targets};
use serde_json::json;

use crate::reply::Done;

pub(super) fn perform(targets: &mut Targets) -> Result<Done, Failure> {
    let target = targets.next_write()?;
    let created = target.make_dirs()?;
    let shown = target.shown();
    let text = if created { format!("created {shown}") } else { format!("{shown} was there already") };
    Ok(Done::text(text, json!({"path": shown, "created": created})))
}
