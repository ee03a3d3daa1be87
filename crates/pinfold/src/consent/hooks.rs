//! The points at which programs of the person's choosing are asked before, instead of and after a person.
//!
//! Promise: what comes back is a decision for the judge or an answer to a routine question; a hook decides nothing that a
//! deny rule, a safeguard, an ask rule or the line has decided.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use pinfold_policy::{Effect, HookDecision, HookEvent, Mode, RawCall, RuleSet};
use serde_json::Value;

use super::request::Request;
use crate::parsed_call::ParsedCall;
use crate::refusal::Refusal;

/// A call, as hooks are told of it.
#[derive(Clone, Copy)]
pub struct HookCall<'a> {
    /// The session.
    pub session: &'a str,
    /// The number of the call in its session: the same wherever hooks are told of it.
    pub id: u64,
    /// The subagent that calls, if it is one.
    pub agent: Option<&'a str>,
    /// The folder that relative paths start from.
    pub cwd: &'a Path,
    /// The mode that holds.
    pub mode: Mode,
    /// The tool, as said.
    pub tool: &'a str,
    /// Its input.
    pub input: &'a Value,
    /// A hook has written the input. It is not written once more: two hooks that correct each other would never end.
    pub rewritten: bool,
    /// The hook that wrote it, by its [`PreToolUseReply::writer`]: it is not asked about its own words.
    pub except: Option<usize>,
    /// Returns true if rules are about the call, as deny rules would be: any part of it, and what is known only at
    /// run time.
    pub touches: &'a dyn Fn(&RuleSet) -> bool,
}

impl fmt::Debug for HookCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookCall").field("id", &self.id).field("tool", &self.tool).finish_non_exhaustive()
    }
}

/// Something else that happened, as hooks are told of it.
#[derive(Debug, Clone, Copy)]
pub struct HookMoment<'a> {
    /// The session.
    pub session: &'a str,
    /// The subagent it happened to, if it is one.
    pub agent: Option<&'a str>,
    /// The folder of the session.
    pub cwd: &'a Path,
    /// The mode that holds.
    pub mode: Mode,
    /// The event.
    pub event: HookEvent,
    /// More about it, as an object: its fields stand beside those that every event has.
    pub detail: &'a Value,
}

/// The reply of hooks before a call is judged.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PreToolUseReply {
    /// The strictest decision of those that spoke.
    pub decision: Option<HookDecision>,
    /// The input to judge and perform in place of the one that was said. The other hooks are asked about it then, and a
    /// yes that came with it counts for it alone.
    pub input: Option<Value>,
    /// The hook that wrote it, as the runner of hooks counts them.
    pub writer: Option<usize>,
    /// Text for the model, beside the result.
    pub context: Vec<String>,
    /// The agent should stop altogether, and why. The call is then not carried out either.
    pub stop: Option<String>,
}

/// The reply of hooks to a question.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PermissionRequestReply {
    /// Yes or no; `None`: another approver is asked.
    pub yes: Option<bool>,
    /// Text for the model with a no.
    pub message: Option<String>,
    /// The input to judge in place of the one that was said.
    pub input: Option<Value>,
    /// A yes counts only where one of these covers every part that is asked about; without any, for every part.
    pub only: Vec<Arc<RuleSet>>,
    /// The changes that come with a yes.
    pub updates: Vec<Update>,
    /// The agent should stop altogether.
    pub interrupt: bool,
    /// Which hook answered.
    pub by: String,
}

/// A change that a hook makes with a yes: for the session, and never more than a routine yes could.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Update {
    /// More rules.
    AddRules {
        /// Their effect.
        effect: Effect,
        /// Their texts.
        rules: Vec<String>,
    },
    /// Another mode.
    SetMode(Mode),
}

impl Update {
    /// Returns true if a hook may set a mode: those that a person asks questions in, and the one that asks none and
    /// allows none.
    pub fn may_set(mode: Mode) -> bool {
        match mode {
            Mode::Default | Mode::AcceptEdits | Mode::DontAsk => true,
            Mode::BypassPermissions | Mode::Auto | Mode::Explore => false,
        }
    }
}

/// The reply of hooks to an event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventReply {
    /// Text for the model.
    pub context: Vec<String>,
    /// The reason for which things should not go on as they are: an agent that wants to stop does not, what a person
    /// said is not taken in. What has been done stays done; the model is told.
    pub blocked: Option<String>,
    /// The agent should stop altogether, and why.
    pub stop: Option<String>,
}

/// A call as it was permitted: with it the outcome is reported to hooks.
#[derive(Debug, Clone)]
pub struct PermittedCall {
    pub(crate) id: u64,
    pub(crate) raw: RawCall,
    /// The same call as it was judged; none where it was not understood.
    pub(crate) parsed: Option<ParsedCall>,
}

impl PermittedCall {
    /// The call, with the input that a hook may have written.
    pub fn raw(&self) -> &RawCall {
        &self.raw
    }
}

/// The runner of a session's hooks.
pub trait Hooks: fmt::Debug + Send + Sync {
    /// `PreToolUse`: before the call is judged.
    fn pre_tool_use(&self, call: &HookCall<'_>) -> PreToolUseReply;

    /// `PermissionRequest`: before an approver is asked.
    fn permission_request(&self, call: &HookCall<'_>, request: &Request) -> PermissionRequestReply;

    /// `PermissionDenied`: the call was refused in the end. `true` when the agent should try another way at once.
    fn permission_denied(&self, call: &HookCall<'_>, refusal: &Refusal) -> bool;

    /// `PostToolUse` or `PostToolUseFailure`: the deed has ended, well or not, with this result.
    fn post_tool_use(&self, call: &HookCall<'_>, done: bool, result: &Value) -> EventReply;

    /// Anything else: `SessionStart`, `SessionEnd`, `SubagentStart`, `SubagentStop`, `Notification`, …
    fn event(&self, moment: &HookMoment<'_>) -> EventReply;
}
