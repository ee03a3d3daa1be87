//! `pinfold hook`: another agent asks about a call that it will make itself.
//!
//! Promise: there is one answer, and it is a no unless a session was opened and the call was judged and recorded. What is
//! late, what is not understood, what panics: all of it ends in the form of a no that this agent honours.

mod reply;
mod session;
mod session_folder;

use std::process::ExitCode;

use pinfold::audit::call_number;
use pinfold::consent::{AskedBy, ExternalDecision};
use pinfold::policy::{Decision, HookDecision, HookEvent, PathText};
use pinfold::{Failure as Failed, Outcome, Refusal, RefusalCode, Ruling};
use pinfold_dialects::{AgentCall, Answer, CallEnd, Dialect, Event, Moment, dialect};
use serde_json::{Value, json};

use crate::args::Hook;
use crate::exit::{Failure, USAGE};
use crate::output;
use crate::project_servers;
use reply::HookReply;
use session::HookSession;

pub(crate) fn hook(wanted: &Hook) -> ExitCode {
    let Some(dialect) = dialect(&wanted.agent) else {
        return Failure::new(USAGE, format!("`{}` is no agent that is known", wanted.agent)).print();
    };
    let mouth = HookReply::install(dialect, wanted.timeout);
    let said = match answered(wanted, dialect) {
        Ok(said) => said,
        Err(failure) => dialect.closed(&denial_reason(&failure)),
    };
    mouth.send(&said)
}

/// A failure as the reason of a no.
fn denial_reason(failure: &Failure) -> String {
    let mend = failure.mend.as_ref().map(|mend| format!("; {mend}")).unwrap_or_default();
    format!("pinfold: nothing is allowed, since nothing could be judged: {}{mend}", failure.message)
}

fn answered(wanted: &Hook, dialect: &dyn Dialect) -> Result<pinfold_dialects::HookOutput, Failure> {
    let input = output::standard_input_bytes()?;
    let event =
        dialect.parse_event(&input).map_err(|bad| Failure::new(USAGE, output::lines(&bad.to_string())))?;
    if let Moment::Other(_) = event.moment {
        return Ok(dialect.format_answer(&event.moment, &Answer::silence()));
    }
    let opened = session::opened(wanted, dialect, &event)?;
    let answer = match &event.moment {
        Moment::Start(source) => begun(&opened, source),
        Moment::End(reason) => {
            // The agent ends: the output of the hook has no reader.
            let _ = opened.session.event(HookEvent::SessionEnd, &json!({"reason": reason}));
            Answer::silence()
        }
        Moment::Before(call) => judged(&opened, dialect, &event, call, call_number(&call.key)),
        // The agent asks about a call that was judged before, or would have been: it has a number of its own.
        Moment::Permission(call) => {
            let number = call_number(&format!("permission {}", call.key));
            only_no(judged(&opened, dialect, &event, call, number))
        }
        Moment::After(call, ended) => record_outcome(&opened, call, ended)?,
        Moment::Other(_) => Answer::silence(),
    };
    Ok(dialect.format_answer(&event.moment, &answer))
}

/// Keeps a no alone: where the agent's own rules want its person to be asked, a yes of ours is not that person's.
fn only_no(answer: Answer) -> Answer {
    if answer.decision == Some(Decision::Deny) { answer } else { Answer::silence() }
}

/// A session begins: the model is told where its line is.
fn begun(opened: &HookSession, source: &str) -> Answer {
    let said = opened.session.event(HookEvent::SessionStart, &json!({"source": source}));
    let line: Vec<String> =
        opened.session.writable_roots().roots().map(|root| root.display().to_string()).collect();
    let writes = match &opened.not_granted {
        None => format!("writes belong in {}", line.join(", ")),
        Some(_) => format!("no folder can be written without a question: {}", not_granted(opened)),
    };
    let own = format!(
        "pinfold judges each tool call of this session. Files can be read anywhere; {writes}. A refusal says why, and what \
         to do instead; the same call will not succeed by another way."
    );
    let all: Vec<String> = [own].into_iter().chain(said.context).collect();
    Answer::silence().with_context(Some(all.join("\n")))
}

