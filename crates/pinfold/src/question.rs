//! A call that waits for a person: all that is needed to show it. Data only; it holds no place open, since
//! what is approved is looked at afresh when it is performed.

use pinfold_policy::{Decision, GrantOptions, PathText, ToolCall, Verdict};

use crate::audit::Secrets;
use crate::consent::request::Request;
use crate::refusal::Refusal;
use crate::submission::Submission;

/// A call that waits for a person.
#[derive(Debug, Clone)]
pub struct Question {
    /// The call, which is judged again when it is answered.
    pub(crate) submission: Submission<'static>,
    /// Which step asks, about which part, and why.
    pub verdict: Verdict,
    /// The refusal that stands until an approver allows the call.
    pub(crate) refusal: Refusal,
    /// The same as data, for approvers.
    pub(crate) request: Request,
    /// The grants that can be chosen with a yes.
    pub(crate) offer: GrantOptions,
    /// The secrets of the call.
    pub(crate) secrets: Secrets,
}

impl Question {
    /// The number of the call in the record.
    pub fn id(&self) -> u64 {
        self.submission.id
    }

    /// The call.
    pub fn call(&self) -> &ToolCall {
        self.submission.call()
    }

    /// The folder its relative paths start from, unless it is the workspace.
    pub fn cwd(&self) -> Option<&PathText> {
        self.submission.cwd.as_ref()
    }

    /// The request that is shown to approvers.
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// Returns true if the mode alone asks: a question that a hook may answer.
    pub(crate) fn is_routine(&self) -> bool {
        let asks = self.verdict.trail.iter().filter(|entry| entry.opinion.decision == Decision::Ask);
        asks.into_iter().all(|entry| matches!(entry.step, "mode-default"))
    }

    /// The grants that can be chosen with a yes.
    pub fn offer(&self) -> &GrantOptions {
        &self.offer
    }

    /// The refusal that stands until an approver allows the call.
    pub fn refusal(&self) -> &Refusal {
        &self.refusal
    }

    /// The refusal, where no approver allowed the call.
    pub fn into_refusal(self) -> Refusal {
        self.refusal
    }
}
