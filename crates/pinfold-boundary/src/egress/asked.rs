//! Hosts that no rule names: connections to them wait here until an approver has decided.
//!
//! All that waits for one host at one port waits together, and a thread of its own asks for it, one program after the
//! other. A yes is for what waits, and for what the same process connects to there later while it runs that program: a
//! program that opens a hundred connections to one host is one question. It is compared when the yes is used, by its
//! executable: a process that executed another program meanwhile has no yes. A no lasts as long as the process, whatever it
//! executes. A yes does not open every address: where the host leads to one that needs a rule, what waits beside it and what
//! comes later is refused without a question.

use std::collections::BTreeMap;
use std::fmt::{self, Debug};
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use pinfold_egress::{
    ApprovedConnection, ConnectDecision, ConnectRefusal, ConnectRequest, DecisionSender, EgressViolation,
};
use pinfold_policy::Connection;
use pinfold_sandbox::UNSEEN_PROGRAM;

use super::host_policy::reason;
use super::host_request::{HostApproval, HostApprover, HostQuestion, HostRequest, OTHER_HOLDERS, programs};
use super::program::{self, ConnectingProcess, Process, RunningProgram, UnknownCallerReason};
use super::refusals::REACH;
use crate::outcome::{Approved, MAX_REMEMBERED};

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

/// Time in which open questions are withdrawn when the run ends. One that is put to a slow hook is not waited for.
const LAST_QUESTIONS: Duration = Duration::from_secs(2);

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
    /// A yes is for one program.
    answered: BTreeMap<(Process, String), Result<RunningProgram, String>>,
    /// Hosts that led to an address that no approval opens, and when.
    unopened: BTreeMap<String, (EgressViolation, Instant)>,
    /// Hosts that were let be reached, with the program and the number of approvals.
    reached: BTreeMap<(String, String), u64>,
    /// Approved connections whose end is not recorded yet.
    open: usize,
    /// Threads that ask.
    deciding: usize,
    /// Hosts that are decided about, for the end of the run.
    asking: BTreeMap<String, OpenQuestion>,
    /// The run has ended: nothing is asked any more.
    has_ended: bool,
}

/// A host that is asked about.
struct OpenQuestion {
    /// The programs of the question, once it was put.
    program: Option<String>,
    refuse: Arc<RefuseConnection>,
}

impl Debug for OpenQuestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenQuestion").field("program", &self.program).finish_non_exhaustive()
    }
}

impl AskedHosts {
    /// Ends what is asked about a host. Returns what still waited for it.
    fn release(&mut self, key: &str) -> Vec<Waiter> {
        self.asking.remove(key);
        self.waiting.remove(key).unwrap_or_default()
    }
}

#[derive(Debug)]
struct Waiter {
    answer: DecisionSender,
    /// The port of the caller inside.
    from: u16,
}

