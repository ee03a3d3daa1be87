//! A call that waits for a person: all that is needed to show it. Data only; it holds no place open, since
//! what is approved is looked at afresh when it is performed.

use pinfold_policy::{Decision, HookWord, Interaction, Offer, PathText, ToolCall, Verdict};
use serde_json::Value;

use crate::audit::Secrets;
use crate::consent::{ProcessShown, Request};
use crate::refusal::Refusal;

/// A call that waits for a person.
#[derive(Debug, Clone)]
pub struct Question {
    /// The number of the call in the record.
    pub id: u64,
    /// The call, understood.
    pub call: ToolCall,
    /// The folder its relative paths start from, unless it is the workspace.
    pub cwd: Option<PathText>,
    /// Which step asks, about which part, and why.
    pub verdict: Verdict,
    /// The no that stands until somebody says yes.
    pub(crate) refusal: Refusal,
    /// The same as data, for whoever shows it.
    pub(crate) request: Request,
    /// What can be granted with a yes.
    pub(crate) offer: Offer,
    /// The input as it came in.
    pub(crate) input: Option<Value>,
    /// The secrets of the call.
    pub(crate) secrets: Secrets,
    /// What hooks said before.
    pub(crate) word: Option<HookWord>,
    /// Whether somebody could answer: a person, or hooks in their place.
    pub(crate) interaction: Interaction,
    /// The process of a shell that tried it, where it was no call.
    pub(crate) process: Option<ProcessShown>,
}

impl Question {
    /// What has to be shown.
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// Whether the mode alone asks: a question that a hook may answer.
    pub(crate) fn is_routine(&self) -> bool {
        let asks = self.verdict.trail.iter().filter(|entry| entry.opinion.decision == Decision::Ask);
        asks.into_iter().all(|entry| matches!(entry.step, "mode-default"))
    }

    /// What can be granted with a yes.
    pub fn offer(&self) -> &Offer {
        &self.offer
    }

    /// The no that stands until somebody says yes.
    pub fn refusal(&self) -> &Refusal {
        &self.refusal
    }

    /// Nobody said yes.
    pub fn into_refusal(self) -> Refusal {
        self.refusal
    }
}
