//! Input of hooks: the JSON of the most used agent's hooks, as far as its fields are known.

use std::path::Path;

use pinfold::Refusal;
use pinfold::consent::{HookCall, HookMoment, Request};
use pinfold::policy::{HookEvent, Mode, Rule};
use serde_json::{Map, Value, json};

/// Fields of every input.
struct CommonFields<'a> {
    session: &'a str,
    transcript: Option<&'a Path>,
    cwd: &'a Path,
    mode: Mode,
    agent: Option<&'a str>,
    event: HookEvent,
}

impl CommonFields<'_> {
    fn fields(&self) -> Map<String, Value> {
        let mut fields = Map::new();
        let mut say = |name: &str, value: Value| drop(fields.insert(name.to_owned(), value));
        say("session_id", json!(self.session));
        if let Some(path) = self.transcript {
            say("transcript_path", json!(path.to_string_lossy()));
        }
        say("cwd", json!(self.cwd.to_string_lossy()));
        say("permission_mode", json!(self.mode.as_str()));
        if let Some(agent) = self.agent {
            say("agent_id", json!(agent));
            say("agent_type", json!(agent));
        }
        say("hook_event_name", json!(self.event.as_str()));
        fields
    }
}

/// Returns the fields about a call.
pub(crate) fn call_input(
    event: HookEvent,
    call: &HookCall<'_>,
    transcript: Option<&Path>,
) -> Map<String, Value> {
    let HookCall { session, id, agent, cwd, mode, tool, input, .. } = *call;
    let mut fields = CommonFields { session, transcript, cwd, mode, agent, event }.fields();
    fields.insert("tool_name".to_owned(), json!(tool));
    fields.insert("tool_input".to_owned(), input.clone());
    fields.insert("tool_use_id".to_owned(), json!(format!("{session}:{id}")));
    if let Some((server, _)) = tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
        fields.insert("mcp_server".to_owned(), json!({"name": server}));
    }
    fields
}

/// Returns the further grants that a question offers with a yes.
pub(crate) fn suggestions(request: &Request) -> Value {
    let rule = |text: &str| {
        let rule = Rule::parse(text).ok()?;
        let (tool, content) = split(rule.text());
        Some(match content {
            Some(content) => json!({"toolName": tool, "ruleContent": content}),
            None => json!({"toolName": tool}),
        })
    };
    let usual = request.offer.always.iter().filter_map(|part| rule(&part.scopes.get(part.usual)?.says));
    let rules: Vec<Value> = usual.collect();
    if rules.is_empty() {
        return json!([]);
    }
    json!([{"type": "addRules", "rules": rules, "behavior": "allow", "destination": "session"}])
}

/// `Tool(pattern)` as its two halves.
fn split(rule: &str) -> (&str, Option<&str>) {
    match rule.split_once('(').and_then(|(tool, rest)| Some((tool, rest.strip_suffix(')')?))) {
        Some((tool, content)) => (tool, Some(content)),
        None => (rule, None),
    }
}

/// Adds the fields about a refusal.
pub(crate) fn refused(fields: &mut Map<String, Value>, refusal: &Refusal) {
    fields.insert("reason".to_owned(), json!(refusal.message));
}

/// Adds the fields about the end of a deed.
pub(crate) fn ended(fields: &mut Map<String, Value>, done: bool, result: &Value) {
    if done {
        fields.insert("tool_response".to_owned(), result.clone());
    } else {
        let error = result.get("message").cloned().unwrap_or_else(|| json!(result.to_string()));
        fields.insert("error".to_owned(), error);
        fields.insert("is_interrupt".to_owned(), json!(false));
    }
}

/// Returns the fields about any other event.
pub(crate) fn moment_input(moment: &HookMoment<'_>, transcript: Option<&Path>) -> Map<String, Value> {
    let HookMoment { session, agent, cwd, mode, event, detail } = *moment;
    let mut fields = CommonFields { session, transcript, cwd, mode, agent, event }.fields();
    for (name, value) in detail.as_object().into_iter().flatten() {
        // Who tells of the moment knows more than we do, but not who it happened to.
        if !matches!(name.as_str(), "session_id" | "hook_event_name") {
            fields.insert(name.clone(), value.clone());
        }
    }
    fields
}
