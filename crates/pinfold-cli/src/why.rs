//! `pinfold why`: one call after the other, with every step that looked at it. It asks the code that enforces.

mod recorded;
mod wanted;

use std::fmt::Write as _;
use std::process::ExitCode;

use pinfold::RawCall;
use pinfold::check::{Answer, PartTrace};
use serde_json::{Value, json};

use crate::args::{Judging, Why};
use crate::check::desk::{call_of, desk};
use crate::check::{code, with_source};
use crate::exit::{DONE, Failure, USAGE};
use crate::say;
use recorded::Earlier;

/// A call to explain.
struct Wanted {
    call: RawCall,
    /// What was decided when it was made.
    earlier: Option<Earlier>,
}

pub(crate) fn why(asked: &Why) -> Result<ExitCode, Failure> {
    let explained = judged(&asked.judging, wanted::calls(asked)?)?;
    let worst = explained.iter().map(|(_, answer)| code(answer.decision)).max().unwrap_or(DONE);
    if asked.json {
        let all: Vec<Value> = explained.iter().map(|(wanted, answer)| as_json(wanted, answer)).collect();
        say::out(&(serde_json::to_string(&all).unwrap_or_default() + "\n"))?;
    } else {
        let told: Vec<String> = explained.iter().map(|(wanted, answer)| in_words(wanted, answer)).collect();
        say::out(&told.join("\n"))?;
    }
    Ok(ExitCode::from(worst))
}

/// What would be decided about each call that a text means.
pub(crate) fn tried(judging: &Judging, text: &str) -> Result<Vec<(RawCall, Answer)>, Failure> {
    let judged = judged(judging, wanted::said(text)?)?;
    Ok(judged.into_iter().map(|(wanted, answer)| (wanted.call, answer)).collect())
}

fn judged(judging: &Judging, calls: Vec<Wanted>) -> Result<Vec<(Wanted, Answer)>, Failure> {
    let mut desk = desk(judging)?;
    let judge = |wanted: Wanted| {
        let line = call_of(judging, json!({"tool": wanted.call.tool, "input": wanted.call.input}))?;
        let answer = desk
            .answer(line.to_string().as_bytes())
            .map_err(|bad| Failure::new(USAGE, say::visible(&bad.to_string())))?;
        Ok((wanted, answer))
    };
    calls.into_iter().map(judge).collect()
}

fn as_json(wanted: &Wanted, answer: &Answer) -> Value {
    json!({
        "call": {"tool": wanted.call.tool, "input": wanted.call.input},
        "answer": answer,
        "trace": answer.trace(),
        "change": answer.change(),
        "earlier": wanted.earlier.as_ref().map(|earlier| json!({
            "decision": earlier.decision,
            "step": earlier.step,
            "reason": earlier.reason,
            "same": earlier.is_same(answer),
        })),
    })
}

fn in_words(wanted: &Wanted, answer: &Answer) -> String {
    let mut text = String::new();
    let input = say::visible(&wanted.call.input.to_string());
    let _ = writeln!(text, "{} {input}", say::visible(&wanted.call.tool));
    if let Some(earlier) = &wanted.earlier {
        text.push_str(&say::visible(&earlier.in_words(answer)));
    }
    for trace in answer.trace() {
        text.push_str(&part_in_words(&trace));
    }
    let _ = writeln!(
        text,
        "\n  so: {} ({}: {})",
        answer.decision.word(),
        answer.step,
        say::visible(&answer.reason)
    );
    let _ = writeln!(text, "  to change it: {}", say::visible(&answer.change()));
    for warning in &answer.warnings {
        let _ = writeln!(text, "  note: {}", say::visible(warning));
    }
    text
}

fn part_in_words(trace: &PartTrace) -> String {
    let PartTrace { part, no_opinion } = trace;
    let mark = if part.decides { "  <- decides" } else { "" };
    let mut text = format!("\n  {}{mark}\n", say::visible(&part.part));
    for step in no_opinion {
        let _ = writeln!(text, "    {step:<14} no opinion");
    }
    let rule = part.rule.as_deref().map(|rule| format!("  {}", with_source(rule, part.source.as_deref())));
    let reason = say::visible(&part.reason);
    let _ = writeln!(
        text,
        "    {:<14} {}: {reason}{}",
        part.step,
        part.decision.word(),
        say::visible(&rule.unwrap_or_default())
    );
    text
}
