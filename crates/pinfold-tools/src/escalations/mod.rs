//! Escalations: system calls of a run beyond the workspace boundary, decided while the process waits.
//!
//! A write outside the boundary is suspended, becomes a call and goes through the permission pipeline. On a yes the
//! supervisor carries it out itself, through the handles of the permit, and answers the process with the result; on a no
//! the process gets `EACCES`. The sandbox stays as it is: no system call continues because of a yes.
//!
//! Each path with pending system calls has a thread of its own, started on demand: a run without escalations pays nothing.
//! Concurrent system calls on one path are decided one after the other. A connection to a host that no rule allows goes
//! the same way; the connections that wait are kept by the egress proxy of the run.
//!
//! An answer covers what its question says. A no is for the path and the effect on it, for the whole run
//! ([`denied`]); a yes to a removal or a move is for the tree that was shown, and one to a file for the temporary files that it is
//! written by way of ([`covered`]).

mod answer;
mod ask;
mod attempt_queue;
mod attest;
mod covered;
mod denied;
mod feasible;
mod history;
mod hosts;
mod lineage;
mod moved_tree;
mod process_call;
mod removal;
mod temporary;

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::sync::Arc;

use pinfold::WeakSession;
use pinfold_boundary::{AutorunChanges, Boundary, DenialObserver, EscalationOutcome, HostApprover, Observer};
use pinfold_sandbox::{
    Attempt, CompletedSyscall, Limit, LinkedFile, PendingSyscall, Reply, SyscallHandler, Tier, Turn,
};

use attempt_queue::AttemptQueue;
use attest::Attester;

/// Watches one run; what lies outside and could be let through waits until it is decided.
#[derive(Debug)]
pub struct SandboxEscalations<'a> {
    observer: DenialObserver<'a>,
    queue: Option<Arc<AttemptQueue>>,
    /// An approver is asked about hosts.
    asks: bool,
    attester: Attester,
}

impl<'a> SandboxEscalations<'a> {
    /// Decides for a run within `boundary`, enforced by `tier`. Escalations go to `session`, where the boundary was compiled
    /// for that ([`SandboxRequest::negotiable`](pinfold_boundary::SandboxRequest::negotiable)); else it is refused.
    pub fn new(boundary: &'a Boundary, tier: Tier, session: Option<WeakSession>) -> Self {
        let observer = DenialObserver::new(boundary, tier);
        let negotiable = boundary.profile().negotiable;
        let asks = boundary.asks_about_hosts();
        let queue =
            session.filter(|_| negotiable || asks).map(|session| Arc::new(AttemptQueue::new(session, tier)));
        let observer = if negotiable && queue.is_some() { observer.negotiating() } else { observer };
        Self { observer, queue, asks, attester: Attester::new(boundary, tier) }
    }

    /// Returns the constructor of a run's observer, for [`Run::observe`](pinfold_boundary::Run::observe).
    pub fn observer(
        session: Option<WeakSession>,
    ) -> impl for<'b> FnOnce(&'b Boundary, Tier) -> Box<dyn Observer + 'b> {
        move |boundary, tier| Box::new(SandboxEscalations::new(boundary, tier, session))
    }

    /// Returns the escalations of a finished run, and the changes for [`Boundary::settle`].
    pub fn finish(self) -> (EscalationOutcome, Option<AutorunChanges>) {
        let (mut tried, changed) = Observer::finish(Box::new(self.observer));
        if let Some(queue) = self.queue {
            queue.take_history().add_to(&mut tried);
        }
        (tried, changed)
    }
}

impl Observer for SandboxEscalations<'_> {
    fn host_approver(&self) -> Option<Arc<dyn HostApprover>> {
        let queue = self.queue.as_ref().filter(|_| self.asks)?;
        Some(Arc::clone(queue) as Arc<dyn HostApprover>)
    }

    fn finish(self: Box<Self>) -> (EscalationOutcome, Option<AutorunChanges>) {
        Self::finish(*self)
    }
}

impl SyscallHandler for SandboxEscalations<'_> {
    fn turn(&mut self, attempts: &[Attempt]) -> io::Result<Option<Turn>> {
        self.observer.turn(attempts)
    }

    fn attempt(&mut self, attempt: &Attempt) -> Reply {
        if Attester::is_asked(attempt) { Reply::Hold } else { self.observer.attempt(attempt) }
    }

    fn looks_at_reading(&self, path: &OsStr) -> bool {
        self.observer.looks_at_reading(path)
    }

    fn looks_at_reading_in(&self, directory: &Path) -> bool {
        self.observer.looks_at_reading_in(directory)
    }

    fn on_hidden_path(&mut self, attempt: &Attempt) {
        self.observer.on_hidden_path(attempt);
    }

    fn limit_met(&mut self, limit: Limit, program: &OsStr) {
        self.observer.limit_met(limit, program);
    }

    fn content_for(&mut self, attempts: &[Attempt]) -> Option<Vec<u8>> {
        self.observer.content_for(attempts)
    }

    fn can_change_linked(&mut self, attempts: &[Attempt], file: LinkedFile) -> bool {
        self.observer.can_change_linked(attempts, file)
    }

    fn carried_out(&mut self, done: &CompletedSyscall) {
        self.observer.carried_out(done);
    }

    fn hold(&mut self, pending: PendingSyscall) {
        let Some(pending) = self.attester.answer(pending) else { return };
        match &self.queue {
            Some(queue) => AttemptQueue::take(queue, pending),
            // The observer held nothing.
            None => drop(pending),
        }
    }

    fn not_held(&mut self, attempt: &Attempt) -> Reply {
        // Without an answer the kernel says that there is no such file.
        if Attester::is_asked(attempt) { Reply::Continue } else { self.observer.not_held(attempt) }
    }
}
