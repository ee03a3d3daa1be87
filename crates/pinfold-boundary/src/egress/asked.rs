//! Hosts that no rule names: connections to them wait here until an approver has decided.
//!
//! All that waits for one host at one port waits together, and a thread of its own asks for it, one program after the
//! other. A yes is for what waits, and for what the same process connects to there later: a program that opens a hundred
//! connections to one host is one question. A no lasts as long. A yes does not open every address: where the host leads to
//! one that needs a rule, what waits beside it and what comes later is refused without a question.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fmt::Debug;
use std::fs;
use std::iter;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use pinfold_egress::{
    ApprovedConnection, ConnectDecision, ConnectRefusal, ConnectRequest, DecisionSender, HostMismatch,
};
use pinfold_policy::Connection;
use pinfold_sandbox::{Caller, UNSEEN_PROGRAM};

use super::host_policy::reason;
use super::program::{self, Unheld, Who};
use super::refusals::REACH;
use crate::outcome::{Approved, MAX_REMEMBERED, shown_program};

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

/// The executables of the holders of a connection, without an order.
fn programs<'a>(holders: impl IntoIterator<Item = &'a Caller>) -> BTreeSet<&'a OsStr> {
    holders.into_iter().map(|holder| holder.program.as_os_str()).collect()
}

/// Connections that wait for answers at one time; more are refused.
const MAX_WAITING: usize = 128;

/// Hosts that are asked about at one time; more are refused.
const MAX_HOSTS: usize = 16;

/// Most answers that are remembered before all are forgotten.
const MAX_ANSWERED: usize = 1000;

/// Time for which a host is refused without a question after it led to an address that no approval opens: by then its name
/// may lead elsewhere.
const UNOPENED: Duration = Duration::from_mins(10);

/// Time in which the ends of approved connections are recorded once the relay is closed: none takes longer than a line.
const LAST_ENDS: Duration = Duration::from_secs(5);

/// A process: its number, and when it started, since numbers are given again.
type Process = (i32, u64);

/// Connections that wait, and answers.
#[derive(Debug)]
pub(super) struct PendingHosts {
    decides: Arc<dyn HostApprover>,
    /// The first process inside.
    init: i32,
    state: Mutex<AskedHosts>,
    /// Signals that the end of an approved connection was recorded.
    ended: Condvar,
}

#[derive(Debug, Default)]
struct AskedHosts {
    waiting: BTreeMap<String, Vec<Waiter>>,
    answered: BTreeMap<(Process, String), Result<(), String>>,
    /// Hosts that led to an address that no approval opens, and when.
    unopened: BTreeMap<String, (HostMismatch, Instant)>,
    /// Hosts that were let be reached, with the program and the number of approvals.
    reached: BTreeMap<(String, String), u64>,
    /// Approved connections whose end is not recorded yet.
    open: usize,
}

#[derive(Debug)]
struct Waiter {
    answer: DecisionSender,
    /// The port of the caller inside.
    from: u16,
}

