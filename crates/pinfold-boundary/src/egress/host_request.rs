//! Requests for hosts that no rule names: what an approver is asked, and the processes that an answer is for.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::iter;

use pinfold_policy::Connection;
use pinfold_sandbox::Caller;

use super::program::{Holder, RunningProgram};
use crate::outcome::shown_program;

/// An approver for hosts that the list does not name.
pub trait HostApprover: Debug + Send + Sync {
    /// Returns the approval of a connection. Waits for an answer as long as `waits` returns true.
    ///
    /// # Errors
    /// Why not: one clause.
    fn may_connect(
        &self,
        request: &HostRequest,
        waits: &(dyn Fn() -> bool + Sync),
    ) -> Result<Box<dyn HostApproval>, String>;

    /// Returns whether what once was let through may not any more.
    fn denies(&self, request: &HostRequest) -> Option<String>;
}

/// An approval of a connection whose end is not known yet.
pub trait HostApproval: Send {
    /// Takes the end of the connection: `Err` with a clause if it was refused after all, otherwise it was made or failed.
    fn close(self: Box<Self>, end: Result<(), &str>);
}

/// A connection that an approver is asked about.
#[derive(Debug, Clone)]
pub struct HostRequest {
    /// The host.
    pub to: Connection,
    /// Process that wants it.
    pub caller: Caller,
    /// Other processes that hold the same connection, and can use it as well.
    pub others: Vec<Caller>,
}

impl HostRequest {
    /// The programs of all processes that hold the connection, by their executables.
    pub fn program(&self) -> String {
        let mut names: Vec<String> = Vec::new();
        for holder in self.holders() {
            let name = shown_program(&holder.program);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names.join(", ")
    }

    fn holders(&self) -> impl Iterator<Item = &Caller> {
        iter::once(&self.caller).chain(&self.others)
    }
}

/// A question, and the processes that it is about.
pub(super) struct HostQuestion {
    pub(super) request: HostRequest,
    pub(super) holders: Vec<Holder>,
}

impl HostQuestion {
    /// Returns the question about a connection; `None` without a holder.
    pub(super) fn new(to: &Connection, holders: Vec<Holder>) -> Option<Self> {
        let mut callers = holders.iter().map(|holder| holder.caller.clone());
        let (caller, to) = (callers.next()?, to.clone());
        let request = HostRequest { to, caller, others: callers.collect() };
        Some(Self { request, holders })
    }

    /// Compares the present holders of a connection with those of the question.
    ///
    /// # Errors
    /// The reason why an answer does not hold for them: one clause.
    pub(super) fn compare_holders(&self, now: &[Holder]) -> Result<(), &'static str> {
        let asked = |holder: &Holder| self.holders.iter().find(|asked| asked.process == holder.process);
        if !now.iter().all(|holder| asked(holder).is_some()) {
            return Err(OTHER_HOLDERS);
        }
        let is_same = |holder| asked(holder).is_some_and(|asked| asked.program == holder.program);
        now.iter().all(is_same).then_some(()).ok_or(OTHER_PROGRAM)
    }
}

/// The programs of the holders of a connection, without an order.
pub(super) fn programs(holders: &[Holder]) -> BTreeSet<&RunningProgram> {
    holders.iter().map(|holder| &holder.program).collect()
}

/// Reasons why an answer does not hold for a connection.
pub(super) const OTHER_HOLDERS: &str = "other processes hold the connection than were asked about";
const OTHER_PROGRAM: &str = "its process runs another program than was asked about";
