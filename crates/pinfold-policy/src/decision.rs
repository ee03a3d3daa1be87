//! The words of a judgement: how strict, which step said so, and why.

use std::sync::Arc;

use pinfold_commands::{NotAllowlistable, SafeguardHit};
use pinfold_host::{HostRule, SpecialPurpose};
use serde::Serialize;

use crate::fact::{Disguise, GuardHit, ScopeHit, UnreachableHost, Why};
use crate::grant::Grant;
use crate::hook::HookDecision;
use crate::mode::Mode;
use crate::rule::SourcedRule;
use crate::source::Located;

/// Allow, ask or deny, in that order of strictness; parts of a call combine by the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// The call is carried out.
    Allow,
    /// A person is asked first.
    Ask,
    /// The call is not carried out, and no approval changes that.
    Deny,
}

impl Decision {
    /// The decision in a word, as in settings and answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// The decision of the boundary alone about one path, before modes, rules and grants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathDecision {
    /// Within the line.
    Allow,
    /// Beyond the line, and a person may let it pass.
    RequiresApproval(Reason),
    /// Outside the boundary, and not approvable.
    Deny(Reason),
}

/// Reason why a step decided as it did. The gate puts it into words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// A rule denies it.
    DenyRule(Arc<SourcedRule>),
    /// A rule wants it to be asked about.
    AskRule(Arc<SourcedRule>),
    /// A rule allows it.
    AllowRule(Arc<SourcedRule>),
    /// A person granted it in this session.
    Grant(Arc<Grant>),
    /// A hook said so.
    Hook(HookDecision),
    /// A rule that would take something away could not be read.
    RuleNotRead(String),
    /// A deny rule may cover it: the program that runs is known only at run time.
    MayBeDenied(Option<Arc<SourcedRule>>),
    /// The definition of the agent does not list it.
    NotListed,
    /// A declared scope says no.
    PathScopes(ScopeHit),
    /// A safeguard, which needs a person whatever rules and modes say.
    Safeguard(SafeguardHit),
    /// A write to a place that only a person may let pass.
    Sensitive(GuardHit),
    /// No rule may allow this command.
    NotAllowlistable(NotAllowlistable),
    /// The mode says so.
    Mode(Mode),
    /// The command does nothing but read.
    OnlyReads,
    /// The kernel holds what it does.
    HeldByTheKernel,
    /// Another part of the call decides about it.
    DecidedElsewhere,
    /// A read beyond the folder in a session that reads only there.
    ReadOutside,
    /// A folder for another agent that is not there.
    NoFolder,
    /// A write beyond the folder of an agent whose scope is armed.
    OutOfScope,
    /// A write in a session that only reads.
    ReadOnly,
    /// The path does not resolve.
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
    /// A host that no rule allows.
    UnknownHost,
    /// Settings allow the host.
    HostAllowed(Located<HostRule>),
    /// Settings deny the host.
    HostDenied(Located<HostRule>),
    /// An address on this machine or beside it, which nothing names.
    SpecialPurposeAddress(SpecialPurpose),
    /// A host that leads to an address that no approval of the host opens.
    UnreachableHost(UnreachableHost),
    /// A host that is known by its address alone.
    BareAddress,
    /// A port at which hosts are not reached without a rule that names it.
    UnusualPort(u16),
    /// Shells are off in this session.
    BashNotAllowed,
    /// Shells are not sandboxed here, or not enough.
    ShellNotHeld,
    /// The call has no part that any step could judge.
    NothingToJudge,
}

/// The decision of one step about one part of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opinion {
    /// The decision.
    pub decision: Decision,
    /// Why.
    pub reason: Reason,
}

/// A part of a call, by its place among the claims of its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PartId {
    /// A path.
    Path(usize),
    /// A simple command.
    Command(usize),
    /// The shell, and the command line as a whole.
    Shell,
    /// A host.
    Host(usize),
    /// The tool itself.
    Tool,
}

/// One part of a call with the step that decided about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrailEntry {
    /// The part.
    pub part: PartId,
    /// The step that had the first opinion; all steps before it had none.
    pub step: &'static str,
    /// The opinion of the step.
    pub opinion: Opinion,
}

/// The decision about a call, and the step that made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The strictest decision over all parts.
    pub decision: Decision,
    /// The step it comes from.
    pub step: &'static str,
    /// The opinions about each part, in the order of the claims.
    pub trail: Vec<TrailEntry>,
    /// The part the decision comes from: its place in the trail.
    pub decided_by: usize,
}

impl Verdict {
    /// The entry of the trail that decided.
    pub fn deciding(&self) -> Option<&TrailEntry> {
        self.trail.get(self.decided_by)
    }

    /// Returns `true` if a mode is all that lets some part of it through: no rule, grant or hook is about that part, it does more
    /// than read as commands do, and the kernel holds nothing of it.
    pub fn rests_on_the_mode(&self) -> bool {
        let by_mode = |entry: &TrailEntry| matches!(entry.opinion.reason, Reason::Mode(_));
        self.decision == Decision::Allow && self.trail.iter().any(by_mode)
    }
}
