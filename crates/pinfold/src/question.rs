//! A call that waits for a person: all that is needed to show it. Data only; it holds no place open, since
//! what is approved is looked at afresh when it is performed.

use pinfold_policy::{PathText, ToolCall, Verdict};

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
    refusal: Refusal,
}

impl Question {
    pub(crate) fn new(
        id: u64,
        call: ToolCall,
        cwd: Option<PathText>,
        verdict: Verdict,
        refusal: Refusal,
    ) -> Self {
        Self { id, call, cwd, verdict, refusal }
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
