//! Claude Code. Its words are the ones that others copied.
//!
//! Seen with 2.1.329: `deny` holds in every mode, `ask` is asked in the dialog and denies without a user,
//! `allow` saves the agent's own question and beats neither deny nor ask rules of the agent's settings. A top-level
//! `decision` of `deny` voids the whole answer.

use serde_json::{Value, json};

use super::shaped::{self, Shape};
use super::{Dialect, Folder};
use crate::answer::{Answer, HookOutput};
use crate::event::{Event, Moment, UnreadableHookInput};
use crate::table::{Tool, tool};

/// Claude Code.
#[derive(Debug)]
pub(super) struct Claude;

const SHAPE: Shape = Shape::usual("claude", TOOLS);

pub(super) const TOOLS: &[Tool] = &[
    tool("Bash", "Bash", &[("command", "command")], &["description"])
        .weakened_by(&["dangerouslyDisableSandbox"]),
    // A command whose output is watched; a socket that is watched instead is no field of this row.
    tool("Monitor", "Bash", &[("command", "command")], &["description"]),
    tool("BashOutput", "BashOutput", &[("bash_id", "bash_id")], &["filter"]),
    tool("TaskOutput", "BashOutput", &[("task_id", "bash_id")], &[]),
    tool("KillShell", "KillBash", &[("shell_id", "shell_id")], &[]),
    tool("TaskStop", "KillBash", &[("task_id", "shell_id"), ("shell_id", "shell_id")], &[]),
    tool("Read", "Read", &[("file_path", "file_path")], &["pages"]),
    tool("Write", "Write", &[("file_path", "file_path"), ("content", "content")], &[]),
    tool(
        "Edit",
        "Edit",
        &[
            ("file_path", "file_path"),
            ("old_string", "old_string"),
            ("new_string", "new_string"),
            ("replace_all", "replace_all"),
        ],
        &[],
    ),
    tool("MultiEdit", "MultiEdit", &[("file_path", "file_path"), ("edits", "edits")], &[]),
    tool(
        "NotebookEdit",
        "NotebookEdit",
        &[
            ("notebook_path", "notebook_path"),
            ("new_source", "new_source"),
            ("cell_id", "cell_id"),
            ("cell_number", "cell_number"),
            ("cell_type", "cell_type"),
            ("edit_mode", "edit_mode"),
        ],
        &[],
    ),
    tool("Glob", "Glob", &[("pattern", "pattern"), ("path", "path")], &[]),
    tool(
        "Grep",
        "Grep",
        &[("pattern", "pattern"), ("path", "path"), ("glob", "glob")],
        &["type", "output_mode"],
    ),
    tool("LS", "LS", &[("path", "path")], &["ignore"]),
    tool("WebFetch", "WebFetch", &[("url", "url")], &["prompt"]),
    tool("WebSearch", "WebSearch", &[], &["query", "allowed_domains", "blocked_domains"]),
    tool("Skill", "Skill", &[("skill", "skill")], &["args"]),
    tool("Agent", "Agent", AGENT, ASIDE_OF_AGENT),
    tool("Task", "Agent", AGENT, ASIDE_OF_AGENT),
    tool("TodoWrite", "TodoWrite", &[], &["todos"]),
    tool("TaskCreate", "TaskCreate", &[], &["subject", "description", "activeForm", "metadata"]),
    tool("TaskGet", "TaskGet", &[], &["taskId"]),
    tool("TaskList", "TaskList", &[], &[]),
    tool(
        "TaskUpdate",
        "TaskUpdate",
        &[],
        &[
            "taskId",
            "status",
            "subject",
            "description",
            "activeForm",
            "owner",
            "addBlocks",
            "addBlockedBy",
            "metadata",
        ],
    ),
    tool("ToolSearch", "ToolSearch", &[], &["query"]),
    tool("AskUserQuestion", "AskUserQuestion", &[], &["questions", "answers", "metadata", "annotations"])
        .is_a_dialog(),
    tool("ExitPlanMode", "ExitPlanMode", &[], &["plan", "planFilePath", "allowedPrompts"]).is_a_dialog(),
    tool("EnterPlanMode", "EnterPlanMode", &[], &[]).is_a_dialog(),
];

const AGENT: &[(&str, &str)] = &[("subagent_type", "subagent_type")];
const ASIDE_OF_AGENT: &[&str] = &["description", "prompt", "model", "effort", "resume", "name", "isolation"];

impl Dialect for Claude {
    fn name(&self) -> &'static str {
        SHAPE.agent
    }

    fn parse_event(&self, input: &[u8]) -> Result<Event, UnreadableHookInput> {
        SHAPE.parse_event(input)
    }

    fn format_answer(&self, moment: &Moment, answer: &Answer) -> HookOutput {
        shaped::format_answer(moment, answer)
    }

    fn closed(&self, why: &str) -> HookOutput {
        HookOutput::exit_2(why)
    }

    fn asks(&self) -> bool {
        true
    }

    fn folder(&self) -> Folder {
        Folder::Variables(&["CLAUDE_PROJECT_DIR"])
    }

    fn probe(&self, cwd: &str, path: &str) -> Value {
        SHAPE.probe(cwd, "Write", &json!({"file_path": path, "content": ""}))
    }
}
