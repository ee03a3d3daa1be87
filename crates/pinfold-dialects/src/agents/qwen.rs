//! Qwen Code: the common words, tools like Gemini's. Its hook is asked only about what its own rules let through.
//!
//! Seen with 0.24.4: `deny` and `ask` both stop the call, `ask` without a user too; rewriting is not
//! honoured.

use pinfold_policy::Decision;
use serde_json::{Value, json};

use super::shaped::{self, Shape};
use super::{Dialect, Folder};
use crate::answer::{Answer, HookOutput};
use crate::event::{Event, Moment, UnreadableHookInput};
use crate::table::{Tool, tool};

/// Qwen Code.
#[derive(Debug)]
pub(super) struct Qwen;

const SHAPE: Shape = Shape::usual("qwen", TOOLS);

const TOOLS: &[Tool] = &[
    tool("run_shell_command", "Bash", &[("command", "command")], &["description"]).starts_in("directory"),
    tool("read_file", "Read", &[("file_path", "file_path"), ("absolute_path", "absolute_path")], &["pages"]),
    tool("write_file", "Write", &[("file_path", "file_path"), ("content", "content")], &[]),
    tool(
        "edit",
        "Edit",
        &[
            ("file_path", "file_path"),
            ("old_string", "old_string"),
            ("new_string", "new_string"),
            ("replace_all", "replace_all"),
        ],
        &[],
    ),
    tool(
        "notebook_edit",
        "NotebookEdit",
        &[
            ("notebook_path", "notebook_path"),
            ("new_source", "new_source"),
            ("cell_id", "cell_id"),
            ("cell_type", "cell_type"),
            ("edit_mode", "edit_mode"),
        ],
        &[],
    ),
    tool("list_directory", "LS", &[("path", "path")], &["ignore", "file_filtering_options"]),
    tool("glob", "Glob", &[("pattern", "pattern"), ("path", "path")], &[]),
    tool("grep_search", "Grep", &[("pattern", "pattern"), ("path", "path"), ("glob", "glob")], &[]),
    tool("todo_write", "TodoWrite", &[], &["todos"]),
    tool("web_fetch", "WebFetch", &[("url", "url")], &["prompt"]),
    tool("skill", "Skill", &[("skill", "skill")], &["args"]),
    tool("tool_search", "ToolSearch", &[], &["query"]),
    tool("get_goal", "TaskGet", &[], &[]),
    tool("update_goal", "TaskUpdate", &[], &["status", "reason", "blockerKind"]),
    tool("list_agents", "TaskList", &[], &[]),
    tool("task", "Agent", &[("subagent_type", "subagent_type")], &["description", "prompt"]),
    tool("agent", "Agent", &[("subagent_type", "subagent_type")], &["description", "prompt"]),
    tool("ask_user_question", "AskUserQuestion", &[], &["questions"]).is_a_dialog(),
    tool("exit_plan_mode", "ExitPlanMode", &[], &["plan"]).is_a_dialog(),
];

impl Dialect for Qwen {
    fn name(&self) -> &'static str {
        SHAPE.agent
    }

    fn parse_event(&self, input: &[u8]) -> Result<Event, UnreadableHookInput> {
        SHAPE.parse_event(input)
    }

    fn format_answer(&self, moment: &Moment, answer: &Answer) -> HookOutput {
        // It was asked by its own rules before: there is nothing that a yes would save.
        let silent = answer.decision == Some(Decision::Allow) && answer.context.is_none();
        if silent { HookOutput::nothing() } else { shaped::format_answer(moment, answer) }
    }

    fn closed(&self, why: &str) -> HookOutput {
        HookOutput::exit_2(why)
    }

    fn asks(&self) -> bool {
        true
    }

    fn folder(&self) -> Folder {
        Folder::Variables(&["CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR"])
    }

    fn probe(&self, cwd: &str, path: &str) -> Value {
        SHAPE.probe(cwd, "write_file", &json!({"file_path": path, "content": ""}))
    }
}
