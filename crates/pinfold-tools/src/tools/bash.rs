//! `Bash` and its kind: commands inside the kernel's line. A command that fails is a call that was done.

use std::time::Duration;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use pinfold::consent::Caller;
use pinfold::policy::input::{ShellInput, ShellKillInput, ShellOutputInput, ShellSendInput, WaitMs};
use pinfold::{Failure, Targets};
use serde_json::{Value, json};

use crate::denial::sandbox_events;
use crate::reply::ToolResult;
use crate::shell::{Output, ShellResult, Shells, shell_report};

/// The tools of this family can be carried out.
pub(super) const IS_BUILT: bool = true;

/// One argument that the kernel takes at most, with its final NUL: `MAX_ARG_STRLEN` of
/// [execve(2)](https://man7.org/linux/man-pages/man2/execve.2.html).
const MAX_COMMAND_LEN: usize = 128 * 1024 - 1;

/// Time that a command runs when its caller does not say: longer than most builds and tests.
const USUAL_TIMEOUT: Duration = Duration::from_mins(2);

pub(super) fn run(input: &ShellInput, targets: &Targets, caller: Caller<'_>) -> Result<ToolResult, Failure> {
    let shells: &Shells = targets.shells()?;
    let limit = input.timeout.map(time);
    let command = runnable(input.command.as_str())?;
    if input.background == Some(true) {
        let id = shells.start(command, limit, targets.session())?;
        let text = format!("{id} runs in the background; read it with BashOutput, end it with KillBash");
        return Ok(ToolResult::text(text, json!({"shell_id": id, "status": "running"})));
    }
    // What is refused on its way out is told inside under a name that the record of this call has.
    let names = targets.call().map(|call| format!("{call}:n"));
    let limit = limit.unwrap_or(USUAL_TIMEOUT);
    let (output, ending) = shells.run(command, limit, targets.session(), names, caller)?;
    let mut data = shell_report::output_data(&output);
    shell_report::ending_data(&mut data, &ending);
    let done =
        ToolResult::text(shell_report::text(&output, &ending), data.into()).with_redactions(output.found);
    Ok(ToolResult { events: sandbox_events(&ending.run), ..done })
}

/// Returns a command that can be passed to bash as an argument. An approver may have allowed more than the kernel takes.
fn runnable(command: &str) -> Result<&str, Failure> {
    if command.contains('\0') {
        return Err(Failure::input(
            "the command has a NUL byte, which no program can be given",
            "leave it out",
        ));
    }
    if command.len() > MAX_COMMAND_LEN {
        return Err(Failure::input("the command is longer than 128 KiB", "write a script and run that"));
    }
    Ok(command)
}

pub(super) fn output(
    input: &ShellOutputInput,
    targets: &Targets,
    caller: Caller<'_>,
) -> Result<ToolResult, Failure> {
    let filter = input.filter.as_deref().map(filter).transpose()?;
    let shells: &Shells = targets.shells()?;
    let (mut output, ending) = shells.read(&input.id, input.wait.map_or(Duration::ZERO, time), caller)?;
    if let Some(filter) = filter {
        let wanted = |line: &&str| filter.is_match(line.as_bytes()).unwrap_or(false);
        output.text = output.text.lines().filter(wanted).map(|line| format!("{line}\n")).collect();
    }
    Ok(background_report(&input.id, &output, ending.as_deref()).with_redactions(output.found))
}

pub(super) fn kill(input: &ShellKillInput, targets: &Targets) -> Result<ToolResult, Failure> {
    let shells: &Shells = targets.shells()?;
    let (output, ending) = shells.kill(&input.id)?;
    Ok(background_report(&input.id, &output, ending.as_deref()).with_redactions(output.found))
}

pub(super) fn send(input: &ShellSendInput, targets: &Targets) -> Result<ToolResult, Failure> {
    let shells: &Shells = targets.shells()?;
    let taken = shells.send(&input.id, &input.text, input.close == Some(true))?;
    let data = json!({"shell_id": input.id, "taken_bytes": taken, "sent_bytes": input.text.len()});
    let text = if taken == input.text.len() {
        format!("sent {taken} bytes to {}", input.id)
    } else {
        format!(
            "{} took only the first {taken} of {} bytes; it does not read. Send the rest later.",
            input.id,
            input.text.len()
        )
    };
    Ok(ToolResult::text(text, data))
}

/// Returns the report on a background shell.
fn background_report(id: &str, output: &Output, ending: Option<&ShellResult>) -> ToolResult {
    let mut data = shell_report::output_data(output);
    data.insert("shell_id".into(), id.into());
    let status = if ending.is_some() { "ended" } else { "running" };
    data.insert("status".into(), Value::from(status));
    let text = if let Some(ending) = ending {
        shell_report::ending_data(&mut data, ending);
        let mut text = shell_report::text(output, ending);
        shell_report::line(&mut text, &format!("[{id} has ended]"));
        text
    } else {
        let mut text = shell_report::output_text(output);
        shell_report::line(&mut text, &format!("[{id} is running]"));
        text
    };
    let done = ToolResult::text(text, data.into());
    match ending {
        Some(ending) => ToolResult { events: sandbox_events(&ending.run), ..done },
        None => done,
    }
}

fn filter(pattern: &str) -> Result<RegexMatcher, Failure> {
    RegexMatcher::new(pattern).map_err(|error| {
        Failure::input(format!("`{pattern}` is not a regular expression: {error}"), "mend the filter")
    })
}

fn time(ms: WaitMs) -> Duration {
    Duration::from_millis(ms.get())
}
