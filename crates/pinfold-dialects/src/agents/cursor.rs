//! Cursor: an event of its own for commands, for tools of MCP servers and for reads; everything else comes as `preToolUse`.
//!
//! By its documentation, never tried: a no is `"permission": "deny"` and an exit code of 2, either of which stops the call; a
//! question is honoured for some events and lets others run, so it is said as a no; a hook that fails stops a call where
//! it is installed with `failClosed`.
//!
//! Follows <https://cursor.com/docs/hooks>.

use pinfold_policy::Decision;
use serde_json::{Value, json};

use super::shaped::call_of;
use super::{Dialect, Folder};
use crate::answer::{Answer, HookOutput};
use crate::event::{AgentCall, CallEnd, Event, Moment, UnreadableHookInput};
use crate::json::AgentObject;
use crate::table::{Tool, key, tool, unknown};

/// Cursor.
#[derive(Debug)]
pub(super) struct Cursor;

const NAME: &str = "cursor";
const PATHS: &[(&str, &str)] =
    &[("file_path", "file_path"), ("path", "file_path"), ("target_file", "file_path")];

const TOOLS: &[Tool] = &[
    tool("Shell", "Bash", &[("command", "command")], &["description"]).starts_in("working_directory"),
    tool("Read", "Read", PATHS, &["content", "attachments"]),
    tool(
        "Write",
        "Write",
        &[("file_path", "file_path"), ("path", "file_path"), ("content", "content"), ("contents", "content")],
        &[],
    ),
    tool(
        "StrReplace",
        "Edit",
        &[
            ("file_path", "file_path"),
            ("path", "file_path"),
            ("old_string", "old_string"),
            ("new_string", "new_string"),
            ("replace_all", "replace_all"),
        ],
        &[],
    ),
    tool("Delete", "Delete", PATHS, &["explanation"]),
    tool(
        "Grep",
        "Grep",
        &[("pattern", "pattern"), ("path", "path"), ("glob", "glob")],
        &["type", "output_mode"],
    ),
    tool("Glob", "Glob", &[("glob_pattern", "pattern"), ("pattern", "pattern"), ("path", "path")], &[]),
    tool("LS", "LS", &[("path", "path")], &[]),
    tool("WebFetch", "WebFetch", &[("url", "url")], &[]),
    tool("WebSearch", "WebSearch", &[], &["query", "search_term", "explanation"]),
    tool("Task", "Agent", &[("subagent_type", "subagent_type")], &["description", "prompt", "model"]),
    tool("TodoWrite", "TodoWrite", &[], &["todos"]),
];

/// Tools that have an event of their own before they are used: they are judged there.
const ASKED_ELSEWHERE: [&str; 3] = ["Shell", "Read", "ReadFile"];

/// Events that let nothing through.
const QUIET: [&str; 9] = [
    "afterFileEdit",
    "afterTabFileEdit",
    "afterAgentResponse",
    "afterAgentThought",
    "beforeSubmitPrompt",
    "preCompact",
    "stop",
    "subagentStart",
    "subagentStop",
];

impl Dialect for Cursor {
    fn name(&self) -> &'static str {
        NAME
    }

    fn parse_event(&self, input: &[u8]) -> Result<Event, UnreadableHookInput> {
        let sent = AgentObject::read(NAME, input)?;
        let event = sent.text("hook_event_name")?;
        let moment = match event {
            "sessionStart" => Moment::Start(sent.maybe_text("source")?.unwrap_or("startup").to_owned()),
            "sessionEnd" => Moment::End(sent.maybe_text("reason")?.unwrap_or("other").to_owned()),
            "beforeShellExecution" => Moment::Before(shell(&sent)?),
            "beforeMCPExecution" => Moment::Before(server(&sent)?),
            "beforeReadFile" | "beforeTabFileRead" => Moment::Before(read(&sent)?),
            "preToolUse" => match sent.text("tool_name")? {
                elsewhere if ASKED_ELSEWHERE.contains(&elsewhere) || is_of_a_server(elsewhere) => {
                    Moment::Other(event.to_owned())
                }
                name => Moment::Before(usual(&sent, name)?),
            },
            "afterShellExecution" => Moment::After(shell(&sent)?, ended(&sent, "output", true)),
            "afterMCPExecution" => Moment::After(server(&sent)?, ended(&sent, "result_json", true)),
            "postToolUse" | "postToolUseFailure" => match sent.text("tool_name")? {
                elsewhere if ASKED_ELSEWHERE.contains(&elsewhere) || is_of_a_server(elsewhere) => {
                    Moment::Other(event.to_owned())
                }
                name => {
                    let done = event == "postToolUse";
                    Moment::After(
                        usual(&sent, name)?,
                        ended(&sent, if done { "tool_output" } else { "error_message" }, done),
                    )
                }
            },
            quiet if QUIET.contains(&quiet) => Moment::Other(event.to_owned()),
            // One that is new could be asked before something: what is not known is not let through.
            other => {
                let name = other.chars().take(60).collect::<String>();
                return Err(sent.bad(format!("the event `{name}` is not known")));
            }
        };
        let session =
            sent.maybe_text("conversation_id")?.or(sent.maybe_text("session_id")?).map(str::to_owned);
        let cwd = cwd(&sent)?.map(str::to_owned);
        Ok(Event { session, cwd, subagent: None, strict: false, moment })
    }

    fn format_answer(&self, moment: &Moment, answer: &Answer) -> HookOutput {
        match (moment, answer.decision) {
            (Moment::Before(_), Some(Decision::Allow)) => HookOutput::json(&json!({"permission": "allow"})),
            (Moment::Before(_) | Moment::Permission(_), Some(_)) => deny(answer.reason()),
            (Moment::Start(_), _) => match &answer.context {
                Some(context) => HookOutput::json(&json!({"additional_context": context})),
                None => HookOutput::nothing(),
            },
            _ => HookOutput::nothing(),
        }
    }

    fn closed(&self, why: &str) -> HookOutput {
        deny(why)
    }

    fn asks(&self) -> bool {
        false
    }

    fn folder(&self) -> Folder {
        Folder::Variables(&["CURSOR_PROJECT_DIR"])
    }

    fn probe(&self, cwd: &str, path: &str) -> Value {
        json!({
            "conversation_id": "setup",
            "generation_id": "setup",
            "workspace_roots": [cwd],
            "hook_event_name": "preToolUse",
            "tool_name": "Write",
            "tool_input": {"file_path": path, "content": ""},
            "cwd": cwd,
        })
    }
}

