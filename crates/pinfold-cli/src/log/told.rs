//! One line of the record in words.

use std::fmt::Write as _;

use serde_json::Value;

use super::filter::places;
use crate::say::visible;

/// The longest piece of a call that is shown on its line.
const LONGEST: usize = 120;

/// A record for a person: when, who, what, how it was decided and why; with `verbose` its parts and its input.
pub(super) fn told(record: &Value, verbose: bool) -> String {
    let text = |key: &str| record[key].as_str().unwrap_or_default();
    let at = text("at").get(..19).unwrap_or_default().replace('T', " ");
    let mut line = format!("{at}  {:<28}  {}", visible(&name(record)), what(record));
    if let Some(reason) = record["reason"].as_str() {
        let _ = write!(line, ": {}", visible(reason));
    }
    if let Some(rule) = record["rule"].as_str() {
        let source = record["source"].as_str().map(|source| format!(" ({source})")).unwrap_or_default();
        let _ = write!(line, "  [{}{}]", visible(rule), visible(&source));
    }
    line.push('\n');
    if verbose {
        for part in record["parts"].as_array().into_iter().flatten() {
            let piece = |key: &str| part[key].as_str().unwrap_or_default();
            let words =
                format!("{} {} {}: {}", piece("part"), piece("decision"), piece("step"), piece("reason"));
            let _ = writeln!(line, "      {}", visible(&words));
        }
        if !record["input"].is_null() {
            let _ = writeln!(line, "      {}", visible(&record["input"].to_string()));
        }
    }
    line
}

/// The name of the call, as `pinfold why` takes it.
fn name(record: &Value) -> String {
    let session = record["session"].as_str().unwrap_or_default();
    match (&record["id"], record.pointer("/denial/id").and_then(Value::as_str)) {
        (_, Some(id)) => id.to_owned(),
        (Value::Number(id), None) => format!("{session}:{id}"),
        (_, None) => session.to_owned(),
    }
}

fn what(record: &Value) -> String {
    let text = |key: &str| record[key].as_str().unwrap_or_default();
    let said = match record["kind"].as_str().unwrap_or_default() {
        "decision" => {
            let step = if text("step").is_empty() { String::new() } else { format!(" ({})", text("step")) };
            format!("{:<8} {} {}{step}", text("ruling"), text("tool"), about(record))
        }
        "refusal" => {
            let denial = &record["denial"];
            let piece = |key: &str| denial[key].as_str().unwrap_or_default();
            format!("refused  {} {} {}", piece("who"), piece("what"), piece("place"))
        }
        "answer" => {
            let by = &record["by"];
            format!("answer   {} by {}", text("choice"), by["via"].as_str().unwrap_or_default())
        }
        "outcome" => format!("{:<8} {} {} ms", text("end"), text("tool"), record["ms"]),
        "start" => format!("start    {}", text("program")),
        "end" => format!("end      {} {}", text("end"), record["exit"]),
        other => other.to_owned(),
    };
    visible(said.trim_end())
}

/// What a call is about: its command, or its first place.
fn about(record: &Value) -> String {
    let command =
        record.pointer("/input/command").and_then(Value::as_str).or_else(|| record["shell"].as_str());
    let said = command.or_else(|| places(record).next()).unwrap_or_default();
    let mut short: String = said.chars().take(LONGEST).collect::<String>().replace('\n', "\\n");
    if short.len() < said.len() {
        short.push('…');
    }
    short
}
