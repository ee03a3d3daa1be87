//! A call on its way into judgement.

use std::borrow::Cow;

use pinfold_policy::{HookDecision, Interaction, PathText, ToolCall};
use serde_json::Value;

use crate::consent::request::ProcessShown;
use crate::parsed_call::ParsedCall;

/// A numbered call with everything that a verdict about it depends on, beside the world and the rules.
#[derive(Debug, Clone)]
pub(crate) struct Submission<'a> {
    /// The number of the call in its session.
    pub(crate) id: u64,
    pub(crate) parsed: ParsedCall,
    /// The folder that its relative paths start from, unless it is the workspace.
    pub(crate) cwd: Option<PathText>,
    /// The input as it came in; none where an embedder or a process made the call.
    pub(crate) input: Option<Cow<'a, Value>>,
    /// The strictest decision of hooks and of the way in.
    pub(crate) hook_decision: Option<HookDecision>,
    /// Says if a question could be answered: by a person, or by hooks in their place.
    pub(crate) interaction: Interaction,
    /// The process of a shell that tried it, where it was no call.
    pub(crate) process: Option<ProcessShown>,
}

impl Submission<'_> {
    pub(crate) fn call(&self) -> &ToolCall {
        self.parsed.call()
    }

    /// The same call with another decision of hooks. The input is shared.
    pub(crate) fn with_hook_decision(&self, hook_decision: Option<HookDecision>) -> Submission<'_> {
        Submission {
            id: self.id,
            parsed: self.parsed.clone(),
            cwd: self.cwd.clone(),
            input: self.input.as_deref().map(Cow::Borrowed),
            hook_decision,
            interaction: self.interaction,
            process: self.process.clone(),
        }
    }

    /// A copy that a question can keep.
    pub(crate) fn to_owned(&self) -> Submission<'static> {
        Submission {
            id: self.id,
            parsed: self.parsed.clone(),
            cwd: self.cwd.clone(),
            input: self.input.as_deref().map(|input| Cow::Owned(input.clone())),
            hook_decision: self.hook_decision.clone(),
            interaction: self.interaction,
            process: self.process.clone(),
        }
    }
}
