//! `NotebookEdit`: one cell of a notebook; the rest of the file stays byte for byte.

use pinfold::policy::input::{CellMode, NotebookEditInput};
use pinfold::{Failure, RefusalCode, Targets};

use super::edit::edit;
use crate::notebook::{CellChange, change};
use crate::reply::ToolResult;
use crate::secrets::Scrubbing;

pub(super) fn perform(
    input: &NotebookEditInput,
    targets: &mut Targets,
    scrubbing: Scrubbing,
) -> Result<ToolResult, Failure> {
    let target = targets.next_write()?;
    let wanted = CellChange {
        mode: input.mode.unwrap_or(CellMode::Replace),
        cell_id: input.cell_id.as_deref(),
        cell_number: input.cell_number,
        source: input.new_source.as_deref(),
        cell_type: input.cell_type,
    };
    let edited = edit(&target, scrubbing, |text, shown| match change(&text.content, &wanted) {
        Ok(after) => Ok((after, 1)),
        Err(why) => {
            let message = format!("{shown} was not changed: {}", why.0);
            Err(Failure::with_path(
                RefusalCode::InvalidInput,
                shown,
                message,
                "read the notebook for its cells",
            ))
        }
    })?;
    Ok(edited.done(scrubbing))
}
