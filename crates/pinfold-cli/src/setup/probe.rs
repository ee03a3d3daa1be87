//! `pinfold setup --check`: whether what is installed holds, found out by calling it as the agent would.

use std::io::Write as _;
use std::process::{Command, ExitCode, Stdio};

use pinfold_dialects::{Answer, Folder, HookOutput, Moment};
use serde_json::Value;

use super::agents::{Agent, HookCommand, HookForm};
use super::{failure, file, json, yaml};
use crate::env;
use crate::exit::{DONE, FAILED, Failure};
use crate::output;

/// A path that is never writable, whatever settings say.
const NEVER: &str = "/proc/self/root/pinfold-setup-check";

pub(super) fn check(agent: &Agent) -> Result<ExitCode, Failure> {
    let mut holds = true;
    let mut row = |what: &str, found: Result<String, String>| {
        let (mark, text) = match &found {
            Ok(text) => ("yes", text),
            Err(text) => ("NO ", text),
        };
        holds &= found.is_ok();
        output::out(&format!("{mark}  {what:<10} {}\n", output::visible(text)))
    };
    let (found, switched) = installed(agent)?;
    row("installed", found)?;
    row("switched on", switched)?;
    row("refuses", refuses(agent))?;
    row("closes", closes(agent))?;
    Ok(ExitCode::from(if holds { DONE } else { FAILED }))
}

/// Result of a check that the hook stands in the agent's file as it would be written today, and that the agent runs hooks.
type ProbeResult = Result<String, String>;

fn installed(agent: &Agent) -> Result<(ProbeResult, ProbeResult), Failure> {
    let shown = agent.file.display().to_string();
    let again = format!("run `pinfold setup {}`", agent.name);
    let Some(text) = file::read(&agent.file)? else {
        return Ok((Err(format!("{shown} is not there; {again}")), Err("nothing is installed".to_owned())));
    };
    let mut settings = Value::Null;
    let same = match &agent.form {
        HookForm::Own(ours) => text == *ours,
        HookForm::Block(ours) => yaml::standing(&text) == Some(ours.as_str()),
        HookForm::Lists(entries) => {
            settings = json::value(&text).map_err(|e| failure(&agent.file, e))?;
            let stands = json::standing(&text, agent.name).map_err(|e| failure(&agent.file, e))?;
            let all = |e: &super::agents::HookEntry| {
                stands.iter().any(|(event, value)| event == e.event && *value == e.value)
            };
            entries.iter().all(all)
        }
    };
    let found = if same { Ok(shown) } else { Err(format!("{shown} has it not, or otherwise; {again}")) };
    let switched = (agent.stopped)(&settings, &agent.file).map_or_else(|| Ok("hooks run".to_owned()), Err);
    Ok((found, switched))
}

/// A call that must not be is answered with a no that this agent honours.
fn refuses(agent: &Agent) -> ProbeResult {
    let cwd = env::current_dir().map_err(|e| e.message)?.display().to_string();
    let probe = agent.dialect.probe(&cwd, NEVER).to_string();
    let event = agent.dialect.parse_event(probe.as_bytes()).map_err(|e| e.to_string())?;
    let Moment::Before(_) = event.moment else { return Err("its probe is no call".to_owned()) };
    if agent.dialect.folder() == Folder::AtStart {
        let begins =
            serde_json::json!({"session_id": "setup", "cwd": cwd, "hook_event_name": "SessionStart"});
        asked(agent, &begins.to_string())?;
    }
    let said = asked(agent, &probe)?;
    let no = agent.dialect.format_answer(&event.moment, &Answer::deny("no"));
    let told = || format!("a write that must not be was answered so: {}{}", said.stdout, said.stderr);
    if said.is_like(&no) { Ok("a write that must not be".to_owned()) } else { Err(told()) }
}

/// Tries that input which cannot be understood is answered by a no too.
fn closes(agent: &Agent) -> ProbeResult {
    let said = asked(agent, "{")?;
    let told = || format!("what cannot be understood was answered so: {}{}", said.stdout, said.stderr);
    let closed = said.is_like(&agent.dialect.closed("no"));
    if closed { Ok("what cannot be understood".to_owned()) } else { Err(told()) }
}

/// Starts the hook as the agent does.
fn asked(agent: &Agent, input: &str) -> Result<HookOutput, String> {
    let mut command = match &agent.command {
        HookCommand::Shell(line) => {
            let mut shell = Command::new("/bin/sh");
            shell.args(["-c", line]);
            shell
        }
        HookCommand::Words(words) => {
            let (program, rest) = words.split_first().ok_or("there is no command")?;
            let mut command = Command::new(program);
            command.args(rest);
            command
        }
    };
    // The folder is where this is run, whatever the variables of an agent around us say.
    if let Folder::Variables(names) = agent.dialect.folder() {
        let here = env::current_dir().map_err(|e| e.message)?;
        command.envs(names.iter().map(|name| (name, here.as_os_str())));
    }
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = pipes.spawn().map_err(|e| format!("it cannot be started: {e}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // One that ends early need not read all.
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(|e| e.to_string())?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let code = output.status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX);
    Ok(HookOutput { stdout: text(output.stdout), stderr: text(output.stderr), code })
}
