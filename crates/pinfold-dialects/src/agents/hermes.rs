//! Hermes Agent: events in snake case, a no on top, and no exit code that means anything.
//!
//! Seen with 0.19.0: only `{"decision":"block"}` and `{"action":"block"}` on standard output stop a call, so a failure
//! has to be said that way too. A question lets the call run and is said as a no.

use pinfold_policy::Decision;
use serde_json::{Value, json};

use super::shaped::call_of;
use super::{Dialect, Folder};
use crate::answer::{Answer, HookOutput};
use crate::event::{AgentCall, CallEnd, Event, Moment, UnreadableHookInput};
use crate::json::AgentObject;
use crate::table::{Tool, key, one_of_a_list, tool};

/// Hermes Agent.
#[derive(Debug)]
pub(super) struct Hermes;

const TOOLS: &[Tool] = &[
    tool("terminal", "Bash", &[("command", "command")], &["watch_patterns"]).starts_in("workdir"),
    tool("read_file", "Read", &[("path", "file_path")], &[]),
    tool("write_file", "Write", &[("path", "file_path"), ("content", "content")], &[]),
    tool(
        "patch",
        "Edit",
        &[
            ("path", "file_path"),
            ("old_string", "old_string"),
            ("new_string", "new_string"),
            ("replace_all", "replace_all"),
        ],
        &["mode"],
    ),
    tool(
        "search_files",
        "search_files",
        &[("path", "path")],
        &["pattern", "target", "file_glob", "output_mode"],
    ),
    tool("execute_code", "execute_code", &[("code", "code")], &[]),
    tool("web_extract", "WebFetch", &[("url", "url")], &[]),
    tool("web_search", "WebSearch", &[], &["query"]),
    tool("todo", "TodoWrite", &[], &["todos"]),
    tool("clarify", "AskUserQuestion", &[], &["question", "choices"]).is_a_dialog(),
];

/// A patch of several files comes through the tool that edits one, as a text. Which of the two is done is for another field
/// to say, so that a place beside the patch is a doubt.
const PATCH: Tool = tool("patch", "ApplyPatch", &[("patch", "patch")], &["mode"]);

impl Dialect for Hermes {
    fn name(&self) -> &'static str {
        "hermes"
    }

    fn parse_event(&self, input: &[u8]) -> Result<Event, UnreadableHookInput> {
        let sent = AgentObject::read("hermes", input)?;
        let cwd = sent.maybe_text("cwd")?;
        let moment = match sent.text("hook_event_name")? {
            "pre_tool_call" => Moment::Before(call(&sent, cwd)?),
            // It tells the end of what was refused too, and that is recorded already.
            "post_tool_call" if was_refused(&sent) => Moment::Other("blocked".to_owned()),
            "post_tool_call" => Moment::After(call(&sent, cwd)?, ended(&sent)),
            "on_session_start" => Moment::Start("startup".to_owned()),
            // `on_session_end` comes after each turn.
            other => Moment::Other(other.to_owned()),
        };
        let session = sent.maybe_text("session_id")?.map(str::to_owned);
        Ok(Event { session, cwd: cwd.map(str::to_owned), subagent: None, strict: false, moment })
    }

    fn format_answer(&self, moment: &Moment, answer: &Answer) -> HookOutput {
        match (moment, answer.decision) {
            (Moment::Before(_), Some(Decision::Ask | Decision::Deny)) => self.closed(answer.reason()),
            _ => HookOutput::nothing(),
        }
    }

    fn closed(&self, why: &str) -> HookOutput {
        HookOutput::json(&json!({"decision": "block", "reason": why}))
    }

    fn asks(&self) -> bool {
        false
    }

    fn folder(&self) -> Folder {
        Folder::Event
    }

    fn probe(&self, cwd: &str, path: &str) -> Value {
        let call = json!({"path": path, "content": ""});
        let extra = json!({"tool_call_id": "setup"});
        json!({"hook_event_name": "pre_tool_call", "tool_name": "write_file", "tool_input": call,
               "session_id": "setup", "cwd": cwd, "extra": extra})
    }
}

fn call(sent: &AgentObject, cwd: Option<&str>) -> Result<AgentCall, UnreadableHookInput> {
    let name = sent.text("tool_name")?;
    let input = sent.get("tool_input").ok_or_else(|| sent.bad("`tool_input` is missing"))?;
    let id = sent.get("extra").and_then(|extra| extra.get("tool_call_id")).and_then(Value::as_str);
    let key = key(id, name, input);
    let patches = name == PATCH.theirs && input.get("patch").is_some_and(|patch| !patch.is_null());
    let input = &one_of_a_list(input, "urls", "url");
    Ok(if patches { PATCH.call(input, cwd, key) } else { call_of(TOOLS, name, input, cwd, key) })
}

fn was_refused(sent: &AgentObject) -> bool {
    sent.get("extra").and_then(|extra| extra.get("status")).and_then(Value::as_str) == Some("blocked")
}

/// Returns the end of a call, which stands beside the other fields.
fn ended(sent: &AgentObject) -> CallEnd {
    let field =
        |name: &str| sent.get("extra").and_then(|extra| extra.get(name)).filter(|value| !value.is_null());
    let done = field("status").and_then(Value::as_str).is_none_or(|status| status == "ok");
    let message = field("error_message").and_then(Value::as_str).filter(|_| !done).map(str::to_owned);
    let took_ms = field("duration_ms").and_then(Value::as_u64).unwrap_or_default();
    CallEnd { done, took_ms, message, result: field("result").cloned().unwrap_or_default() }
}