/// A call is about to be made.
fn judged(
    opened: &HookSession,
    dialect: &dyn Dialect,
    event: &Event,
    call: &AgentCall,
    number: u64,
) -> Answer {
    let by = || format!("what is known of {}", dialect.name());
    let of_project =
        || project_servers::doubt(dialect.name(), &call.raw.tool, &opened.folder, &opened.locations);
    let doubt = call.doubt.clone().or_else(of_project);
    let doubt = doubt.map(|doubt| HookDecision::doubt(doubt, by(), None));
    let asked_by = if opened.asks { AskedBy::Agent } else { AskedBy::Pinfold };
    let mut raw = call.raw.clone();
    if let (None, Some((folder, _))) = (&raw.cwd, &opened.not_granted) {
        raw.cwd = Some(PathText::new(folder.as_os_str()));
    }
    let ExternalDecision { ruling, context, stop, .. } =
        opened.session.decide_external(&raw, number, doubt, asked_by);
    let context = (!context.is_empty()).then(|| context.join("\n"));
    let answer = match ruling {
        // What the person is to choose, or what the agent is to decide in a stricter mode of its own, is left to them.
        Ruling::Permit(_) if call.own_dialog || event.strict => Answer::silence(),
        // What nothing but the mode lets through is a question that the agent may have of its own: it is not ours to save.
        Ruling::Permit(permit) if permit.rests_on_the_mode() && !dialect.needs_a_yes() => Answer::silence(),
        // No folder was granted, so that there is nothing for which a yes of ours could stand.
        Ruling::Permit(_) if opened.not_granted.is_some() && !dialect.needs_a_yes() => Answer::silence(),
        Ruling::Permit(_) => Answer::allow("pinfold allows it"),
        Ruling::Question(question) => Answer::ask(reason(opened, question.refusal())),
        Ruling::Refusal(refusal) => Answer::deny(
            [format!("pinfold refuses this. {}", reason(opened, &refusal))]
                .into_iter()
                .chain(stop)
                .collect::<Vec<_>>()
                .join("\n"),
        ),
    };
    answer.with_context(context)
}

/// A no for the model: which, where the line is, what to do instead, and its name in the record.
fn reason(opened: &HookSession, refusal: &Refusal) -> String {
    let code = serde_json::to_value(refusal.code).ok();
    let code = code.as_ref().and_then(Value::as_str).unwrap_or("Denied");
    let named = refusal.id.as_ref().filter(|_| opened.recorded);
    let name = named.map(|id| format!(" (pinfold why {id})")).unwrap_or_default();
    let granted = match &opened.not_granted {
        Some(_) => format!(". No folder is granted here: {}", not_granted(opened)),
        None => String::new(),
    };
    format!("{code}: {}{name}{granted}", refusal.message)
}

/// Why no folder is granted, and what to do; empty where one is.
fn not_granted(opened: &HookSession) -> String {
    let told = opened.not_granted.as_ref();
    let told = told.map(|(folder, why)| {
        let folder = output::path(folder);
        format!("the agent was started in `{folder}`, which is not a folder to work in: {why}")
    });
    told.unwrap_or_default()
}

/// A call was made: how it ended is recorded beside what was decided.
fn record_outcome(opened: &HookSession, call: &AgentCall, ended: &CallEnd) -> Result<Answer, Failure> {
    let outcome = if ended.done {
        Outcome::Done
    } else {
        let message = ended.message.as_deref().unwrap_or("the agent says that it failed");
        Outcome::Failed(Failed::plain(RefusalCode::Io, message, "see what the agent says about it"))
    };
    let took = std::time::Duration::from_millis(ended.took_ms);
    let number = call_number(&call.key);
    let said = opened.session.record_external_end(&call.raw, number, took, &outcome, &ended.result);
    let said = said.map_err(|e| Failure::new(USAGE, format!("how it ended could not be recorded: {e}")))?;
    let context: Vec<String> = said.context.into_iter().chain(said.blocked).chain(said.stop).collect();
    Ok(Answer::silence().with_context((!context.is_empty()).then(|| context.join("\n"))))
}
