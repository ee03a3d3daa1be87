//! Pending requests, as lines.

use std::collections::HashMap;
use std::process::ExitCode;
use std::time::Duration;

use crate::output::visible;
use jiff::{SignedDuration, Timestamp};
use pinfold_approvals::socket::{
    ApprovalClientError, LocatedRequest, ProcessAggregator, ProcessEvent, ProcessEventKind, RequestSummary,
};
use serde::Serialize;
use serde_json::json;

use crate::exit::{DONE, FAILED, Failure};
use crate::output;

pub(super) fn list(everywhere: &ProcessAggregator, as_json: bool) -> Result<ExitCode, Failure> {
    let (found, failed) = everywhere.list();
    failed.iter().for_each(warn_error);
    let text: String = if as_json {
        found.iter().map(|one| line(&json!({"name": one.name, "waiting": one.waiting}))).collect()
    } else if found.is_empty() {
        "nothing waits\n".to_owned()
    } else {
        found.iter().map(|LocatedRequest { waiting, .. }| entry(waiting)).collect()
    };
    output::out(&text)?;
    Ok(ExitCode::from(if failed.is_empty() { DONE } else { FAILED }))
}

/// Prints changes until it is interrupted or the reader of standard output is gone.
pub(super) fn watch(everywhere: &ProcessAggregator, as_json: bool) -> Result<ExitCode, Failure> {
    let failed = |e| Failure::new(FAILED, format!("cannot watch sessions: {e}"));
    let following = everywhere.follow().map_err(failed)?;
    // What a process was asked and has not answered yet, so that its end can be told.
    let mut open: HashMap<String, Vec<String>> = HashMap::new();
    loop {
        let Some(ProcessEvent { name, what }) = following.next(Duration::from_mins(1)) else { continue };
        let text = match what {
            ProcessEventKind::Started => continue,
            ProcessEventKind::Failed(error) => {
                warn_error(&error);
                continue;
            }
            ProcessEventKind::Ended => {
                let gone = open.remove(&name).unwrap_or_default();
                let told = |id: &String| {
                    if as_json {
                        line(&json!({"name": name, "gone": id}))
                    } else {
                        format!("{}  the asking process is gone\n", visible(id))
                    }
                };
                gone.iter().map(told).collect()
            }
            ProcessEventKind::Changes(heard) => {
                let waits = open.entry(name.clone()).or_default();
                waits.extend(heard.asked.iter().map(|waiting| waiting.id.clone()));
                waits.retain(|id| !heard.over.iter().any(|over| over.id == *id));
                if as_json {
                    line(&json!({"name": name, "heard": heard}))
                } else {
                    let over = |over: &pinfold_approvals::ResolvedRequest| {
                        format!("{}  {}\n", visible(&over.id), visible(&over.how.describe()))
                    };
                    let note = |note: &pinfold_approvals::ApproverNote| {
                        format!("{}  {}\n", visible(&note.id), visible(&note.text))
                    };
                    let asked = heard.asked.iter().map(entry);
                    asked.chain(heard.over.iter().map(over)).chain(heard.notes.iter().map(note)).collect()
                }
            }
        };
        if !text.is_empty() && !output::out_to_reader(&text)? {
            return Ok(ExitCode::from(DONE));
        }
    }
}

fn warn_error(error: &ApprovalClientError) {
    output::warn(visible(&error.to_string()));
}

/// A line of JSON in which everything beyond ASCII is written out: it may be read on a terminal.
fn line(value: &impl Serialize) -> String {
    use std::fmt::Write as _;
    let json = serde_json::to_string(value).unwrap_or_default();
    let mut line = String::with_capacity(json.len() + 1);
    for c in json.chars() {
        if c.is_ascii() && !c.is_ascii_control() {
            line.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(line, "\\u{unit:04x}");
            }
        }
    }
    line + "\n"
}

/// A request in two lines.
fn entry(waiting: &RequestSummary) -> String {
    let mut marks = Vec::new();
    if !waiting.why.is_empty() {
        marks.push(visible(&waiting.why));
    }
    if waiting.destructive {
        marks.push("cannot be undone".to_owned());
    }
    marks.push(visible(&waiting.agents.join(" > ")));
    marks.push(visible(&waiting.folder));
    marks.push(format!("{} left", left(waiting.deadline.duration_since(Timestamp::now()))));
    let RequestSummary { id, tool, brief, .. } = waiting;
    format!("{}  {}  {}\n    {}\n", visible(id), visible(tool), visible(brief), marks.join(" · "))
}

fn left(time: SignedDuration) -> String {
    let seconds = time.as_secs().max(0);
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m {seconds}s"),
        (hours, minutes, _) => format!("{hours}h {minutes}m"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_shows_nothing_that_acts_on_a_screen() {
        let text = line(&json!({"a": "\u{1b}[2J\u{9b}\u{202e}😀\u{7f}ä"}));
        assert!(text.trim_end().chars().all(|c| c.is_ascii_graphic()), "{text}");
        let back: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(back["a"], "\u{1b}[2J\u{9b}\u{202e}😀\u{7f}ä");
    }

    #[test]
    fn what_is_left_is_told_in_the_two_largest_units() {
        for (seconds, told) in [(-5, "0s"), (59, "59s"), (588, "9m 48s"), (7260, "2h 1m")] {
            assert_eq!(left(SignedDuration::from_secs(seconds)), told);
        }
    }
}
