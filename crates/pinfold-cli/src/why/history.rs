//! History of a call, a refusal of the kernel, or a run, from the audit log.

use std::borrow::Cow;
use std::fmt::Write as _;

use pinfold::audit::read::{CallHistory, RecordedCall, RunHistory};
use pinfold::audit::{AnswerEvent, DecisionEvent, OutcomeEvent, Ruled};
use pinfold::{Denial, RefusalCode};
use serde_json::{Value, json};

use crate::check::with_source;
use crate::log::format::{host_lines, moment};
use crate::output::visible;

/// A call on one line.
pub(super) fn call_line(call: &RecordedCall) -> String {
    let said = call.judged.input_text().or_else(|| call.judged.shell.as_deref().map(Cow::Borrowed));
    let said = said.unwrap_or_default();
    format!("{}  {} {said}", call.name, call.tool).trim_end().to_owned()
}

/// All that the record says about a call.
pub(super) fn call_in_words(told: &CallHistory) -> String {
    let CallHistory { call, not_written, outcome } = told;
    let judged = &call.judged;
    let mut text = format!("{}\n", visible(&call_line(call)));
    let at = call.at.map(moment).unwrap_or_default();
    let mode = judged.mode.as_ref().map(|mode| format!(", mode {mode}")).unwrap_or_default();
    let _ = writeln!(
        text,
        "  {at} by {} in {}{}",
        visible(&call.principal),
        visible(&judged.folder),
        visible(&mode)
    );
    // Of what a process tried there is no input that would say it.
    for host in judged.hosts.iter().flatten().filter(|_| judged.process.is_some()) {
        let _ = writeln!(text, "  a process would reach {}", visible(host));
    }
    let _ = writeln!(text, "  then: {}", visible(&verdict(judged)));
    for part in judged.parts.iter().filter(|_| judged.parts.len() > 1) {
        let rule =
            part.rule.as_deref().map(|rule| format!("  {}", with_source(rule, part.source.as_deref())));
        let words = format!("{}: {} ({}: {})", part.part, part.decision, part.step, part.reason);
        let _ = writeln!(text, "    {}{}", visible(&words), visible(&rule.unwrap_or_default()));
    }
    if let Some(hook) = &judged.hook {
        let _ = writeln!(
            text,
            "  hook: {}",
            visible(&format!("{} by {}: {}", hook.decision, hook.by, hook.reason))
        );
    }
    for answer in &call.answers {
        text.push_str(&answer_in_words(answer));
    }
    for rules in not_written {
        let words = format!("{}: {}", rules.rules.join(", "), rules.failed);
        let _ = writeln!(text, "    not written: {}", visible(&words));
    }
    text.push_str(&end_in_words(call, outcome.as_ref()));
    text
}

/// Renders the verdict with its step, its rule and the source of the rule.
fn verdict(judged: &DecisionEvent) -> String {
    let Some(decision) = &judged.decision else {
        return format!("not understood: {}", judged.reason.as_deref().unwrap_or_default());
    };
    let step = judged.step.as_deref().unwrap_or_default();
    let rule =
        judged.rule.as_deref().map(|rule| format!("  {}", with_source(rule, judged.source.as_deref())));
    let reason = judged.reason.as_deref().unwrap_or_default();
    format!("{decision} ({step}: {reason}){}", rule.unwrap_or_default())
}

