//! Gemini CLI. Its events have names of their own, and a no has to stand on top.
//!
//! Seen with 0.61.0: `{"decision":"deny"}` on top is honoured, the common words are not. A question hangs a run that
//! nobody watches, so it is said as a no. What is not refused goes on by its own rules.

use pinfold_policy::Decision;
use serde_json::{Value, json};

use super::shaped::Shape;
use super::{Dialect, Folder};
use crate::answer::{Answer, Said};
use crate::event::{Event, Moment, NotHeard, TheirCall};
use crate::json::Sent;
use crate::table::{Tool, tool};

/// Gemini CLI.
#[derive(Debug)]
pub(super) struct Gemini;

const SHAPE: Shape = Shape {
    before: "BeforeTool",
    after: "AfterTool",
    failed: "",
    permission: "",
    ..Shape::usual("gemini", TOOLS)
};

const TOOLS: &[Tool] = &[
    tool("run_shell_command", "Bash", &[("command", "command")], &["description"]).starts_in("dir_path"),
    tool("read_file", "Read", &[("file_path", "file_path")], &[]),
    tool("write_file", "Write", &[("file_path", "file_path"), ("content", "content")], &[]),
    tool(
        "replace",
        "Edit",
        &[("file_path", "file_path"), ("old_string", "old_string"), ("new_string", "new_string")],
        &["instruction"],
    ),
    tool(
        "list_directory",
        "LS",
        &[("dir_path", "path"), ("path", "dir")],
        &["ignore", "file_filtering_options"],
    ),
    tool("glob", "Glob", &[("pattern", "pattern"), ("dir_path", "path"), ("path", "dir")], &[]),
    tool("grep_search", "Grep", GREP, ASIDE_OF_GREP),
    tool("search_file_content", "Grep", GREP, ASIDE_OF_GREP),
    tool("google_web_search", "WebSearch", &[], &["query"]),
    tool("write_todos", "TodoWrite", &[], &["todos"]),
    tool("activate_skill", "Skill", &[("name", "skill")], &[]),
    tool("ask_user", "AskUserQuestion", &[], &["questions"]).is_a_dialog(),
    tool("enter_plan_mode", "EnterPlanMode", &[], &["reason"]).is_a_dialog(),
    tool("exit_plan_mode", "ExitPlanMode", &[], &["plan_path", "plan_filename"]).is_a_dialog(),
];

const GREP: &[(&str, &str)] = &[
    ("pattern", "pattern"),
    ("dir_path", "path"),
    ("path", "dir"),
    ("include_pattern", "glob"),
    ("include", "include"),
];
const ASIDE_OF_GREP: &[&str] = &["exclude_pattern"];

impl Dialect for Gemini {
    fn name(&self) -> &'static str {
        SHAPE.agent
    }

    fn hear(&self, input: &[u8]) -> Result<Event, NotHeard> {
        SHAPE.event(&Sent::read(SHAPE.agent, input)?, of_a_server)
    }

    fn say(&self, moment: &Moment, answer: &Answer) -> Said {
        match (moment, answer.decision) {
            (Moment::Before(_), Some(Decision::Ask | Decision::Deny)) => {
                Said::json(&json!({"decision": "deny", "reason": answer.why()}))
            }
            (Moment::Start(_), _) => match &answer.context {
                Some(context) => Said::json(
                    &json!({"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": context}}),
                ),
                None => Said::nothing(),
            },
            _ => Said::nothing(),
        }
    }

    fn closed(&self, why: &str) -> Said {
        Said::exit_2(why)
    }

    fn asks(&self) -> bool {
        false
    }

    fn folder(&self) -> Folder {
        Folder::Variables(&["GEMINI_PROJECT_DIR"])
    }

    fn probe(&self, cwd: &str, path: &str) -> Value {
        SHAPE.probe(cwd, "write_file", &json!({"file_path": path, "content": ""}))
    }
}

/// A tool of a server is named by what comes beside it: the name alone does not say where the server's ends.
fn of_a_server(sent: &Sent, mut call: TheirCall) -> TheirCall {
    let Some(context) = sent.get("mcp_context") else { return call };
    let named = |field: &str| context.get(field).and_then(Value::as_str).filter(|name| !name.is_empty());
    match (named("server_name"), named("tool_name")) {
        (Some(server), Some(tool)) => call.raw.tool = format!("mcp__{server}__{tool}"),
        _ => call.doubt = Some("which server's tool it is, is not said".to_owned()),
    }
    call
}
