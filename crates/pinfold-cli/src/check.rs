//! `pinfold check`: what would be decided, for one call or for lines of them.

pub(crate) mod lines;
pub(crate) mod service;

use std::fmt::Write as _;
use std::process::ExitCode;

use pinfold::check::CheckAnswer;
use pinfold::policy::Decision;
use serde_json::{Value, json};

use crate::args::Check;
use crate::exit::{ASKED, DONE, Failure, REFUSED, USAGE};
use crate::output;
use service::{call_of, check_service};

pub(crate) fn check(wanted: &Check) -> Result<ExitCode, Failure> {
    let (Some(tool), Some(input)) = (&wanted.tool, &wanted.input) else {
        return lines::answered(&mut check_service(&wanted.judging)?);
    };
    let text = match input.as_str() {
        "-" => output::standard_input()?,
        text => text.to_owned(),
    };
    let input: Value = serde_json::from_str(&text).map_err(|e| {
        Failure::new(USAGE, format!("the input of {} is not JSON: {e}", output::visible(tool)))
            .mend("quote it for the shell: pinfold check Read '{\"file_path\":\"a.txt\"}'")
    })?;
    let line = call_of(&wanted.judging, json!({"tool": tool, "input": input}))?;
    let answer = check_service(&wanted.judging)?
        .answer(line.to_string().as_bytes())
        .map_err(|bad| Failure::new(USAGE, output::lines(&bad.to_string())))?;
    let text = if wanted.json { output::json_line(&answer) } else { format_answer(&answer) };
    output::out(&text)?;
    Ok(ExitCode::from(code(answer.decision)))
}

pub(crate) fn code(decision: Decision) -> u8 {
    match decision {
        Decision::Allow => DONE,
        Decision::Ask => ASKED,
        Decision::Deny => REFUSED,
    }
}

/// An answer for a person.
fn format_answer(answer: &CheckAnswer) -> String {
    let mut text = format!("{}\n", answer.decision.as_str());
    let mut row = |name: &str, value: &str| {
        let _ = writeln!(text, "  {name:<8} {}", output::visible(value));
    };
    row("step", answer.step);
    row("why", &answer.reason);
    if let Some(part) = answer.parts().into_iter().find(|part| part.decides) {
        row("part", &part.part);
    }
    if let Some(rule) = &answer.rule {
        row("rule", &with_source(rule, answer.source.as_deref()));
    }
    if let Some(id) = answer.safeguard {
        row("guard", id);
    }
    row("change", &answer.change());
    answer.warnings.iter().for_each(|warning| row("note", warning));
    text
}

pub(crate) fn with_source(rule: &str, source: Option<&str>) -> String {
    source.map_or_else(|| rule.to_owned(), |source| format!("{rule}  ({source})"))
}
