//! GitHub Copilot CLI: its own words under the key `preToolUse`, the common ones under `PreToolUse`. Ours is installed
//! under the first; both are understood.
//!
//! Seen with 1.0.102: `permissionDecision` on top is honoured, allow, ask and deny alike; `ask` without a user
//! denies. Alone among all it stops a call whose hook fails, though not one whose hook is late or talks nonsense.

use pinfold_policy::Decision;
use serde_json::{Value, json};

use super::shaped::{self, Shape, call_of};
use super::{Dialect, Folder};
use crate::answer::{Answer, HookOutput};
use crate::event::{CallEnd, Event, Moment, UnreadableHookInput};
use crate::json::AgentObject;
use crate::table::{Tool, key, one_of_a_list, tool};

/// Copilot CLI.
#[derive(Debug)]
pub(super) struct Copilot;

const SHAPE: Shape = Shape::usual("copilot", TOOLS);

const TOOLS: &[Tool] = &[
    tool("bash", "Bash", &[("command", "command")], &["description", "mode", "shellId", "sessionId"]),
    tool("Bash", "Bash", &[("command", "command")], &["description", "mode", "shellId", "sessionId"]),
    tool("read_bash", "BashOutput", &[("shellId", "bash_id"), ("sessionId", "shell_id")], &[]),
    tool(
        "write_bash",
        "BashInput",
        &[("shellId", "bash_id"), ("sessionId", "shell_id"), ("input", "text")],
        &[],
    ),
    tool("stop_bash", "KillBash", &[("shellId", "shell_id"), ("sessionId", "bash_id")], &[]),
    tool("view", "Read", &[("path", "file_path")], &["view_range"]),
    tool("create", "Write", &[("path", "file_path"), ("file_text", "content")], &[]),
    tool("edit", "Edit", &[("path", "file_path"), ("old_str", "old_string"), ("new_str", "new_string")], &[]),
    tool("glob", "Glob", &[("pattern", "pattern"), ("path", "path")], &[]),
    tool(
        "grep",
        "Grep",
        &[("pattern", "pattern"), ("path", "path"), ("glob", "glob")],
        &["type", "output_mode"],
    ),
    tool("web_fetch", "WebFetch", &[("url", "url")], &[]),
    tool("task", "Agent", &[("agent_type", "subagent_type")], ASIDE_OF_TASK),
    tool("skill", "Skill", &[("skill", "skill")], &[]),
    tool("report_intent", "TodoWrite", &[], &["intent"]),
    tool("update_todo", "TodoWrite", &[], &["todos"]),
    tool("ask_user", "AskUserQuestion", &[], &["question", "choices"]).is_a_dialog(),
];

const ASIDE_OF_TASK: &[&str] =
    &["description", "prompt", "name", "mode", "model", "reasoning_effort", "context_tier"];

impl Dialect for Copilot {
    fn name(&self) -> &'static str {
        SHAPE.agent
    }

    fn parse_event(&self, input: &[u8]) -> Result<Event, UnreadableHookInput> {
        let sent = AgentObject::read(SHAPE.agent, input)?;
        if sent.has("hook_event_name") { SHAPE.event(&sent, |_, call| call) } else { own(&sent) }
    }

    fn format_answer(&self, moment: &Moment, answer: &Answer) -> HookOutput {
        match (moment, answer.decision) {
            (Moment::Before(_), Some(decision)) => {
                let word = decision.as_str();
                let why = answer.reason();
                HookOutput::json(&json!({"permissionDecision": word, "permissionDecisionReason": why}))
            }
            (Moment::Permission(_), Some(Decision::Deny)) => shaped::format_answer(moment, answer),
            _ => HookOutput::nothing(),
        }
    }

    fn closed(&self, why: &str) -> HookOutput {
        // The reason is lost with an exit code of 2, and the no with one of 0 where it is not read: both are said.
        let said = json!({"permissionDecision": "deny", "permissionDecisionReason": why});
        HookOutput { stderr: format!("{why}\n"), code: 2, ..HookOutput::json(&said) }
    }

    fn asks(&self) -> bool {
        true
    }

    fn folder(&self) -> Folder {
        Folder::Variables(&["COPILOT_PROJECT_DIR"])
    }

    fn probe(&self, cwd: &str, path: &str) -> Value {
        let call = json!({"path": path, "file_text": ""});
        json!({"sessionId": "setup", "timestamp": 0, "cwd": cwd, "toolName": "create", "toolArgs": call})
    }
}

/// An event in its own words: it does not say which one it is, but each has fields of its own.
fn own(sent: &AgentObject) -> Result<Event, UnreadableHookInput> {
    let cwd = sent.maybe_text("cwd")?;
    let moment = if sent.has("toolName") {
        let name = sent.text("toolName")?;
        let input = one_of_a_list(&arguments(sent)?, "paths", "path");
        let call = call_of(TOOLS, name, &input, cwd, key(None, name, &input));
        match sent.get("toolResult") {
            Some(result) => Moment::After(call, ended(result)),
            None => Moment::Before(call),
        }
    } else if sent.has("source") {
        Moment::Start(sent.text("source")?.to_owned())
    } else if sent.has("reason") {
        Moment::End(sent.text("reason")?.to_owned())
    } else {
        return Err(sent.bad("it names neither an event nor a tool"));
    };
    let session = sent.maybe_text("sessionId")?.map(str::to_owned);
    Ok(Event { session, cwd: cwd.map(str::to_owned), subagent: None, strict: false, moment })
}

/// The arguments come as an object, or as the text of one.
fn arguments(sent: &AgentObject) -> Result<Value, UnreadableHookInput> {
    match sent.get("toolArgs") {
        Some(Value::String(text)) => {
            serde_json::from_str(text).map_err(|_| sent.bad("`toolArgs` is a text, and no JSON"))
        }
        Some(input) => Ok(input.clone()),
        None => Err(sent.bad("`toolArgs` is missing")),
    }
}

fn ended(result: &Value) -> CallEnd {
    let done = result.get("resultType").and_then(Value::as_str).is_none_or(|kind| kind == "success");
    let text = result.get("textResultForLlm").and_then(Value::as_str);
    let message = text.filter(|_| !done).map(str::to_owned);
    CallEnd { done, took_ms: 0, message, result: result.clone() }
}
