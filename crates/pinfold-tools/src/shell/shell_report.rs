//! The result of a shell as text for a model, and as data.

use std::fmt::Write;

use pinfold::paths::show;
use pinfold_boundary::{Approved, LimitReached, Refused};
use serde_json::{Map, Value, json};

use super::capture::Output;
use super::running::{ShellEnd, ShellResult};

/// Refusals that a model reads one by one; the rest is in the data.
const SHOWN: usize = 10;

/// Paths that are listed one by one.
const PATHS_SHOWN: usize = 10;

/// The words: output, then how it ended, then what was refused.
pub(crate) fn text(output: &Output, ending: &ShellResult) -> String {
    let mut text = output_text(output);
    let end = match ending.how {
        ShellEnd::Code(0) => None,
        ShellEnd::Code(code) => Some(format!("[exit code {code}]")),
        ShellEnd::TimedOut => Some(format!(
            "[timed out after {} ms; all its processes were killed]",
            ending.run.took.as_millis()
        )),
        ShellEnd::Killed => Some("[killed by request, with all its processes]".to_owned()),
    };
    if let Some(end) = end {
        line(&mut text, &end);
    }
    ending.run.limits.iter().for_each(|reached| limit(&mut text, reached));
    refused(&mut text, ending);
    approved(&mut text, ending);
    listed(&mut text, "made a new repository", ending.run.left.new_repositories.iter());
    listed(&mut text, "changed what runs or is acted on later", ending.run.left.changed_autorun.iter());
    for config in &ending.run.left.git_config {
        if !config.left_out.is_empty() {
            let keys = config.left_out.join(", ");
            line(
                &mut text,
                &format!(
                    "[git configuration belongs to the user, so it was not kept: {}]",
                    keys.escape_debug()
                ),
            );
        }
    }
    if text.is_empty() {
        text.push_str("[no output]");
    }
    text
}

/// Output as it stands in a text.
pub(crate) fn output_text(output: &Output) -> String {
    let mut text = output.text.trim_end_matches('\n').to_owned();
    output.limit().iter().for_each(|reached| limit(&mut text, reached));
    text
}

/// A limit, its value, and what can be done within it.
fn limit(text: &mut String, reached: &LimitReached) {
    let (program, what) = (reached.program(), reached.describe(reached.limit.as_str()));
    let often = if reached.times > 1 { format!(" ({} times)", reached.times) } else { String::new() };
    line(text, &format!("[limit reached by {program}: {what}{often}; {}]", reached.limit.advice()));
}

/// Adds a line.
pub(crate) fn line(text: &mut String, line: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}

/// Writes place, reason and advice of each refusal.
fn refused(text: &mut String, ending: &ShellResult) {
    let all = &ending.run.tried.refused;
    if all.is_empty() {
        return;
    }
    line(text, "[refused by the sandbox:");
    for Refused { tried, place, program, times, why, instead, .. } in all.iter().take(SHOWN) {
        let place = place.to_string_lossy().escape_debug().to_string();
        let often = if *times > 1 { format!(" ({times} times)") } else { String::new() };
        // Writing to a string cannot fail.
        let _ = write!(text, "\n  {program}: {tried} {place}{often}: {why}; {instead}");
    }
    let more = all.len().saturating_sub(SHOWN) as u64 + ending.run.tried.omitted_count;
    if more > 0 {
        let _ = write!(text, "\n  and {more} more");
    }
    text.push(']');
}

/// Writes what was done outside, so that it is not taken for something that failed.
fn approved(text: &mut String, ending: &ShellResult) {
    let told = |done: &Approved| format!("{} {}", done.did, show(done.place.as_os_str()));
    let names: Vec<String> = ending.run.tried.approved.iter().take(SHOWN).map(told).collect();
    if !names.is_empty() {
        let more = ending.run.tried.approved.len() - names.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        line(text, &format!("[approved outside the folder: {}{more}]", names.join(", ")));
    }
}

fn listed<'a>(text: &mut String, what: &str, paths: impl ExactSizeIterator<Item = &'a std::path::PathBuf>) {
    let count = paths.len();
    if count == 0 {
        return;
    }
    let names: Vec<String> =
        paths.take(PATHS_SHOWN).map(|p| p.to_string_lossy().escape_debug().to_string()).collect();
    let more = if count > PATHS_SHOWN { format!(" and {} more", count - PATHS_SHOWN) } else { String::new() };
    line(text, &format!("[{what}; the user is told: {}{more}]", names.join(", ")));
}

/// Returns the output as data.
pub(crate) fn output_data(output: &Output) -> Map<String, Value> {
    let mut data = Map::new();
    data.insert("output".into(), output.text.clone().into());
    data.insert("output_bytes".into(), output.bytes.into());
    data.insert("left_out_bytes".into(), output.left_out.into());
    data.insert("limits".into(), output.limit().iter().map(limit_data).collect());
    data
}

fn limit_data(reached: &LimitReached) -> Value {
    let mut data = serde_json::to_value(reached).unwrap_or_default();
    if let Some(data) = data.as_object_mut() {
        data.insert("instead".into(), reached.limit.advice().into());
    }
    data
}

/// Inserts how it ended, as data. How a user could widen the sandbox is not in it.
pub(crate) fn ending_data(data: &mut Map<String, Value>, ending: &ShellResult) {
    let code = match ending.how {
        ShellEnd::Code(code) => Value::from(code),
        ShellEnd::TimedOut | ShellEnd::Killed => Value::Null,
    };
    let refused = |r: &Refused| {
        json!({"tried": r.tried, "path": r.place.to_string_lossy(), "program": r.program, "times": r.times,
            "why": r.why, "instead": r.instead})
    };
    data.insert("exit_code".into(), code);
    data.insert("timed_out".into(), (ending.how == ShellEnd::TimedOut).into());
    data.insert("killed".into(), (ending.how == ShellEnd::Killed).into());
    data.insert("duration_ms".into(), u64::try_from(ending.run.took.as_millis()).unwrap_or(u64::MAX).into());
    data.insert("refused".into(), ending.run.tried.refused.iter().map(refused).collect());
    data.insert("omitted_count".into(), ending.run.tried.omitted_count.into());
    data.insert(
        "approved_outside".into(),
        serde_json::to_value(&ending.run.tried.approved).unwrap_or_default(),
    );
    if let Some(limits) = data.get_mut("limits").and_then(Value::as_array_mut) {
        limits.extend(ending.run.limits.iter().map(limit_data));
    }
    data.insert("held_by".into(), ending.run.tier.to_string().into());
    data.insert("watched".into(), ending.run.watched.into());
    data.insert("leftovers".into(), serde_json::to_value(&ending.run.left).unwrap_or_default());
}