/// Why a connection that waits is refused.
pub(super) enum Unapproved<'a> {
    /// By the answer, or because none could be had: one clause.
    Clause(&'a str),
    /// An approval does not open what the host leads to.
    Mismatch(&'a HostMismatch),
}

/// Says no to a connection, and remembers that.
pub(super) type Refuse = dyn Fn(Unapproved<'_>, Who<'_>) -> ConnectRefusal + Send + Sync;

/// An answer: an approval that is new, one that was given before, or why not.
enum HostAnswer {
    New(Box<dyn HostApproval>),
    Known,
    No(String),
}

impl PendingHosts {
    pub(super) fn new(decides: Arc<dyn HostApprover>, init: i32) -> Self {
        Self { decides, init, state: Mutex::default(), ended: Condvar::new() }
    }

    /// Remembers that a host leads to an address that no approval opens.
    pub(super) fn unopened(&self, to: &Connection, mismatch: &HostMismatch) {
        let mut state = self.state();
        if state.unopened.len() >= MAX_ANSWERED {
            state.unopened.clear();
        }
        state.unopened.insert(to.to_string(), (mismatch.clone(), Instant::now()));
    }

    /// Returns the address that a host led to a short time ago, and that no approval opened.
    pub(super) fn known_unopened(&self, to: &Connection) -> Option<HostMismatch> {
        let state = self.state();
        let (mismatch, at) = state.unopened.get(&to.to_string())?;
        (at.elapsed() < UNOPENED).then(|| mismatch.clone())
    }

    /// Adds the hosts that were let be reached to what else was approved. The relay is closed by then.
    pub(super) fn append_approved(&self, approved: &mut Vec<Approved>) {
        let state = self.ended.wait_timeout_while(self.state(), LAST_ENDS, |state| state.open > 0);
        let (state, _) = state.unwrap_or_else(PoisonError::into_inner);
        approved.extend(state.reached.iter().map(|((place, program), times)| Approved {
            did: REACH,
            place: place.into(),
            program: program.clone(),
            times: *times,
        }));
    }

    /// Returns whether an approver can be asked about a name. Reserved names without a host are not worth it.
    pub(super) fn could_be_named(name: &str) -> bool {
        const NOWHERE: [&str; 5] = ["arpa", "invalid", "local", "onion", "alt"];
        name.rsplit_once('.').is_some_and(|(_, last)| !NOWHERE.contains(&last))
    }

    /// Takes a connection over. Comes back at once.
    pub(super) fn take(
        self: &Arc<Self>,
        ask: &ConnectRequest,
        is_usual: bool,
        refuse: Box<Refuse>,
    ) -> ConnectDecision {
        let to = Connection { host: ask.host.clone(), port: ask.port, is_usual };
        let (answer, pending) = DecisionSender::pending();
        let key = to.to_string();
        {
            let mut state = self.state();
            let waiting: usize = state.waiting.values().map(Vec::len).sum();
            let hosts = state.waiting.len();
            match state.waiting.get_mut(&key) {
                _ if waiting >= MAX_WAITING => {
                    return ConnectDecision::Deny(refuse(
                        Unapproved::Clause(TOO_MANY),
                        Who::At(ask.source_port),
                    ));
                }
                Some(there) => {
                    there.push(Waiter { answer, from: ask.source_port });
                    return pending;
                }
                None if hosts >= MAX_HOSTS => {
                    return ConnectDecision::Deny(refuse(
                        Unapproved::Clause(TOO_MANY),
                        Who::At(ask.source_port),
                    ));
                }
                None => state.waiting.insert(key.clone(), vec![Waiter { answer, from: ask.source_port }]),
            };
        }
        let here = Arc::clone(self);
        let asks = thread::Builder::new().name("pinfold-asks".into());
        if asks.spawn(move || here.decide_all(&key, &to, &*refuse)).is_err() {
            // Dropped, each is a no.
            self.state().waiting.remove(&ask_key(ask, is_usual));
        }
        pending
    }

    /// `HostApprover` for all that wait for a host, until none does.
    fn decide_all(&self, key: &str, to: &Connection, refuse: &Refuse) {
        let _leaving = Leaving { asked: self, key };
        while let Some(from) = self.first(key) {
            let mut holders = match program::holders(self.init, from) {
                Ok(holders) => holders.into_iter(),
                Err(why) => {
                    self.drop_unheld(key, from, why, refuse);
                    continue;
                }
            };
            let Some(caller) = holders.next() else { continue };
            let request = HostRequest { to: to.clone(), caller, others: holders.collect() };
            let (answer, all_left) = self.decide(key, &request);
            let approval = match answer {
                HostAnswer::New(approval) => Ok(Some(approval)),
                HostAnswer::Known => Ok(None),
                HostAnswer::No(why) => Err(why),
            };
            let decision = match &approval {
                Ok(_) => self.still_held(from, &request),
                Err(why) => Err(why.clone()),
            };
            // Counted before the relay can come to an end with it.
            let _open = OpenApproval::new(self);
            let approved = self.answer(key, (from, all_left), &request, &decision, refuse);
            if let Ok(Some(approval)) = approval {
                self.end(key, &request, approval, decision, &approved, refuse);
            }
        }
    }

    /// Waits for the end of connections that were approved just now, and records it.
    fn end(
        &self,
        key: &str,
        request: &HostRequest,
        approval: Box<dyn HostApproval>,
        decision: Result<(), String>,
        approved: &[ApprovedConnection],
        refuse: &Refuse,
    ) {
        let refused = approved.iter().find_map(ApprovedConnection::refused_after_all);
        if let Some(mismatch) = &refused {
            self.refuse_waiting(key, mismatch, refuse);
        }
        let end = refused.as_ref().map_or(decision, |mismatch| Err(reason(&request.to.host, mismatch)));
        approval.close(end.as_ref().copied().map_err(String::as_str));
        if end.is_ok() {
            self.reached(key, &request.program());
        }
    }

    /// Refuses what else waits for a host that leads where no approval opens it.
    fn refuse_waiting(&self, key: &str, mismatch: &HostMismatch, refuse: &Refuse) {
        let all = self.state().waiting.get_mut(key).map(std::mem::take).unwrap_or_default();
        for Waiter { answer, from } in all {
            answer.deny(refuse(Unapproved::Mismatch(mismatch), Who::At(from)));
        }
    }

    /// Counts an approval that was used.
    fn reached(&self, key: &str, program: &str) {
        let mut state = self.state();
        let used = (key.to_owned(), program.to_owned());
        if state.reached.len() < MAX_REMEMBERED || state.reached.contains_key(&used) {
            *state.reached.entry(used).or_default() += 1;
        }
    }

    /// Answers a connection about which no question can say who wants it.
    fn drop_unheld(&self, key: &str, from: u16, why: Unheld, refuse: &Refuse) {
        let why = match why {
            Unheld::Closed => None,
            Unheld::Unseen => {
                Some("no process holds the connection, so that no question can say who wants it")
            }
            Unheld::TooMany => Some("more processes hold the connection than a question can show"),
        };
        let mut state = self.state();
        let waiting = state.waiting.get_mut(key);
        let waiter = waiting.and_then(|all| {
            let at = all.iter().position(|waiter| waiter.from == from)?;
            Some(all.remove(at))
        });
        drop(state);
        if let (Some(waiter), Some(why)) = (waiter, why) {
            waiter.answer.deny(refuse(Unapproved::Clause(why), Who::Program(UNSEEN_PROGRAM)));
        }
    }

    /// Compares the holders of a connection with those that were asked about: another process may hold it by now. One that
    /// does not any more uses no answer.
    fn still_held(&self, from: u16, request: &HostRequest) -> Result<(), String> {
        let asked: Vec<Process> = request.holders().filter_map(process).collect();
        let is_asked = |holder: &Caller| process(holder).is_some_and(|process| asked.contains(&process));
        let is_held = |look: u64| {
            thread::sleep(Duration::from_millis(10 * look));
            match program::holders(self.init, from) {
                Ok(now) => now.iter().all(is_asked),
                Err(why) => why == Unheld::Closed,
            }
        };
        // A child has everything of its parent until it executes its program.
        let is_held = (0..3).any(is_held);
        let changed = || "other processes hold the connection than were asked about".to_owned();
        is_held.then_some(()).ok_or_else(changed)
    }

    /// Asks about a connection. Returns the answer, and whether every waiting connection had given up: then there was no answer,
    /// and a later connection is asked about again, even while the question is being withdrawn.
    fn decide(&self, key: &str, request: &HostRequest) -> (HostAnswer, bool) {
        let processes: Vec<Option<Process>> = request.holders().map(process).collect();
        match self.answered(key, &processes) {
            Some(Ok(())) => {
                return (self.decides.denies(request).map_or(HostAnswer::Known, HostAnswer::No), false);
            }
            Some(Err(why)) => return (HostAnswer::No(why), false),
            None => {}
        }
        let given_up = AtomicBool::new(false);
        let waits = || {
            let awaited = self.is_awaited(key);
            given_up.fetch_or(!awaited, Ordering::Relaxed);
            awaited
        };
        let (answer, decision) = match self.decides.may_connect(request, &waits) {
            Err(why) if given_up.into_inner() => return (HostAnswer::No(why), true),
            Err(why) => (HostAnswer::No(why.clone()), Err(why)),
            Ok(approval) => (HostAnswer::New(approval), Ok(())),
        };
        let mut state = self.state();
        if state.answered.len() >= MAX_ANSWERED {
            state.answered.clear();
        }
        for process in processes.into_iter().flatten() {
            state.answered.insert((process, key.to_owned()), decision.clone());
        }
        (answer, false)
    }

    /// Returns the answer that all these processes have together: a no of any, or a yes of each.
    fn answered(&self, key: &str, processes: &[Option<Process>]) -> Option<Result<(), String>> {
        let state = self.state();
        let answers: Vec<_> = processes
            .iter()
            .map(|process| process.and_then(|process| state.answered.get(&(process, key.to_owned()))))
            .collect();
        let no = answers.iter().flatten().find(|answer| answer.is_err());
        no.map(|no| (*no).clone()).or_else(|| answers.iter().all(Option::is_some).then_some(Ok(())))
    }

    /// Answers the one that was decided about, and others of the same program that wait with it; where all have left, only
    /// those who are not there any more. Returns those that are being made.
    fn answer(
        &self,
        key: &str,
        (from, all_left): (u16, bool),
        request: &HostRequest,
        decision: &Result<(), String>,
        refuse: &Refuse,
    ) -> Vec<ApprovedConnection> {
        let is_there = |one: &Waiter| one.answer.is_awaited() && program::any_is_open(self.init, &[one.from]);
        let is_theirs = |waiter: &Waiter| {
            if all_left {
                return !is_there(waiter);
            }
            waiter.from == from
                || program::holders(self.init, waiter.from)
                    .is_ok_and(|holders| programs(&holders) == programs(request.holders()))
        };
        // Looked at without the lock: connections that come are taken meanwhile.
        let all = self.state().waiting.get_mut(key).map(std::mem::take).unwrap_or_default();
        let (theirs, others): (Vec<_>, Vec<_>) = all.into_iter().partition(is_theirs);
        if let Some(waiting) = self.state().waiting.get_mut(key) {
            waiting.splice(0..0, others);
        }
        let program = request.program();
        let mut approved = Vec::new();
        for Waiter { answer, .. } in theirs {
            match decision {
                Ok(()) => approved.push(answer.allow()),
                Err(why) => answer.deny(refuse(Unapproved::Clause(why), Who::Program(&program))),
            }
        }
        approved
    }

    /// Returns the port of the first waiting connection; when there is none, the host is released.
    fn first(&self, key: &str) -> Option<u16> {
        let mut state = self.state();
        let waiting = state.waiting.get_mut(key)?;
        waiting.retain(|waiter| waiter.answer.is_awaited());
        let first = waiting.first().map(|waiter| waiter.from);
        if first.is_none() {
            state.waiting.remove(key);
        }
        first
    }

    /// Returns whether a connection still waits for a host.
    fn is_awaited(&self, key: &str) -> bool {
        let callers: Vec<u16> = match self.state().waiting.get(key) {
            Some(waiting) => waiting.iter().filter(|w| w.answer.is_awaited()).map(|w| w.from).collect(),
            None => return false,
        };
        program::any_is_open(self.init, &callers)
    }

    fn state(&self) -> MutexGuard<'_, AskedHosts> {
        // Whatever the lock holds is whole between any two of its users' steps.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An approved connection whose end is not recorded yet.
struct OpenApproval<'a>(&'a PendingHosts);

impl<'a> OpenApproval<'a> {
    fn new(asked: &'a PendingHosts) -> Self {
        asked.state().open += 1;
        Self(asked)
    }
}

impl Drop for OpenApproval<'_> {
    fn drop(&mut self) {
        self.0.state().open -= 1;
        self.0.ended.notify_all();
    }
}

/// Why a connection does not even wait.
const TOO_MANY: &str = "too many connections wait for an answer";

fn ask_key(ask: &ConnectRequest, is_usual: bool) -> String {
    Connection { host: ask.host.clone(), port: ask.port, is_usual }.to_string()
}

/// Returns the process of a caller. Its start is the 22nd field, counted behind its name.
/// [proc_pid_stat(5)](https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html)
fn process(caller: &Caller) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", caller.process)).ok()?;
    let (_, behind) = stat.rsplit_once(')')?;
    let started = behind.split_ascii_whitespace().nth(19)?.parse().ok()?;
    Some((caller.process, started))
}

/// Refusal of the waiting connections of a thread that panics.
struct Leaving<'a> {
    asked: &'a PendingHosts,
    key: &'a str,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            drop(self.asked.state().waiting.remove(self.key));
        }
    }
}

#[cfg(test)]
mod tests;