fn answer_in_words(answer: &AnswerEvent) -> String {
    let who = answer.by.who.as_ref().map(|who| format!(" ({who})")).unwrap_or_default();
    let lasts = match answer.lasts.as_deref() {
        None => String::new(),
        Some("call") => ", for this call".to_owned(),
        Some("session") => ", for the session".to_owned(),
        Some("always") => ", for good".to_owned(),
        Some(other) => format!(", for {other}"),
    };
    let lasts = match (answer.until, answer.calls) {
        (Some(until), _) => format!("{lasts}, until {} at most", moment(until)),
        (None, Some(calls)) => format!("{lasts}, for {calls} calls at most"),
        (None, None) => lasts,
    };
    let waited = answer.waited_ms;
    let words = format!("{} by {}{who} after {waited} ms{lasts}", answer.choice, answer.by.via);
    let mut text = format!("  answered: {}\n", visible(&words));
    if let Some(message) = &answer.message {
        let _ = writeln!(text, "    told the model: {}", visible(message));
    }
    for (label, list) in [("granted", &answer.grants), ("rule", &answer.rules)] {
        for one in list {
            let _ = writeln!(text, "    {label}: {}", visible(one));
        }
    }
    text
}

fn end_in_words(call: &RecordedCall, outcome: Option<&OutcomeEvent>) -> String {
    let denial = call.settled.as_ref().unwrap_or(&call.judged).denial.as_ref();
    match (call.ruling, outcome, denial) {
        (Ruled::Question, ..) => "  no answer\n".to_owned(),
        (Ruled::Refusal, _, Some(denial)) => no_in_words(denial),
        (Ruled::Refusal, _, None) => "  refused\n".to_owned(),
        (Ruled::Permit | Ruled::Other, Some(outcome), _) => outcome_in_words(outcome),
        (Ruled::Permit | Ruled::Other, None, _) => "  how it ended is not in the record\n".to_owned(),
    }
}

fn outcome_in_words(outcome: &OutcomeEvent) -> String {
    let why = outcome.reason.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    // What was permitted and refused for where it led is a refusal.
    let is_refused = outcome.code.as_deref() == Some(RefusalCode::Denied.as_str());
    let end = if is_refused { "refused after all" } else { &*outcome.end };
    let mut text = format!("  outcome: {} after {} ms\n", visible(&format!("{end}{why}")), outcome.ms);
    for line in host_lines(&outcome.hosts, outcome.more_hosts) {
        let _ = writeln!(text, "  hosts {}", visible(&line));
    }
    for denial in &outcome.denials {
        let _ = writeln!(text, "    {}", visible(&denial_line(denial)));
    }
    text
}

fn denial_line(denial: &Denial) -> String {
    let place = denial.place.as_deref().unwrap_or_default();
    let often = if denial.times > 1 { format!(", {} times", denial.times) } else { String::new() };
    format!("{}  {} {place} by {}{often}", denial.id, denial.what, denial.who)
}

/// A no: which layer said it, why, what could be done, what could be added.
fn no_in_words(denial: &Denial) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "  refused by the {}: {}",
        visible(layer(denial.layer.as_str())),
        visible(&denial.why)
    );
    if let Some(rule) = &denial.rule {
        let _ = writeln!(text, "    {}", visible(&with_source(rule, denial.source.as_deref())));
    }
    let retry = match denial.retry.as_str() {
        "never" => "the same will not work in that session",
        "allowed" => "the same works once it is approved",
        "after_fix" => "the same works once it is changed as said",
        other => other,
    };
    let _ = writeln!(text, "    the model was told: {}; {retry}", visible(&denial.instead));
    for scope in &denial.to_allow {
        let _ = writeln!(text, "    to allow it: {}", visible(scope));
    }
    text
}

fn layer(word: &str) -> &str {
    match word {
        "rule" => "gate",
        other => other,
    }
}

/// A refusal of the kernel.
pub(super) fn denial_in_words(denial: &Denial) -> String {
    format!("{}\n{}", visible(&denial_line(denial)), no_in_words(denial))
}

/// The command of a run, where it is told.
pub(super) fn command(ran: &RunHistory) -> Option<&str> {
    let start = ran.start.as_ref();
    let said = start.and_then(|start| start.command.as_deref());
    said.or_else(|| ran.end.as_ref()?.command.as_deref()).or_else(|| Some(start?.program.as_str()))
}