/// Why a connection that waits is refused.
pub(super) enum ConnectionRefusalCause<'a> {
    /// By the answer, or because none could be had: one clause.
    Clause(&'a str),
    /// An approval does not open what the host leads to.
    Violation(&'a EgressViolation),
}

/// Says no to a connection, and remembers that.
pub(super) type RefuseConnection =
    dyn Fn(ConnectionRefusalCause<'_>, ConnectingProcess<'_>) -> ConnectRefusal + Send + Sync;

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
    pub(super) fn unopened(&self, to: &Connection, violation: &EgressViolation) {
        let mut state = self.state();
        if state.unopened.len() >= MAX_ANSWERED {
            state.unopened.clear();
        }
        state.unopened.insert(to.to_string(), (violation.clone(), Instant::now()));
    }

    /// Returns the address that a host led to a short time ago, and that no approval opened.
    pub(super) fn known_unopened(&self, to: &Connection) -> Option<EgressViolation> {
        let state = self.state();
        let (violation, at) = state.unopened.get(&to.to_string())?;
        (at.elapsed() < UNOPENED).then(|| violation.clone())
    }

    /// Ends all questions: those that are open are withdrawn, and what waits for them is refused as not answered.
    pub(super) fn end_all(&self) {
        let mut state = self.state();
        state.has_ended = true;
        let (waiting, mut asking) = (mem::take(&mut state.waiting), mem::take(&mut state.asking));
        drop(state);
        for (key, waiters) in waiting {
            let Some(OpenQuestion { program, refuse }) = asking.remove(&key) else { continue };
            let program = program.as_deref().unwrap_or(UNSEEN_PROGRAM);
            for Waiter { answer, .. } in waiters {
                answer.deny(refuse(
                    ConnectionRefusalCause::Clause(&unanswered(RUN_ENDED)),
                    ConnectingProcess::Program(program),
                ));
            }
        }
    }

    /// Adds the hosts that were let be reached to what else was approved. The relay is closed by then, and every question ended.
    pub(super) fn append_approved(&self, approved: &mut Vec<Approved>) {
        let state = self.ended.wait_timeout_while(self.state(), LAST_QUESTIONS, |state| state.deciding > 0);
        let (state, _) = state.unwrap_or_else(PoisonError::into_inner);
        let state = self.ended.wait_timeout_while(state, LAST_ENDS, |state| state.open > 0);
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
        refuse: Box<RefuseConnection>,
    ) -> ConnectDecision {
        let to = Connection { host: ask.host.clone(), port: ask.port, is_usual };
        let (answer, pending) = DecisionSender::pending();
        let key = to.to_string();
        let refuse: Arc<RefuseConnection> = Arc::from(refuse);
        {
            let mut state = self.state();
            if state.has_ended {
                drop(state);
                return ConnectDecision::Deny(refuse(
                    ConnectionRefusalCause::Clause("the run has ended"),
                    ConnectingProcess::Program(UNSEEN_PROGRAM),
                ));
            }
            let waiting: usize = state.waiting.values().map(Vec::len).sum();
            let hosts = state.waiting.len();
            match state.waiting.get_mut(&key) {
                _ if waiting >= MAX_WAITING => {
                    return ConnectDecision::Deny(refuse(
                        ConnectionRefusalCause::Clause(TOO_MANY),
                        ConnectingProcess::At(ask.source_port),
                    ));
                }
                Some(there) => {
                    there.push(Waiter { answer, from: ask.source_port });
                    return pending;
                }
                None if hosts >= MAX_HOSTS => {
                    return ConnectDecision::Deny(refuse(
                        ConnectionRefusalCause::Clause(TOO_MANY),
                        ConnectingProcess::At(ask.source_port),
                    ));
                }
                None => state.waiting.insert(key.clone(), vec![Waiter { answer, from: ask.source_port }]),
            };
            let question = OpenQuestion { program: None, refuse: Arc::clone(&refuse) };
            state.asking.insert(key.clone(), question);
            state.deciding += 1;
        }
        let here = Arc::clone(self);
        let asks = thread::Builder::new().name("pinfold-asks".into());
        if asks.spawn(move || here.decide_all(&key, &to, &*refuse)).is_err() {
            // Dropped, each is a no.
            let mut state = self.state();
            state.deciding -= 1;
            drop(state.release(&ask_key(ask, is_usual)));
        }
        pending
    }

    /// `HostApprover` for all that wait for a host, until none does.
    fn decide_all(&self, key: &str, to: &Connection, refuse: &RefuseConnection) {
        let _leaving = RefuseOnPanic { asked: self, key };
        while let Some(from) = self.first(key) {
            let holders = match program::holders(self.init, from) {
                Ok(holders) => holders,
                Err(why) => {
                    self.drop_abandoned(key, from, why, refuse);
                    continue;
                }
            };
            let Some(question) = HostQuestion::new(to, holders) else { continue };
            let (answer, all_left) = self.decide(key, &question);
            let approval = match answer {
                HostAnswer::New(approval) => Ok(Some(approval)),
                HostAnswer::Known => Ok(None),
                HostAnswer::No(why) => Err(why),
            };
            let decision = match &approval {
                Ok(_) => self.still_pending(from, &question),
                Err(why) => Err(why.clone()),
            };
            // Counted before the relay can come to an end with it.
            let _open = OpenApproval::new(self);
            let approved = self.answer(key, (from, all_left), &question, &decision, refuse);
            if let Ok(Some(approval)) = approval {
                self.end(key, &question.request, approval, decision, &approved, refuse);
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
        refuse: &RefuseConnection,
    ) {
        let refused = approved.iter().find_map(ApprovedConnection::refused_after_all);
        if let Some(violation) = &refused {
            self.refuse_waiting(key, violation, refuse);
        }
        let end = refused.as_ref().map_or(decision, |violation| Err(reason(&request.to.host, violation)));
        approval.close(end.as_ref().copied().map_err(String::as_str));
        if end.is_ok() {
            self.reached(key, &request.program());
        }
    }

    /// Refuses what else waits for a host that leads where no approval opens it.
    fn refuse_waiting(&self, key: &str, violation: &EgressViolation, refuse: &RefuseConnection) {
        let all = self.state().waiting.get_mut(key).map(mem::take).unwrap_or_default();
        for Waiter { answer, from } in all {
            answer.deny(refuse(ConnectionRefusalCause::Violation(violation), ConnectingProcess::At(from)));
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
    fn drop_abandoned(&self, key: &str, from: u16, why: UnknownCallerReason, refuse: &RefuseConnection) {
        let why = match why {
            UnknownCallerReason::Closed => None,
            UnknownCallerReason::Unseen => {
                Some("no process holds the connection, so that no question can say who wants it")
            }
            UnknownCallerReason::TooMany => {
                Some("more processes hold the connection than a question can show")
            }
        };
        let mut state = self.state();
        let waiting = state.waiting.get_mut(key);
        let waiter = waiting.and_then(|all| {
            let at = all.iter().position(|waiter| waiter.from == from)?;
            Some(all.remove(at))
        });
        drop(state);
        if let (Some(waiter), Some(why)) = (waiter, why) {
            waiter.answer.deny(refuse(
                ConnectionRefusalCause::Clause(why),
                ConnectingProcess::Program(UNSEEN_PROGRAM),
            ));
        }
    }

    /// Compares the holders of a connection with those that were asked about: another process, or another program of the same
    /// process, may hold it by now. One that does not any more uses no answer.
    fn still_pending(&self, from: u16, question: &HostQuestion) -> Result<(), String> {
        let look = |look: u64| {
            thread::sleep(Duration::from_millis(10 * look));
            match program::holders(self.init, from) {
                Ok(now) => question.compare_holders(&now),
                Err(UnknownCallerReason::Closed) => Ok(()),
                Err(UnknownCallerReason::Unseen | UnknownCallerReason::TooMany) => Err(OTHER_HOLDERS),
            }
        };
        // A child has everything of its parent until it executes its program.
        let mut last = look(0);
        for again in 1..3 {
            last = last.or_else(|_| look(again));
        }
        last.map_err(str::to_owned)
    }

    /// Asks about a connection. Returns the answer, and whether every waiting connection had given up: then there was no answer,
    /// and a later connection is asked about again, even while the question is being withdrawn.
    fn decide(&self, key: &str, question: &HostQuestion) -> (HostAnswer, bool) {
        let HostQuestion { request, holders } = question;
        let programs: Vec<_> = holders.iter().map(|holder| (holder.process, &holder.program)).collect();
        match self.answered(key, &programs) {
            Some(Ok(())) => {
                return (self.decides.denies(request).map_or(HostAnswer::Known, HostAnswer::No), false);
            }
            Some(Err(why)) => return (HostAnswer::No(why), false),
            None => {}
        }
        if let Some(open) = self.state().asking.get_mut(key) {
            open.program = Some(request.program());
        }
        let given_up = AtomicBool::new(false);
        let waits = || {
            let awaited = self.is_awaited(key);
            given_up.fetch_or(!awaited, Ordering::Relaxed);
            awaited
        };
        let (answer, decision) = match self.decides.may_connect(request, &waits) {
            Err(why) if given_up.into_inner() => return (HostAnswer::No(unanswered(&why)), true),
            Err(why) => (HostAnswer::No(why.clone()), Err(why)),
            Ok(approval) => (HostAnswer::New(approval), Ok(())),
        };
        let mut state = self.state();
        if state.answered.len() >= MAX_ANSWERED {
            state.answered.clear();
        }
        for (process, program) in programs {
            let answer = decision.clone().map(|()| program.clone());
            state.answered.insert((process, key.to_owned()), answer);
        }
        (answer, false)
    }

    /// Returns the answer that all these processes have together: a no of any, or a yes of each to the program that it runs.
    fn answered(&self, key: &str, programs: &[(Process, &RunningProgram)]) -> Option<Result<(), String>> {
        let state = self.state();
        let answer = |process: Process| state.answered.get(&(process, key.to_owned()));
        let no = programs.iter().find_map(|(process, _)| answer(*process)?.as_ref().err().cloned());
        let is_yes = |(process, program): &(Process, &RunningProgram)| {
            answer(*process).is_some_and(|answer| answer.as_ref().is_ok_and(|asked| asked == *program))
        };
        no.map(Err).or_else(|| programs.iter().all(is_yes).then_some(Ok(())))
    }

    /// Answers the one that was decided about, and others of the same program that wait with it; where all have left, only
    /// those who are not there any more. Returns those that are being made.
    fn answer(
        &self,
        key: &str,
        (from, all_left): (u16, bool),
        question: &HostQuestion,
        decision: &Result<(), String>,
        refuse: &RefuseConnection,
    ) -> Vec<ApprovedConnection> {
        let is_there = |one: &Waiter| one.answer.is_awaited() && program::any_is_open(self.init, &[one.from]);
        let is_theirs = |waiter: &Waiter| {
            if all_left {
                return !is_there(waiter);
            }
            waiter.from == from
                || program::holders(self.init, waiter.from)
                    .is_ok_and(|holders| programs(&holders) == programs(&question.holders))
        };
        // Looked at without the lock: connections that come are taken meanwhile.
        let all = self.state().waiting.get_mut(key).map(mem::take).unwrap_or_default();
        let (theirs, others): (Vec<_>, Vec<_>) = all.into_iter().partition(is_theirs);
        let program = question.request.program();
        let left = match self.state().waiting.get_mut(key) {
            Some(waiting) => {
                waiting.splice(0..0, others);
                Vec::new()
            }
            // The run ended meanwhile.
            None => others,
        };
        for Waiter { answer, .. } in left {
            answer.deny(refuse(
                ConnectionRefusalCause::Clause(&unanswered(RUN_ENDED)),
                ConnectingProcess::Program(&program),
            ));
        }
        let mut approved = Vec::new();
        for Waiter { answer, .. } in theirs {
            match decision {
                Ok(()) => approved.push(answer.allow()),
                Err(why) => answer
                    .deny(refuse(ConnectionRefusalCause::Clause(why), ConnectingProcess::Program(&program))),
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
            state.release(key);
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

/// The reason of a question that was withdrawn.
const RUN_ENDED: &str = "the run ended";

/// The reason of a connection that an approver was asked about, and that was not answered.
fn unanswered(why: &str) -> String {
    format!("it was asked about, and not answered: {why}")
}

/// Why a connection does not even wait.
const TOO_MANY: &str = "too many connections wait for an answer";

fn ask_key(ask: &ConnectRequest, is_usual: bool) -> String {
    Connection { host: ask.host.clone(), port: ask.port, is_usual }.to_string()
}

/// The end of a thread that asks. Where it panics, the waiting connections are refused.
struct RefuseOnPanic<'a> {
    asked: &'a PendingHosts,
    key: &'a str,
}

impl Drop for RefuseOnPanic<'_> {
    fn drop(&mut self) {
        let mut state = self.asked.state();
        state.deciding -= 1;
        let dropped = thread::panicking().then(|| state.release(self.key));
        drop(state);
        drop(dropped);
        self.asked.ended.notify_all();
    }
}

#[cfg(test)]
mod tests;
