//! Calls of the past: what the record says about them, and the call again as far as the record has it.

use std::fs::File;
use std::io::{BufRead, BufReader};

use pinfold::RawCall;
use pinfold::check::Answer;
use serde_json::{Value, json};

use super::Wanted;
use crate::exit::{Failure, USAGE};
use crate::{record, say};

/// What was decided when a call was made.
pub(super) struct Earlier {
    at: String,
    pub(super) decision: Option<String>,
    pub(super) step: Option<String>,
    pub(super) reason: Option<String>,
}

impl Earlier {
    /// Whether the same is decided now.
    pub(super) fn is_same(&self, answer: &Answer) -> bool {
        self.decision.as_deref() == Some(answer.decision.word()) && self.step.as_deref() == Some(answer.step)
    }

    pub(super) fn in_words(&self, answer: &Answer) -> String {
        let decided = self.decision.as_deref().unwrap_or("not understood");
        let by = self.step.as_deref().map(|step| format!(" by {step}")).unwrap_or_default();
        let reason = self.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let now = if self.is_same(answer) { "it would be the same now" } else { "it would be otherwise now" };
        format!("\n  {}: {decided}{by}{reason}\n  {now}, for the settings and folders as they are\n", self.at)
    }
}

/// Whether a text names a call of the record: `last`, or `SESSION:ID`.
pub(super) fn is_name(text: &str) -> bool {
    text == "last"
        || text.rsplit_once(':').is_some_and(|(session, id)| {
            session.starts_with("call-") && !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit())
        })
}

/// The call of that name.
pub(super) fn find(name: &str) -> Result<Wanted, Failure> {
    let path = record::directory()?.join("record.jsonl");
    let unreadable = |e: std::io::Error| {
        Failure::new(USAGE, format!("the record `{}` cannot be read: {e}", path.display()))
    };
    let mut found = None;
    for line in BufReader::new(File::open(&path).map_err(unreadable)?).lines() {
        // Half a line is what a full disk leaves behind; it hides no other.
        let Ok(record) = serde_json::from_str::<Value>(&line.map_err(unreadable)?) else { continue };
        if is_meant(name, &record) {
            found = Some(record);
        }
    }
    let record = found.ok_or_else(|| {
        Failure::new(USAGE, format!("the record has no call `{}`", say::visible(name)))
            .mend("name it as SESSION:ID, or say `last` for the last that was refused")
    })?;
    wanted(&record)
}

fn is_meant(name: &str, record: &Value) -> bool {
    if record["kind"] != "decision" {
        return false;
    }
    let (session, id) = (record["session"].as_str().unwrap_or_default(), &record["id"]);
    if name == "last" { record["ruling"] != "permit" } else { format!("{session}:{id}") == name }
}

fn wanted(record: &Value) -> Result<Wanted, Failure> {
    let text = |key: &str| record[key].as_str().map(str::to_owned);
    let tool = text("tool").unwrap_or_default();
    let input = input(&tool, record).ok_or_else(|| {
        Failure::new(
            USAGE,
            format!("the record does not hold the input of this call of {}", say::visible(&tool)),
        )
        .mend("ask about the call itself: pinfold why 'Tool(…)'")
    })?;
    let earlier = Earlier {
        at: text("at").unwrap_or_default(),
        decision: text("decision"),
        step: text("step"),
        reason: text("reason"),
    };
    Ok(Wanted { call: RawCall::new(tool, input), earlier: Some(earlier) })
}

/// The input, from what the record keeps: a command, or the paths of a file tool.
fn input(tool: &str, record: &Value) -> Option<Value> {
    if let Some(input) = record.get("input") {
        return Some(input.clone());
    }
    if let Some(command) = record["shell"].as_str() {
        return Some(json!({"command": command}));
    }
    let paths: Vec<&str> =
        record["paths"].as_array()?.iter().filter_map(|path| path["asked"].as_str()).collect();
    match (tool, paths.as_slice()) {
        ("ApplyPatch", _) => None,
        ("Grep" | "Glob", [path]) => Some(json!({"path": path, "pattern": "*"})),
        ("NotebookEdit", [path]) => Some(json!({"notebook_path": path})),
        (_, [path]) => Some(json!({"path": path})),
        ("MoveFile" | "CopyFile", [source, destination]) => {
            Some(json!({"source": source, "destination": destination}))
        }
        _ => None,
    }
}
