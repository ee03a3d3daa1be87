//! Explanation of a named record: the decision then, and the decision now.

use std::fmt::Write as _;
use std::process::ExitCode;

use pinfold::Denial;
use pinfold::audit::Ruled;
use pinfold::audit::read::{
    CallHistory, NamedRecord, NotFound, RecordName, RecordedCall, RunHistory, last_no,
};
use pinfold::policy::{GrantOptions, Mode};
use pinfold::replay::{Changed, Comparison, ModeNow, NotReplayable, Replay, ReplayedCall};
use pinfold::{Ambient, RawCall};
use serde_json::{Value, json};

use super::history;
use super::kernel_denial::{self, AttemptNow};
use super::{describe, scopes_as_json};
use crate::args::{Judging, WhyArgs};
use crate::check::code;
use crate::check::service::check_service;
use crate::exit::{ASKED, DONE, FAILED, Failure, REFUSED, USAGE};
use crate::{env, output, record};

pub(super) fn explain_recorded(asked: &WhyArgs, text: &str) -> Result<ExitCode, Failure> {
    let told = match find(text)? {
        NamedRecord::Call(told) => explain_call(&asked.judging, &told)?,
        NamedRecord::OfCall(denial, told) => {
            let judged = &told.call.judged;
            explain_kernel_denial(
                &denial,
                judged.root.as_deref().unwrap_or(&judged.folder),
                &history::call_line(&told.call),
            )
        }
        NamedRecord::OfRun(denial, ran) => {
            let folder = ran.start.as_ref().map(|start| start.folder.as_str());
            explain_kernel_denial(&denial, folder.unwrap_or_default(), &history::run_line(&ran))
        }
        NamedRecord::Run(ran) => explain_run(&ran),
    };
    let text = if asked.json { output::json_line(&[told.json]) } else { told.text };
    output::out(&text)?;
    Ok(ExitCode::from(told.code))
}

/// The call of that name, as far as the record has it.
pub(super) fn call(text: &str) -> Result<RawCall, Failure> {
    let told = match find(text)? {
        NamedRecord::Call(told) | NamedRecord::OfCall(_, told) => told,
        NamedRecord::OfRun(..) | NamedRecord::Run(_) => {
            return Err(Failure::new(USAGE, format!("`{}` is no call", output::visible(text))));
        }
    };
    told.call.judged.call(&told.call.tool).map_err(|why| {
        Failure::new(USAGE, format!("this call cannot be judged once more: {why}"))
            .mend("ask about the call itself: pinfold why 'Tool(…)'")
    })
}

fn find(text: &str) -> Result<NamedRecord, Failure> {
    let name = match text {
        "last" => last_no(&mut record::reader()?)
            .map_err(|e| record::unreadable(&e))?
            .ok_or_else(|| Failure::new(USAGE, "nothing was refused yet"))?,
        name => name.to_owned(),
    };
    let directory = record::directory()?;
    let reader = || pinfold::audit::LogReader::open_record(&Ambient::claim(), &directory);
    let parsed = RecordName::parse(&name).ok_or_else(|| NotFound::NoName(name.clone()));
    parsed.and_then(|parsed| parsed.find(&name, reader)).map_err(|e| match e {
        NotFound::Unreadable(e) => record::unreadable(&e),
        NotFound::Several { .. } => {
            Failure::new(USAGE, output::lines(&e.to_string())).mend("write more of the name")
        }
        NotFound::NoName(_) | NotFound::Nothing(_) => Failure::new(USAGE, output::lines(&e.to_string()))
            .mend("name it as `pinfold log` shows it, or say `last` for the last that was refused"),
    })
}

/// Output and exit code of the command.
struct Explanation {
    text: String,
    json: Value,
    code: u8,
}

/// Judged as `judging` says, else where and how it was made.
pub(crate) fn replay(judging: &Judging, changed: Changed) -> Result<Replay, Failure> {
    let here = env::current_dir()?;
    let folder = judging.folder.as_ref().map(|folder| here.join(folder));
    Ok(Replay::new(check_service(judging)?, env::home(), changed).in_folder(folder))
}

