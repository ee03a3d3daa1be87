//! The deeds, one file each. None acts without the targets of a permit.

mod apply_patch;
#[cfg_attr(not(feature = "shell"), path = "bash_absent.rs")]
mod bash;
mod copy_file;
mod delete;
mod edit;
mod glob;
mod grep;
mod ls;
mod make_dir;
mod move_file;
mod notebook_edit;
mod read;
#[cfg_attr(not(feature = "web"), path = "web_fetch_absent.rs")]
mod web_fetch;
mod write;

use std::io::Read as _;

use pinfold::consent::Caller;
use pinfold::policy::ToolName;
use pinfold::{Failure, RefusalCode, Targets, ToolCall};

use crate::reply::ToolResult;
use crate::secrets::Scrubbing;

/// The largest file that is changed in memory. Source files are far smaller; a larger one is data.
pub(crate) const LARGEST_EDITED: u64 = 32 * 1024 * 1024;

/// Returns true if this build can carry out calls of a tool.
pub(crate) fn is_built(tool: ToolName) -> bool {
    match tool {
        ToolName::Bash | ToolName::BashOutput | ToolName::KillBash | ToolName::BashInput => bash::IS_BUILT,
        ToolName::WebFetch => web_fetch::IS_BUILT,
        ToolName::Read
        | ToolName::Write
        | ToolName::Edit
        | ToolName::MultiEdit
        | ToolName::NotebookEdit
        | ToolName::ApplyPatch
        | ToolName::Delete
        | ToolName::MoveFile
        | ToolName::CopyFile
        | ToolName::MakeDir
        | ToolName::Ls
        | ToolName::Glob
        | ToolName::Grep => true,
    }
}

/// Carries out a call through the places that are held for it.
pub(crate) fn perform(
    call: &ToolCall,
    targets: &mut Targets,
    scrubbing: Scrubbing,
    caller: Caller<'_>,
) -> Result<ToolResult, Failure> {
    match call {
        ToolCall::Read(input) => read::perform(input, targets, scrubbing, caller),
        ToolCall::Write(input) => write::perform(input, targets, scrubbing),
        ToolCall::Edit(input) => edit::perform(input, targets, scrubbing),
        ToolCall::MultiEdit(input) => edit::perform_several(input, targets, scrubbing),
        ToolCall::NotebookEdit(input) => notebook_edit::perform(input, targets, scrubbing),
        ToolCall::ApplyPatch(patch) => apply_patch::perform(patch, targets, scrubbing),
        ToolCall::Delete(input) => delete::perform(input, targets),
        ToolCall::MoveFile(input) => move_file::perform(input, targets),
        ToolCall::CopyFile(input) => copy_file::perform(input, targets),
        ToolCall::MakeDir(_) => make_dir::perform(targets),
        ToolCall::Ls(input) => ls::perform(input, targets),
        ToolCall::Glob(input) => glob::perform(input, targets),
        ToolCall::Grep(input) => grep::perform(input, targets, scrubbing),
        ToolCall::Bash(input) => bash::run(input, targets, caller),
        ToolCall::BashOutput(input) => bash::output(input, targets, caller),
        ToolCall::KillBash(input) => bash::kill(input, targets),
        ToolCall::BashInput(input) => bash::send(input, targets),
        ToolCall::WebFetch(input) => web_fetch::perform(input, targets, caller),
        ToolCall::Process(_) => Err(Failure::input(
            "a system call is carried out only for the process that waits",
            "report this as a defect of the tool",
        )),
        ToolCall::Mcp(_) | ToolCall::Foreign(_) => Err(Failure::input(
            format!("{} is a tool of the agent: it was decided here and not executed", call.name()),
            "let the agent that has this tool carry it out",
        )),
    }
}

/// The failure for an error of the system while a file was read.
pub(crate) fn io_failure(shown: &str, error: &std::io::Error) -> Failure {
    Failure::with_path(RefusalCode::Io, shown, format!("{shown}: {error}"), "look at the place, then decide")
}

/// The content of a file of about `len` bytes, `most` at most. There is room for one byte more than expected, so that
/// the usual file is read in one go and its end noticed in the next.
pub(crate) fn content(file: impl std::io::Read, len: u64, most: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(usize::try_from(len.min(most)).unwrap_or(0) + READ_AHEAD);
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Less free room than this makes the standard library try a small read first.
const READ_AHEAD: usize = 64;
