//! `pinfold why`: one call after the other, with every step that looked at it. It asks the code that enforces.

mod history;
mod kernel_denial;
mod query;
mod recorded;

use std::fmt::Write as _;
use std::process::ExitCode;

use pinfold::RawCall;
use pinfold::check::{CheckAnswer, PartTrace};
use pinfold::policy::{GrantOptions, GrantScope};
use serde_json::{Value, json};

use crate::args::{Judging, WhyArgs};
use crate::check::service::{call_of, check_service};
use crate::check::{code, with_source};
use crate::exit::{DONE, Failure, USAGE};
use crate::output;

pub(crate) use recorded::chosen;

pub(crate) fn why(asked: &WhyArgs) -> Result<ExitCode, Failure> {
    if let Some(name) = query::name(asked) {
        return recorded::explain_recorded(asked, &name);
    }
    let explained = judged(&asked.judging, query::calls(asked)?)?;
    let worst = explained.iter().map(|(_, answer, _)| code(answer.decision)).max().unwrap_or(DONE);
    if asked.json {
        let all: Vec<Value> =
            explained.iter().map(|(call, answer, offer)| as_json(call, answer, offer)).collect();
        output::out(&output::json_line(&all))?;
    } else {
        let told = explained
            .iter()
            .map(|(call, answer, offer)| format!("{}\n{}", shown(call), describe(answer, offer)));
        output::out(&told.collect::<Vec<_>>().join("\n"))?;
    }
    Ok(ExitCode::from(worst))
}

/// Returns the decision about each call that a text means.
pub(crate) fn tried(judging: &Judging, text: &str) -> Result<Vec<(RawCall, CheckAnswer)>, Failure> {
    let judged = judged(judging, query::parse_calls(text)?)?;
    Ok(judged.into_iter().map(|(call, answer, _)| (call, answer)).collect())
}

fn judged(
    judging: &Judging,
    calls: Vec<RawCall>,
) -> Result<Vec<(RawCall, CheckAnswer, GrantOptions)>, Failure> {
    let mut service = check_service(judging)?;
    let judge = |call: RawCall| {
        let line = call_of(judging, json!({"tool": call.tool, "input": call.input}))?;
        let (answer, offer) = service
            .answer_with_offer(line.to_string().as_bytes(), None)
            .map_err(|bad| Failure::new(USAGE, output::lines(&bad.to_string())))?;
        Ok((call, answer, offer))
    };
    calls.into_iter().map(judge).collect()
}

fn as_json(call: &RawCall, answer: &CheckAnswer, offer: &GrantOptions) -> Value {
    json!({
        "call": {"tool": call.tool, "input": call.input},
        "answer": answer,
        "trace": answer.trace(),
        "change": answer.change(),
        "could_be_added": scopes_as_json(offer),
    })
}

/// A call on one line.
fn shown(call: &RawCall) -> String {
    format!("{} {}", output::visible(&call.tool), output::visible(&call.input.to_string()))
}

/// Renders the current decision: part by part, and what would change it.
fn describe(answer: &CheckAnswer, offer: &GrantOptions) -> String {
    let mut text: String = answer.trace().iter().map(part_in_words).collect();
    let _ = writeln!(
        text,
        "\n  so: {} ({}: {})",
        answer.decision.as_str(),
        answer.step,
        output::visible(&answer.reason)
    );
    let _ = writeln!(text, "  to change it: {}", output::visible(&answer.change()));
    text.push_str(&scopes_in_words(offer));
    for warning in &answer.warnings {
        let _ = writeln!(text, "  note: {}", output::visible(warning));
    }
    text
}

fn part_in_words(trace: &PartTrace) -> String {
    let PartTrace { part, no_opinion } = trace;
    let mark = if part.decides { "  <- decides" } else { "" };
    let mut text = format!("\n  {}{mark}\n", output::visible(&part.part));
    for step in no_opinion {
        let _ = writeln!(text, "    {step:<14} no opinion");
    }
    let rule = part.rule.as_deref().map(|rule| format!("  {}", with_source(rule, part.source.as_deref())));
    let reason = output::visible(&part.reason);
    let _ = writeln!(
        text,
        "    {:<14} {}: {reason}{}",
        part.step,
        part.decision.as_str(),
        output::visible(&rule.unwrap_or_default())
    );
    text
}

/// The rules that would let the call through, for each part from the narrowest to the widest.
fn scopes(offer: &GrantOptions) -> impl Iterator<Item = (&str, &GrantScope, &str)> {
    offer.always.iter().flat_map(|part| {
        part.scopes.iter().filter_map(|scope| Some((part.part.as_str(), scope, scope.rule.as_ref()?.text())))
    })
}

fn scopes_in_words(offer: &GrantOptions) -> String {
    let mut text = String::new();
    let mut last = None;
    for (part, scope, rule) in scopes(offer) {
        if last != Some(part) {
            let _ =
                writeln!(text, "  what could be added for {}, the narrowest first:", output::visible(part));
            last = Some(part);
        }
        let command = format!("pinfold rules add allow {}", pinfold_tools::quoted(rule));
        let _ = writeln!(text, "    {}", output::visible(&command));
        for (label, calls) in [("also allows", &scope.also), ("still asks ", &scope.still_asks)] {
            for call in calls {
                let _ = writeln!(text, "      {label}  {}", output::visible(call));
            }
        }
    }
    text
}

fn scopes_as_json(offer: &GrantOptions) -> Vec<Value> {
    let scope = |(part, scope, rule): (&str, &GrantScope, &str)| json!({"part": part, "rule": rule, "also": scope.also, "still_asks": scope.still_asks});
    scopes(offer).map(scope).collect()
}