/// A run on one line.
pub(super) fn run_line(ran: &RunHistory) -> String {
    let folder = ran.start.as_ref().map(|start| start.folder.as_str()).unwrap_or_default();
    format!("{}  `{}` in {folder}", ran.session, command(ran).unwrap_or("…"))
}

/// All that the record says about a run.
pub(super) fn run_in_words(ran: &RunHistory) -> String {
    let mut text = format!("{}\n", visible(&run_line(ran)));
    let at = ran.at.map(moment).unwrap_or_default();
    let tier = ran.end.as_ref().and_then(|end| end.tier.as_deref());
    let tier = tier.or_else(|| Some(&*ran.start.as_ref()?.tier)).unwrap_or_default();
    let _ = match tier {
        "none" => writeln!(text, "  {at}, a session: each call is judged by itself"),
        tier => writeln!(text, "  {at}, held by {}", visible(tier)),
    };
    match &ran.end {
        None => text.push_str("  it runs, or how it ended is not in the record\n"),
        Some(end) => {
            let exit = end.exit.map(|exit| format!(" {exit}")).unwrap_or_default();
            let after = end.ms.map(|ms| format!(" after {ms} ms")).unwrap_or_default();
            let why = end.reason.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
            let _ = writeln!(text, "  ended: {}", visible(&format!("{}{exit}{after}{why}", end.end)));
        }
    }
    for line in ran.end.iter().flat_map(|end| host_lines(&end.hosts, end.more_hosts)) {
        let _ = writeln!(text, "  hosts {}", visible(&line));
    }
    for denial in &ran.refused {
        let _ = writeln!(text, "  refused: {}: {}", visible(&denial_line(denial)), visible(&denial.why));
    }
    if let Some(more) = ran.end.as_ref().map(|end| end.omitted_count).filter(|more| *more > 0) {
        let _ = writeln!(text, "  {more} more refusals are not recorded one by one");
    }
    for call in &ran.calls {
        let _ = writeln!(text, "  decided about: {}", visible(call));
    }
    text
}

/// All that the record says about a call, for a program.
pub(super) fn call_as_json(told: &CallHistory) -> Value {
    let CallHistory { call, not_written, outcome } = told;
    let judged = &call.judged;
    let answer = |answer: &AnswerEvent| {
        json!({
            "choice": answer.choice, "via": answer.by.via, "who": answer.by.who, "lasts": answer.lasts,
            "until": answer.until.map(|until| until.to_string()), "calls": answer.calls,
            "waited_ms": answer.waited_ms, "message": answer.message, "grants": answer.grants, "rules": answer.rules,
        })
    };
    let parts = judged.parts.iter().map(|part| {
        json!({"part": part.part, "decision": part.decision, "step": part.step, "reason": part.reason,
               "rule": part.rule, "source": part.source})
    });
    json!({
        "name": call.name,
        "at": call.at.map(|at| at.to_string()),
        "principal": call.principal,
        "agents": call.agents,
        "tool": call.tool,
        "input": judged.input(),
        "folder": judged.folder,
        "mode": judged.mode,
        "decision": judged.decision,
        "step": judged.step,
        "reason": judged.reason,
        "rule": judged.rule,
        "source": judged.source,
        "parts": parts.collect::<Vec<_>>(),
        "ruling": call.ruling.as_str(),
        "hook": judged.hook.as_ref().map(|hook| json!({"decision": hook.decision, "by": hook.by, "reason": hook.reason})),
        "answers": call.answers.iter().map(answer).collect::<Vec<_>>(),
        "not_written": not_written.iter().map(|told| json!({"rules": told.rules, "failed": told.failed})).collect::<Vec<_>>(),
        "denial": call.settled.as_ref().unwrap_or(judged).denial,
        "outcome": outcome.as_ref().map(|outcome| json!({
            "end": outcome.end, "code": outcome.code, "reason": outcome.reason, "ms": outcome.ms,
            "denials": outcome.denials, "hosts": outcome.hosts, "more_hosts": outcome.more_hosts,
        })),
    })
}