/// A no in both forms that it takes for one.
fn deny(why: &str) -> HookOutput {
    let said = json!({"permission": "deny", "user_message": why, "agent_message": why});
    HookOutput { stderr: format!("{why}\n"), code: 2, ..HookOutput::json(&said) }
}

/// Returns the working directory, or the first of its folders.
fn cwd(sent: &AgentObject) -> Result<Option<&str>, UnreadableHookInput> {
    let first = sent.get("workspace_roots").and_then(|roots| roots.get(0)?.as_str());
    // An empty text is said where there is none.
    match sent.get("cwd").and_then(Value::as_str) {
        Some("") => Ok(first),
        _ => Ok(sent.maybe_text("cwd")?.or(first)),
    }
}

/// Before and after a call is the same: it has no name of its own here.
fn named(sent: &AgentObject, name: &str, input: &Value) -> Result<String, UnreadableHookInput> {
    let turn = sent.maybe_text("generation_id")?.unwrap_or_default();
    Ok(format!("{turn} {}", key(None, name, input)))
}

fn shell(sent: &AgentObject) -> Result<AgentCall, UnreadableHookInput> {
    let input = json!({"command": sent.text("command")?});
    Ok(call_of(TOOLS, "Shell", &input, cwd(sent)?, named(sent, "Shell", &input)?))
}

fn read(sent: &AgentObject) -> Result<AgentCall, UnreadableHookInput> {
    let input = json!({"file_path": sent.text("file_path")?});
    Ok(call_of(TOOLS, "Read", &input, cwd(sent)?, named(sent, "Read", &input)?))
}

fn usual(sent: &AgentObject, name: &str) -> Result<AgentCall, UnreadableHookInput> {
    let input = arguments(sent)?;
    Ok(call_of(TOOLS, name, &input, cwd(sent)?, named(sent, name, &input)?))
}

fn is_of_a_server(name: &str) -> bool {
    name == "MCP" || name.starts_with("MCP:")
}

/// A tool of a server, whatever it is called: never one of ours. Which server it is of is not said by a name that it could
/// have chosen, so that all of them are one.
fn server(sent: &AgentObject) -> Result<AgentCall, UnreadableHookInput> {
    let (name, input) = (sent.text("tool_name")?, arguments(sent)?);
    let bare = name.strip_prefix("MCP:").unwrap_or(name);
    let ours = format!("mcp__{NAME}__{bare}");
    Ok(unknown(&ours, &input, cwd(sent)?, named(sent, name, &input)?))
}

/// The arguments come as an object, or as the text of one.
fn arguments(sent: &AgentObject) -> Result<Value, UnreadableHookInput> {
    match sent.get("tool_input") {
        Some(Value::String(text)) => {
            serde_json::from_str(text).map_err(|_| sent.bad("`tool_input` is a text, and no JSON"))
        }
        Some(input) => Ok(input.clone()),
        None => Err(sent.bad("`tool_input` is missing")),
    }
}

fn ended(sent: &AgentObject, result: &str, done: bool) -> CallEnd {
    let result = sent.get(result).cloned().unwrap_or_default();
    let message = (!done).then(|| result.as_str().unwrap_or("the agent says that it failed").to_owned());
    CallEnd { done, took_ms: sent.ms("duration"), message, result }
}
