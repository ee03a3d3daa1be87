//! The right to carry out one call, once; and the receipt that says how it ended.

use std::borrow::Cow;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pinfold_policy::ToolCall;

use crate::audit::{OutcomeEvent, RecordedHost, Secrets};
use crate::denial::Denial;
use crate::outcome::{Failure, Outcome};
use crate::plan::ExecutedBy;
use crate::recording::record_outcome;
use crate::session::Shared;
use crate::target::Targets;

/// The right to carry out one call, once. Only the gate mints it; it cannot be cloned.
#[must_use = "an unspent permit is recorded as abandoned"]
pub struct Permit {
    call: Arc<ToolCall>,
    targets: Targets,
    receipt: Receipt,
    by_mode: bool,
}

impl Permit {
    /// `by_mode`: see [`Permit::rests_on_the_mode`].
    pub(crate) fn mint(call: Arc<ToolCall>, targets: Targets, receipt: Receipt, by_mode: bool) -> Self {
        Self { call, targets, receipt, by_mode }
    }

    /// Returns true if the mode is all that lets some part of the call through: no rule, grant, hook or person is
    /// behind it.
    pub fn rests_on_the_mode(&self) -> bool {
        self.by_mode
    }

    /// Which call it is for.
    pub fn call(&self) -> &ToolCall {
        &self.call
    }

    /// Takes the permit apart for the deed: the call, the places held for it, and the receipt to close.
    pub fn spend(self) -> (ToolCall, Targets, Receipt) {
        (Arc::unwrap_or_clone(self.call), self.targets, self.receipt)
    }
}

/// Waits for the end of a permitted deed. Dropped without being closed, it records that the deed was abandoned.
#[must_use = "a dropped receipt is recorded as abandoned"]
pub struct Receipt {
    shared: Arc<Shared>,
    id: u64,
    tool: Cow<'static, str>,
    started: Instant,
    open: bool,
    denials: Vec<Denial>,
    hosts: Vec<RecordedHost>,
    more_hosts: u64,
    /// The secrets of the call: how it ended is told without them.
    secrets: Secrets,
}

impl Receipt {
    pub(crate) fn new(shared: Arc<Shared>, id: u64, tool: Cow<'static, str>, secrets: Secrets) -> Self {
        // How an agent's own deed ends is told later, by another process, or never.
        let open = shared.executed_by == ExecutedBy::Pinfold;
        Self::begun(shared, id, tool, Instant::now(), open, secrets)
    }

    /// `SESSION:CALL`: the name of the call in the record.
    pub fn name(&self) -> String {
        format!("{}:{}", self.shared.identity.id, self.id)
    }

    /// The same for a deed that took so long, with tools that are not ours.
    pub(crate) fn for_external(
        shared: Arc<Shared>,
        id: u64,
        tool: String,
        lasted: Duration,
        secrets: Secrets,
    ) -> Self {
        let now = Instant::now();
        let started = now.checked_sub(lasted).unwrap_or(now);
        Self::begun(shared, id, tool.into(), started, true, secrets)
    }

    fn begun(
        shared: Arc<Shared>,
        id: u64,
        tool: Cow<'static, str>,
        started: Instant,
        open: bool,
        secrets: Secrets,
    ) -> Self {
        let (denials, hosts) = (Vec::new(), Vec::new());
        Self { shared, id, tool, started, open, denials, hosts, more_hosts: 0, secrets }
    }

    /// Takes what the kernel refused to the shell of the call; it is recorded with the outcome.
    pub fn refused(&mut self, denials: Vec<Denial>) {
        self.denials = denials;
    }

    /// Adds the hosts that the shell of the call looked up, connected to, or was refused, and how many are not listed;
    /// recorded with its end.
    pub fn add_hosts(&mut self, hosts: Vec<RecordedHost>, more: u64) {
        let clean = |host: RecordedHost| RecordedHost { host: self.secrets.kept(&host.host), ..host };
        self.hosts = hosts.into_iter().map(clean).collect();
        self.more_hosts = more;
    }

    /// Records how the deed ended.
    ///
    /// # Errors
    /// When the journal did not take it. The deed has happened; the caller can only say so.
    pub fn close(mut self, outcome: &Outcome) -> io::Result<()> {
        self.open = false;
        match outcome {
            Outcome::Done => self.record("done", None),
            Outcome::Failed(failure) => self.record("failed", Some(failure)),
        }
    }
}

impl Receipt {
    fn record(&self, end: &'static str, failure: Option<&Failure>) -> io::Result<()> {
        let told = OutcomeEvent {
            end: end.into(),
            code: failure.map(|failure| failure.code.as_str().into()),
            reason: failure.map(|failure| self.secrets.kept(&failure.message)),
            ms: u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX),
            denials: self.denials.clone(),
            hosts: self.hosts.clone(),
            more_hosts: self.more_hosts,
        };
        record_outcome(&self.shared, self.id, &self.tool, told)
    }
}

impl Drop for Receipt {
    fn drop(&mut self) {
        if self.open {
            // Nobody is left to tell when this fails too; the missing outcome tells as much.
            let _ = self.record("abandoned", None);
        }
    }
}
