//! The words of a judgement: how strict, which step said so, and why.

use serde::Serialize;

use crate::fact::{Disguise, GuardHit, Why};

/// Allow, ask or deny, in that order of strictness; parts of a call combine by the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// It happens.
    Allow,
    /// A person is asked first.
    Ask,
    /// It does not happen, whoever says yes.
    Deny,
}

/// What the line alone says about one path, before modes, rules and grants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathDecision {
    /// Within the line.
    Allow,
    /// Beyond the line, and a person may let it pass.
    RequiresApproval(Reason),
    /// Beyond the line, and nobody may.
    Deny(Reason),
}

/// Why a step decided as it did. The gate puts it into words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// Nothing spoke against it.
    WithinTheLine,
    /// A write beyond the folder of an agent whose scope is armed.
    OutOfScope,
    /// A write in a session that only reads.
    ReadOnly,
    /// It is not known where the path leads.
    Unresolved(Why),
    /// The path looks inside and leads outside.
    Disguised(Disguise),
    /// A FIFO, socket or device.
    Special(&'static str),
    /// A folder that makes up the line would be taken away or replaced.
    TheLineItself,
    /// A write plainly named outside the folders that may be written.
    WriteOutside,
    /// A write to a guarded place.
    GuardedWrite(GuardHit),
    /// A read of a guarded place.
    GuardedRead(GuardHit),
    /// The file has this many names; the others may lie outside.
    OtherNames(u64),
    /// The place lies in another mount, which may show files from outside.
    OtherMount,
    /// Shells are off in this session.
    BashNotAllowed,
    /// Nothing holds a shell here, or too little.
    ShellNotHeld,
    /// The call has no part that any step could judge.
    NothingToJudge,
}

/// The decision of one step about one part of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opinion {
    /// How strict.
    pub decision: Decision,
    /// Why.
    pub reason: Reason,
}

/// One part of a call with the step that decided about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrailEntry {
    /// Which part: its place among the claims.
    pub part: usize,
    /// The step that had the first opinion; all steps before it had none.
    pub step: &'static str,
    /// What it said.
    pub opinion: Opinion,
}

/// What was decided about a call, and by which step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The strictest decision over all parts.
    pub decision: Decision,
    /// The step it comes from.
    pub step: &'static str,
    /// Who said what about each part, in the order of the claims.
    pub trail: Vec<TrailEntry>,
    /// The part the decision comes from: its place in the trail.
    pub decided_by: usize,
}

impl Verdict {
    /// The entry of the trail that decided.
    pub fn deciding(&self) -> Option<&TrailEntry> {
        self.trail.get(self.decided_by)
    }
}
