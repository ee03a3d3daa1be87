//! `pinfold call`: one tool call, or one per line, through the permission checks.

use std::io::{self, BufRead};
use std::process::ExitCode;

use pinfold::{RawCall, Session};
use pinfold_terminal::ExclusiveTty;
use pinfold_tools::{CallEnding, HookedSession, Reply};
use serde::Deserialize;
use serde_json::Value;

use crate::approvers::{ApproverOptions, Asker, ReportTime};
use crate::args::Call;
use crate::exit::{DONE, FAILED, Failure, REFUSED, USAGE};
use crate::output;
use crate::session::{self, SessionOptions};

pub(crate) fn call(wanted: &Call) -> Result<ExitCode, Failure> {
    if wanted.lines {
        return lines(wanted);
    }
    let (Some(tool), Some(input)) = (&wanted.tool, &wanted.input) else {
        return Err(Failure::new(USAGE, "a call needs a tool and its input").mend("see `pinfold tools`"));
    };
    let text = match input.as_str() {
        "-" => output::standard_input()?,
        text => text.to_owned(),
    };
    let input: Value = serde_json::from_str(&text).map_err(|e| {
        Failure::new(USAGE, format!("the input of {tool} is not JSON: {e}"))
            .mend("quote it for the shell: pinfold call Read '{\"file_path\":\"a.txt\"}'")
    })?;
    let attended = HookedSession::begin(opened(wanted)?);
    let reply = attended.call(&RawCall::new(tool, input));
    print(&reply)?;
    Ok(ExitCode::from(code(reply.ended)))
}

/// One call of a stream.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallLine {
    pub(crate) tool: String,
    pub(crate) input: Value,
}

/// Calls of one session, so that a file that was read can be edited. The worst end is the exit code. Rules and modes
/// follow their files from call to call; the sandbox stays as it was set up.
fn lines(wanted: &Call) -> Result<ExitCode, Failure> {
    let attended = HookedSession::begin(opened(wanted)?);
    let settings = session::followed(&session_options(wanted))?;
    let mut worst = DONE;
    for line in io::stdin().lock().lines() {
        let line = line.map_err(|e| Failure::new(USAGE, format!("standard input: {e}")))?;
        if line.trim().is_empty() {
            continue;
        }
        let call: CallLine = serde_json::from_str(&line).map_err(|e| {
            Failure::new(USAGE, format!("a line is not a call: {e}"))
                .mend("write {\"tool\":\"Read\",\"input\":{\"file_path\":\"a.txt\"}}, one per line")
        })?;
        attended.session().set_policy(session::policy_now(&settings));
        let reply = attended.call(&RawCall::new(&call.tool, call.input));
        print(&reply)?;
        worst = worst.max(code(reply.ended));
    }
    Ok(ExitCode::from(worst))
}

fn session_options(wanted: &Call) -> SessionOptions {
    SessionOptions {
        kind: "call",
        folder: wanted.folder.clone(),
        flags: wanted.session.clone(),
        headless_alone: false,
        within: None,
    }
}

fn opened(wanted: &Call) -> Result<Session, Failure> {
    let wish = session_options(wanted);
    let mut asker = None;
    let session = session::open(&wish, |reach| {
        asker = asking(wanted, reach)?;
        Ok(asker.as_ref().map(Asker::asking))
    })?;
    if let Some(asker) = asker {
        asker.know(&session, session::following(wish));
    }
    Ok(session)
}

/// Opens the approvers: the user at this terminal, and those that are reached elsewhere.
fn asking(wanted: &Call, reach: ApproverOptions<'_>) -> Result<Option<Asker>, Failure> {
    let asker = Asker::new(&wanted.asking, reach)?;
    if let Some(asker) = asker.as_ref().filter(|asker| asker.is_at_terminal()) {
        asker.ask_on_terminal(ExclusiveTty::open, ReportTime::AtOnce)?;
    }
    Ok(asker)
}

fn print(reply: &Reply) -> Result<(), Failure> {
    output::out(&output::json_line(reply))
}

fn code(ended: CallEnding) -> u8 {
    match ended {
        CallEnding::Done => DONE,
        CallEnding::Failed => FAILED,
        CallEnding::Refused => REFUSED,
    }
}
