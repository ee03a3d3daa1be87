//! The shape that most agents have in common: `session_id`, `cwd`, `hook_event_name`, `tool_name`, `tool_input`.

use serde_json::{Map, Value, json};

use crate::answer::{Answer, HookOutput};
use crate::event::{AgentCall, CallEnd, Event, Moment, UnreadableHookInput};
use crate::json::AgentObject;
use crate::table::{Tool, key, unknown};
use pinfold_policy::Decision;

/// The agent's own modes in which it is stricter than usual.
const STRICT: &[&str] = &["plan"];

/// An event format with the tools of one agent.
pub(super) struct Shape {
    pub(super) agent: &'static str,
    pub(super) tools: &'static [Tool],
    /// Name of the start event.
    pub(super) start: &'static str,
    pub(super) end: &'static str,
    pub(super) before: &'static str,
    pub(super) permission: &'static str,
    pub(super) after: &'static str,
    pub(super) failed: &'static str,
    /// The field that names a call.
    pub(super) id: &'static str,
}

impl Shape {
    /// The names that are the most common.
    pub(super) const fn usual(agent: &'static str, tools: &'static [Tool]) -> Self {
        Self {
            agent,
            tools,
            start: "SessionStart",
            end: "SessionEnd",
            before: "PreToolUse",
            permission: "PermissionRequest",
            after: "PostToolUse",
            failed: "PostToolUseFailure",
            id: "tool_use_id",
        }
    }

    pub(super) fn parse_event(&self, input: &[u8]) -> Result<Event, UnreadableHookInput> {
        self.event(&AgentObject::read(self.agent, input)?, |_, call| call)
    }

    /// `settle`: what this agent's calls mean beyond the table.
    pub(super) fn event(
        &self,
        sent: &AgentObject,
        settle: impl FnOnce(&AgentObject, AgentCall) -> AgentCall,
    ) -> Result<Event, UnreadableHookInput> {
        let name = sent.text("hook_event_name")?;
        let call = || Ok::<_, UnreadableHookInput>(settle(sent, self.call(sent)?));
        let moment = if name == self.start {
            Moment::Start(sent.maybe_text("source")?.unwrap_or("startup").to_owned())
        } else if name == self.end {
            Moment::End(sent.maybe_text("reason")?.unwrap_or("other").to_owned())
        } else if name == self.before {
            Moment::Before(call()?)
        } else if name == self.permission {
            Moment::Permission(call()?)
        } else if name == self.after || name == self.failed {
            let ended = ended(sent, name == self.after);
            Moment::After(call()?, ended)
        } else {
            Moment::Other(name.to_owned())
        };
        let strict = sent.maybe_text("permission_mode")?.is_some_and(|mode| STRICT.contains(&mode));
        let subagent = sent.maybe_text("agent_id")?.map(|id| {
            sent.get("agent_type").and_then(Value::as_str).filter(|kind| !kind.is_empty()).unwrap_or(id)
        });
        Ok(Event {
            session: sent.maybe_text("session_id")?.map(str::to_owned),
            cwd: sent.maybe_text("cwd")?.map(str::to_owned),
            subagent: subagent.map(str::to_owned),
            strict,
            moment,
        })
    }

    /// A call as this agent tells its hook.
    pub(super) fn probe(&self, cwd: &str, tool: &str, input: &Value) -> Value {
        json!({
            "session_id": "setup",
            "cwd": cwd,
            "hook_event_name": self.before,
            "tool_name": tool,
            "tool_input": input,
            "tool_use_id": "setup",
        })
    }

    fn call(&self, sent: &AgentObject) -> Result<AgentCall, UnreadableHookInput> {
        let name = sent.text("tool_name")?;
        let input = sent.get("tool_input").ok_or_else(|| sent.bad("`tool_input` is missing"))?;
        let key = key(sent.maybe_text(self.id)?, name, input);
        Ok(call_of(self.tools, name, input, sent.maybe_text("cwd")?, key))
    }
}

/// A call by the table of an agent.
pub(super) fn call_of(
    tools: &[Tool],
    name: &str,
    input: &Value,
    cwd: Option<&str>,
    key: String,
) -> AgentCall {
    match tools.iter().find(|tool| tool.theirs == name) {
        Some(tool) => tool.call(input, cwd, key),
        None => unknown(name, input, cwd, key),
    }
}

fn ended(sent: &AgentObject, done: bool) -> CallEnd {
    let result = sent.get("tool_response").cloned().unwrap_or_default();
    let told = sent.get("error").or_else(|| result.get("error")).filter(|error| !error.is_null());
    let message = told.map(|error| error.as_str().map_or_else(|| error.to_string(), str::to_owned));
    CallEnd { done: done && message.is_none(), took_ms: sent.ms("duration_ms"), message, result }
}

/// An answer in the words that Claude Code made common. Nothing is in it but what has to be: others take a field too
/// many for no answer at all.
pub(super) fn format_answer(moment: &Moment, answer: &Answer) -> HookOutput {
    let event = match moment {
        Moment::Before(_) => "PreToolUse",
        Moment::Permission(_) => "PermissionRequest",
        Moment::After(..) => "PostToolUse",
        Moment::Start(_) => "SessionStart",
        Moment::End(_) | Moment::Other(_) => return HookOutput::nothing(),
    };
    let mut said = Map::from_iter([("hookEventName".to_owned(), json!(event))]);
    let mut add = |name: &str, value: Value| drop(said.insert(name.to_owned(), value));
    match (moment, answer.decision) {
        (Moment::Before(_), Some(decision)) => {
            add("permissionDecision", json!(decision.as_str()));
            add("permissionDecisionReason", json!(answer.reason()));
        }
        (Moment::Permission(_), Some(Decision::Deny)) => {
            add("decision", json!({"behavior": "deny", "message": answer.reason()}));
        }
        _ => {}
    }
    let takes_context = !matches!(moment, Moment::Permission(_));
    if let Some(context) = answer.context.as_ref().filter(|_| takes_context) {
        add("additionalContext", json!(context));
    }
    if said.len() == 1 {
        return HookOutput::nothing();
    }
    HookOutput::json(&json!({"hookSpecificOutput": said}))
}
