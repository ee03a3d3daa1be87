//! `Bash` and its kind in a build without the feature `shell`: every call is refused.

use pinfold::consent::Caller;
use pinfold::policy::input::{ShellInput, ShellKillInput, ShellOutputInput, ShellSendInput};
use pinfold::{Failure, RefusalCode, Targets};

use crate::reply::ToolResult;

/// The tools of this family can be carried out.
pub(super) const IS_BUILT: bool = false;

pub(super) fn run(_: &ShellInput, _: &Targets, _: Caller<'_>) -> Result<ToolResult, Failure> {
    Err(absent())
}

pub(super) fn output(_: &ShellOutputInput, _: &Targets, _: Caller<'_>) -> Result<ToolResult, Failure> {
    Err(absent())
}

pub(super) fn kill(_: &ShellKillInput, _: &Targets) -> Result<ToolResult, Failure> {
    Err(absent())
}

pub(super) fn send(_: &ShellSendInput, _: &Targets) -> Result<ToolResult, Failure> {
    Err(absent())
}

fn absent() -> Failure {
    Failure::plain(
        RefusalCode::NotHeld,
        "no shell was started: this build has no sandbox (`pinfold-tools` without its feature `shell`)",
        "use the file tools, or tell the user which command you would have run",
    )
}
