//! opencode and pi have no hooks that are commands: a few lines of ours run in them as a plugin, call us, and let nothing
//! run that we did not allow in so many words. What they send is in the common shape.

use pinfold_policy::{Decision, RawCall};
use serde_json::{Value, json};

use super::shaped::{self, Shape};
use super::{Dialect, Folder};
use crate::answer::{Answer, HookOutput};
use crate::event::{AgentCall, Event, Moment, UnreadableHookInput};
use crate::json::AgentObject;
use crate::table::{Tool, tool};

/// An agent that our own lines speak for.
#[derive(Debug)]
pub(super) struct Shimmed {
    name: &'static str,
    tools: &'static [Tool],
}

pub(super) const OPENCODE: Shimmed = Shimmed { name: "opencode", tools: OPENCODE_TOOLS };
pub(super) const PI: Shimmed = Shimmed { name: "pi", tools: PI_TOOLS };

/// Seen with 1.18.33.
const OPENCODE_TOOLS: &[Tool] = &[
    tool("bash", "Bash", &[("command", "command")], &["description"]).starts_in("workdir"),
    tool("read", "Read", &[("filePath", "file_path")], &[]),
    tool("write", "Write", &[("filePath", "file_path"), ("content", "content")], &[]),
    tool(
        "edit",
        "Edit",
        &[
            ("filePath", "file_path"),
            ("oldString", "old_string"),
            ("newString", "new_string"),
            ("replaceAll", "replace_all"),
        ],
        &[],
    ),
    tool("patch", "ApplyPatch", &[("patchText", "patch")], &[]),
    tool("apply_patch", "ApplyPatch", &[("patchText", "patch")], &[]),
    tool("list", "LS", &[("path", "path")], &["ignore"]),
    tool("glob", "Glob", &[("pattern", "pattern"), ("path", "path")], &[]),
    tool("grep", "Grep", &[("pattern", "pattern"), ("path", "path"), ("include", "glob")], &[]),
    tool("webfetch", "WebFetch", &[("url", "url")], &["format"]),
    tool("websearch", "WebSearch", &[], &["query", "type", "livecrawl"]),
    tool("todowrite", "TodoWrite", &[], &["todos"]),
    tool("todoread", "TodoWrite", &[], &[]),
    tool(
        "task",
        "Agent",
        &[("subagent_type", "subagent_type")],
        &["description", "prompt", "session_id", "task_id", "command"],
    ),
    tool("skill", "Skill", &[("name", "skill")], &[]),
    tool("question", "AskUserQuestion", &[], &["questions"]).is_a_dialog(),
];

/// Seen with 0.73.1.
const PI_TOOLS: &[Tool] = &[
    tool("bash", "Bash", &[("command", "command")], &[]),
    tool("read", "Read", &[("path", "file_path")], &[]),
    tool("write", "Write", &[("path", "file_path"), ("content", "content")], &[]),
    tool(
        "edit",
        "Edit",
        &[("path", "file_path"), ("oldText", "old_string"), ("newText", "new_string"), ("edits", "edits")],
        &[],
    ),
    tool("ls", "LS", &[("path", "path")], &[]),
    tool("find", "Glob", &[("pattern", "pattern"), ("path", "path")], &[]),
    tool("grep", "Grep", &[("pattern", "pattern"), ("path", "path"), ("glob", "glob")], &[]),
];

impl Dialect for Shimmed {
    fn name(&self) -> &'static str {
        self.name
    }

    fn parse_event(&self, input: &[u8]) -> Result<Event, UnreadableHookInput> {
        Shape::usual(self.name, self.tools)
            .event(&AgentObject::read(self.name, input)?, |_, call| as_multi_edit(call))
    }

    fn format_answer(&self, moment: &Moment, answer: &Answer) -> HookOutput {
        match (moment, answer.decision) {
            (Moment::Before(_), Some(Decision::Allow)) => shaped::format_answer(moment, answer),
            // There the hook has no asker, and where our lines read nothing they let nothing run.
            (Moment::Before(_) | Moment::Permission(_), _) => {
                let no = Answer { decision: Some(Decision::Deny), ..answer.clone() };
                shaped::format_answer(moment, &no)
            }
            _ => shaped::format_answer(moment, answer),
        }
    }

    fn closed(&self, why: &str) -> HookOutput {
        HookOutput::exit_2(why)
    }

    fn asks(&self) -> bool {
        false
    }

    /// Our lines read a yes or stop the call. What the agent asks by itself it asks after them.
    fn needs_a_yes(&self) -> bool {
        true
    }

    fn folder(&self) -> Folder {
        Folder::Event
    }

    fn probe(&self, cwd: &str, path: &str) -> Value {
        let field = if self.name == "pi" { "path" } else { "filePath" };
        let call = json!({field: path, "content": ""});
        Shape::usual(self.name, self.tools).probe(cwd, "write", &call)
    }
}

/// An edit with several steps is another tool here.
fn as_multi_edit(call: AgentCall) -> AgentCall {
    let steps = call.raw.input.get("edits").and_then(Value::as_array);
    if call.raw.tool != "Edit" || steps.is_none() {
        return call;
    }
    AgentCall { raw: RawCall { tool: "MultiEdit".to_owned(), ..call.raw }, ..call }
}