/// The mode that is said, if one is.
pub(crate) fn chosen(judging: &Judging) -> Result<ModeNow, Failure> {
    let Some(word) = &judging.settings.permission_mode else { return Ok(ModeNow::Settings) };
    let mode = Mode::parse_chosen(word).map_err(|why| Failure::new(USAGE, why))?;
    Ok(ModeNow::Chosen(mode))
}

fn explain_call(judging: &Judging, told: &CallHistory) -> Result<Explanation, Failure> {
    let call = &told.call;
    let changed = Changed {
        mode: chosen(judging)?,
        headless: judging.headless,
        allow_bash: judging.allow_bash,
        ..Changed::default()
    };
    let again = replay(judging, changed)?.judge_with_offer(call);
    let mut text = history::call_in_words(told);
    let json = match &again {
        Ok((again, offer)) => {
            let _ = writeln!(text, "\n  now, for the settings and folders as they are:");
            text.push_str(&describe(&again.answer, offer));
            let _ = writeln!(text, "  {}", compared(again));
            json!({
                "record": history::call_as_json(told),
                "answer": again.answer,
                "trace": again.answer.trace(),
                "change": again.answer.change(),
                "could_be_added": scopes_as_json(offer),
                "same": again.compared != Comparison::Differs,
                "moved": again.moved,
            })
        }
        Err(why) => {
            let _ =
                writeln!(text, "\n  it cannot be judged once more: {}", output::visible(&why.to_string()));
            json!({"record": history::call_as_json(told), "not_judged": why.to_string()})
        }
    };
    Ok(Explanation { text, json, code: ended(call, &again) })
}

fn compared(again: &ReplayedCall) -> String {
    let now = match again.compared {
        Comparison::Same => "it would be the same now",
        Comparison::Otherwise => "it would be the same now, for another reason",
        Comparison::Differs => "it would be otherwise now",
    };
    let moved = if again.moved { "; what it would touch is another place than then" } else { "" };
    format!("{now}{moved}")
}

/// Returns the exit code of the current decision; where that is unknown, of the recorded one.
fn ended(call: &RecordedCall, again: &Result<(ReplayedCall, GrantOptions), NotReplayable>) -> u8 {
    match (again, call.ruling) {
        (Ok((again, _)), _) => code(again.answer.decision),
        (Err(_), Ruled::Permit) => DONE,
        (Err(_), Ruled::Question) => ASKED,
        (Err(_), Ruled::Refusal) => REFUSED,
        (Err(_), Ruled::Other) => FAILED,
    }
}

fn explain_kernel_denial(denial: &Denial, folder: &str, of: &str) -> Explanation {
    let now = kernel_denial::reevaluate(denial, folder);
    let mut text = history::denial_in_words(denial);
    let _ = writeln!(text, "  of {}", output::visible(of));
    let _ = writeln!(text, "\n  now: {}", output::visible(&now.describe()));
    let code = if matches!(now, AttemptNow::Passes) { DONE } else { REFUSED };
    let json = json!({"record": {"denial": denial, "of": of}, "passes": now.passes(), "now": now.describe()});
    Explanation { text, json, code }
}

fn explain_run(ran: &RunHistory) -> Explanation {
    let refused: Vec<&str> = ran.refused.iter().map(|denial| denial.id.as_str()).collect();
    let end = ran.end.as_ref();
    let json = json!({"record": {
        "session": ran.session,
        "at": ran.at.map(|at| at.to_string()),
        "folder": ran.start.as_ref().map(|start| &start.folder),
        "command": history::command(ran),
        "tier": end.and_then(|end| end.tier.as_ref()),
        "end": end.map(|end| &end.end),
        "exit": end.and_then(|end| end.exit),
        "hosts": end.map(|end| &end.hosts),
        "refused": refused,
        "calls": ran.calls,
    }});
    Explanation { text: history::run_in_words(ran), json, code: DONE }
}
