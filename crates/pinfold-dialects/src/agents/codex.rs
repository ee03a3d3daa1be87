//! Codex. Every shell is `Bash` to its hooks, every edit `apply_patch`.
//!
//! Seen with 0.169.0: it honours a no in the common words when there is a reason and not one field more, and the exit
//! code 2 when there is a reason; a question lets the call run, so it is said as a no. A yes is not needed: what is not
//! refused goes on by its own rules. A model can name the folder that a command starts in, and that is the `cwd` that
//! hooks are told; the folder of the session is told when it begins. What is typed into a shell that runs already (`write_stdin`) asks no hook.

use pinfold_policy::{Decision, RawCall};
use pinfold_shell::RedirectKind;
use serde_json::{Value, json};

use super::shaped::{self, Shape};
use super::{Dialect, Folder};
use crate::answer::{Answer, HookOutput};
use crate::event::{AgentCall, Event, Moment, UnreadableHookInput};
use crate::json::AgentObject;
use crate::table::{Tool, tool};

/// Codex.
#[derive(Debug)]
pub(super) struct Codex;

const SHAPE: Shape = Shape::usual("codex", TOOLS);

const TOOLS: &[Tool] = &[
    tool("Bash", "Bash", &[("command", "command")], &["description"]),
    tool("apply_patch", "ApplyPatch", &[("command", "patch")], &["description"]),
    tool("view_image", "Read", &[("path", "file_path")], &[]),
    tool("update_plan", "TodoWrite", &[], &["plan", "explanation"]),
    tool("request_user_input", "AskUserQuestion", &[], &["questions"]).is_a_dialog(),
    tool("get_goal", "TaskGet", &[], &[]),
    tool("create_goal", "TaskCreate", &[], &["objective"]),
    tool("update_goal", "TaskUpdate", &[], &["status"]),
    tool("tool_search", "ToolSearch", &[], &["query"]),
    tool("web_search", "WebSearch", &[], &["query"]),
];

impl Dialect for Codex {
    fn name(&self) -> &'static str {
        SHAPE.agent
    }

    fn parse_event(&self, input: &[u8]) -> Result<Event, UnreadableHookInput> {
        SHAPE.event(&AgentObject::read(SHAPE.agent, input)?, |_, call| patch_in_a_shell(call))
    }

    fn format_answer(&self, moment: &Moment, answer: &Answer) -> HookOutput {
        match (moment, answer.decision) {
            (Moment::Before(_) | Moment::Permission(_), Some(Decision::Ask | Decision::Deny)) => {
                let no = Answer { decision: Some(Decision::Deny), context: None, ..answer.clone() };
                shaped::format_answer(moment, &no)
            }
            (Moment::Start(_), _) => shaped::format_answer(moment, answer),
            _ => HookOutput::nothing(),
        }
    }

    fn closed(&self, why: &str) -> HookOutput {
        HookOutput::exit_2(why)
    }

    fn asks(&self) -> bool {
        false
    }

    fn folder(&self) -> Folder {
        Folder::AtStart
    }

    fn probe(&self, cwd: &str, path: &str) -> Value {
        let text = format!("*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch\n");
        SHAPE.probe(cwd, "apply_patch", &json!({"command": text}))
    }
}

/// A patch also comes as a command that hands it to `apply_patch`. Where the command is that and nothing else it is the
/// patch; everything else stays a command.
fn patch_in_a_shell(call: AgentCall) -> AgentCall {
    let text = call.raw.input.get("command").and_then(Value::as_str);
    match text.filter(|_| call.raw.tool == "Bash").and_then(patch_of) {
        Some(patch) => {
            let raw =
                RawCall { cwd: call.raw.cwd.clone(), ..RawCall::new("ApplyPatch", json!({"patch": patch})) };
            AgentCall { raw, ..call }
        }
        None => call,
    }
}

fn patch_of(command: &str) -> Option<String> {
    // Most commands are not that, and need no parser.
    if !command.trim_start().starts_with("apply") {
        return None;
    }
    let script = pinfold_shell::parse(command);
    let [only] = script.commands.as_slice() else { return None };
    let plain = script.opaque.is_empty() && script.functions.is_empty() && script.loops.is_empty();
    let place = &only.place;
    let alone =
        !place.background && !place.conditional && only.assignments.is_empty() && script.loose.is_empty();
    let [program] = only.words.as_slice() else { return None };
    let named = matches!(program.as_static(), Some("apply_patch" | "applypatch"));
    let [body] = only.redirects.as_slice() else { return None };
    let here = body.kind == RedirectKind::HereDocument && body.fd.is_none() && !body.inherited;
    let patch = body.target.as_static()?;
    let is_one = patch.trim_start().starts_with("*** Begin Patch");
    (plain && alone && named && here && is_one).then(|| patch.to_owned())
}
