//! What processes of a run try outside the line, decided while they wait.
//!
//! A write outside the line is held, becomes a call and goes down the road of every call. On a yes the supervisor does
//! the deed itself, through the places that the permit holds, and answers the process with the result; on a no the
//! process is told that permission is denied. The walls stay as they are: nothing is let go on for a yes.
//!
//! Each place that something waits for has a thread of its own, made when it is needed: a run that tries nothing outside
//! pays nothing. What several try there at a time is decided one after the other. A connection to a host that no rule
//! allows goes the same way; what waits for it is kept by the way out of the run.
//!
//! An answer covers what its question says. A no is for the place and for what would come of it there, for the whole run
//! ([`denied`]); a yes to a removal is for the tree that was shown, and one to a file for the temporary files that it is
//! written by way of ([`covered`]).

mod answer;
mod ask;
mod attest;
mod covered;
mod denied;
mod feasible;
mod hosts;
mod lineage;
mod removal;
mod temporary;
mod told;
mod waiting;
mod words;

use std::ffi::OsStr;
use std::io;
use std::sync::Arc;

use pinfold::WeakSession;
use pinfold_boundary::{Boundary, Changed, Decides, LimitMet, Refused, Witness};
use pinfold_sandbox::{Attempt, Done, Held, Limit, Replacement, Reply, Tier, Turn, Watcher};

use attest::Attester;
pub use told::LetThrough;
use waiting::Desk;

/// Watches one run; what lies outside and could be let through waits until it is decided.
#[derive(Debug)]
pub struct Attempts<'a> {
    witness: Witness<'a>,
    desk: Option<Arc<Desk>>,
    /// Whether hosts are asked about.
    asks: bool,
    attester: Attester,
}

/// What a run tried outside its line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tried {
    /// What was refused.
    pub refused: Vec<Refused>,
    /// What was let through, and done.
    pub let_through: Vec<LetThrough>,
    /// How many further ones are in neither list.
    pub more: u64,
    /// Limits that were met.
    pub limits: Vec<LimitMet>,
}

impl<'a> Attempts<'a> {
    /// For a run within `boundary`, held by `tier`. What lies outside is decided by `session`, where the boundary was
    /// compiled for that ([`Grant::negotiable`](pinfold_boundary::Grant::negotiable)); else it is refused.
    pub fn new(boundary: &'a Boundary, tier: Tier, session: Option<WeakSession>) -> Self {
        let witness = Witness::new(boundary, tier);
        let negotiable = boundary.profile().negotiable;
        let asks = boundary.asks_about_hosts();
        let desk = session.filter(|_| negotiable || asks).map(|session| Arc::new(Desk::new(session, tier)));
        let witness = if negotiable && desk.is_some() { witness.negotiating() } else { witness };
        Self { witness, desk, asks, attester: Attester::of(boundary, tier) }
    }

    /// What decides about hosts that no rule allows, where the boundary was compiled for that
    /// ([`Grant::asks_about_hosts`](pinfold_boundary::Grant::asks_about_hosts)).
    pub fn about_hosts(&self) -> Option<Arc<dyn Decides>> {
        let desk = self.desk.as_ref().filter(|_| self.asks)?;
        Some(Arc::clone(desk) as Arc<dyn Decides>)
    }

    /// What was tried, once the run is over; and what was changed, for [`Boundary::settle`].
    pub fn finish(self) -> (Tried, Option<Changed>) {
        let limits = self.witness.limits_met();
        let (refused, more, changed) = self.witness.finish();
        let mut tried = Tried { refused, let_through: Vec::new(), more, limits };
        if let Some(desk) = self.desk {
            desk.told().add_to(&mut tried);
        }
        (tried, changed)
    }
}

impl Watcher for Attempts<'_> {
    fn turn(&mut self, attempts: &[Attempt]) -> io::Result<Option<Turn>> {
        self.witness.turn(attempts)
    }

    fn attempt(&mut self, attempt: &Attempt) -> Reply {
        if Attester::is_asked(attempt) { Reply::Hold } else { self.witness.attempt(attempt) }
    }

    fn looks_at_reading(&self, path: &OsStr) -> bool {
        self.witness.looks_at_reading(path)
    }

    fn unfound(&mut self, attempt: &Attempt) {
        self.witness.unfound(attempt);
    }

    fn limit_met(&mut self, limit: Limit, pid: i32) {
        self.witness.limit_met(limit, pid);
    }

    fn content_for(&mut self, attempts: &[Attempt]) -> Option<Replacement> {
        self.witness.content_for(attempts)
    }

    fn carried_out(&mut self, done: &Done) {
        self.witness.carried_out(done);
    }

    fn hold(&mut self, held: Held) {
        let Some(held) = self.attester.answer(held) else { return };
        match &self.desk {
            Some(desk) => Desk::take(desk, held),
            // The witness held nothing.
            None => drop(held),
        }
    }

    fn not_held(&mut self, attempt: &Attempt) -> Reply {
        // Without an answer the kernel says that there is no such file.
        if Attester::is_asked(attempt) { Reply::GoOn } else { self.witness.not_held(attempt) }
    }
}
